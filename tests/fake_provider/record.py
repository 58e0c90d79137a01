"""What the fake was sent, and the questions tests ask about it."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.fake_provider.vectors import utf8


@dataclass(frozen=True, slots=True)
class Line:
    """One text to embed, with the id it has in a batch file."""

    id: str
    text: str


@dataclass(slots=True)
class Recorded:
    """One request. Times are monotonic seconds; `in_flight` counts this request too."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    raw: bytes
    is_elsewhere: bool = False
    """It came to another origin than the one that was configured."""
    body: object = None
    dialect: str | None = None
    operation: str | None = None
    target: str = ""
    """The id of the file or job that is asked for."""
    texts: list[str] = field(default_factory=list)
    custom_ids: list[str] = field(default_factory=list)
    """One for each text of a batch file."""
    keys: list[str] = field(default_factory=list)
    seq: int = 0
    nth: int = 0
    """Which request of this dialect and operation it is, from 1."""
    arrived: float = 0.0
    in_flight: int = 0
    answered_at: float | None = None
    status: int | None = None
    """None while unanswered, and for good after a hang or a reset."""
    fault: str | None = None
    client_gone: bool = False
    violations: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)

    def header_values(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"raw": self.raw.decode("utf-8", "backslashreplace")}


class Recording:
    """The requests so far, in order of arrival; also a JSONL file when `log` is given."""

    def __init__(self, *, log: Path | None = None) -> None:
        self._lock = threading.RLock()
        self._requests: list[Recorded] = []
        self._in_flight = 0
        self._log = log

    @property
    def requests(self) -> list[Recorded]:
        with self._lock:
            return list(self._requests)

    def arrive(self, request: Recorded) -> None:
        with self._lock:
            self._in_flight += 1
            self._requests.append(request)
            request.seq = len(self._requests)
            kind = (request.dialect, request.operation)
            request.nth = sum((r.dialect, r.operation) == kind for r in self._requests)
            request.arrived = time.monotonic()
            request.in_flight = self._in_flight

    def settle(self, request: Recorded, status: int | None) -> None:
        # Called just before the answer leaves: done afterwards, a client that asks again
        # at once on another connection would sometimes seem to have two requests open.
        with self._lock:
            self._in_flight -= 1
            request.answered_at = time.monotonic()
            request.status = status

    def forget(self) -> None:
        with self._lock:
            self._requests.clear()

    def log(self, line: dict[str, Any]) -> None:
        if self._log is None:
            return
        with self._lock, self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def texts(self, dialect: str | None = None, operation: str | None = None) -> list[str]:
        """Every text of every request and batch file, in order, repeats included."""
        return [text for request in self.asked(dialect, operation) for text in request.texts]

    def groups(self, dialect: str | None = None, operation: str | None = None) -> list[int]:
        """The size of each request with texts, batch files included: their UTF-8 bytes."""
        requests = self.asked(dialect, operation)
        return [sum(len(utf8(text)) for text in r.texts) for r in requests if r.texts]

    def delays(self, dialect: str | None = None, operation: str | None = None) -> list[float]:
        """Seconds from each answer to the request that came next."""
        return list(_pauses(self.asked(dialect, operation)))

    def max_in_flight(self) -> int:
        return max((request.in_flight for request in self.requests), default=0)

    def asked(self, dialect: str | None = None, operation: str | None = None) -> list[Recorded]:
        """The requests of that dialect and operation; without arguments all of them."""
        return [
            request
            for request in self.requests
            if dialect in (None, request.dialect) and is_operation(request.operation, operation)
        ]

    def count(self, dialect: str | None = None, operation: str | None = None) -> int:
        """How many requests there were; without arguments all of them, unknown paths included."""
        return len(self.asked(dialect, operation))

    def operations(self) -> list[str]:
        """What was asked for, in order, such as `openai embed`; unknown routes have a `?`."""
        return [f"{r.dialect or '?'} {r.operation or '?'}" for r in self.requests]

    def leaks(self) -> list[str]:
        """Keys that were sent to a dialect or an origin they do not belong to."""
        return [leak for request in self.requests for leak in request.leaks]

    def violations(self) -> list[str]:
        """How requests departed from the wire format; leaks are among them."""
        return [f"request {r.seq}: {note}" for r in self.requests for note in r.violations]


def is_operation(actual: str | None, asked: str | None) -> bool:
    """Whether `asked` (None: any) names `actual`; "embed" names queries and documents alike."""
    if asked == "embed" and actual is not None:
        return actual.startswith("embed")
    return asked in (None, actual)


def _pauses(requests: list[Recorded]) -> Iterator[float]:
    for before, after in pairwise(requests):
        end = before.arrived if before.answered_at is None else before.answered_at
        yield after.arrived - end
