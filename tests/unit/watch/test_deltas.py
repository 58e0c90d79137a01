"""Transcripts are indexed again when they have grown by enough bytes or messages."""

from hypothesis import given
from hypothesis import strategies as st

from ocmem.watch.deltas import Deltas


class Growing:
    """Transcripts with one message every `line` bytes, and a count of who looked inside."""

    def __init__(self, *, bytes: int = 100_000, messages: int = 50, line: int = 1000) -> None:
        self.line = line
        self.looked: list[tuple[int, int]] = []
        self.deltas = Deltas(bytes, messages, self._count)

    def _count(self, path: str, start: int, end: int) -> int:
        self.looked.append((start, end))
        return end // self.line - start // self.line

    def is_due(self, size: int | None, path: str = "a") -> bool:
        return self.deltas.is_due(path, size)


def test_a_hundred_thousand_bytes_are_enough() -> None:
    growing = Growing(messages=10**9)

    assert not growing.is_due(99_999)
    assert growing.is_due(100_000)


def test_fifty_messages_are_enough() -> None:
    growing = Growing(line=100)

    assert not growing.is_due(4_999)
    assert growing.is_due(5_000)


def test_messages_are_counted_in_the_new_part_and_only_while_the_bytes_do_not_suffice() -> None:
    growing = Growing()
    growing.is_due(4_000)
    growing.is_due(9_000)
    assert growing.looked == [(0, 4_000), (4_000, 9_000)]

    assert growing.is_due(500_000)

    assert growing.looked == [(0, 4_000), (4_000, 9_000)]


def test_on_firing_the_threshold_is_subtracted() -> None:
    growing = Growing(messages=10**9)

    assert growing.is_due(150_000)
    assert not growing.is_due(199_999)  # 50,000 were left
    assert growing.is_due(200_000)


def test_a_shrunken_transcript_counts_from_its_beginning() -> None:
    growing = Growing(messages=10**9)
    growing.deltas.begin({"a": 90_000})

    assert not growing.is_due(50_000)
    assert growing.looked == [(0, 50_000)]
    assert growing.is_due(100_000)


def test_what_is_indexed_counts_as_seen_and_what_is_new_does_not() -> None:
    growing = Growing(messages=10**9)
    growing.deltas.begin({"a": 1_000_000})

    assert not growing.is_due(1_000_000)
    assert not growing.is_due(1_099_999)
    assert growing.is_due(1_100_000)
    assert growing.is_due(100_000, "new")


def test_a_threshold_of_nothing_means_anything() -> None:
    for growing in (Growing(bytes=0, messages=50), Growing(bytes=10**9, messages=0)):
        growing.deltas.begin({"a": 10})

        assert not growing.is_due(10)
        assert growing.is_due(11)
        assert growing.is_due(12)


def test_a_transcript_that_is_gone_is_due_once() -> None:
    growing = Growing()
    growing.deltas.begin({"a": 10})

    assert growing.is_due(None)
    assert not growing.is_due(None)


@given(steps=st.lists(st.integers(1, 300_000), max_size=30))
def test_nothing_of_a_growth_is_lost(steps: list[int]) -> None:
    growing = Growing(messages=10**9)
    size = fired = 0
    for step in steps:
        size += step
        fired += growing.is_due(size)

    left = size
    while left >= 100_000 and fired:
        left -= 100_000
        fired -= 1
    assert fired == 0
    if steps and max(steps) < 100_000:  # otherwise one event may be worth several
        assert left < 100_000
