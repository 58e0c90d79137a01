"""Blend, fuse, decay, diversity: pure functions over candidates."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocmem.core.ranker import Ranked, blend, by_score, decay, diversify, fuse, text_score
from ocmem.model import Candidate, Explanation

WORDS = {
    "a": frozenset({"tag", "build", "sign"}),
    "b": frozenset({"tag", "build", "sign", "ship"}),
    "c": frozenset({"soup", "lemon"}),
}


def ranked(**scores: float) -> list[Ranked]:
    return [Ranked(id, _explained(score)) for id, score in scores.items()]


def scores_of(found: list[Ranked]) -> dict[str, float]:
    return {each.id: each.score for each in found}


def ids_of(found: list[Ranked]) -> list[str]:
    return [each.id for each in found]


def candidates(**raw: float) -> list[Candidate]:
    return [Candidate(id, score) for id, score in raw.items()]


def diverse(found: list[Ranked], balance: float) -> list[str]:
    return ids_of(diversify(found, balance=balance, words=WORDS.__getitem__))


# --- the reference's blend ----------------------------------------------------------------------


@pytest.mark.parametrize("rank", [-12.5, -0.000001, 0.0])
def test_every_keyword_match_scores_one_in_the_reference(rank: float) -> None:
    assert text_score(rank) == 1.0


def test_a_positive_rank_scores_less_and_one_that_is_no_number_next_to_nothing() -> None:
    assert text_score(1.0) == 0.5
    assert text_score(math.nan) == text_score(math.inf) == text_score(-math.inf) == 0.001


def test_blending_weighs_the_plain_cosine_and_a_keyword_score_of_one() -> None:
    found = blend(
        candidates(both=0.5, near=0.8),
        candidates(both=3.0, word=9.0),
        vector_weight=0.7,
        text_weight=0.3,
    )

    assert scores_of(found) == {
        "both": 0.7 * 0.5 + 0.3 * 1.0,
        "near": 0.7 * 0.8,
        "word": 0.3,
    }


def test_blending_keeps_vector_hits_first_and_appends_keyword_hits() -> None:
    found = blend(
        candidates(b=0.2, a=0.1), candidates(c=1.0, a=1.0), vector_weight=0.7, text_weight=0.3
    )

    assert ids_of(found) == ["b", "a", "c"]


# --- the fused ranker ---------------------------------------------------------------------------


def test_cosines_are_spread_between_their_own_extremes() -> None:
    found = fuse(candidates(best=0.9, middle=0.8, last=0.5), [])

    normalized = {each.id: each.explanation.vector_normalized for each in found}
    assert normalized == pytest.approx({"best": 1.0, "middle": 0.75, "last": 0.0})


def test_keyword_scores_are_spread_from_zero_to_the_best() -> None:
    found = fuse([], candidates(best=8.0, half=4.0, last=2.0))

    normalized = {each.id: each.explanation.text_normalized for each in found}
    assert normalized == {"best": 1.0, "half": 0.5, "last": 0.25}


def test_meaning_weighs_four_tenths_and_keywords_six() -> None:
    found = fuse(candidates(near=0.9, far=0.1), candidates(word=5.0, far=2.5))

    assert scores_of(found) == pytest.approx({"near": 0.4, "word": 0.6, "far": 0.3})


def test_a_chunk_that_one_side_did_not_bring_up_gets_nothing_from_it() -> None:
    by_id = {each.id: each for each in fuse(candidates(near=0.9, far=0.1), candidates(word=5.0))}

    assert by_id["word"].explanation.vector_normalized == 0.0
    assert by_id["word"].explanation.vector_score is None
    assert by_id["near"].explanation.text_normalized == 0.0
    assert by_id["near"].explanation.text_rank is None


def test_a_range_of_zero_counts_as_one() -> None:
    same = fuse(candidates(a=0.4, b=0.4), candidates(c=2.0))
    nothing = fuse([], candidates(a=0.0))

    assert scores_of(same) == {"a": 0.4, "b": 0.4, "c": 0.6}
    assert scores_of(nothing) == {"a": 1.0}


def test_without_vectors_the_keywords_count_alone() -> None:
    found = fuse([], candidates(best=8.0, half=4.0))

    assert scores_of(found) == {"best": 1.0, "half": 0.5}
    assert found[0].explanation.vector_weight == 0.0


def test_configured_weights_replace_the_measured_ones() -> None:
    found = fuse(
        candidates(near=0.9, far=0.1), candidates(word=5.0), vector_weight=0.9, text_weight=0.1
    )

    assert scores_of(found) == {"near": 0.9, "far": 0.0, "word": 0.1}


@given(
    st.dictionaries(st.text(max_size=3), st.floats(-1, 1), max_size=8),
    st.dictionaries(st.text(max_size=3), st.floats(0, 50), max_size=8),
)
def test_a_fused_score_lies_between_zero_and_one(
    vector: dict[str, float], text: dict[str, float]
) -> None:
    found = fuse(
        [Candidate(id, raw) for id, raw in vector.items()],
        [Candidate(id, raw) for id, raw in text.items()],
    )

    assert set(ids_of(found)) == vector.keys() | text.keys()
    assert all(0.0 <= each.score <= 1.0 + 1e-12 for each in found)


# --- order --------------------------------------------------------------------------------------


def test_equal_scores_keep_their_order() -> None:
    assert ids_of(by_score(ranked(b=0.5, a=0.5, top=0.9))) == ["top", "b", "a"]


def test_a_tie_break_makes_the_order_independent_of_where_candidates_came_from() -> None:
    found = ranked(b=0.5, c=0.5, a=0.5, top=0.9)

    forwards = by_score(found, lambda each: (each.id,))
    backwards = by_score(reversed(found), lambda each: (each.id,))

    assert ids_of(forwards) == ids_of(backwards) == ["top", "a", "b", "c"]


def test_decay_multiplies_every_score_by_the_factor_of_its_chunk() -> None:
    factors = {"old": 0.25, "evergreen": 1.0}

    found = decay(ranked(old=0.8, evergreen=0.6), factors.__getitem__)

    assert scores_of(found) == {"old": 0.2, "evergreen": 0.6}
    assert [each.explanation.decay for each in found] == [0.25, 1.0]


# --- diversity ----------------------------------------------------------------------------------


def test_a_near_duplicate_steps_back_behind_something_else() -> None:
    found = ranked(a=0.9, b=0.7, c=0.5)

    assert diverse(found, 1.0) == ["a", "b", "c"]
    assert diverse(found, 0.5) == ["a", "c", "b"]


def test_diversity_leaves_the_scores_alone() -> None:
    found = diversify(ranked(a=0.9, b=0.8, c=0.5), balance=0.2, words=WORDS.__getitem__)

    assert scores_of(found) == {"a": 0.9, "b": 0.8, "c": 0.5}


def test_the_balance_is_struck_on_relevance_spread_between_the_extremes() -> None:
    # Of plain scores the likeness of b to a would outweigh the small lead of b over c.
    assert diverse(ranked(a=0.92, b=0.919, c=0.90), 0.55) == ["a", "b", "c"]


def test_likeness_is_to_the_most_similar_of_all_chosen() -> None:
    words = {
        "a": frozenset("xy"),
        "b": frozenset("pq"),
        "like_a": frozenset("xyz"),
        "other": frozenset("rs"),
    }

    found = diversify(
        ranked(a=0.9, b=0.8, like_a=0.7, other=0.6), balance=0.5, words=words.__getitem__
    )

    assert ids_of(found) == ["a", "b", "other", "like_a"]


def test_two_snippets_without_words_count_as_identical_and_one_as_unlike() -> None:
    words = {"a": frozenset[str](), "b": frozenset[str](), "c": frozenset({"word"})}

    found = diversify(ranked(a=0.9, b=0.8, c=0.5), balance=0.5, words=words.__getitem__)

    assert ids_of(found) == ["a", "c", "b"]


def test_equal_scores_are_all_fully_relevant_and_the_earlier_one_wins() -> None:
    assert diverse(ranked(b=0.5, a=0.5, c=0.5), 0.5) == ["b", "c", "a"]


def test_a_tie_goes_to_the_higher_score() -> None:
    words = {id: frozenset({id}) for id in "abc"}

    found = diversify(ranked(c=0.1, a=0.9, b=0.5), balance=0.0, words=words.__getitem__)

    assert ids_of(found) == ["a", "b", "c"]


def test_nothing_and_a_single_hit_stay_as_they_are() -> None:
    assert diverse([], 0.5) == []
    assert diverse(ranked(a=0.3), 0.5) == ["a"]


def _explained(final: float) -> Explanation:
    return Explanation(
        vector_score=None,
        vector_rank=None,
        vector_normalized=0.0,
        vector_weight=0.0,
        text_score=final,
        text_rank=1,
        text_normalized=final,
        text_weight=1.0,
        decay=1.0,
        final=final,
    )
