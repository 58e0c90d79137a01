"""An answer on its way out, before it becomes bytes on a socket."""

import json
from dataclasses import dataclass
from typing import Final

OVERFLOW: Final = "@1e999@"  # no Python float is written like this, so it goes in as text
_OVERFLOW_JSON: Final = f'"{OVERFLOW}"'


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes out after `wait_s` (None: never, the connection stays open until tear-down).

    `rate` is bytes per second of the body. `padding` is how many spaces follow the body, which
    JSON allows; infinitely many make an answer without an end.
    """

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"
    declared_length: int | None = None
    wait_s: float | None = 0.0
    rate: float | None = None
    padding: float = 0
    reset: bool = False
    close: bool = False


def json_reply(status: int, answer: object) -> Reply:
    return Reply(status, json_text(answer).encode("utf-8", "surrogatepass"))


def json_text(answer: object) -> str:
    """JSON with `é` as it is, and with 1e999 where `OVERFLOW` stands."""
    return json.dumps(answer, ensure_ascii=False).replace(_OVERFLOW_JSON, "1e999")
