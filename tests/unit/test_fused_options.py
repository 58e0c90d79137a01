"""What the fused ranker shows of a note, and what settings and options change in its list."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ocmem.core import utf16
from ocmem.model import Hit
from tests.cli.program import Program
from tests.unit.notes import Notes

FILLER = "nothing to see in this line, only words that fill it"
BIRDS = {"plain": "heron", "longer": "a heron, and then a few words more about other things"}


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    """Keywords only, until a test brings vectors."""
    notes = Notes(tmp_path)
    notes.without_vectors()
    return notes


@pytest.fixture
def ocmem(tmp_path: Path) -> Program:
    """The program in a home with two notes about herons."""
    program = Program(tmp_path)
    for name, text in BIRDS.items():
        program.note(f"memory/{name}.md", text)
    return program


def long_note(**special: str) -> str:
    """A chunk of 28 lines; `at20="x"` makes x its line 20, counted from 1."""
    lines = [FILLER] * 28
    for name, text in special.items():
        lines[int(name.removeprefix("at")) - 1] = text
    return "\n".join(lines)


# --- the snippet --------------------------------------------------------------------------------


def assert_stands_in(hit: Hit, text: str) -> None:
    lines = text.split("\n")[hit.snippet.start_line - 1 : hit.snippet.end_line]
    assert "\n".join(lines) == hit.snippet.text


def test_the_snippet_is_where_the_words_are_and_says_in_which_lines(notes: Notes) -> None:
    text = long_note(at22="the herons came back")
    notes.keep(birds=text)

    [hit] = notes.hits("heron")

    assert "the herons came back" in hit.snippet.text
    assert (hit.chunk.start_line, hit.chunk.end_line) == (1, 28)
    assert 1 < hit.snippet.start_line <= 22 <= hit.snippet.end_line <= 28
    assert utf16.length(hit.snippet.text) <= 700
    assert_stands_in(hit, text)


def test_a_snippet_in_a_later_chunk_has_the_lines_of_the_file(notes: Notes) -> None:
    text = "\n".join([long_note(), long_note(at22="the herons came back")])
    notes.keep(birds=text)

    hit = notes.hits("heron")[0]

    assert hit.chunk.start_line > 1
    assert hit.snippet.start_line <= 28 + 22 <= hit.snippet.end_line
    assert_stands_in(hit, text)


def test_a_split_line_has_the_lines_of_its_chunk(notes: Notes) -> None:
    notes.keep(birds="word " * 700 + "heron " + "word " * 100)

    [hit] = notes.hits("heron")

    assert "heron" in hit.snippet.text
    assert (hit.snippet.start_line, hit.snippet.end_line) == (1, 1)


def test_a_rare_word_draws_the_snippet_away_from_two_common_ones(notes: Notes) -> None:
    text = long_note(at2="the garden and the tea", at27="the zeppelin")
    others = {f"n{n}": f"the garden and the tea {n}" for n in range(20)}
    notes.keep(mixed=text, **others)

    hits = notes.hits("garden tea zeppelin", max_results=30)

    [mixed] = [hit for hit in hits if hit.chunk.path == "memory/mixed.md"]
    assert "zeppelin" in mixed.snippet.text
    assert "garden" not in mixed.snippet.text


def test_the_top_of_the_chunk_is_shown_where_that_is_wanted(notes: Notes) -> None:
    text = long_note(at22="the herons came back")
    notes.keep(birds=text)

    [hit] = notes.hits("heron", snippet="head")

    assert hit.snippet.text == text[:700]
    assert hit.snippet.start_line == 1


def test_the_other_ranker_shows_the_top_unless_told_otherwise(notes: Notes) -> None:
    text = long_note(at22="one heron came back")
    notes.keep(birds=text)

    [top] = notes.hits("heron", ranker="openclaw")
    [best] = notes.hits("heron", ranker="openclaw", snippet="best")

    assert top.snippet.text == text[:700]
    assert "one heron came back" in best.snippet.text


@pytest.mark.parametrize(("ranker", "shown"), [("fused", "head"), ("openclaw", "best")])
def test_the_own_settings_file_chooses_the_snippet(ocmem: Program, ranker: str, shown: str) -> None:
    ocmem.note("memory/birds.md", long_note(at22="one zeppelin came back"))
    ocmem.configure_own(provider="none", query={"snippet": shown, "ranker": ranker})

    [result] = ocmem("search", "zeppelin", "--json").results

    assert ("zeppelin" in result["snippet"]) == (shown == "best")


# --- the floor ----------------------------------------------------------------------------------


def test_the_reference_scale_has_no_say_in_the_fused_list(notes: Notes) -> None:
    notes.keep(**BIRDS)

    assert notes.found("heron", min_score=1.0) == ["plain", "longer"]
    assert notes.found("heron", fused_min_score=1.0) == ["plain"]


def test_a_score_that_just_reaches_the_floor_is_kept(notes: Notes) -> None:
    notes.keep(**BIRDS)
    lowest = notes.hits("heron")[-1].score

    assert notes.found("heron", fused_min_score=lowest) == ["plain", "longer"]


def test_a_floor_in_openclaws_file_is_for_its_own_ranker_only(ocmem: Program) -> None:
    ocmem.configure_own(provider="builtin")
    ocmem.configure(query={"minScore": 0.99})

    fused = ocmem("search", "heron", "--json", "--ranker", "fused")
    strict = ocmem("search", "heron wings", "--json", "--strict")

    assert len(fused.results) == 2
    assert strict.results == []


def test_a_floor_in_the_own_file_is_for_both_rankers(ocmem: Program) -> None:
    ocmem.configure_own(provider="builtin", query={"minScore": 0.99})

    fused = ocmem("search", "heron", "--json", "--ranker", "fused")
    strict = ocmem("search", "heron wings", "--json", "--strict")

    assert fused.paths == ["memory/plain.md"]
    assert strict.results == []


def test_a_floor_on_the_command_line_is_for_both_rankers_and_beats_the_files(
    ocmem: Program,
) -> None:
    ocmem.configure_own(provider="builtin", query={"minScore": 1.0})

    fused = ocmem("search", "heron wings", "--json", "--ranker", "fused", "--min-score", "0.05")
    strict = ocmem("search", "heron wings", "--json", "--strict", "--min-score", "0.05")
    high = ocmem("search", "heron wings", "--json", "--strict", "--min-score", "0.99")

    assert len(fused.results) == len(strict.results) == 2
    assert high.results == []


def test_a_floor_that_nothing_reaches_is_named_as_it_was_set(notes: Notes) -> None:
    notes.keep(**BIRDS)

    answer = notes.ask("heron", min_score=0.35, fused_min_score=2.0)

    assert answer.why_empty is not None
    assert answer.why_empty.endswith(", below the floor of 2")


# --- weights and candidates ---------------------------------------------------------------------


def test_weights_from_a_settings_file_replace_the_measured_ones(notes: Notes) -> None:
    vectors = {"word": ("heron", 0.1), "meaning": ("a grey bird", 0.9), "x": ("soup", 0.1)}
    notes.with_cosines(vectors, query={"hybrid": {"vectorWeight": 0.9, "textWeight": 0.1}})

    assert notes.scores("heron") == pytest.approx({"meaning": 0.9, "word": 0.1})


def test_configured_weights_do_not_make_up_for_missing_vectors(notes: Notes) -> None:
    notes.without_vectors(query={"hybrid": {"vectorWeight": 0.9, "textWeight": 0.1}})
    notes.keep(**BIRDS)

    assert notes.scores("heron")["plain"] == 1.0


def test_a_configured_multiplier_bounds_the_candidates(notes: Notes) -> None:
    vectors = {f"n{n}": (f"note {n}", n / 10) for n in range(10)}
    notes.with_cosines(vectors, query={"hybrid": {"candidateMultiplier": 2}})

    # Four candidates for two results, and so only three with a score above zero.
    assert notes.scores("zeppelin", max_results=2) == pytest.approx(
        {"n9": 0.4, "n8": 0.4 * 2 / 3}, abs=1e-6
    )


def test_a_configured_multiplier_ends_at_two_hundred(notes: Notes) -> None:
    notes.without_vectors(query={"hybrid": {"candidateMultiplier": 20}})
    notes.keep(**{f"n{n}": f"heron {n}" for n in range(205)})

    assert len(notes.hits("heron", max_results=100)) == 100
    assert len(notes.hits("heron", max_results=500)) == 200


# --- age and variety ----------------------------------------------------------------------------


def test_dated_notes_lose_half_their_score_in_a_half_life_and_others_nothing(
    notes: Notes,
) -> None:
    notes.keep(**dict.fromkeys(["2026-02-01", "2026-02-01-lisbon", "birds"], "heron"))

    found = notes.scores("heron", half_life_days=28.0)

    assert found == pytest.approx({"birds": 1.0, "2026-02-01": 0.5, "2026-02-01-lisbon": 0.5})


def test_age_counts_on_the_fused_score(notes: Notes) -> None:
    notes.with_cosines(
        {"2026-02-01": ("heron", 0.9), "2026-03-01": ("grey bird", 0.8), "x": ("soup", 0.1)}
    )

    now = notes.scores("heron")
    aged = notes.scores("heron", half_life_days=7.0)

    assert list(now) == ["2026-02-01", "2026-03-01"]
    assert aged == pytest.approx({"2026-03-01": now["2026-03-01"], "2026-02-01": 1 / 16})
    assert list(aged) == ["2026-03-01", "2026-02-01"]


@pytest.mark.parametrize(
    ("one", "twin", "other"),
    [
        ("heron on the old pier", "heron on the old pier!", "heron, then soup and bread, for tea"),
        ("회의 안건 정리 서울", "회의 안건 정리 서울!", "회의 말고 국수 먹으러 부산 바다"),
    ],
    ids=["Latin", "Hangul"],
)
def test_variety_is_a_matter_of_words_in_any_script(
    notes: Notes, one: str, twin: str, other: str
) -> None:
    notes.keep(one=one, twin=twin, other=other)
    query = one.split()[0]

    assert notes.found(query) == ["one", "twin", "other"]
    assert notes.found(query, mmr_lambda=0.3) == ["one", "other", "twin"]


def test_variety_changes_the_order_and_not_the_scores(notes: Notes) -> None:
    notes.keep(one="heron on a pier", twin="heron on a pier!", other="heron, soup, bread and tea")

    plain, varied = notes.scores("heron"), notes.scores("heron", mmr_lambda=0.3)

    assert list(plain) != list(varied)
    assert plain == varied


def test_age_and_variety_apply_as_configured(ocmem: Program) -> None:
    ocmem.note("memory/2020-01-01.md", "heron")
    decay = {"enabled": True, "halfLifeDays": 1000}
    mmr = {"enabled": True, "lambda": 0.0}

    ocmem.configure_own(provider="none")
    plain = ocmem("search", "heron", "--json").paths
    ocmem.configure_own(provider="none", query={"hybrid": {"temporalDecay": decay}})
    aged = ocmem("search", "heron", "--json").paths
    ocmem.configure_own(provider="none", query={"hybrid": {"mmr": mmr}})
    varied = ocmem("search", "heron", "--json").paths

    assert plain == ["memory/2020-01-01.md", "memory/plain.md", "memory/longer.md"]
    assert aged == ["memory/plain.md", "memory/longer.md", "memory/2020-01-01.md"]
    assert varied == ["memory/2020-01-01.md", "memory/longer.md", "memory/plain.md"]


# --- the same list every time -------------------------------------------------------------------


def in_one_go(notes: Notes, texts: dict[str, tuple[str, float]]) -> None:
    notes.with_cosines(texts)


def one_by_one(notes: Notes, texts: dict[str, tuple[str, float]]) -> None:
    for name in reversed(texts):
        notes.with_cosines({each: texts[each] for each in texts if each >= name})


@pytest.mark.parametrize("fill", [in_one_go, one_by_one])
def test_equal_scores_stand_in_the_order_of_their_places(
    notes: Notes, fill: Callable[[Notes, dict[str, tuple[str, float]]], None]
) -> None:
    fill(notes, {f"n{n}": ("heron", 0.5) for n in range(8)})

    for _ in range(2):
        assert notes.found("heron", max_results=8) == [f"n{n}" for n in range(8)]
