"""When the flush is due, and the first reason why not."""

import math
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocmem.core import flush
from ocmem.core.flush import Limits, Reason, Turn, Window

SIZES = st.integers(0, 2_000_000)
TURNS = st.builds(
    Turn,
    tokens=st.none() | SIZES,
    is_enabled=st.booleans(),
    is_writable=st.booleans(),
    is_heartbeat=st.booleans(),
    is_cli=st.booleans(),
    is_fresh=st.booleans(),
    compactions=st.integers(0, 3),
    flushed_in_cycle=st.none() | st.integers(0, 3),
)
LIMITS = st.builds(
    Limits,
    window=st.integers(1, 2_000_000),
    reserve_floor=SIZES,
    soft_threshold=SIZES,
    runtime_reserve=SIZES,
)


def limits(window: int = 200_000, **changes: int) -> Limits:
    default = Limits(window, reserve_floor=20_000, soft_threshold=4_000, runtime_reserve=16_384)
    return replace(default, **changes)


@pytest.mark.parametrize(
    ("window", "threshold"),
    [
        (8192, 0),
        (16_384, 0),
        (24_000, 0),
        (24_001, 1),
        (32_768, 8768),
        (64_000, 40_000),
        (128_000, 104_000),
        (200_000, 176_000),
        (1_000_000, 976_000),
        (1_048_576, 1_024_576),
    ],
)
def test_the_threshold_of_common_windows(window: int, threshold: int) -> None:
    assert limits(window).threshold == threshold


def test_with_the_defaults_the_flush_lies_4000_tokens_before_the_compaction() -> None:
    assert (limits().compaction_point, limits().room) == (180_000, 4000)


@pytest.mark.parametrize(
    ("runtime_reserve", "reserve_floor", "point"),
    [(16_384, 20_000, 180_000), (16_384, 0, 183_616), (50_000, 20_000, 150_000), (0, 0, 200_000)],
)
def test_compaction_keeps_the_larger_reserve(
    runtime_reserve: int, reserve_floor: int, point: int
) -> None:
    found = limits(runtime_reserve=runtime_reserve, reserve_floor=reserve_floor)

    assert found.compaction_point == point


@given(
    window=st.floats(-10, 3e6), reserve=st.floats(-10, 3e6), soft=st.floats(-10, 3e6), tokens=SIZES
)
def test_a_flush_is_due_exactly_when_the_formula_says_so(
    window: float, reserve: float, soft: float, tokens: int
) -> None:
    window_n = max(1, math.floor(window))
    reserve_n, soft_n = max(0, math.floor(reserve)), max(0, math.floor(soft))
    threshold = max(0, window_n - reserve_n - soft_n)

    found = Limits(window_n, reserve_n, soft_n, runtime_reserve=16_384)
    reasons = flush.reasons(found, Turn(tokens=tokens, compactions=1, flushed_in_cycle=0))

    assert found.threshold == threshold
    assert (reasons == ("would-flush",)) == (threshold > 0 and tokens > 0 and tokens >= threshold)


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [(1, "below-threshold"), (175_999, "below-threshold"), (176_000, "would-flush")],
)
def test_the_threshold_itself_is_enough(tokens: int, reason: str) -> None:
    assert flush.reasons(limits(), Turn(tokens=tokens)) == (reason,)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"is_enabled": False}, "disabled"),
        ({"is_writable": False}, "workspace-not-writable"),
        ({"is_heartbeat": True}, "heartbeat"),
        ({"is_cli": True}, "cli-provider"),
        ({"tokens": None}, "tokens-unknown"),
        ({"tokens": 0}, "tokens-unknown"),
        ({"is_fresh": False}, "tokens-stale"),
        ({"tokens": 175_999}, "below-threshold"),
        ({"compactions": 1, "flushed_in_cycle": 1}, "already-flushed"),
        ({"compactions": 0, "flushed_in_cycle": 0}, "already-flushed"),
        ({"compactions": 1, "flushed_in_cycle": 0}, "would-flush"),
        ({"compactions": 0, "flushed_in_cycle": None}, "would-flush"),
    ],
)
def test_each_condition_alone_is_the_reason(changes: dict[str, int | None], reason: str) -> None:
    turn = replace(Turn(tokens=178_000), **changes)  # type: ignore[arg-type]

    assert flush.reasons(limits(), turn) == (reason,)


