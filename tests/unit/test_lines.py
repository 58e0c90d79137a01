"""Long answers, cut into lines as they arrive."""

import pytest

from ocmem.errors import EmbedderError
from ocmem.providers.lines import Lines


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_lines_are_cut_wherever_the_pieces_end(size: int) -> None:
    data = b"one\r\n\n  two \nthree"
    found: list[bytes] = []
    lines = Lines(found.append)

    lines.start()
    for start in range(0, len(data), size):
        lines.feed(data[start : start + size])
    lines.end()

    assert found == [b"one", b"two", b"three"]


def test_an_answer_that_starts_anew_hands_over_only_what_is_new() -> None:
    found: list[bytes] = []
    lines = Lines(found.append)

    lines.start()
    lines.feed(b"one\ntwo\nthr")
    lines.start()
    lines.feed(b"one\ntwo\nthree\nfour\n")
    lines.end()

    assert found == [b"one", b"two", b"three", b"four"]


def test_an_endless_line_is_refused() -> None:
    lines = Lines(lambda line: None)
    lines.start()

    with pytest.raises(EmbedderError, match="longer than anybody can use"):
        for _ in range(20):
            lines.feed(b"x" * 2**20)
