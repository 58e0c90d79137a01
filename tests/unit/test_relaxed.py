"""The openclaw ranker fills its free places, without touching the reference's own list."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ocmem.core.store import Connection
from ocmem.model import Hit
from tests.cli.program import Program
from tests.fake_provider import FakeProvider
from tests.unit.notes import Blind, Cosines, Notes, names

FLOOR = 0.35
# Asked for "heron": both sides, meaning alone, the word alone, another form of it, and nothing.
BIRDS = {
    "both": ("a heron", 0.8),
    "meaning": ("a grey bird", 0.6),
    "word": ("no heron", 0.05),
    "form": ("herons, a few of them", 0.01),
    "soup": ("lentil soup", 0.0),
}


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(tmp_path)


def keep(notes: Notes, table: Mapping[str, tuple[str, float]], **settings: Any) -> None:  # noqa: ANN401
    """Index notes on the shared file, with vectors as the table says."""
    notes.configure(**settings)
    notes.embedder = Cosines(dict(table.values()))
    notes.keep(**{name: text for name, (text, _) in table.items()})


def ask(notes: Notes, query: str, **changes: Any) -> list[Hit]:  # noqa: ANN401
    return notes.hits(query, ranker="openclaw", **changes)


def relaxed(hits: list[Hit]) -> list[Hit]:
    return [hit for hit in hits if hit.relaxed]


def scores(hits: list[Hit]) -> list[float]:
    return [hit.score for hit in hits]


# --- the list -----------------------------------------------------------------------------------


def test_the_exact_list_comes_first_and_free_places_are_filled(notes: Notes) -> None:
    keep(notes, BIRDS)

    hits = ask(notes, "heron")

    assert [(name, hit.relaxed) for name, hit in zip(names(hits), hits, strict=True)] == [
        ("both", False),
        ("meaning", False),
        ("word", True),
        ("form", True),
    ]


def test_strict_is_exactly_the_exact_list(notes: Notes) -> None:
    keep(notes, BIRDS)

    filled, strict = ask(notes, "heron"), ask(notes, "heron", strict=True)

    assert strict == filled[:2]
    assert names(strict) == ["both", "meaning"]


def test_only_free_places_are_filled(notes: Notes) -> None:
    keep(notes, BIRDS)

    for places, expected in [
        (1, ["both"]),
        (2, ["both", "meaning"]),
        (3, ["both", "meaning", "word"]),
    ]:
        assert names(ask(notes, "heron", max_results=places)) == expected


def test_places_go_to_the_best_of_the_fused_list(notes: Notes) -> None:
    keep(notes, {**BIRDS, "near": ("some other bird", 0.45)})

    # By the reference's score the other bird is next, but a name that was asked for must be found.
    [filled] = relaxed(ask(notes, "heron", max_results=3))

    assert names([filled]) == ["word"]


def test_what_does_not_score_in_the_fused_list_fills_nothing(notes: Notes) -> None:
    keep(notes, BIRDS)

    assert "soup" not in names(ask(notes, "heron", max_results=50))


def test_a_name_that_the_reference_misses_is_found(notes: Notes) -> None:
    keep(notes, {"yuki": ("Yuki Tanaka, Kyoto", 0.01), "soup": ("lentil soup", 0.2)})

    assert ask(notes, "Yuki", strict=True) == []
    assert names(ask(notes, "Yuki", max_results=1)) == ["yuki"]


# --- the scores ---------------------------------------------------------------------------------


def test_a_filled_place_has_the_score_of_the_reference(notes: Notes) -> None:
    keep(notes, BIRDS)

    by_name = {names([hit])[0]: hit.score for hit in relaxed(ask(notes, "heron"))}

    assert by_name == pytest.approx({"word": 0.7 * 0.05 + 0.3, "form": 0.7 * 0.01}, abs=1e-6)


def test_filled_places_have_the_scores_that_a_lower_floor_would_show(notes: Notes) -> None:
    keep(notes, BIRDS)

    everything = dict(
        zip(
            names(all_hits := ask(notes, "heron", min_score=-1.0, strict=True)),
            scores(all_hits),
            strict=True,
        )
    )

    for hit in relaxed(ask(notes, "heron")):
        assert hit.score == everything[names([hit])[0]]


def test_filled_places_lie_below_the_floor_and_the_list_is_in_order(notes: Notes) -> None:
    # In the fused list the word comes before the bird, by these scores it is the other way round.
    keep(notes, {**BIRDS, "near": ("some other bird", 0.49)})

    hits = ask(notes, "heron", min_score=FLOOR)

    assert len(relaxed(hits)) == 3
    assert all(hit.score < FLOOR for hit in relaxed(hits))
    assert scores(hits) == sorted(scores(hits), reverse=True)


def test_filled_places_stay_below_the_floor_when_there_are_more_notes_than_candidates(
    notes: Notes,
) -> None:
    # With six results the reference looks at 24 of each side. Here the nearest 24 lack the word,
    # and 40 have the word but are not among the nearest: it scores all of them below the floor.
    near = {f"near{n}": (f"bird {n}", 0.47 + n / 1000) for n in range(24)}
    worded = {f"word{n}": (f"heron {n}", 0.40 + n / 1000) for n in range(40)}
    keep(notes, {**near, **worded, "top": ("the best of birds", 0.51)})

    hits = ask(notes, "heron")

    assert names(hits)[0] == "top"
    assert len(relaxed(hits)) == 5
    assert all(hit.score < FLOOR for hit in relaxed(hits))
    assert scores(hits) == sorted(scores(hits), reverse=True)


@pytest.mark.parametrize(
    "vector",
    [{}, {"enabled": False}, {"extensionPath": "/nowhere/vec0"}],
    ids=["vector table", "switched off", "no extension"],
)
def test_a_note_that_is_no_candidate_there_scores_its_meaning_at_its_weight(
    notes: Notes, vector: dict[str, Any]
) -> None:
    # The word in another form is no match to the reference, and for one result it looks at no
    # more than four notes by meaning.
    near = {f"near{n}": (f"bird {n}", 0.4 + n / 1000) for n in range(4)}
    keep(notes, {**near, "2026-02-01": ("herons", 0.3)}, store={"vector": vector})

    now = ask(notes, "heron", max_results=1)
    aged = ask(notes, "heron", max_results=1, half_life_days=56.0)

    assert names(now) == names(aged) == ["2026-02-01"]
    assert (now[0].score, aged[0].score) == pytest.approx((0.21, 0.21 / math.sqrt(2)), abs=1e-6)
    assert now[0].explanation.vector_rank is None


def test_a_note_without_meaning_scores_its_word_alone_at_the_words_weight(notes: Notes) -> None:
    keep(notes, {"both": ("a heron", 0.8)})
    notes.embedder = Nothing({})
    notes.keep(blank="heron")

    hits = ask(notes, "heron")

    assert names(hits) == ["both", "blank"]
    assert hits[1].score == pytest.approx(0.3)


@pytest.mark.parametrize(
    "store",
    [{"vector": {"enabled": False}}, {"vector": {"extensionPath": "/nowhere/vec0"}}],
    ids=["switched off", "no extension"],
)
def test_without_the_vector_table_the_scores_are_those_of_the_stored_vectors(
    notes: Notes, store: dict[str, Any]
) -> None:
    keep(notes, BIRDS, store=store)

    hits = ask(notes, "heron")

    assert names(hits) == ["both", "meaning", "word", "form"]
    assert scores(hits) == pytest.approx(
        [0.7 * 0.8 + 0.3, 0.7 * 0.6, 0.7 * 0.05 + 0.3, 0.7 * 0.01], abs=1e-6
    )


def test_without_hybrid_a_filled_place_has_its_cosine(notes: Notes) -> None:
    keep(notes, BIRDS, query={"hybrid": {"enabled": False}})

    hits = ask(notes, "heron")

    assert names(hits) == ["both", "meaning", "word", "form"]
    assert scores(hits) == pytest.approx([0.8, 0.6, 0.05, 0.01], abs=1e-6)


def test_age_counts_in_filled_places_as_in_the_reference(notes: Notes) -> None:
    keep(notes, {"2026-02-01": ("heron", 0.2), "2026-02-01-slug": ("heron!", 0.2)})

    hits = ask(notes, "heron", min_score=0.9, half_life_days=28.0)

    # A date with more behind it is evergreen there.
    assert all(hit.relaxed for hit in hits)
    assert names(hits) == ["2026-02-01-slug", "2026-02-01"]
    assert scores(hits) == pytest.approx([0.44, 0.22], abs=1e-6)


# --- without usable vectors ---------------------------------------------------------------------


class Nothing(Cosines):
    """A provider that gives every text the zero vector."""

    def vector(self, text: str) -> list[float]:
        return [0.0, 0.0]


def test_without_usable_vectors_the_words_count_alone(notes: Notes) -> None:
    keep(notes, BIRDS)
    notes.embedder = Blind()

    hits = ask(notes, "heron")

    assert [(name, hit.relaxed) for name, hit in zip(names(hits), hits, strict=True)] == [
        ("both", False),
        ("word", False),
        ("form", True),
    ]
    assert scores(hits) == [1.0, 1.0, 0.0]


def test_strict_keeps_the_words_at_their_weight_even_without_vectors(notes: Notes) -> None:
    keep(notes, BIRDS)
    notes.embedder = Blind()

    assert ask(notes, "heron", strict=True) == []
    assert scores(ask(notes, "heron", strict=True, min_score=0.0)) == [0.3, 0.3]


def test_an_index_of_another_model_is_answered_by_words_alone(notes: Notes) -> None:
    keep(notes, BIRDS)
    notes.configure(model="another")

    answer = notes.ask("heron", ranker="openclaw")

    assert answer.mode == "fts-only"
    assert answer.degraded is not None
    assert [(name, hit.score) for name, hit in zip(names(answer.hits), answer.hits, strict=True)][
        :2
    ] == [("both", 1.0), ("word", 1.0)]


# --- on the command line ------------------------------------------------------------------------


def test_json_marks_filled_places_and_no_others(tmp_path: Path) -> None:
    with FakeProvider(dims=64, mode="unit") as fake:
        ocmem = Program(tmp_path)
        ocmem.use(fake)
        for name, (text, _) in BIRDS.items():
            ocmem.note(f"memory/{name}.md", text)
        filled = ocmem("search", "heron grey", "--json")
        strict = ocmem("search", "heron grey", "--json", "--strict")

    marks = [result.get("relaxed", False) for result in filled.results]
    assert filled.json["ranker"] == "openclaw"
    assert True in marks
    assert marks == sorted(marks)
    assert strict.results == [result for result in filled.results if "relaxed" not in result]


def test_a_search_leaves_the_reference_tables_as_they_were(notes: Notes) -> None:
    keep(notes, BIRDS)
    with Connection(notes.index_path, "read") as db:
        before = db.rows("SELECT * FROM chunks ORDER BY id")

    ask(notes, "heron")

    with Connection(notes.index_path, "read") as db:
        assert db.rows("SELECT * FROM chunks ORDER BY id") == before
