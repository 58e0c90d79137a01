"""A workspace that is indexed and asked, with vectors that a test can read off its notes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ocmem.backends.answer import Answer
from ocmem.backends.builtin import BuiltinBackend
from ocmem.core.search import Wanted
from ocmem.model import Hit, Vector
from tests.unit.place import Place, Words

NOW_MS: Final = 1_772_323_200_000.0  # 2026-03-01T00:00:00Z
PLAIN: Final = Wanted(
    query="",
    max_results=6,
    min_score=0.35,
    fused_min_score=None,
    ranker="fused",
    strict=False,
    half_life_days=None,
    mmr_lambda=None,
    sources=("memory",),
    snippet=None,
    now_ms=NOW_MS,
)


class Cosines(Words):
    """Every query points one way, and each text lies as near to it as the table says."""

    def __init__(self, table: Mapping[str, float], *, length: float = 1.0) -> None:
        super().__init__(dims=2)
        self.table = table
        self.length = length

    def embed_query(self, text: str, *, timeout_s: float) -> Vector:
        return [self.length, 0.0]

    def vector(self, text: str) -> Vector:
        near = self.table[text]
        return [self.length * near, self.length * math.sqrt(1 - near * near)]


class Blind(Words):
    """A provider that finds no meaning in any query."""

    def embed_query(self, text: str, *, timeout_s: float) -> Vector:
        return []


class Notes(Place):
    """Notes by name; what is asked of them differs from `PLAIN` only where a test says so."""

    def without_vectors(self, **own: Any) -> None:  # noqa: ANN401
        self.configure(own={"provider": "none", **own})

    def with_cosines(self, notes: Mapping[str, tuple[str, float]], **own: Any) -> None:  # noqa: ANN401
        """Write and index notes, each with its nearness to whatever will be asked."""
        self.configure(own={"provider": "builtin", **own})
        self.embedder = Cosines(dict(notes.values()))
        self.write(**{name: text for name, (text, _) in notes.items()})
        self.index()

    def keep(self, **notes: str) -> None:
        """Write notes and index them."""
        self.write(**notes)
        self.index()

    def ask(self, query: str, *, sync: bool = False, **changes: Any) -> Answer:  # noqa: ANN401
        backend = BuiltinBackend(self.settings, clock_ns=self.clock, embedder=self.embedder)
        return backend.search(replace(PLAIN, query=query, **changes), sync=sync)

    def hits(self, query: str, **changes: Any) -> list[Hit]:  # noqa: ANN401
        return self.ask(query, **changes).hits

    def found(self, query: str, **changes: Any) -> list[str]:  # noqa: ANN401
        return names(self.hits(query, **changes))

    def scores(self, query: str, **changes: Any) -> dict[str, float]:  # noqa: ANN401
        hits = self.hits(query, **changes)
        return dict(zip(names(hits), (hit.score for hit in hits), strict=True))


def names(hits: Sequence[Hit]) -> list[str]:
    """The notes that were found, in order."""
    return [hit.chunk.path.removeprefix("memory/").removesuffix(".md") for hit in hits]
