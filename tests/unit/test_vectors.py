"""Nearest vectors: whichever way they are looked for, the list and the scores are the same."""

import json
import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocmem.core import embedding, sql
from ocmem.core.store import derived, vectors
from ocmem.model import Vector
from tests.fake_provider.vectors import unit
from tests.unit.shelf import BOTH, Shelf, noise

# --- the short way ------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 6, 24, 200, 350])
def test_the_short_way_gives_the_list_and_the_scores_of_a_scan(shelf: Shelf, limit: int) -> None:
    shelf.put(noise(1, 300, 16))

    for query in noise(2, 10, 16):
        assert shelf.by_knn(query, limit) == shelf.by_scan(query, limit)
        assert shelf.nearest(query, limit) == shelf.by_scan(query, limit)


@pytest.mark.parametrize("which", [{"sources": ("memory",)}, {"sources": BOTH}, {"model": "old"}])
def test_the_short_way_looks_only_at_the_sources_and_the_model_asked_for(
    shelf: Shelf, which: dict[str, Any]
) -> None:
    stored = noise(3, 400, 8)
    shelf.put(stored[:40])
    shelf.put(stored[40:200], source="sessions")
    shelf.put(stored[200:], model="old")

    for query in noise(4, 5, 8):
        found = shelf.by_knn(query, 30, **which)

        assert found is not None
        assert len(found) == 30
        assert found == shelf.by_scan(query, 30, **which)


def test_equal_vectors_come_in_the_order_of_their_rows(shelf: Shelf) -> None:
    twins, others = noise(5, 2, 8), noise(6, 20, 8)
    ids = shelf.put([twins[0], *others, twins[0], twins[1], twins[0]])

    found = shelf.by_knn(twins[0], 5)

    assert found is not None
    assert [candidate.id for candidate in found[:3]] == [ids[0], ids[21], ids[23]]
    assert found == shelf.by_scan(twins[0], 5)


@pytest.mark.parametrize("limit", [1, 5, 50])
def test_a_cut_through_equal_vectors_is_made_where_the_scan_makes_it(
    shelf: Shelf, limit: int
) -> None:
    query, twin = noise(7, 2, 8)
    shelf.put([twin] * 60)

    assert shelf.by_knn(query, limit) == shelf.by_scan(query, limit)


def test_more_neighbours_are_asked_for_until_none_can_be_missing(shelf: Shelf) -> None:
    # All but equally far, but of lengths that differ by a hair: the nearest by distance are those
    # that are shortest, and have nothing to do with the nearest by angle.
    chance = random.Random(8)
    query = [1.0, 0.0, 0.0, 0.0]
    stored = []
    for _ in range(500):
        length = 1 + chance.uniform(-9e-6, 9e-6)
        around = unit([chance.uniform(-2e-6, 2e-6), *(chance.gauss(0, 1) for _ in range(3))])
        stored.append([length * x for x in around])
    shelf.put(stored)
    straight = shelf.db.rows(sql.KNN, {"query": embedding.float32_blob(query), "k": 10 + 32})

    found = shelf.by_knn(query, 10)

    assert found is not None
    assert found == shelf.by_scan(query, 10)
    assert not {c.id for c in found} <= {id for id, *_ in straight}


def test_a_vector_that_is_a_hair_too_long_is_not_overlooked(shelf: Shelf) -> None:
    # The last one is nearest by angle, but by distance there are forty before it.
    others = [(-5e-8 * at, 1.0, at / 10) for at in range(40)]
    stored = [
        [length * near, length * math.cos(turn), length * math.sin(turn)]
        for near, length, turn in [*others, (2e-6, 1 + 9e-6, 5.0)]
    ]
    ids = shelf.put(stored)

    found = shelf.by_knn([1.0, 0.0, 0.0], 1)

    assert found == shelf.by_scan([1.0, 0.0, 0.0], 1)
    assert found is not None
    assert found[0].id == ids[-1]


def test_beyond_the_most_neighbours_there_can_be_every_vector_is_scanned(shelf: Shelf) -> None:
    query, twin = noise(9, 2, 4)
    shelf.put([twin] * 4200)

    assert shelf.by_knn(query, 10) is None
    assert shelf.nearest(query, 10) == shelf.by_scan(query, 10)


def test_a_vector_whose_chunk_is_gone_takes_no_place(shelf: Shelf) -> None:
    stored = noise(10, 100, 8)
    ids = shelf.put(stored)
    shelf.by_knn(stored[0], 1)
    # As another program leaves it when its vector table is switched off.
    shelf.db.run("DELETE FROM chunks WHERE id < :id", {"id": sorted(ids)[80]})

    for query in (stored[0], *noise(11, 5, 8)):
        found = shelf.by_knn(query, 10)

        assert found is not None
        assert len(found) == 10
        assert found == shelf.by_scan(query, 10)


