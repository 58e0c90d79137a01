"""The bar is true however narrow it is."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ocmem.cli.bar import Scale, bar, legend

SIZES = st.integers(0, 3_000_000)
SCALES = st.builds(
    lambda window, flush, compaction: Scale(min(flush, window), min(compaction, window), window),
    st.integers(1, 2_000_000) | st.integers(1, 10**18),
    SIZES,
    SIZES,
)
WIDTHS = st.integers(1, 200)


def test_it_shows_flush_compaction_and_window() -> None:
    scale = Scale(flush=176_000, compaction=180_000, window=200_000)

    assert bar(scale, 178_000, width=41) == "0 [██████████████████████████FC░░] 200000"
    assert bar(scale, 178_000, width=12) == "[████████FC]"


@pytest.mark.parametrize(
    ("tokens", "drawn"),
    [
        (None, "0 [░░░░░░░░░░░░░░░░FC░░] 100"),
        (0, "0 [░░░░░░░░░░░░░░░░FC░░] 100"),
        (1, "0 [█░░░░░░░░░░░░░░░FC░░] 100"),
        (50, "0 [██████████░░░░░░FC░░] 100"),
        (79, "0 [███████████████░FC░░] 100"),
        (80, "0 [████████████████FC░░] 100"),
        (90, "0 [████████████████FC░░] 100"),
        (91, "0 [████████████████FC░░] 100"),
        (95, "0 [████████████████FC█░] 100"),
        (100, "0 [████████████████FC██] 100"),
        (101, "0 [████████████████FC██> 100"),
        (10**30, "0 [████████████████FC██> 100"),
    ],
)
def test_it_fills_up(tokens: int | None, drawn: str) -> None:
    assert bar(Scale(flush=80, compaction=85, window=100), tokens, width=28) == drawn


def test_points_in_one_cell_share_a_mark() -> None:
    scale = Scale(flush=180_000, compaction=180_000, window=200_000)

    assert "X" in bar(scale, None, width=60)
    assert "X flush 180000, compaction 180000" in legend(scale, None, width=60)


@pytest.mark.parametrize(("flush", "compaction"), [(851, 859), (859, 851)])
def test_a_shared_mark_is_passed_with_the_first_of_its_points(flush: int, compaction: int) -> None:
    scale = Scale(flush=flush, compaction=compaction, window=1000)

    before, after = (bar(scale, tokens, width=12, is_colored=True) for tokens in (850, 855))

    assert before.endswith("█\x1b[0mX░]")
    assert after.endswith("█X\x1b[0m░]")


def test_without_a_flush_point_there_is_no_mark_for_it() -> None:
    scale = Scale(flush=0, compaction=0, window=8192)

    assert bar(scale, 5000, width=20) == "0 [C█████░░░░░] 8192"
    assert "no flush" in legend(scale, 5000, width=80)


def test_the_legend_is_broken_between_its_parts() -> None:
    scale = Scale(flush=176_000, compaction=180_000, window=200_000)

    assert legend(scale, 178_000, width=80) == (
        "█ tokens 178000   F flush 176000   C compaction 180000   window 200000"
    )
    assert legend(scale, None, width=40) == (
        "tokens unknown   F flush 176000\nC compaction 180000   window 200000"
    )


@pytest.mark.parametrize(
    ("tokens", "color"), [(50, "32"), (80, "33"), (85, "33"), (86, "31"), (500, "31")]
)
def test_colour_tells_how_far_it_is(tokens: int, color: str) -> None:
    scale = Scale(flush=80, compaction=85, window=100)

    drawn = bar(scale, tokens, width=60, is_colored=True)

    assert drawn.count("\x1b[") == 2
    assert f"[\x1b[{color}m█" in drawn
    assert re.sub("\x1b\\[\\d+m", "", drawn) == bar(scale, tokens, width=60)


@given(scale=SCALES, tokens=st.none() | SIZES, width=WIDTHS)
def test_it_is_as_wide_as_it_may_be(scale: Scale, tokens: int | None, width: int) -> None:
    assert len(bar(scale, tokens, width=width)) == max(width, 3)


@given(scale=SCALES, tokens=SIZES, more=SIZES, width=WIDTHS)
def test_more_tokens_never_shorten_it(scale: Scale, tokens: int, more: int, width: int) -> None:
    less, most = (bar(scale, number, width=width) for number in (tokens, tokens + more))

    assert less.count("█") <= most.count("█")


@given(scale=SCALES, tokens=SIZES, width=WIDTHS)
def test_a_mark_is_passed_exactly_when_its_point_is_reached(
    scale: Scale, tokens: int, width: int
) -> None:
    drawn = bar(scale, tokens, width=width, is_colored=True)
    plain_from = drawn.find("\x1b[0m")
    assume("X" not in drawn)

    assert (0 <= drawn.find("C") < plain_from) == (tokens > scale.compaction)
    if "F" in drawn:
        assert (drawn.find("F") < plain_from) == (tokens >= scale.flush)


@given(scale=SCALES, tokens=SIZES, width=WIDTHS)
def test_the_end_is_open_only_beyond_the_window(scale: Scale, tokens: int, width: int) -> None:
    assert (">" in bar(scale, tokens, width=width)) == (tokens > scale.window)
