"""How old a note is, and what its score loses by it."""

import math
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocmem.core.decay import age_days, decayed

NOW_MS = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp() * 1000
DAY_MS = 86_400_000
TEN_DAYS_AGO = NOW_MS - 10 * DAY_MS


def age_of(
    path: str,
    source: str = "memory",
    *,
    mtime_ms: Callable[[str], float | None] = lambda path: TEN_DAYS_AGO,
    with_slugs: bool = False,
) -> float | None:
    return age_days(path, source, now_ms=NOW_MS, mtime_ms=mtime_ms, with_slugs=with_slugs)


def test_a_score_halves_with_every_half_life() -> None:
    assert decayed(0.8, age_days=30, half_life_days=30) == pytest.approx(0.4)
    assert decayed(0.8, age_days=60, half_life_days=30) == pytest.approx(0.2)
    assert decayed(0.8, age_days=7, half_life_days=7) == pytest.approx(0.4)


def test_the_decay_is_the_reference_formula_to_the_last_digit() -> None:
    expected = 0.7 * math.exp(-(math.log(2) / 30) * 14.5)

    assert decayed(0.7, age_days=14.5, half_life_days=30) == expected


@given(age=st.floats(0, 1e4), extra=st.floats(0, 1e4))
def test_an_older_note_never_outscores_its_younger_twin(age: float, extra: float) -> None:
    young, old = (decayed(1.0, age_days=days, half_life_days=30) for days in (age, age + extra))

    assert old <= young


def test_a_dated_note_ages_from_midnight_utc_of_its_date() -> None:
    assert age_of("memory/2026-02-01.md") == 28.5
    assert age_of("memory/2026-03-01.md") == 0.5


def test_a_note_from_the_future_has_no_age() -> None:
    assert age_of("memory/2026-03-05.md") == 0.0
    assert age_of("../x.md", mtime_ms=lambda path: NOW_MS + DAY_MS) == 0.0
    assert decayed(0.5, age_days=-3, half_life_days=30) == 0.5


@pytest.mark.parametrize(
    "path", ["MEMORY.md", "memory.md", "memory/projects.md", "memory/a/b.md", "./MEMORY.md"]
)
def test_undated_memory_is_evergreen(path: str) -> None:
    assert age_of(path) is None


@pytest.mark.parametrize(
    ("path", "age"),
    [
        ("memory/sub/2026-02-01.md", None),  # the date must sit directly in a folder `memory`
        ("memory/memory/2026-02-02.md", 27.5),
        ("memory/2026-13-01.md", 10.0),  # no such month, and not evergreen either
        ("../extra/o.md", 10.0),
        ("../extra/memory/2026-02-01.md", 28.5),
    ],
)
def test_the_measured_examples_age_as_in_the_reference(path: str, age: float | None) -> None:
    assert age_of(path) == age


def test_a_transcript_whose_path_does_not_resolve_never_ages() -> None:
    assert age_of("sessions/a.jsonl", "sessions", mtime_ms=lambda path: None) is None


def test_a_file_that_cannot_be_looked_at_never_ages() -> None:
    assert age_of("../extra/o.md", mtime_ms=lambda path: None) is None


def test_evergreen_is_a_privilege_of_the_source_memory() -> None:
    assert age_of("memory/plan.md", "sessions") == 10.0


def test_a_date_that_does_not_exist_is_no_date() -> None:
    assert age_of("memory/2026-02-30.md") == 10.0
    assert age_of("memory/2024-02-29.md") == 731.5


@pytest.mark.parametrize("year", ["0000", "0001", "0099"])
def test_years_below_one_hundred_are_no_dates(year: str) -> None:
    assert age_of(f"memory/{year}-01-01.md") == 10.0


def test_backslashes_and_one_leading_dot_slash_do_not_hide_a_date() -> None:
    assert age_of("memory\\2026-02-01.md") == 28.5
    assert age_of("./memory/2026-02-01.md") == 28.5


def test_the_date_must_be_the_end_of_the_path() -> None:
    assert age_of("memory/2026-02-01.md/x.md") is None
    assert age_of("memory/2026-02-01.md\n") is None


def test_the_folder_must_be_named_memory_and_nothing_longer() -> None:
    assert age_of("docs/mymemory/2026-02-01.md") == 10.0


def test_a_date_with_a_slug_is_evergreen_in_the_reference_and_dated_in_the_fused_ranker() -> None:
    path = "memory/2026-02-01-lisbon-trip.md"

    assert age_of(path) is None
    assert age_of(path, with_slugs=True) == 28.5
    assert age_of("memory/2026-02-01.md", with_slugs=True) == 28.5
    assert age_of("memory/2026-02-01x.md", with_slugs=True) is None
    assert age_of("memory/2026-02-01-a/b.md", with_slugs=True) is None
