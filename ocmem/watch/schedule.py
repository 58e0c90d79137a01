"""What is due for one agent, when, and why. Knows neither files nor clocks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ocmem.model import Source
from ocmem.watch.debouncer import Debouncer
from ocmem.watch.deltas import CountLines, Deltas

Reason = Literal["start", "change", "sessions", "interval", "retry", "lost"]
SizeOf = Callable[[str], int | None]  # of a transcript by its path; None: it is gone

SESSION_WINDOW_MS = 5000  # how long the growth of transcripts is collected
LOOK_AGAIN_MS = 60_000  # while batch jobs are under way
_SHORTEST_LONGEST_MS = 10_000
_FIRST_RETRY_MS = 15_000
_LAST_RETRY_MS = 600_000


@dataclass(frozen=True, slots=True)
class Due:
    """A sync to be made; without sources, of everything that is indexed."""

    reason: Reason
    only: tuple[Source, ...] = ()


@dataclass(slots=True)
class Schedule:
    """Collects what happens, and says what to do about it."""

    quiet_ms: int
    interval_ms: int  # 0: never without a cause
    delta_bytes: int
    delta_messages: int
    count_lines: CountLines
    _notes: Debouncer = field(init=False)
    _chats: Debouncer = field(init=False)
    _deltas: Deltas = field(init=False)
    _next_full_ms: int | None = field(default=0, init=False)
    _next_retry_ms: int | None = field(default=None, init=False)
    _failures: int = field(default=0, init=False)
    _has_begun: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        longest_ms = max(_SHORTEST_LONGEST_MS, 10 * self.quiet_ms)
        self._notes = Debouncer(self.quiet_ms, longest_ms)
        # Not put off by further growth: what is written all the time is looked at all the time.
        self._chats = Debouncer(SESSION_WINDOW_MS, SESSION_WINDOW_MS)
        self._deltas = Deltas(self.delta_bytes, self.delta_messages, self.count_lines)

    def touch(self, source: Source, path: str, *, now_ms: int) -> None:
        """A file of that source was changed, or may have been."""
        waiting = self._notes if source == "memory" else self._chats
        waiting.touch(path, now_ms=now_ms)

    @property
    def next_ms(self) -> int | None:
        """When `take_due` should be asked again, if nothing happens before; None: never."""
        times = (
            self._notes.due_at_ms,
            self._chats.due_at_ms,
            self._next_full_ms,
            self._next_retry_ms,
        )
        return min((time for time in times if time is not None), default=None)

    def take_due(self, size_of: SizeOf, *, now_ms: int) -> Due | None:
        """What to do now, if anything. Whoever takes it reports with `succeeded` or `failed`."""
        notes = self._notes.take_due(now_ms=now_ms)
        chats = self._chats.take_due(now_ms=now_ms)
        grown = [path for path in chats if self._deltas.is_due(path, size_of(path))]
        if not self._has_begun:
            self._has_begun = True
            self._next_full_ms = None
            return Due("start")
        if self._next_full_ms is not None and now_ms >= self._next_full_ms:
            return Due("interval")
        if self._next_retry_ms is not None and now_ms >= self._next_retry_ms:
            return Due("retry")
        if self._next_retry_ms is not None and (notes or grown):
            return Due("retry")  # the last try may have left more than what has changed since
        if not notes and not grown:
            return None
        sources: tuple[Source, ...] = ("memory",) if notes else ()
        return Due("change" if notes else "sessions", (*sources, *(("sessions",) if grown else ())))

    def put_off(self, *, now_ms: int) -> None:
        """Do nothing at the start: the first sync comes with a change, or after an interval."""
        self._has_begun = True
        self._next_full_ms = now_ms + self.interval_ms if self.interval_ms else None

    def start_over(self) -> None:
        """The index is gone: everything is due at once."""
        self._has_begun = False
        self._next_full_ms = 0

    def succeeded(
        self, due: Due, sizes: Mapping[str, int], *, now_ms: int, is_complete: bool = True
    ) -> None:
        """A sync is over by now; `sizes` are those of the transcripts that it saw."""
        self._failures = 0
        self._next_retry_ms = None if is_complete else now_ms + LOOK_AGAIN_MS
        if due.only:
            return
        self._deltas.begin(sizes)
        if self.interval_ms:
            self._next_full_ms = now_ms + self.interval_ms

    def failed(self, *, now_ms: int) -> None:
        """A sync came to nothing by now: everything is tried again, ever more rarely."""
        wait_ms = min(_FIRST_RETRY_MS * 2**self._failures, _LAST_RETRY_MS)
        self._failures += 1
        self._next_retry_ms = now_ms + wait_ms
        if self._next_full_ms is not None:
            self._next_full_ms = now_ms + max(wait_ms, self.interval_ms)