@pytest.mark.parametrize("statement", [sql.KNN, sql.KNN_AMONG])
def test_the_neighbours_are_looked_for_once_and_not_for_every_row(
    shelf: Shelf, statement: str
) -> None:
    [query] = noise(28, 1, 8)
    shelf.put([query])
    derived.refresh(shelf.db)
    bound = {"query": embedding.float32_blob(query), "k": 3, "model": "m", "sources": "[]"}

    plan = shelf.db.rows(f"EXPLAIN QUERY PLAN {statement}", bound)

    assert "MATERIALIZE nearest" in [detail for *_, detail in plan]


# --- where it would be wrong --------------------------------------------------------------------


def test_one_vector_of_another_length_is_enough_for_a_scan(shelf: Shelf) -> None:
    shelf.put(noise(12, 50, 8))
    shelf.put(noise(13, 1, 8, length=1.001))
    [query] = noise(14, 1, 8)

    assert shelf.by_knn(query, 10) is None
    assert shelf.nearest(query, 10) == shelf.by_scan(query, 10)


def test_a_vector_that_replaced_another_under_its_id_is_measured_again(shelf: Shelf) -> None:
    stored, query = noise(29, 20, 8), noise(30, 1, 8)[0]
    shelf.put(stored)
    assert shelf.by_knn(query, 5) is not None

    shelf.size = 0
    shelf.put([[3 * x for x in stored[0]], *stored[1:]])

    assert shelf.by_knn(query, 5) is None
    assert shelf.nearest(query, 5) == shelf.by_scan(query, 5)


def test_a_vector_that_was_put_back_by_a_repair_is_measured_again(shelf: Shelf) -> None:
    stored, query = noise(31, 20, 8), noise(32, 1, 8)[0]
    ids = shelf.put(stored)
    assert shelf.by_knn(query, 5) is not None
    shelf.db.run("DELETE FROM chunks_vec WHERE id = :id", {"id": ids[0]})
    longer = json.dumps([3 * x for x in stored[0]])
    shelf.db.run("UPDATE chunks SET embedding = :v WHERE id = :id", {"v": longer, "id": ids[0]})

    derived.repair(shelf.db, with_fts=False, thorough=True)

    assert shelf.by_knn(query, 5) is None
    assert shelf.nearest(query, 5) == shelf.by_scan(query, 5)


def test_vectors_that_were_never_measured_are_not_left_to_knn(shelf: Shelf) -> None:
    shelf.put(noise(33, 20, 8, length=None))
    [query] = noise(34, 1, 8)
    derived.refresh(shelf.bare)  # which cannot measure

    unmeasured = vectors._by_knn(
        shelf.db, embedding.float32_blob(query), limit=5, model="m", sources=BOTH
    )

    assert unmeasured is None


def test_vectors_are_measured_by_the_first_who_can(shelf: Shelf) -> None:
    shelf.put(noise(35, 20, 8))
    [query] = noise(36, 1, 8)
    derived.refresh(shelf.bare)

    found = shelf.by_knn(query, 5)

    assert found == shelf.by_scan(query, 5)
    assert shelf.db.rows("SELECT DISTINCT unit_length FROM ocmem_docs") == [(1,)]


def test_vectors_of_many_lengths_are_ranked_by_angle(shelf: Shelf) -> None:
    shelf.put([[0.1, 0.0], [50.0, 1.0], [0.6, 0.8]])

    found = shelf.nearest([1.0, 0.0], 3)

    assert [candidate.raw for candidate in found] == pytest.approx([1.0, 0.9998, 0.6], abs=1e-4)
    assert found == shelf.by_scan([1.0, 0.0], 3)


def test_lengths_are_measured_the_same_in_bulk_and_one_by_one(shelf: Shelf) -> None:
    lengths = [1.0, 1 + 5e-6, 1 + 2e-5, 0.5, 3.0]
    ids = shelf.put([[x * lengths[at % 5] for x in v] for at, v in enumerate(noise(15, 250, 8))])

    in_bulk = vectors.norms_of(shelf.db, ids, dims=8)
    one_by_one = {id: vectors.norms_of(shelf.db, [id], dims=8)[id] for id in ids}

    assert in_bulk == pytest.approx(one_by_one, rel=1e-6)
    assert [round(in_bulk[id], 4) for id in ids[:5]] == [round(x, 4) for x in lengths]


