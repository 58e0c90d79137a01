"""Vectors in a whole search: switched off, of another size, or written by another program."""

import struct
from pathlib import Path

import pytest

from ocmem.core import embedding
from tests.unit.notes import Notes
from tests.unit.test_vectors import cosine


def test_a_vector_store_that_is_switched_off_uses_doubles(tmp_path: Path) -> None:
    notes = Notes(tmp_path)
    notes.configure(
        store={"vector": {"enabled": False}},
        query={"hybrid": {"enabled": False}},
    )
    texts = [f"alpha {'beta ' * n}gamma" for n in range(1, 20)]
    notes.keep(**{f"n{n}": text for n, text in enumerate(texts)})

    hits = notes.hits("alpha beta", ranker="openclaw", strict=True, min_score=-1.0, max_results=30)

    query = notes.embedder.vector("alpha beta")
    expected = sorted((cosine(query, notes.embedder.vector(text)) for text in texts), reverse=True)
    single = {struct.unpack("<f", struct.pack("<f", score))[0] for score in expected}
    assert [hit.score for hit in hits] == expected
    assert not set(expected) <= single  # or the test could not tell


@pytest.mark.parametrize("enabled", [True, False], ids=["vector table", "no vector table"])
def test_a_query_of_another_size_is_answered_by_keyword_and_drops_nothing(
    tmp_path: Path, enabled: bool
) -> None:
    notes = Notes(tmp_path)
    notes.configure(store={"vector": {"enabled": enabled}})
    notes.keep(one="alpha beta", two="gamma delta")
    before = notes.rows()
    notes.embedder.dims = 4

    for ranker in ("openclaw", "fused"):
        answer = notes.ask("alpha", ranker=ranker)

        assert answer.mode == "fts-only"
        assert answer.degraded is not None
        assert "the query has 4 dimensions and the index 8" in answer.degraded
        assert [hit.chunk.path for hit in answer.hits] == ["memory/one.md"]
    notes.embedder.dims = 8
    assert notes.ask("alpha").degraded is None
    assert notes.rows() == before


def test_rows_of_another_program_are_ranked_by_angle_at_once(tmp_path: Path) -> None:
    notes = Notes(tmp_path)
    notes.with_cosines({f"n{n}": (f"note {n}", n / 50) for n in range(50)})
    notes.sql(
        "INSERT INTO chunks SELECT 'theirs', 'memory/x.md', source, 1, 1, 'h', model, 'x', "
        "'[7,0]', 0 FROM chunks LIMIT 1"
    )
    notes.sql(
        "INSERT INTO chunks_vec (id, embedding) VALUES ('theirs', :v)",
        v=embedding.float32_blob([7.0, 0.0]),
    )

    hits = notes.hits("x", ranker="openclaw", strict=True, max_results=3, min_score=-1.0)

    assert hits[0].chunk.id == "theirs"
