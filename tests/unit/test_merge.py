"""Hits of several indexes become comparable."""

from dataclasses import replace

import pytest

from ocmem.core.merge import Evidence, Yardstick, rescored
from ocmem.model import ChunkRow, Explanation, Hit, Snippet

PLAIN = Explanation(
    vector_score=None,
    vector_rank=None,
    vector_normalized=0.0,
    vector_weight=0.4,
    text_score=1.0,
    text_rank=1,
    text_normalized=1.0,
    text_weight=0.6,
    decay=1.0,
    final=1.0,
)


def hit(*, cosine: float | None = None, decay: float = 1.0) -> Hit:
    chunk = ChunkRow("id", "MEMORY.md", "memory", 1, 1, "hash", "model", "text")
    explanation = replace(PLAIN, vector_score=cosine, decay=decay)
    return Hit(chunk, 1.0, Snippet("text", 1, 1), explanation)


def yardstick(
    *,
    chunks: int = 10,
    found_in: dict[str, int] | None = None,
    span: tuple[float, float] | None = None,
    model: str = "model",
) -> Yardstick:
    low, high = span or (None, None)
    return Yardstick(model, chunks, found_in or {}, low, high)


def scores(*found: tuple[Yardstick, list[tuple[Hit, Evidence]]]) -> list[list[float]]:
    return [[each.score for each in hits] for hits in rescored(found)]


def test_a_chunk_with_more_of_the_query_wins_whatever_its_own_index_thinks() -> None:
    stems = {"tea": 1, "kyoto": 1}
    both = (yardstick(found_in=stems), [(hit(), Evidence({"tea": 1, "kyoto": 1}, 10))])
    one = (yardstick(found_in=stems), [(hit(), Evidence({"tea": 1, "kyoto": 0}, 10))])

    ((better,), (worse,)) = scores(both, one)

    assert better == pytest.approx(0.6)
    assert worse == pytest.approx(0.3)


def test_a_word_weighs_by_how_rare_it_is_in_all_indexes_together() -> None:
    # In its own small index "tea" is rare; in the other one it is everywhere.
    small = yardstick(chunks=5, found_in={"tea": 1, "kyoto": 0})
    large = yardstick(chunks=100, found_in={"tea": 90, "kyoto": 2})

    ((tea,), (kyoto,)) = scores(
        (small, [(hit(), Evidence({"tea": 1, "kyoto": 0}, 10))]),
        (large, [(hit(), Evidence({"tea": 0, "kyoto": 1}, 10))]),
    )

    assert kyoto == pytest.approx(0.6)
    assert tea < 0.1


def test_cosines_are_spread_between_the_extremes_of_all() -> None:
    nothing = Evidence({}, 10)

    ((near,), (far, middle)) = scores(
        (yardstick(span=(0.5, 0.9)), [(hit(cosine=0.9), nothing)]),
        (yardstick(span=(0.1, 0.5)), [(hit(cosine=0.1), nothing), (hit(cosine=0.5), nothing)]),
    )

    assert near == pytest.approx(0.4)
    assert far == 0.0
    assert middle == pytest.approx(0.2)


def test_cosines_of_different_models_are_not_compared() -> None:
    nothing = Evidence({}, 10)

    ((one,), (other,)) = scores(
        (yardstick(span=(0.1, 0.2), model="one"), [(hit(cosine=0.2), nothing)]),
        (yardstick(span=(0.7, 0.9), model="other"), [(hit(cosine=0.9), nothing)]),
    )

    assert one == other == pytest.approx(0.4)


def test_decay_stays_in_force() -> None:
    found = (yardstick(found_in={"tea": 1}), [(hit(decay=0.5), Evidence({"tea": 1}, 10))])

    assert scores(found) == [[pytest.approx(0.3)]]


def test_nothing_found_anywhere_is_nothing() -> None:
    assert rescored([(yardstick(), []), (yardstick(), [])]) == [[], []]
