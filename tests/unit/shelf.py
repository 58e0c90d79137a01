"""An index file for vectors alone, and four ways to ask it."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ocmem.core import embedding, sql
from ocmem.core.store import Connection, derived, rows, vectors, writing
from ocmem.model import Candidate, ChunkRow, Source, SourceFile, Stamp, Vector
from tests.fake_provider.vectors import unit

BOTH: tuple[Source, ...] = ("memory", "sessions")


class Shelf:
    """An index that holds nothing but vectors, in the order in which they were put there."""

    def __init__(self, path: Path) -> None:
        self.db = Connection(path, "create")
        self.bare = Connection(path, "write")  # the same file, without sqlite-vec
        self.db.load_vectors(None)
        rows.create_schema(self.db, with_fts=True)
        self.size = 0

    def put(
        self, stored: Sequence[Vector], *, source: Source = "memory", model: str = "m"
    ) -> list[str]:
        """Store vectors as chunks of one file; gives their ids."""
        vectors.ensure_table(self.db, len(stored[0]))
        path = f"{self.size}.md"
        chunks = []
        for at, vector in enumerate(stored, start=self.size):
            # Not in the order of the places, as the hashes that ids are in earnest.
            id = f"{at * 7919 % 10_007:05}"
            row = ChunkRow(id, path, source, at + 1, at + 1, id, model, f"text {id}")
            chunks.append((row, embedding.from_values(vector)))
        with self.db.transaction():
            writing.write_file(
                self.db,
                SourceFile(path, source, Stamp(0, 0, 0, 0), "", "h"),
                chunks,
                with_fts=False,
                fts_rowids=[],
                now_ms=0,
                stamped_at_ns=0,
            )
        self.size += len(stored)
        return [row.id for row, _ in chunks]

    def close(self) -> None:
        self.bare.close()
        self.db.close()

    # --- four ways to ask ------------------------------------------------------------------------

    def by_knn(self, query: Vector, limit: int, **which: Any) -> list[Candidate] | None:  # noqa: ANN401
        """The short way; None where it declines."""
        derived.refresh(self.db)
        blob = embedding.float32_blob(query)
        return vectors._by_knn(self.db, blob, limit=limit, **_which(which))

    def by_scan(self, query: Vector, limit: int, **which: Any) -> list[Candidate]:  # noqa: ANN401
        """Every vector by sqlite-vec's own function, as the reference does it."""
        asked = _which(which)
        bound = {
            "query": embedding.float32_blob(query),
            "model": asked["model"],
            "sources": json.dumps(asked["sources"]),
            "limit": limit,
        }
        return [Candidate(id, 1 - distance) for id, distance in self.db.rows(sql.SCAN_VEC, bound)]

    def nearest(self, query: Vector, limit: int, **which: Any) -> list[Candidate]:  # noqa: ANN401
        derived.refresh(self.db)
        return vectors.nearest(self.db, query, limit=limit, **_which(which))

    def without_extension(self, query: Vector, limit: int, **which: Any) -> list[Candidate]:  # noqa: ANN401
        return vectors.nearest(self.bare, query, limit=limit, **_which(which))


def _which(given: dict[str, Any]) -> dict[str, Any]:
    return {"model": "m", "sources": ("memory",), **given}


def noise(seed: int, count: int, dims: int, *, length: float | None = 1.0) -> list[Vector]:
    """Random vectors, of length one unless told."""
    chance = random.Random(seed)
    found = [[chance.gauss(0, 1) for _ in range(dims)] for _ in range(count)]
    return [[x * length for x in unit(v)] for v in found] if length is not None else found
