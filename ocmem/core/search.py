"""A query and an open index -> hits: both rankers, and the filling of free places."""

import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ocmem.core import cjk, ranker, snippet, sql, terms
from ocmem.core.decay import age_days, decayed
from ocmem.core.merge import Evidence, Yardstick
from ocmem.core.ranker import Ranked
from ocmem.core.store import Connection, derived, rows, vectors
from ocmem.core.terms import Term
from ocmem.model import Candidate, ChunkRow, Hit, Snippet, Source, Vector
from ocmem.settings import Settings

Mode = Literal["hybrid", "vector", "fts-only"]

MOST_CANDIDATES = 200
_ASCII_WORD = re.compile("[a-z0-9_]+")
_UNICODE_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was meant by a search: every default filled, every value checked."""

    query: str
    max_results: int
    min_score: float
    fused_min_score: float | None
    ranker: Literal["openclaw", "fused"]
    strict: bool
    half_life_days: float | None
    mmr_lambda: float | None
    sources: tuple[Source, ...]
    snippet: str | None
    now_ms: float
    fills: bool = True  # free places go to the best of what lies below the floor
    keywords_only: bool = False
    compares: bool = False  # with the hits of other indexes


@dataclass(slots=True)
class Searcher:
    """One search over one open index. `vector` is None when nothing can be compared by meaning."""

    db: Connection
    settings: Settings
    wanted: Wanted
    vector: Vector | None
    mode: Mode
    model: str
    best_below_floor: float | None = None
    _cosine_span: tuple[float, float] | None = None
    _chunks: dict[str, ChunkRow] = field(default_factory=dict)
    _terms: list[Term] | None = None
    _weights: list[tuple[Term, float]] | None = None
    _is_fresh: bool = False

    def hits(self) -> list[Hit]:
        if self.wanted.ranker == "fused":
            return self._cut([each for each in self._fused() if each.score > 0], self.floor)
        ranked = self._openclaw()
        exact = self._cut(ranked, self.floor)
        free = self.wanted.max_results - len(exact)
        if self.wanted.strict or not self.wanted.fills or free <= 0:
            return exact
        return exact + self._relaxed(ranked, exact, free)

    @property
    def floor(self) -> float | None:
        """What a score must reach, on the scale of the ranker in use."""
        is_fused = self.wanted.ranker == "fused"
        return self.wanted.fused_min_score if is_fused else self.wanted.min_score

    def unmatched(self) -> list[str]:
        """The words of the query that no chunk has, an unspaced run as it was typed."""
        absent = [
            term.run or term.shown
            for term in self.terms()
            if not derived.frequency(self.db, term.match)
        ]
        return list(dict.fromkeys(absent))

    def yardstick(self) -> Yardstick:
        """What makes the scores of this index comparable with those of another."""
        found_in = {term.stem: derived.frequency(self.db, term.match) for term in self.terms()}
        low, high = self._cosine_span or (None, None)
        return Yardstick(self.model, derived.count(self.db), found_in, low, high)

    def evidence(self, hit: Hit) -> Evidence:
        stems = [stem for _, _, stem in self.db.stems(cjk.spaced(hit.chunk.text))]
        counts = {term.stem: sum(map(term.matches, stems)) for term in self.terms()}
        return Evidence(counts, len(stems))

    def terms(self) -> list[Term]:
        if self._terms is None:
            self._refresh()
            self._terms = terms.terms_of(
                self.wanted.query, words=self.db.words, stems=self.db.stems
            )
        return self._terms

    # --- openclaw --------------------------------------------------------------------------------

    def _openclaw(self) -> list[Ranked]:
        if self.mode == "fts-only":
            return self._keywords_only()
        query = self.settings.search.query
        limit = self._pool()
        vector = self._nearest(limit)
        if self.mode == "vector":
            return ranker.blend(vector, [], vector_weight=1.0, text_weight=0.0)
        text = self._matching_all(self.wanted.query, limit=limit, model=self.model)
        is_blind = not vector and not self.wanted.strict
        ranked = ranker.blend(
            vector,
            text,
            vector_weight=0.0 if is_blind else query.vector_weight,
            text_weight=1.0 if is_blind else query.text_weight,
        )
        ranked = ranker.by_score(self._decayed(ranked, with_slugs=False))
        if self.wanted.mmr_lambda is not None:
            ranked = ranker.diversify(
                ranked, balance=self.wanted.mmr_lambda, words=self._ascii_words
            )
        return ranked

    def _keywords_only(self) -> list[Ranked]:
        """The reference without a provider: each keyword by itself, every match scores 1."""
        found: dict[str, Candidate] = {}
        from ocmem.core import keywords  # only this ranker needs its many words

        for word in keywords.extract(self.wanted.query) or [self.wanted.query]:
            if len(found) >= self.wanted.max_results:
                break  # all score alike, so what comes later cannot be among the first
            for candidate in self._matching_all(word, limit=self._pool(), model=None):
                found.setdefault(candidate.id, candidate)
        return ranker.by_score(
            ranker.blend([], list(found.values()), vector_weight=0.0, text_weight=1.0)
        )

    def _relaxed(self, ranked: list[Ranked], exact: Sequence[Hit], free: int) -> list[Hit]:
        """Free places, filled by the other ranker, with the scores of this one."""
        taken = {hit.chunk.id for hit in exact}
        fused = [each for each in self._fused() if each.score > 0 and each.id not in taken][:free]
        own = self._own_scores([each.id for each in fused], ranked)
        hits = [replace(hit, relaxed=True) for hit in map(self._hit, own)]
        return sorted(hits, key=lambda hit: -hit.score)

    def _own_scores(self, ids: list[str], ranked: list[Ranked]) -> list[Ranked]:
        """What the reference gives each chunk; its cosine alone where neither side brought it up.

        Such a chunk lies farther than every candidate, so it stays below the floor as they do.
        """
        query = self.settings.search.query
        known = {each.id: each for each in ranked}
        others = [id for id in ids if id not in known]
        cosines = self._cosines(others)
        outside = ranker.blend(
            [Candidate(id, cosines.get(id, 0.0)) for id in others],
            [],
            vector_weight=query.vector_weight if self.mode == "hybrid" else 1.0,
            text_weight=0.0,
        )
        if self.mode == "hybrid":
            outside = self._decayed(outside, with_slugs=False)
        for each in outside:
            known[each.id] = replace(each, explanation=replace(each.explanation, vector_rank=None))
        return [known[id] for id in ids]

    # --- fused -----------------------------------------------------------------------------------

    def _fused(self) -> list[Ranked]:
        query = self.settings.search.query
        pool = self._pool() if query.multiplier_is_set else MOST_CANDIDATES
        wanted = self.terms()
        text = []
        if wanted:
            found = derived.matching(
                self.db, terms.any_of(wanted), sources=self.wanted.sources, limit=pool
            )
            text = [Candidate(id, score) for id, score in found]
        vector = self._nearest(pool)
        if vector:
            cosines = [candidate.raw for candidate in vector]
            self._cosine_span = min(cosines), max(cosines)
        weights = {}
        if query.weights_are_set and vector:
            weights = {"vector_weight": query.vector_weight, "text_weight": query.text_weight}
        ranked = self._decayed(ranker.fuse(vector, text, **weights), with_slugs=True)
        self._load(each.id for each in ranked)
        ranked = ranker.by_score((r for r in ranked if r.id in self._chunks), self._place)
        if self.wanted.mmr_lambda is not None:
            ranked = ranker.diversify(
                ranked, balance=self.wanted.mmr_lambda, words=self._unicode_words
            )
        return ranked

    def _place(self, ranked: Ranked) -> tuple[object, ...]:
        chunk = self._chunks[ranked.id]
        return chunk.path, chunk.start_line, chunk.end_line, chunk.id

    # --- both ------------------------------------------------------------------------------------

    def _pool(self) -> int:
        multiplier = self.settings.search.query.candidate_multiplier
        return min(MOST_CANDIDATES, max(1, self.wanted.max_results * multiplier))

    def _nearest(self, limit: int) -> list[Candidate]:
        if not self.vector or not any(self.vector):
            return []
        if not self.settings.search.vector_enabled:
            return vectors.scan_stored(
                self.db,
                self.vector,
                model=self.model,
                sources=self.wanted.sources,
                limit=limit,
                dtype="float64",
            )
        if self.db.has_table("ocmem_docs"):
            self._refresh()  # it says which vectors KNN may rank, and may be behind
        return vectors.nearest(
            self.db, self.vector, model=self.model, sources=self.wanted.sources, limit=limit
        )

    def _cosines(self, ids: list[str]) -> dict[str, float]:
        if not ids or not self.vector or not any(self.vector):
            return {}
        dtype: vectors.Precision = "float32" if self.settings.search.vector_enabled else "float64"
        return vectors.cosines(self.db, self.vector, ids, dtype=dtype)

    def _refresh(self) -> None:
        """ocmem's own tables, in step with the chunks; once is enough for one search."""
        if not self._is_fresh:
            derived.refresh(self.db)
            self._is_fresh = True

    def _matching_all(self, text: str, *, limit: int, model: str | None) -> list[Candidate]:
        from ocmem.core import keywords

        query = keywords.and_query(text)
        if query is None or not self.db.has_table("chunks_fts"):
            return []
        bound = {
            "query": query,
            "model": model,
            "sources": json.dumps(self.wanted.sources),
            "limit": limit,
        }
        found = [Candidate(id, -rank) for id, rank in self.db.rows(sql.SEARCH_FTS, bound)]
        return list({candidate.id: candidate for candidate in reversed(found)}.values())[::-1]

    def _decayed(self, ranked: list[Ranked], *, with_slugs: bool) -> list[Ranked]:
        half_life = self.wanted.half_life_days
        if half_life is None:
            return ranked
        self._load(each.id for each in ranked)

        def factor(id: str) -> float:
            chunk = self._chunks.get(id)
            if chunk is None:
                return 1.0
            age = age_days(
                chunk.path,
                chunk.source,
                now_ms=self.wanted.now_ms,
                mtime_ms=self._mtime_ms,
                with_slugs=with_slugs,
            )
            return 1.0 if age is None else decayed(1.0, age_days=age, half_life_days=half_life)

        return ranker.decay(ranked, factor)

    def _mtime_ms(self, path: str) -> float | None:
        try:
            return os.stat(self.settings.workspace / path).st_mtime_ns / 1e6  # noqa: PTH116
        except OSError:
            return None

    def _cut(self, ranked: list[Ranked], floor: float | None) -> list[Hit]:
        if ranked and floor is not None:
            self.best_below_floor = max(each.score for each in ranked)
            ranked = [each for each in ranked if each.score >= floor]
        self._load(each.id for each in ranked[: self.wanted.max_results])
        kept = [each for each in ranked[: self.wanted.max_results] if each.id in self._chunks]
        return [self._hit(each) for each in kept]

    def _load(self, ids: Iterable[str]) -> None:
        missing = [id for id in ids if id not in self._chunks]
        if missing:
            self._chunks.update(rows.chunks_by_id(self.db, missing))

    def _hit(self, ranked: Ranked) -> Hit:
        chunk = self._chunks[ranked.id]
        return Hit(
            chunk=chunk,
            score=ranked.score,
            snippet=self._snippet(chunk),
            explanation=ranked.explanation,
            text_score=ranked.explanation.text_normalized if self.mode == "fts-only" else None,
        )

    def _snippet(self, chunk: ChunkRow) -> Snippet:
        default = "best" if self.wanted.ranker == "fused" else "head"
        if (self.wanted.snippet or default) == "head":
            return snippet.head(chunk)
        if self._weights is None:
            total = derived.count(self.db)
            self._weights = [
                (
                    term,
                    terms.rarity(found_in=derived.frequency(self.db, term.match), total=total),
                )
                for term in self.terms()
            ]
        return snippet.best(chunk, self._weights, stems=self.db.stems)

    def _ascii_words(self, id: str) -> frozenset[str]:
        self._load([id])
        return frozenset(_ASCII_WORD.findall(snippet.head(self._chunks[id]).text.lower()))

    def _unicode_words(self, id: str) -> frozenset[str]:
        return frozenset(_UNICODE_WORD.findall(self._snippet(self._chunks[id]).text.lower()))
