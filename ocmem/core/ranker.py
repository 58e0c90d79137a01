"""Pure ranking: blend or fuse two lists, then decay, diversity and cut-off."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ocmem.model import Candidate, Explanation

FUSED_VECTOR_WEIGHT = 0.4
FUSED_TEXT_WEIGHT = 0.6


@dataclass(frozen=True, slots=True)
class Ranked:
    """A chunk on its way to becoming a hit."""

    id: str
    explanation: Explanation

    @property
    def score(self) -> float:
        return self.explanation.final


def text_score(rank: float) -> float:
    """The reference's keyword score. bm25 is never positive there, so a match scores 1."""
    return 1 / (1 + max(0.0, rank)) if rank - rank == 0 else 1 / 1000


def blend(
    vector: Sequence[Candidate],
    text: Sequence[Candidate],
    *,
    vector_weight: float,
    text_weight: float,
) -> list[Ranked]:
    """The reference's hybrid: plain cosine and a keyword score of 1, weighted. Unsorted."""
    return _combined(
        vector,
        text,
        vector_normal={candidate.id: candidate.raw for candidate in vector},
        text_normal={candidate.id: text_score(-candidate.raw) for candidate in text},
        vector_weight=vector_weight,
        text_weight=text_weight,
    )


def fuse(
    vector: Sequence[Candidate],
    text: Sequence[Candidate],
    *,
    vector_weight: float = FUSED_VECTOR_WEIGHT,
    text_weight: float = FUSED_TEXT_WEIGHT,
) -> list[Ranked]:
    """Both sides on one scale: cosines spread between their own extremes, bm25 from 0 to its best.

    Without vectors the keywords count alone. Unsorted.
    """
    if not vector:
        vector_weight, text_weight = 0.0, 1.0
    return _combined(
        vector,
        text,
        vector_normal=_spread(vector, floor=min((c.raw for c in vector), default=0.0)),
        text_normal=_spread(text, floor=0.0),
        vector_weight=vector_weight,
        text_weight=text_weight,
    )


def decay(ranked: Iterable[Ranked], factor: Callable[[str], float]) -> list[Ranked]:
    """Every score times the factor of its chunk."""
    result = []
    for each in ranked:
        share = factor(each.id)
        changed = replace(each.explanation, decay=share, final=each.score * share)
        result.append(replace(each, explanation=changed))
    return result


def by_score(
    ranked: Iterable[Ranked], tie_break: Callable[[Ranked], tuple[object, ...]] | None = None
) -> list[Ranked]:
    """Best first; equal scores keep their order, or follow `tie_break`."""
    if tie_break is None:
        return sorted(ranked, key=lambda each: -each.score)
    return sorted(ranked, key=lambda each: (-each.score, *tie_break(each)))


def diversify(
    ranked: Sequence[Ranked], *, balance: float, words: Callable[[str], frozenset[str]]
) -> list[Ranked]:
    """Maximal marginal relevance: `balance` 1 is plain order, 0 is variety only."""
    if len(ranked) < 2 or balance >= 1:
        return by_score(ranked)
    lowest, highest = min(r.score for r in ranked), max(r.score for r in ranked)
    spread = highest - lowest
    relevance = [(r.score - lowest) / spread if spread else 1.0 for r in ranked]
    word_sets = [words(each.id) for each in ranked]
    likeness = [0.0] * len(ranked)
    left = list(range(len(ranked)))
    chosen: list[Ranked] = []
    while left:
        best = max(
            left,
            key=lambda at: (
                balance * relevance[at] - (1 - balance) * likeness[at],
                ranked[at].score,
                -at,
            ),
        )
        left.remove(best)
        chosen.append(ranked[best])
        for at in left:
            likeness[at] = max(likeness[at], _jaccard(word_sets[at], word_sets[best]))
    return chosen


def _combined(
    vector: Sequence[Candidate],
    text: Sequence[Candidate],
    *,
    vector_normal: dict[str, float],
    text_normal: dict[str, float],
    vector_weight: float,
    text_weight: float,
) -> list[Ranked]:
    vector_places = {c.id: (at, c.raw) for at, c in enumerate(vector, start=1)}
    text_places = {c.id: (at, c.raw) for at, c in enumerate(text, start=1)}
    combined = []
    for id in dict.fromkeys([*vector_places, *text_places]):
        vector_rank, vector_score = vector_places.get(id, (None, None))
        text_rank, raw_text = text_places.get(id, (None, None))
        vector_part, text_part = vector_normal.get(id, 0.0), text_normal.get(id, 0.0)
        explanation = Explanation(
            vector_score=vector_score,
            vector_rank=vector_rank,
            vector_normalized=vector_part,
            vector_weight=vector_weight,
            text_score=raw_text,
            text_rank=text_rank,
            text_normalized=text_part,
            text_weight=text_weight,
            decay=1.0,
            final=vector_weight * vector_part + text_weight * text_part,
        )
        combined.append(Ranked(id, explanation))
    return combined


def _spread(candidates: Sequence[Candidate], *, floor: float) -> dict[str, float]:
    best = max((candidate.raw for candidate in candidates), default=0.0)
    width = best - floor
    return {c.id: (c.raw - floor) / width if width > 0 else 1.0 for c in candidates}


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    if not one and not other:
        return 1.0
    return len(one & other) / len(one | other)
