"""What the batch APIs have in common: how hard to try, and how a line of results is read."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ocmem.core import jsjson
from ocmem.core.jobs import Ask, JobState, Take
from ocmem.errors import EmbedderError, NoBatchApi, ServiceRefused
from ocmem.model import Vector
from ocmem.providers import answers
from ocmem.providers.http import Caller
from ocmem.providers.patience import Effort

# An upload or a download may be gigabytes. What is under way is paid for: nobody is in a hurry.
UPLOAD = Effort("batch upload", 3600.0, attempt_s=1800.0, calls=4, attempts=4, patience=8)
CREATE = Effort("batch create", 300.0, attempt_s=120.0, calls=3, attempts=3, patience=8)
STATUS = Effort("batch status", 300.0, attempt_s=60.0, calls=6, attempts=6, patience=8)
DOWNLOAD = Effort(
    "batch download", 3 * 3600.0, attempt_s=3 * 3600.0, calls=6, attempts=6, patience=8
)

_NO_SUCH_API = (404, 405, 501)

Line = dict[str, Any]
Read = Callable[[Line], tuple[str, object]]  # a line -> its id, and numbers or why there are none


class Failed(str):
    """Why a line has no vector."""

    __slots__ = ()


def jsonl(lines: Sequence[str]) -> bytes:
    return "\n".join(lines).encode()


def text_bytes(ask: Ask) -> int:
    """How much of a line its text is."""
    return len(jsjson.string(ask.text).encode())


def named(answer: bytes, *keys: str, prefix: str, missing: str) -> str:
    """A name in an answer, under the first of `keys` that has one; dots go deeper."""
    found = answers.parsed(answer, prefix=prefix)
    for key in keys:
        name = at(found, key)
        if isinstance(name, str) and name:
            return name
    raise EmbedderError(f"{prefix}: missing {missing}")


def at(value: object, path: str) -> object:
    """What stands at a dotted path in JSON; None if there is no such place."""
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


@contextmanager
def needing_api(caller: Caller, what: str) -> Iterator[None]:
    """A service that does not know the address has no batch API, and need not be asked again."""
    try:
        yield
    except ServiceRefused as error:
        if error.status in _NO_SUCH_API:
            message = f"{caller.name} batch: {what} not available ({error})"
            raise NoBatchApi(message, hint=error.hint) from error
        raise


class Reader:
    """Lines of results -> ids with vectors that were checked, all of one length."""

    def __init__(self, caller: Caller, read: Read, *, root: str | None = None) -> None:
        self._caller = caller
        self._read = read
        self._root = root
        self._length: int | None = None

    def results(self, state: JobState, path: Callable[[str], str], take: Take) -> None:
        for number, file in enumerate(state.files):
            prefix = f"{self._caller.name} batch file content failed"
            try:
                self._caller.lines(
                    path(file),
                    lambda line: take(*self._result(line)),
                    effort=DOWNLOAD,
                    prefix=prefix,
                    root=self._root,
                )
            except ServiceRefused:
                # Behind the first are reports of errors: those lines are missing in it anyway.
                if number == 0:
                    raise

    def first_failure(self, path: str, *, prefix: str) -> str:
        """The first complaint in a file of errors."""
        found: list[str] = []

        def take(line: bytes) -> None:
            _, answer = self._result(line)
            if isinstance(answer, str):
                found.append(answer)
                raise _Enough

        try:
            self._caller.lines(path, take, effort=STATUS, prefix=prefix)
        except _Enough:
            return found[0]
        except EmbedderError as error:
            return f"error file unavailable: {error}"
        return ""

    def _result(self, line: bytes) -> tuple[str, Vector | str]:
        try:
            parsed = answers.parsed(line, prefix="")
        except EmbedderError:
            return "", "a line of the results is not JSON"
        if not isinstance(parsed, dict):
            return "", "a line of the results is not an object"
        custom_id, found = self._read(parsed)
        if isinstance(found, Failed):
            return custom_id, self._caller.redacted(found)
        if not found:
            return custom_id, "empty embedding"
        try:
            vector = answers.vector(found, at=0, prefix=self._caller.name)
        except EmbedderError:
            return custom_id, "something other than finite numbers"
        self._length = self._length or len(vector)
        if len(vector) != self._length:
            return custom_id, "the vectors differ in length"
        return custom_id, vector


class _Enough(Exception): ...