def test_a_window_too_small_is_a_reason_by_itself() -> None:
    assert flush.reasons(limits(24_000), Turn(tokens=23_000)) == ("threshold-zero",)


def test_all_conditions_are_told_in_the_order_in_which_they_are_asked() -> None:
    turn = Turn(
        tokens=1,
        is_enabled=False,
        is_writable=False,
        is_heartbeat=True,
        is_cli=True,
        flushed_in_cycle=0,
    )

    assert flush.reasons(limits(), turn) == (
        "disabled",
        "workspace-not-writable",
        "heartbeat",
        "cli-provider",
        "below-threshold",
        "already-flushed",
    )
    assert flush.reasons(limits(), replace(turn, tokens=None))[4:] == (
        "tokens-unknown",
        "already-flushed",
    )
    assert flush.reasons(limits(1), replace(turn, is_fresh=False))[4:] == (
        "tokens-stale",
        "threshold-zero",
        "already-flushed",
    )


@given(found=LIMITS, turn=TURNS)
def test_a_flush_is_due_only_if_nothing_stands_in_its_way(found: Limits, turn: Turn) -> None:
    reasons = flush.reasons(found, turn)

    order = get_args(Reason)
    assert list(reasons) == sorted(reasons, key=order.index)
    assert ("would-flush" in reasons) == (
        turn.is_enabled
        and turn.is_writable
        and not turn.is_heartbeat
        and not turn.is_cli
        and turn.is_fresh
        and bool(turn.tokens)
        and found.threshold > 0
        and (turn.tokens or 0) >= found.threshold
        and turn.flushed_in_cycle != turn.compactions
    )


@given(found=LIMITS, turn=TURNS, more=SIZES)
def test_more_tokens_never_call_a_flush_off(found: Limits, turn: Turn, more: int) -> None:
    if flush.reasons(found, turn) == ("would-flush",):
        grown = replace(turn, tokens=(turn.tokens or 0) + more)
        assert flush.reasons(found, grown) == ("would-flush",)


def test_good_settings_are_not_warned_of() -> None:
    assert flush.warnings(limits(), is_enabled=True) == []


@pytest.mark.parametrize(
    ("found", "is_enabled", "text"),
    [
        (limits(), False, "switched off"),
        (limits(24_000), True, "a window of 24000 never flushes: 20000 + 4000 tokens"),
        (limits(runtime_reserve=24_001), True, "compaction comes first: at 175999, 1 tokens"),
        (limits(runtime_reserve=50_000), True, "reserveTokens (50000) is higher than"),
        (limits(runtime_reserve=24_000), True, "coincide at 176000"),
        (limits(soft_threshold=0), True, "coincide at 180000"),
    ],
)
def test_settings_that_cannot_work_are_told(found: Limits, is_enabled: bool, text: str) -> None:
    (warning,) = flush.warnings(found, is_enabled=is_enabled)

    assert text in warning


@given(found=LIMITS)
def test_a_flush_behind_the_compaction_is_always_told(found: Limits) -> None:
    told = " ".join(flush.warnings(found, is_enabled=True))

    assert ("never flushes" in told) == (found.threshold == 0)
    assert ("comes first" in told) == (found.threshold > max(found.compaction_point, 0))
    assert ("coincide" in told) == (found.threshold == found.compaction_point > 0)


@pytest.mark.parametrize(
    ("known", "window"),
    [
        ({"asked": 5}, Window(5, "argument")),
        ({}, Window(64_000, "model-catalogue")),
        ({"model": "other"}, Window(100_000, "config")),
        ({"model": None}, Window(100_000, "config")),
        ({"model": None, "configured": None}, Window(150_000, "session-entry")),
        ({"model": None, "configured": None, "stored": None}, Window(200_000, "default")),
        ({"model": "twice"}, Window(32_000, "model-catalogue", (64_000,))),
        ({"model": "same"}, Window(8000, "model-catalogue")),
    ],
)
def test_the_window_is_the_first_that_somebody_knows(
    known: dict[str, object], window: Window
) -> None:
    everything: dict[str, object] = {
        "asked": None,
        "model": "m",
        "windows": {"m": [64_000], "twice": [64_000, 32_000, 64_000], "same": [8000, 8000]},
        "configured": 100_000,
        "stored": 150_000,
    }

    assert flush.window_of(**everything | known) == window  # type: ignore[arg-type]
