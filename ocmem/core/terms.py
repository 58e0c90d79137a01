"""A question -> the words worth looking for, for the fused ranker's keyword side."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from ocmem.core import cjk

Tokens = Callable[[str], list[tuple[int, int, str]]]

_STOP_WORDS = frozenset(
    """a an and are as at be been but by can could did do does doing for from get got had has
    have having he her hers him his how i if in into is it its me might my of on or our ours she
    should so some that the their theirs them then there these they this those to was we were
    what when where which who whom whose why will with would you your yours s t many much during
    after before about any also""".split()
)
# Chinese is written without spaces, so its question words sit inside a run; longest first.
_CHINESE_QUESTION_WORDS = ("为什么", "什么", "哪个", "哪些", "怎么", "多少")
_QUESTION_WORDS = frozenset(
    """왜 어떻게 뭐 언제 어디 누구 무엇 어떤
    なぜ どう 何 いつ どこ 誰 どれ""".split()
)


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for. `match` is an FTS5 expression, `stem` what its tokens look like."""

    shown: str
    stem: str
    is_prefix: bool = False
    run: str = ""  # the unspaced run that it is a piece of

    @property
    def match(self) -> str:
        return f'"{self.shown}"*' if self.is_prefix else f'"{self.shown}"'

    def matches(self, token: str) -> bool:
        return token.startswith(self.stem) if self.is_prefix else token == self.stem

    def is_in(self, tokens: frozenset[str]) -> bool:
        if self.is_prefix:
            return any(map(self.matches, tokens))
        return self.stem in tokens


def terms_of(query: str, *, words: Tokens, stems: Tokens) -> list[Term]:
    """The query's words, stemmed and without stop words, unless it has nothing else."""
    text = cjk.normalize(query)
    meant = _terms(text, words=words, stems=stems, drop_common=True)
    return meant or _terms(text, words=words, stems=stems, drop_common=False)


def any_of(terms: list[Term]) -> str:
    """An FTS5 query for chunks that have at least one of the terms."""
    return " OR ".join(term.match for term in terms)


def rarity(*, found_in: int, total: int) -> float:
    """What a term says about a chunk: the fewer chunks have it, the more."""
    return math.log(1 + (total - found_in + 0.5) / (found_in + 0.5))


def _terms(text: str, *, words: Tokens, stems: Tokens, drop_common: bool) -> list[Term]:
    found: dict[str, Term] = {}
    for _, _, word in words(cjk.without_runs(text)):
        if drop_common and word in _STOP_WORDS:
            continue
        for _, _, stem in stems(word):
            found.setdefault(stem, Term(word, stem))
    for run in cjk.runs(text):
        for part in _parts(run) if drop_common else [run]:
            for pair in cjk.pairs(part):
                found.setdefault(pair, Term(pair, _folded(pair, words), len(part) == 1, run))
    return list(found.values())


def _parts(run: str) -> list[str]:
    if run in _QUESTION_WORDS:
        return []
    for word in _CHINESE_QUESTION_WORDS:
        run = run.replace(word, " ")
    return run.split()


def _folded(pair: str, words: Tokens) -> str:
    return next((token for _, _, token in words(pair)), pair)
