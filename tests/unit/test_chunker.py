"""Chunks start, end and hash exactly where the reference's do."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocmem.core import utf16
from ocmem.core.chunker import chunks_of, worth_keeping
from ocmem.model import Chunk

SIX_LINES = "alpha one\nbeta two\ngamma three\ndelta four\nepsilon five\nzeta six\n"
HUNDRED_LINES = "".join(f"line {n} {'abcdefghij' * 3}\n" for n in range(1, 101))

# name, text, tokens, overlap, then for each chunk: start, end, length in UTF-16 units, hash.
EXAMPLES = {
    "A: lines with overlap": (
        SIX_LINES,
        (8, 2),
        [
            (1, 3, 30, "9fc2853745969d18"),
            (3, 4, 22, "270cdb3405cc216c"),
            (4, 5, 23, "42f89b9b4119a706"),
            (5, 7, 22, "7c2967b61adfdd68"),
        ],
    ),
    "B: no overlap": (
        SIX_LINES,
        (8, 0),
        [
            (1, 3, 30, "9fc2853745969d18"),
            (4, 5, 23, "42f89b9b4119a706"),
            (6, 7, 9, "d70ec5baa7a55327"),
        ],
    ),
    "C: nearly all overlap": (
        SIX_LINES,
        (8, 7),
        [
            (1, 3, 30, "9fc2853745969d18"),
            (1, 4, 41, "a0a3ce4783fd67eb"),
            (2, 5, 44, "1660ee0ab3dc3dda"),
            (3, 6, 44, "dbb9572ed8825634"),
            (4, 7, 33, "b8367514d3797889"),
        ],
    ),
    "D: a line longer than a chunk": (
        "x" * 70 + "\nend\n",
        (8, 2),
        [
            (1, 1, 32, "c62e4615bd39e222"),
            (1, 1, 65, "76a74159b8baae5b"),
            (1, 1, 39, "465af8444b9fab6a"),
            (1, 2, 43, "78dcebd57389d8b8"),
            (1, 3, 11, "7607ecfe2eef5343"),
        ],
    ),
    "E: a cut through an emoji": (
        "a" + "😀" * 17 + "\nb",
        (8, 0),
        [(1, 1, 32, "84d37601f9c30644"), (1, 2, 5, "d7ee61c6b2c149da")],
    ),
    "F: Chinese": (
        "漢" * 40 + "\n終",
        (8, 2),
        [
            (1, 1, 32, "46376f1d45bc2bc5"),
            (1, 1, 41, "a7795e2c784c0a65"),
            (1, 2, 10, "4e903cbebd243418"),
        ],
    ),
    "G: a hundred lines by default": (
        HUNDRED_LINES,
        (400, 80),
        [
            (1, 41, 1589, "e6b33f6affe397a5"),
            (33, 73, 1598, "d74f72823ce7b796"),
            (65, 101, 1405, "4bf10fbeebbd7904"),
        ],
    ),
    "H: one very long line": (
        "y" * 4000 + "\n",
        (400, 80),
        [
            (1, 1, 1600, "db308bbcde9c0911"),
            (1, 1, 3201, "b1dfe168052eb5d6"),
            (1, 1, 2401, "65d3e4003fad4753"),
            (1, 2, 801, "074d50294e565614"),
        ],
    ),
    "J: many empty lines": (
        "a\n" + "\n" * 40 + "b\n",
        (8, 2),
        [(1, 31, 31, "0b8a2012bd1b01bd"), (24, 43, 20, "5072245fca9a2a60")],
    ),
    "K: empty": ("", (400, 80), [(1, 1, 0, "e3b0c44298fc1c14")]),
    "K: one newline": ("\n", (400, 80), [(1, 2, 1, "01ba4719c80b6fe9")]),
    "K: CRLF": ("a\r\nb\r\n", (400, 80), [(1, 3, 6, "58055bdcc73787eb")]),
    "K: BOM": ("\ufeff# T\nx\n", (400, 80), [(1, 3, 7, "170507c46ff6f9e3")]),
}

Described = tuple[int, int, int, str]


def described(chunks: list[Chunk]) -> list[Described]:
    return [
        (c.start_line, c.end_line, utf16.length(c.text), utf16.sha256(c.text)[:16]) for c in chunks
    ]


@pytest.mark.parametrize(("text", "budget", "expected"), EXAMPLES.values(), ids=EXAMPLES)
def test_chunks_are_those_of_the_reference(
    text: str, budget: tuple[int, int], expected: list[Described]
) -> None:
    tokens, overlap = budget

    chunks = chunks_of(text, tokens=tokens, overlap=overlap)

    assert described(chunks) == expected


def test_chunk_texts_are_lines_joined_by_newlines() -> None:
    chunks = chunks_of(SIX_LINES, tokens=8, overlap=2)

    assert [chunk.text for chunk in chunks] == [
        "alpha one\nbeta two\ngamma three",
        "gamma three\ndelta four",
        "delta four\nepsilon five",
        "epsilon five\nzeta six\n",
    ]


def test_a_chunk_over_the_byte_limit_is_stored_in_pieces() -> None:
    chunks = chunks_of("漢" * 4000 + "\n", tokens=400, overlap=80)

    kept = worth_keeping(chunks, max_bytes=8000)

    assert described(kept) == [
        (1, 1, 1600, "337e1b479f8f999c"),
        (1, 1, 2667, "7555302ca05c45b5"),
        (1, 1, 534, "15ccb8b9acca4c37"),
        (1, 1, 2401, "d9b2c6688eea3bf8"),
        (1, 2, 801, "a950546116f71364"),
    ]
    assert utf16.utf8_length(kept[1].text) == 7999


@pytest.mark.parametrize("text", ["", "\n", " \r\n\t\n", "\ufeff", "\u3000\u00a0\n"])
def test_a_blank_file_has_no_chunk_worth_keeping(text: str) -> None:
    assert worth_keeping(chunks_of(text, tokens=400, overlap=80), max_bytes=8000) == []


@pytest.mark.parametrize("text", ["a\r\nb\r\n", "\ufeff# T\nx\n", "\0", "\x85", "\x1c"])
def test_a_file_with_any_mark_in_it_keeps_its_chunk_untouched(text: str) -> None:
    chunks = chunks_of(text, tokens=400, overlap=80)

    assert worth_keeping(chunks, max_bytes=8000) == chunks
    assert [chunk.text for chunk in chunks] == [text]


def test_a_chunk_of_exactly_the_byte_limit_stays_whole() -> None:
    exact, over = Chunk(1, 1, "é" * 16), Chunk(2, 3, "é" * 16 + "x")

    assert worth_keeping([exact], max_bytes=32) == [exact]
    assert worth_keeping([over], max_bytes=32) == [Chunk(2, 3, "é" * 16), Chunk(2, 3, "x")]


def test_a_piece_never_ends_inside_an_emoji() -> None:
    kept = worth_keeping([Chunk(4, 5, "ab😀😀")], max_bytes=5)

    assert [chunk.text for chunk in kept] == ["ab", "😀", "😀"]


# An oracle, slow and obvious: the rules again, step by step, on lists of code units.

Units = list[int]


def units_of(text: str) -> Units:
    units: Units = []
    for code in map(ord, text):
        if code < 0x10000:
            units.append(code)
        else:
            units += [0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF)]
    return units


def lines_of(units: Units) -> list[Units]:
    lines: list[Units] = [[]]
    for unit in units:
        if unit == 0x0A:
            lines.append([])
        else:
            lines[-1].append(unit)
    return lines


def cut(line: Units, at_most: int) -> list[Units]:
    segments = []
    while len(line) > at_most:
        segments.append(line[:at_most])
        line = line[at_most:]
    return [*segments, line]


def oracle(text: str, tokens: int, overlap: int) -> list[tuple[int, int, Units]]:
    max_chars, overlap_chars = max(32, tokens * 4), max(0, overlap * 4)
    chunks: list[tuple[int, int, Units]] = []
    buffer: list[tuple[int, Units]] = []

    def flush() -> None:
        joined = [unit for _, segment in buffer for unit in [*segment, 0x0A]]
        chunks.append((buffer[0][0], buffer[-1][0], joined[:-1]))

    def size() -> int:
        return sum(len(segment) + 1 for _, segment in buffer)

    for number, line in enumerate(lines_of(units_of(text)), start=1):
        for segment in cut(line, max_chars):
            if buffer and size() + len(segment) + 1 > max_chars:
                flush()
                whole, buffer = buffer, []
                while overlap_chars and whole:
                    buffer.insert(0, whole.pop())
                    if size() >= overlap_chars:
                        break
            buffer.append((number, segment))
    flush()
    return chunks


def utf8_size(units: Units) -> int:
    data = b"".join(unit.to_bytes(2, "little") for unit in units)
    return len(data.decode("utf-16-le", "surrogatepass").encode("utf-8", "surrogatepass"))


def pieces_oracle(units: Units, limit: int) -> list[Units]:
    pieces = []
    while units:
        end = max(n for n in range(len(units) + 1) if utf8_size(units[:n]) <= limit)
        is_high = end > 0 and 0xD800 <= units[end - 1] < 0xDC00
        if is_high and end < len(units) and 0xDC00 <= units[end] < 0xE000:
            end -= 1
        pieces.append(units[: max(1, end)])
        units = units[max(1, end) :]
    return pieces


LETTERS = st.sampled_from("ab \r\0\ufeffé漢終😀🏳")
LINES = st.text(LETTERS, max_size=30) | st.builds(
    lambda text, times: text * times, st.text(LETTERS, min_size=1, max_size=9), st.integers(1, 50)
)
TEXTS = st.lists(LINES, max_size=25).map("\n".join)
BUDGETS = st.integers(1, 50).flatmap(
    lambda tokens: st.tuples(st.just(tokens), st.integers(0, tokens - 1))
)


@given(text=TEXTS, budget=BUDGETS)
@settings(max_examples=200, deadline=None)
def test_chunks_follow_the_rules_step_by_step(text: str, budget: tuple[int, int]) -> None:
    tokens, overlap = budget

    chunks = chunks_of(text, tokens=tokens, overlap=overlap)

    found = [(chunk.start_line, chunk.end_line, units_of(chunk.text)) for chunk in chunks]
    assert found == oracle(text, tokens, overlap)


@given(text=TEXTS, budget=BUDGETS)
@settings(max_examples=100, deadline=None)
def test_line_numbers_never_run_backwards(text: str, budget: tuple[int, int]) -> None:
    chunks = chunks_of(text, tokens=budget[0], overlap=budget[1])

    assert chunks[0].start_line == 1
    assert chunks[-1].end_line == text.count("\n") + 1
    assert all(chunk.start_line <= chunk.end_line for chunk in chunks)
    for before, after in pairwise(chunks):
        assert before.start_line <= after.start_line <= before.end_line + 1
        assert before.end_line <= after.end_line


@given(text=TEXTS, budget=BUDGETS)
@settings(max_examples=100, deadline=None)
def test_no_written_line_is_lost(text: str, budget: tuple[int, int]) -> None:
    chunks = chunks_of(text, tokens=budget[0], overlap=budget[1])

    held = [(c.start_line, c.end_line, lines_of(units_of(c.text))) for c in chunks]
    for number, line in enumerate(lines_of(units_of(text)), start=1):
        covering = [lines for start, end, lines in held if start <= number <= end]
        for segment in cut(line, max(32, budget[0] * 4)):
            assert any(segment in lines for lines in covering)


@given(text=st.text(LETTERS | st.just("\n"), max_size=60), limit=st.integers(4, 40))
@settings(max_examples=100, deadline=None)
def test_pieces_are_the_longest_that_fit(text: str, limit: int) -> None:
    kept = worth_keeping([Chunk(3, 7, text)], max_bytes=limit)

    expected = pieces_oracle(units_of(text), limit) if utf16.trim(text) else []
    assert [units_of(chunk.text) for chunk in kept] == expected
    assert all((chunk.start_line, chunk.end_line) == (3, 7) for chunk in kept)


def test_a_character_of_four_bytes_counts_four() -> None:
    kept = worth_keeping([Chunk(1, 1, "漢漢漢漢🏳")], max_bytes=15)

    assert [chunk.text for chunk in kept] == ["漢漢漢漢", "🏳"]
