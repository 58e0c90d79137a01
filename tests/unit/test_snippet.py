"""Which part of a chunk is shown, and where it stands in the file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ocmem.core import snippet, utf16
from ocmem.core.store import Connection
from ocmem.core.terms import terms_of
from ocmem.model import ChunkRow, Snippet

FILLER = "nothing to see here, only words that nobody asked for"


@pytest.fixture
def db() -> Iterator[Connection]:
    with Connection(Path(":memory:"), "create") as connection:
        yield connection


def chunk_of(text: str, *, start_line: int = 1, end_line: int | None = None) -> ChunkRow:
    end = start_line + text.count("\n") if end_line is None else end_line
    return ChunkRow(
        id="id",
        path="MEMORY.md",
        source="memory",
        start_line=start_line,
        end_line=end,
        hash="",
        model="m",
        text=text,
    )


def best(
    db: Connection, chunk: ChunkRow, query: str, weights: dict[str, float] | None = None
) -> Snippet:
    terms = terms_of(query, words=db.words, stems=db.stems)
    weighted = [(term, (weights or {}).get(term.stem, 1.0)) for term in terms]
    return snippet.best(chunk, weighted, stems=db.stems)


def lines_with(count: int, **special: str) -> list[str]:
    """`count` lines of filler; `at30="x"` puts x into line 30, counted from 0."""
    lines = [FILLER] * count
    for name, text in special.items():
        lines[int(name.removeprefix("at"))] = text
    return lines


# --- the reference's snippet --------------------------------------------------------------------


def test_the_head_is_the_first_700_units_untouched() -> None:
    text = "  line\n" * 200

    assert snippet.head(chunk_of(text)).text == text[:700]


def test_the_head_does_not_split_an_emoji() -> None:
    found = snippet.head(chunk_of("a" + "🦞" * 400))

    assert found.text == "a" + "🦞" * 349
    assert utf16.length(found.text) == 699


def test_the_head_knows_its_last_line() -> None:
    found = snippet.head(chunk_of("\n".join(["x" * 98] * 20), start_line=41))

    assert (found.start_line, found.end_line) == (41, 48)


# --- the best window ----------------------------------------------------------------------------


def test_a_short_chunk_is_shown_whole(db: Connection) -> None:
    chunk = chunk_of("one\ntwo gateway\nthree", start_line=5)

    assert best(db, chunk, "gateway") == Snippet(chunk.text, 5, 7)


def test_the_window_is_where_the_words_are(db: Connection) -> None:
    lines = lines_with(40, at30="the gateway sleeps")

    found = best(db, chunk_of("\n".join(lines)), "gateway")

    assert "the gateway sleeps" in found.text
    assert "the gateway sleeps" not in snippet.head(chunk_of("\n".join(lines))).text


def test_other_forms_of_a_word_count(db: Connection) -> None:
    chunk = chunk_of("\n".join(lines_with(40, at30="we were meeting in the hall")))

    assert "meeting" in best(db, chunk, "meetings").text


def test_a_part_of_an_unspaced_run_counts(db: Connection) -> None:
    chunk = chunk_of("\n".join(lines_with(40, at30="数据库迁移安排在二月底")))

    assert "迁移" in best(db, chunk, "迁移").text


def test_a_window_is_whole_lines_of_at_most_700_units(db: Connection) -> None:
    lines = lines_with(60, at35="🦞 the gateway sleeps 🦞")

    found = best(db, chunk_of("\n".join(lines)), "gateway")

    assert utf16.length(found.text) <= 700
    assert found.text.split("\n") == lines[found.start_line - 1 : found.end_line]
    assert utf16.length(found.text) + len(FILLER) + 1 > 700


def test_line_breaks_count_in_the_length_of_a_window(db: Connection) -> None:
    lines = ["x"] * 800
    lines[600] = "gateway"

    found = best(db, chunk_of("\n".join(lines)), "gateway")

    assert "gateway" in found.text
    assert 698 <= len(found.text) <= 700


def test_emoji_count_double_in_the_length_of_a_window(db: Connection) -> None:
    lines = ["🦞" * 100] * 20
    lines[12] = "gateway"

    found = best(db, chunk_of("\n".join(lines)), "gateway")

    assert "gateway" in found.text
    assert len(found.text) < utf16.length(found.text) <= 700


def test_line_numbers_are_those_of_the_file(db: Connection) -> None:
    lines = lines_with(40, at30="the gateway sleeps")

    found = best(db, chunk_of("\n".join(lines), start_line=101), "gateway")

    at = found.text.split("\n").index("the gateway sleeps")
    assert found.start_line + at == 131
    assert found.end_line == found.start_line + found.text.count("\n")


def test_the_lines_are_the_chunks_own_where_the_text_has_other_lines(db: Connection) -> None:
    text = "\n".join(lines_with(40, at30="the gateway sleeps"))

    found = best(db, chunk_of(text, start_line=7, end_line=9), "gateway")

    assert "the gateway sleeps" in found.text
    assert (found.start_line, found.end_line) == (7, 9)
    head = snippet.head(chunk_of(text, start_line=7, end_line=9))
    assert (head.start_line, head.end_line) == (7, 9)


def test_more_of_the_words_beat_fewer(db: Connection) -> None:
    lines = lines_with(60, at5="the gateway", at50="the gateway in the closet")

    assert "closet" in best(db, chunk_of("\n".join(lines)), "gateway closet").text


def test_a_word_counts_once_however_often_it_stands_there(db: Connection) -> None:
    lines = lines_with(60, at5="gateway gateway gateway", at50="gateway closet")

    assert "closet" in best(db, chunk_of("\n".join(lines)), "gateway closet").text


def test_one_rare_word_beats_two_common_ones(db: Connection) -> None:
    lines = lines_with(60, at5="the gateway closet", at50="a828e60")
    chunk = chunk_of("\n".join(lines))
    query = "gateway closet a828e60"

    plain = best(db, chunk, query)
    weighted = best(db, chunk, query, {"a828e60": 5.0})

    assert "closet" in plain.text and "a828e60" not in plain.text
    assert "a828e60" in weighted.text and "closet" not in weighted.text


def test_a_match_has_text_on_both_sides(db: Connection) -> None:
    lines = lines_with(60, at30="the gateway sleeps")

    shown = best(db, chunk_of("\n".join(lines)), "gateway").text.split("\n")

    at = shown.index("the gateway sleeps")
    assert abs(at - (len(shown) - 1 - at)) <= 1


def test_without_a_match_or_without_words_the_beginning_is_shown(db: Connection) -> None:
    lines = [f"{at} {FILLER}" for at in range(40)]
    chunk = chunk_of("\n".join(lines))

    for query in ("gateway", "!!!"):
        found = best(db, chunk, query)

        assert found.start_line == 1
        assert found.text.split("\n") == lines[: found.end_line]
        assert utf16.length(found.text) + len(lines[found.end_line]) + 1 > 700


def test_without_words_a_first_line_that_is_too_long_is_cut_where_it_must(db: Connection) -> None:
    line = "🦞" * 400

    found = best(db, chunk_of(f"{line}\n{FILLER}", start_line=5), "!!!")

    assert found == Snippet("🦞" * 350, 5, 5)


@pytest.mark.parametrize("before", [0, 340, 345, 350, 690, 700, 1045, 1395, 1400])
def test_no_place_in_a_long_line_is_out_of_sight(db: Connection, before: int) -> None:
    line = "x" * before + " gateway " + "x" * (1400 - before)

    found = best(db, chunk_of(line), "gateway")

    assert " gateway" in found.text or found.text.startswith("gateway")
    assert len(found.text) <= 700


def test_a_line_that_is_too_long_is_cut_around_the_match(db: Connection) -> None:
    words = "word " * 400
    chunk = chunk_of(f"top\n{words}gateway {words}\nend", start_line=10)

    found = best(db, chunk, "gateway")

    assert "gateway" in found.text
    assert utf16.length(found.text) <= 700
    assert (found.start_line, found.end_line) == (11, 11)


def test_cutting_a_long_line_leaves_no_half_of_an_emoji(db: Connection) -> None:
    chunk = chunk_of("a" + "🦞" * 600 + " gateway " + "🦞" * 600)

    found = best(db, chunk, "gateway")

    assert "gateway" in found.text
    assert utf16.length(found.text) <= 700
    assert not any("\ud800" <= character <= "\udfff" for character in found.text)
    assert "\ufffd" not in found.text
