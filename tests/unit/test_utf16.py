"""Strings counted, cut, trimmed and hashed as JavaScript does it."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocmem.core import utf16

ANY_TEXT = st.text(st.characters() | st.sampled_from("a\n😀漢\ud83d\ude00"))


def units(text: str) -> list[int]:
    """The code units of a string, worked out character by character."""
    found: list[int] = []
    for code in map(ord, text):
        if code < 0x10000:
            found.append(code)
        else:
            found += [0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF)]
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("abc", 3), ("é", 1), ("漢字", 2), ("😀", 2), ("\ud83d", 1), ("a\ud83d\n\ude00", 4)],
)
def test_a_length_counts_code_units(text: str, expected: int) -> None:
    assert utf16.length(text) == expected


def test_a_cut_goes_straight_through_a_surrogate_pair() -> None:
    assert utf16.pieces("a😀b", 2) == ["a\ud83d", "\ude00b"]


def test_plain_text_is_cut_every_so_many_letters() -> None:
    assert utf16.pieces("abcdefg", 3) == ["abc", "def", "g"]


@given(text=st.text(), max_units=st.integers(1, 9))
@settings(max_examples=100, deadline=None)
def test_pieces_are_full_except_the_last_and_hold_every_unit(text: str, max_units: int) -> None:
    pieces = [units(piece) for piece in utf16.pieces(text, max_units)]

    assert [unit for piece in pieces for unit in piece] == units(text)
    assert all(len(piece) == max_units for piece in pieces[:-1])
    assert all(1 <= len(piece) <= max_units for piece in pieces)


@pytest.mark.parametrize(
    ("text", "max_units", "expected"),
    [
        ("abc", 2, "ab"),
        ("abc", 9, "abc"),
        ("é漢c", 2, "é漢"),
        ("a😀b", 2, "a"),
        ("a😀b", 3, "a😀"),
        ("😀", 1, ""),
        ("a\ud83db", 3, "a\ud83db"),
        ("a\ud83db", 2, "a\ud83d"),
        ("\ude00b😀", 3, "\ude00b"),
    ],
)
def test_a_prefix_is_one_unit_shorter_only_where_it_would_split_a_pair(
    text: str, max_units: int, expected: str
) -> None:
    assert utf16.prefix(text, max_units) == expected


@given(text=st.text(), max_units=st.integers(0, 12))
@settings(max_examples=100, deadline=None)
def test_a_prefix_is_the_longest_whole_beginning_that_fits(text: str, max_units: int) -> None:
    beginnings = [text[:at] for at in range(len(text) + 1) if len(units(text[:at])) <= max_units]

    assert utf16.prefix(text, max_units) == beginnings[-1]


def test_every_lone_surrogate_becomes_a_replacement_character() -> None:
    assert utf16.well_formed("a\ud83d\nb\ude00😀") == "a\ufffd\nb\ufffd😀"


@pytest.mark.parametrize(
    ("text", "expected"), [("abc", 3), ("é", 2), ("漢", 3), ("😀", 4), ("\ud83d", 3)]
)
def test_a_utf8_length_counts_three_bytes_for_a_lone_surrogate(text: str, expected: int) -> None:
    assert utf16.utf8_length(text) == expected


@given(ANY_TEXT)
@settings(max_examples=100, deadline=None)
def test_the_lengths_agree_with_a_count_by_hand(text: str) -> None:
    widths = [
        1 if c < 0x80 else 2 if c < 0x800 else 3 if c < 0x10000 else 4 for c in map(ord, text)
    ]

    assert utf16.length(text) == len(units(text))
    assert utf16.utf8_length(text) == sum(widths)


def test_a_hash_is_the_one_of_the_utf8_bytes() -> None:
    assert utf16.sha256("é漢😀\n") == hashlib.sha256("é漢😀\n".encode()).hexdigest()
    assert utf16.sha256("").startswith("e3b0c44298fc1c14")


def test_a_lone_surrogate_hashes_like_the_replacement_character() -> None:
    assert utf16.sha256("a\ud83d") == hashlib.sha256(b"a\xef\xbf\xbd").hexdigest()


@pytest.mark.parametrize("space", [*"\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff"])
def test_javascript_white_space_is_trimmed(space: str) -> None:
    assert utf16.trim(f"{space}{space}a{space}b{space}") == f"a{space}b"


@pytest.mark.parametrize("code", range(0x2000, 0x200B))
def test_every_typographic_space_is_trimmed(code: int) -> None:
    assert utf16.trim(f"{chr(code)}a{chr(code)}") == "a"


@pytest.mark.parametrize("kept", ["\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\u200b", "\u180e", "\0"])
def test_what_only_python_calls_white_space_is_kept(kept: str) -> None:
    assert utf16.trim(f"{kept}a{kept}") == f"{kept}a{kept}"
    assert utf16.collapse(f"a{kept}b") == f"a{kept}b"


def test_runs_of_white_space_collapse_to_one_space() -> None:
    assert utf16.collapse("\ufeff a \r\n\t b\u3000\u3000c\n") == "a b c"
    assert utf16.collapse(" \n\u00a0") == ""
