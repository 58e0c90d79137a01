"""What is due for an agent, when, and why."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocmem.watch.schedule import Due, Schedule


class Clocked:
    """A schedule, its clock, and the sizes of the transcripts."""

    def __init__(self, **changes: int) -> None:
        limits = {"interval_ms": 0, "delta_bytes": 100, "delta_messages": 10**9, **changes}
        self.schedule = Schedule(quiet_ms=1500, count_lines=lambda *_: 0, **limits)
        self.sizes: dict[str, int] = {}
        self.now_ms = 0

    def begun(self) -> "Clocked":
        """After the first sync."""
        assert self.due() == Due("start")
        self.done(Due("start"))
        return self

    def touch(self, path: str, at_ms: int, *, size: int | None = None) -> None:
        self.now_ms = at_ms
        if size is not None:
            self.sizes[path] = size
        source = "sessions" if path.startswith("sessions/") else "memory"
        self.schedule.touch(source, path, now_ms=at_ms)  # type: ignore[arg-type]

    def due(self, at_ms: int | None = None) -> Due | None:
        self.now_ms = self.now_ms if at_ms is None else at_ms
        return self.schedule.take_due(self.sizes.get, now_ms=self.now_ms)

    def done(self, due: Due | None, *, is_complete: bool = True) -> None:
        assert due is not None
        self.schedule.succeeded(due, self.sizes, now_ms=self.now_ms, is_complete=is_complete)


def test_everything_is_synced_at_the_start_and_then_nothing() -> None:
    clocked = Clocked()
    assert clocked.schedule.next_ms == 0

    clocked.begun()

    assert clocked.schedule.next_ms is None
    assert clocked.due(10**9) is None


def test_a_changed_note_is_due_after_the_quiet_time_and_alone() -> None:
    clocked = Clocked().begun()
    clocked.touch("a.md", 1000)

    assert clocked.schedule.next_ms == 2500
    assert clocked.due(2499) is None
    assert clocked.due(2500) == Due("change", ("memory",))
    assert clocked.schedule.next_ms is None


def test_a_transcript_is_looked_at_after_five_seconds_and_due_if_it_grew_enough() -> None:
    clocked = Clocked().begun()
    clocked.touch("sessions/a.jsonl", 1000, size=99)
    clocked.touch("sessions/a.jsonl", 5999, size=99)

    assert clocked.schedule.next_ms == 6000
    assert clocked.due(6000) is None
    clocked.touch("sessions/a.jsonl", 7000, size=100)
    assert clocked.due(12_000) == Due("sessions", ("sessions",))


def test_notes_and_transcripts_that_are_due_together_are_synced_together() -> None:
    clocked = Clocked().begun()
    clocked.touch("sessions/a.jsonl", 0, size=1000)
    clocked.touch("a.md", 3500)

    assert clocked.due(5000) == Due("change", ("memory", "sessions"))


def test_transcripts_of_the_first_sync_are_seen() -> None:
    clocked = Clocked()
    clocked.sizes["sessions/a.jsonl"] = 1_000_000
    clocked.begun()

    clocked.touch("sessions/a.jsonl", 0, size=1_000_050)

    assert clocked.due(5000) is None


def test_everything_is_synced_at_intervals_counted_from_the_last_time() -> None:
    clocked = Clocked(interval_ms=60_000).begun()
    assert clocked.schedule.next_ms == 60_000
    clocked.touch("a.md", 10_000)
    clocked.done(clocked.due(11_500))
    assert clocked.schedule.next_ms == 60_000

    assert clocked.due(59_999) is None
    due = clocked.due(60_000)
    assert due == Due("interval")
    clocked.done(due)

    assert clocked.schedule.next_ms == 120_000


def test_a_failure_is_tried_again_ever_more_rarely_and_as_a_whole() -> None:
    clocked = Clocked().begun()
    clocked.touch("a.md", 0)
    assert clocked.due(1500) == Due("change", ("memory",))
    pauses = []

    for _ in range(8):
        clocked.schedule.failed(now_ms=clocked.now_ms)
        next_ms = clocked.schedule.next_ms
        assert next_ms is not None
        pauses.append((next_ms - clocked.now_ms) // 1000)
        assert clocked.due(next_ms - 1) is None
        assert clocked.due(next_ms) == Due("retry")

    assert pauses == [15, 30, 60, 120, 240, 480, 600, 600]
    clocked.done(Due("retry"))
    assert clocked.schedule.next_ms is None


def test_a_change_after_a_failure_is_a_new_try_at_once() -> None:
    clocked = Clocked().begun()
    clocked.schedule.failed(now_ms=0)
    clocked.touch("a.md", 1000)

    assert clocked.due(2500) == Due("retry")


def test_a_first_sync_that_failed_is_tried_again() -> None:
    clocked = Clocked(interval_ms=60_000)
    clocked.due(0)
    clocked.schedule.failed(now_ms=0)

    assert clocked.due(15_000) == Due("retry")


def test_batch_jobs_under_way_are_looked_at_again() -> None:
    clocked = Clocked()
    clocked.done(clocked.due(0), is_complete=False)

    assert clocked.schedule.next_ms == 60_000
    assert clocked.due(60_000) == Due("retry")


@pytest.mark.parametrize("quiet_ms", [0, 1, 5000])
def test_the_quiet_time_is_a_setting(quiet_ms: int) -> None:
    schedule = Schedule(
        quiet_ms, interval_ms=0, delta_bytes=0, delta_messages=0, count_lines=lambda *_: 0
    )
    schedule.take_due(lambda path: None, now_ms=0)

    schedule.touch("memory", "a.md", now_ms=7)

    assert schedule.next_ms == 7 + quiet_ms


@given(touches=st.lists(st.tuples(st.integers(0, 4000), st.sampled_from(["a.md", "b.md"]))))
def test_whatever_is_touched_a_sync_of_notes_comes_after_it(
    touches: list[tuple[int, str]],
) -> None:
    clocked = Clocked().begun()
    is_behind = False
    for pause_ms, path in touches:
        due = clocked.due(clocked.now_ms + pause_ms)
        is_behind = is_behind and due is None
        clocked.touch(path, clocked.now_ms)
        is_behind = True

    assert (clocked.due(clocked.now_ms + 1500) is not None) == is_behind
