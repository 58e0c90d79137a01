"""Rules that say when an answer goes wrong, and how."""

import base64
import json
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypedDict, get_args

from tests.fake_provider.dialects import Dialect, Item
from tests.fake_provider.record import Recorded

FOREVER: Final = None

Kind = Literal[
    # instead of an answer
    "hang", "reset", "slow_headers", "close_early",
    # another answer
    "status", "rate_limit", "redirect", "echo_key", "html", "empty_body", "truncated_json",
    # the right answer with wrong contents
    "missing_data", "fewer", "more", "reordered", "duplicate_index", "wrong_dim", "nan_token",
    "infinity_token", "null_value", "overflow", "string_value", "base64", "zero_vector",
    "empty_vector",
]  # fmt: skip


class RuleOptions(TypedDict, total=False):
    """The fields of `Rule` beside its kind, as keyword arguments."""

    times: int | None
    nth: int | None
    since: int
    text: str | None
    dialect: str | None
    code: int | None
    body: str
    headers: Sequence[tuple[str, str]]
    retry_after: float | str | None
    seconds: float
    location: str
    position: int | None


@dataclass(slots=True)
class Rule:
    """One fault. It strikes while `times` lasts (None: for ever) and every given matcher agrees.

    `nth` is exactly that request of its dialect and operation, `since` that one and all later;
    `text` is part of any text in the request. `position` limits a fault in the vectors to one of
    them, counted from 0; without it all are hit, single values at their first coordinate.
    """

    kind: Kind
    times: int | None = 1
    nth: int | None = None
    since: int = 1
    text: str | None = None
    dialect: str | None = None
    code: int | None = None
    body: str = ""
    headers: Sequence[tuple[str, str]] = ()
    retry_after: float | str | None = None
    seconds: float = 0.0
    location: str = ""
    position: int | None = None
    used: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"no such fault: {self.kind}")

    def matches(self, request: Recorded) -> bool:
        return (
            (self.times is FOREVER or self.used < self.times)
            and self.nth in (None, request.nth)
            and self.since <= request.nth
            and self.dialect in (None, request.dialect)
            and (self.text is None or any(self.text in text for text in request.texts))
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes out after `wait_s` (None: never, the connection stays open until tear-down)."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"
    declared_length: int | None = None
    wait_s: float | None = 0.0
    reset: bool = False
    close: bool = False


def json_reply(status: int, answer: object) -> Reply:
    text = json.dumps(answer, ensure_ascii=False).replace(_OVERFLOW_JSON, "1e999")
    return Reply(status, text.encode("utf-8", "surrogatepass"))


def substitute(rule: Rule, dialect: Dialect, request: Recorded) -> Reply | None:
    """The answer of a fault that does not look at the vectors; None for the others."""
    match rule.kind:
        case "status":
            kind = "application/json" if rule.body.startswith("{") else "text/plain"
            return Reply(rule.code or 500, rule.body.encode(), tuple(rule.headers), kind)
        case "rate_limit":
            answer = dialect.error("Rate limit reached", code="rate_limit_exceeded")
            headers = [] if rule.retry_after is None else [("Retry-After", f"{rule.retry_after}")]
            return replace(json_reply(429, answer), headers=(*headers, *rule.headers))
        case "redirect":
            return Reply(rule.code or 307, headers=(("Location", rule.location or request.path),))
        case "echo_key":
            said = ", ".join(dialect.keys(request))
            answer = dialect.error(f"Incorrect API key provided: {said}", code="invalid_api_key")
            return json_reply(rule.code or 401, answer)
        case "html":
            page = b"<!DOCTYPE html>\n<html><body><h1>Welcome</h1></body></html>\n"
            return Reply(rule.code or 200, page, content_type="text/html")
        case "empty_body":
            return Reply(rule.code or 200)
        case _:
            return None


def spoil_items(rule: Rule, items: list[Item]) -> list[Item] | None:
    """The vectors as the fault leaves them; None leaves out their whole list."""
    match rule.kind:
        case "missing_data":
            return None
        case "fewer":
            return items[:-1]
        case "more":
            return [*items, *(replace(item, index=len(items)) for item in items[-1:])]
        case "reordered":
            return items[::-1]
        case "duplicate_index":
            return [replace(item, index=0) for item in items]
    spoil = _SPOILERS.get(rule.kind)
    if spoil is None:
        return items
    return [
        replace(item, embedding=spoil(item.embedding)) if _hit(rule, position) else item
        for position, item in enumerate(items)
    ]


def spoil_reply(rule: Rule, reply: Reply) -> Reply:
    """The faults in how an answer travels."""
    half = reply.body[: len(reply.body) // 2]
    match rule.kind:
        case "hang":
            return replace(reply, wait_s=None)
        case "reset":
            return replace(reply, reset=True)
        case "slow_headers":
            return replace(reply, wait_s=rule.seconds)
        case "close_early":
            return replace(reply, body=half, declared_length=len(reply.body), close=True)
        case "truncated_json":
            return replace(reply, body=half)
        case _:
            return reply


def _hit(rule: Rule, position: int) -> bool:
    return rule.position in (None, position)


_OVERFLOW: Final = "@1e999@"  # no Python float is written like this, so it goes in as text
_OVERFLOW_JSON: Final = f'"{_OVERFLOW}"'

_Embedding = list[object] | str


def _first(value: object) -> Callable[[_Embedding], _Embedding]:
    return lambda vector: [value, *vector[1:]]


def _as_base64(vector: _Embedding) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


_SPOILERS: Final[dict[Kind, Callable[[_Embedding], _Embedding]]] = {
    "wrong_dim": lambda vector: [*vector, 0.5],
    "nan_token": _first(math.nan),
    "infinity_token": _first(math.inf),
    "null_value": _first(None),
    "overflow": _first(_OVERFLOW),
    "string_value": _first("0.5"),
    "base64": _as_base64,
    "zero_vector": lambda vector: [0.0] * len(vector),
    "empty_vector": lambda vector: [],
}
