"""Many events in a row are one moment to act."""

from hypothesis import given
from hypothesis import strategies as st

from ocmem.watch.debouncer import Debouncer


def test_three_saves_in_a_row_are_one_reindex() -> None:
    debouncer = Debouncer(quiet_ms=1500, longest_ms=15_000)

    for at in (0, 400, 900):
        debouncer.touch("memory/2026-02-26.md", now_ms=at)

    assert debouncer.take_due(now_ms=2399) == []
    assert debouncer.take_due(now_ms=2400) == ["memory/2026-02-26.md"]


def test_what_was_taken_is_forgotten() -> None:
    debouncer = Debouncer(quiet_ms=10, longest_ms=100)
    assert debouncer.due_at_ms is None
    debouncer.touch("b", now_ms=0)
    debouncer.touch("a", now_ms=5)
    assert debouncer.due_at_ms == 15

    assert debouncer.take_due(now_ms=15) == ["b", "a"]
    assert debouncer.take_due(now_ms=99) == []
    assert debouncer.due_at_ms is None


def test_who_never_stops_writing_is_interrupted() -> None:
    debouncer = Debouncer(quiet_ms=1500, longest_ms=10_000)

    for at in range(0, 10_000, 1000):
        debouncer.touch("a", now_ms=at)
        assert debouncer.take_due(now_ms=at + 999) == []

    assert debouncer.take_due(now_ms=10_000) == ["a"]


@given(
    touches=st.lists(st.tuples(st.integers(0, 5000), st.sampled_from("abc")), min_size=1),
    quiet_ms=st.integers(0, 2000),
)
def test_every_path_comes_out_once_and_not_too_late(
    touches: list[tuple[int, str]], quiet_ms: int
) -> None:
    debouncer = Debouncer(quiet_ms, longest_ms=10_000)
    now_ms, taken = 0, []
    for pause_ms, path in touches:
        now_ms += pause_ms
        taken += debouncer.take_due(now_ms=now_ms)
        debouncer.touch(path, now_ms=now_ms)

    taken += debouncer.take_due(now_ms=now_ms + quiet_ms)

    assert set(taken) == {path for _, path in touches}
    assert debouncer.due_at_ms is None
