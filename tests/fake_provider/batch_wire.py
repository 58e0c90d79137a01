"""What the batch API of a service is to the fake: the words, without the work."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from tests.fake_provider.faults import Rule
from tests.fake_provider.record import Line, Recorded

MAX_LINES: Final = 50_000
SOURCES: Final = ("ocmem", "openclaw-memory", "clawdbot-memory")
BATCH_OPERATIONS: Final = frozenset(
    {"file_upload", "batch_create", "batch_status", "file_content", "error_content"}
)
_SHOWN: Final = 5

State = str | None
Style = Literal["flat", "flat-metadata", "operation"]


@dataclass(slots=True)
class StoredFile:
    id: str
    role: Literal["input", "output", "error"]
    text: str = ""
    lines: list[Line] = field(default_factory=list)
    is_used: bool = False


@dataclass(slots=True)
class Job:
    """`rule` is the fault that the job got with its creation, if any."""

    id: str
    lines: list[Line]
    request: dict[str, Any]
    states: list[State]
    rule: Rule | None
    polls: int = 0
    is_read: bool = False
    output: StoredFile | None = None
    error: StoredFile | None = None
    failure: str = ""


class BatchWire(Protocol):
    def operation(self, method: str, route: str) -> tuple[str, str] | None:
        """What is asked for and the id of the file or job in the route, if it is a batch call."""

    def read_upload(self, request: Recorded) -> None:
        """Decodes the body and fills in its texts and their ids, as far as they can be read."""

    def uploaded(self, request: Recorded) -> str:
        """The JSONL text of an upload."""

    def input_id(self, request: Recorded) -> str:
        """The file that a job is to be made of."""

    def problems(self, request: Recorded, *, extra_keys: Collection[str]) -> Iterator[str]: ...

    def file_id(self, number: int) -> str: ...

    def job_id(self, number: int) -> str: ...

    def file_answer(self, file: StoredFile, *, style: Style) -> dict[str, Any]: ...

    def job_answer(self, job: Job, state: State, *, style: Style) -> dict[str, Any]: ...

    def result_line(self, custom_id: str, embedding: object, *, style: Style) -> dict[str, Any]:
        """A line of the output; an embedding of None leaves out what holds the vector."""

    def error_line(self, custom_id: str, rule: Rule, *, style: Style) -> dict[str, Any]: ...


def read_batch_call(wire: BatchWire, request: Recorded, route: str) -> bool:
    """Whether it is one; then the request knows what it asks for."""
    found = wire.operation(request.method, route)
    if found is None:
        return False
    request.operation, request.target = found
    if request.operation == "file_upload":
        wire.read_upload(request)
    return True


def is_done(state: State) -> bool:
    return state is not None and state.lower() in ("completed", "succeeded", "done")


def is_dead(state: State) -> bool:
    return state is not None and state.lower() in ("failed", "expired", "cancelled", "canceled")


def line_problems(text: str, ids: Sequence[str]) -> Iterator[str]:
    """What every service wants of a batch file."""
    if text.endswith("\n"):
        yield "the JSONL ends with a newline"
    if (count := text.count("\n") + 1) > MAX_LINES:
        yield f"{count} lines in one file"
    if len(set(ids)) < len(ids):
        yield "a custom_id occurs twice"


def at_lines(problems: Sequence[tuple[int, str]]) -> Iterator[str]:
    """The first few notes, each with the line it is about."""
    for at, problem in problems[:_SHOWN]:
        yield f"line {at + 1}: {problem}"


def metadata_problems(metadata: object) -> Iterator[str]:
    match metadata:
        case {"source": source, "agent": str(agent)} if source in SOURCES and agent:
            is_right = isinstance(metadata, dict) and len(metadata) == 2
        case _:
            is_right = False
    if not is_right:
        yield f"the metadata is {metadata}"