def test_a_query_of_another_length_gives_the_scores_of_a_scan(shelf: Shelf) -> None:
    shelf.put(noise(16, 100, 8))
    [query] = noise(17, 1, 8, length=7.5)

    assert shelf.by_knn(query, 10) is None
    assert shelf.nearest(query, 10) == shelf.by_scan(query, 10)


def test_a_zero_vector_scores_zero_and_no_score_is_undefined(shelf: Shelf) -> None:
    [blank] = shelf.put([[0.0] * 8])
    shelf.put(noise(18, 20, 8))

    for query in noise(19, 5, 8):
        found = shelf.nearest(query, 21)

        assert {c.id: c.raw for c in found}[blank] == 0.0
        assert all(math.isfinite(c.raw) for c in found)
        assert [c.raw for c in found] == sorted((c.raw for c in found), reverse=True)
        assert found == shelf.without_extension(query, 21)


# --- without sqlite-vec -------------------------------------------------------------------------


@pytest.mark.parametrize("dims", [1, 3, 17, 256, 1536])
@pytest.mark.parametrize("length", [1.0, None], ids=["unit", "any length"])
def test_without_the_extension_every_bit_is_that_of_sqlite_vec(
    shelf: Shelf, dims: int, length: float | None
) -> None:
    shelf.put(noise(20, 120, dims, length=length))

    for query in noise(21, 5, dims, length=length):
        found = shelf.without_extension(query, 50)

        assert not shelf.bare.has_vectors
        assert found == shelf.by_scan(query, 50)


# Large and small, but not so small that a square is lost in 32 bits.
sizes = st.floats(2.0**-50, 2.0**50, width=32)
coordinates = st.one_of(st.sampled_from([0.0, -0.0, 1.0]), sizes, sizes.map(lambda size: -size))
vectors_of_three = st.lists(coordinates, min_size=3, max_size=3)


@settings(max_examples=50, deadline=None)
@given(query=vectors_of_three, stored=st.lists(vectors_of_three, min_size=1, max_size=8))
def test_without_the_extension_odd_numbers_give_the_same_list(
    query: Vector, stored: list[Vector], tmp_path_factory: pytest.TempPathFactory
) -> None:
    shelf = Shelf(tmp_path_factory.mktemp("shelf") / "index.sqlite")
    try:
        shelf.put(stored)

        assert shelf.without_extension(query, 8) == shelf.by_scan(query, 8)
    finally:
        shelf.close()


def test_without_the_extension_sources_and_models_are_told_apart(shelf: Shelf) -> None:
    stored = noise(22, 30, 4)
    wanted = shelf.put(stored[:10])
    shelf.put(stored[10:20], source="sessions")
    shelf.put(stored[20:], model="old")

    found = shelf.without_extension(stored[25], 30)

    assert sorted(candidate.id for candidate in found) == sorted(wanted)
    assert found == shelf.by_scan(stored[25], 30)


def test_more_vectors_than_are_read_at_once_are_one_list(shelf: Shelf) -> None:
    stored = noise(23, 2100, 3)
    shelf.put(stored)

    for query in (stored[0], stored[-1]):
        assert shelf.without_extension(query, 40) == shelf.by_scan(query, 40)


def test_a_chunk_without_a_vector_is_left_out(shelf: Shelf) -> None:
    ids = shelf.put(noise(25, 3, 4))
    shelf.db.run("UPDATE chunks SET embedding = '[]' WHERE id = :id", {"id": ids[1]})

    found = shelf.without_extension([1.0, 0.0, 0.0, 0.0], 5)

    assert sorted(candidate.id for candidate in found) == sorted([ids[0], ids[2]])


# --- doubles ------------------------------------------------------------------------------------


def cosine(one: Vector, other: Vector) -> float:
    """In doubles, over as many coordinates as both have."""
    dot = length = other_length = 0.0
    for x, y in zip(one, other, strict=False):
        dot, length, other_length = dot + x * y, length + x * x, other_length + y * y
    return dot / (math.sqrt(length) * math.sqrt(other_length)) if length and other_length else 0.0


def test_a_vector_of_another_size_changes_no_other_score(shelf: Shelf) -> None:
    stored = noise(26, 5, 6, length=None)
    ids = shelf.put(stored)
    short = [0.5, -0.25]
    shelf.db.run(
        "UPDATE chunks SET embedding = :v WHERE id = :id", {"v": json.dumps(short), "id": ids[2]}
    )
    stored[2] = short
    [query] = noise(27, 1, 6)

    found = vectors.scan_stored(
        shelf.bare, query, model="m", sources=BOTH, limit=9, dtype="float64"
    )

    assert {c.id: c.raw for c in found} == {
        id: cosine(query, vector) for id, vector in zip(ids, stored, strict=True)
    }
