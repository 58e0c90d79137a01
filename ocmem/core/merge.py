"""Hits of several indexes on one scale. Each index by itself gives its best hit about 1."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ocmem.core import terms
from ocmem.model import Hit

_SATURATION = 1.2  # bm25's k1 and b, as in FTS5
_LENGTH_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What one index knows about the query. `found_in`: how many of its chunks have a stem."""

    model: str
    chunks: int
    found_in: Mapping[str, int]
    lowest_cosine: float | None
    highest_cosine: float | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """How often a hit's chunk has each stem of the query, and how many words it has in all."""

    counts: Mapping[str, int]
    words: int


def rescored(
    found: Sequence[tuple[Yardstick, Sequence[tuple[Hit, Evidence]]]],
) -> list[list[Hit]]:
    """The hits of each index, in their order, with scores that can be compared across all.

    Keywords weigh by how rare they are in all indexes together, cosines are spread between the
    extremes of all indexes of the same model.
    """
    evidence = [each for _, hits in found for _, each in hits]
    total = sum(yardstick.chunks for yardstick, _ in found)
    mean_words = sum(each.words for each in evidence) / max(1, len(evidence))
    stems = dict.fromkeys(stem for yardstick, _ in found for stem in yardstick.found_in)
    weights = {
        stem: terms.rarity(
            found_in=sum(yardstick.found_in.get(stem, 0) for yardstick, _ in found), total=total
        )
        for stem in stems
    }

    def keywords(each: Evidence) -> float:
        share = 1 - _LENGTH_SHARE + _LENGTH_SHARE * each.words / max(1.0, mean_words)
        return sum(
            weights.get(stem, 0.0) * count * (_SATURATION + 1) / (count + _SATURATION * share)
            for stem, count in each.counts.items()
        )

    best = max(map(keywords, evidence), default=0.0)
    spans = _spans([yardstick for yardstick, _ in found])
    return [
        [
            _rescored(hit, keywords(each) / best if best else 0.0, spans.get(yardstick.model))
            for hit, each in hits
        ]
        for yardstick, hits in found
    ]


def _spans(yardsticks: Sequence[Yardstick]) -> dict[str, tuple[float, float]]:
    spans: dict[str, tuple[float, float]] = {}
    for each in yardsticks:
        if each.lowest_cosine is None or each.highest_cosine is None:
            continue
        low, high = spans.get(each.model, (each.lowest_cosine, each.highest_cosine))
        spans[each.model] = min(low, each.lowest_cosine), max(high, each.highest_cosine)
    return spans


def _rescored(hit: Hit, text: float, span: tuple[float, float] | None) -> Hit:
    old = hit.explanation
    vector = 0.0
    if old.vector_score is not None and span is not None:
        low, high = span
        vector = (old.vector_score - low) / (high - low) if high > low else 1.0
    final = (old.vector_weight * vector + old.text_weight * text) * old.decay
    changed = replace(old, vector_normalized=vector, text_normalized=text, final=final)
    return replace(hit, score=final, explanation=changed)
