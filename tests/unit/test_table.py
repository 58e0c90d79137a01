"""Columns for people."""

import pytest

from ocmem.cli import table


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    rows = [("STATE", "SIZE", "PATH"), ("new", "2 B", "a.md"), ("unreadable", "–", "b.md")]

    assert table.aligned(rows, right=(1,)) == (
        "STATE       SIZE  PATH\nnew          2 B  a.md\nunreadable     –  b.md"
    )


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("plain", 5),
        ("日本語", 6),
        ("비밀", 4),
        ("ｆｕｌｌ", 8),
        ("é", 1),
        ("e\u0301", 1),
        ("zero\u200bwidth", 9),
    ],
)
def test_width_is_what_a_terminal_shows(text: str, cells: int) -> None:
    assert table.width(text) == cells


def test_a_long_cell_does_not_widen_its_column() -> None:
    rows = [("key", "short", "here"), ("other", "x" * 11, "there")]

    assert table.aligned(rows, most=10) == (
        "key    short  here\nother  xxxxxxxxxxx\n              there"
    )


def test_a_cell_may_have_several_lines() -> None:
    rows = [("key", "one\ntwo", "here"), ("other", "three", "there")]

    assert table.aligned(rows) == "key    one    here\n       two\nother  three  there"


def test_what_is_beside_long_lines_comes_after_the_last_of_them() -> None:
    rows = [("a", "one\ntwelve\ntwo", "here"), ("b", "six", "there")]

    assert table.aligned(rows, most=4) == ("a  one\n   twelve\n   two\n        here\nb  six  there")


def test_a_row_may_stand_across_all_columns() -> None:
    rows = [("a", "one"), ("  from far away", ""), ("b", "two")]

    assert table.aligned(rows, most=4) == "a  one\n  from far away\nb  two"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (9949, "9.9 kB"),
        (12_345, "12 kB"),
        (3_400_000, "3.4 MB"),
        (2_000_000_000, "2.0 GB"),
        (5 * 10**15, "5000 TB"),
    ],
)
def test_sizes_have_two_digits_or_so(number: int, text: str) -> None:
    assert table.size(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "now"),
        (0.5, "now"),
        (40, "40 s"),
        (12 * 60, "12 min"),
        (5 * 3600, "5 h"),
        (3 * 86_400, "3 d"),
        (729 * 86_400, "729 d"),
        (800 * 86_400, "2 y"),
    ],
)
def test_ages_are_in_the_largest_unit_that_fits(seconds: float, text: str) -> None:
    assert table.age(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(59.7, "59 s"), (3599, "59 min"), (86_399, "23 h"), (86_401, "1 d")]
)
def test_an_age_counts_what_is_over(seconds: float, text: str) -> None:
    assert table.age(seconds) == text


def test_line_breaks_stay_in_their_row() -> None:
    assert table.one_line("a\nb\tc") == "a␊b␉c"
