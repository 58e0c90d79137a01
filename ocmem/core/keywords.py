"""A question -> the words worth looking for. Used where there are no vectors to ask."""

import re
import unicodedata
from collections.abc import Callable, Iterator

from ocmem.core import stopwords
from ocmem.core.utf16 import JS_WHITESPACE

_KANA = re.compile("[\u3040-\u30ff]")
_HAN = re.compile("[\u4e00-\u9fff]")
_HANGUL = re.compile("[\uac00-\ud7af\u3131-\u3163]")
_SYLLABLE = re.compile("[\uac00-\ud7af]")
_JAPANESE_PART = re.compile("[a-z0-9_]+|[\u30a0-\u30ff]+|[\u4e00-\u9fff]+|[\u3040-\u309f]{2,}")
_ASCII_WORD = re.compile("[a-z0-9_]+")
_USELESS = re.compile("[a-z]{1,2}|[0-9]+")
# The lazy group leaves the longest particle: 집으로 ends in 으로, not in 로.
_PARTICLES = re.compile(
    "(.+?)(?:에서|으로|에게|한테|처럼|같이|보다|까지|부터|마다|밖에|대로"
    "|[은는이가을를의에로와과도만])",
    re.DOTALL,
)


def extract(query: str) -> list[str]:
    """The keywords of `query` in order, each once; none if it is all small talk."""
    segments = _runs(query.lower(), lambda char: not _separates(char))
    tokens = (token for segment in segments for token in _tokens(segment))
    return list(dict.fromkeys(token for token in tokens if _is_useful(token)))


def and_query(text: str) -> str | None:
    """An FTS5 query that wants every word of `text`; operators in it are plain words."""
    tokens = _runs(text, _is_word_char)
    return " AND ".join(f'"{token}"' for token in tokens) or None


def _runs(text: str, belongs: Callable[[str], bool]) -> list[str]:
    """The longest stretches of characters that belong."""
    # Not .split() without an argument: it also cuts at U+0085, which separates nothing here.
    spaced = "".join(char if belongs(char) else " " for char in text)
    return [run for run in spaced.split(" ") if run]


def _separates(char: str) -> bool:
    return char in JS_WHITESPACE or unicodedata.category(char)[0] == "P"


def _is_word_char(char: str) -> bool:
    return char == "_" or unicodedata.category(char)[0] in "LN"


def _tokens(segment: str) -> Iterator[str]:
    if _KANA.search(segment):
        for part in _JAPANESE_PART.findall(segment):
            yield part
            if _HAN.match(part):
                yield from _pairs(part)
    elif _HAN.search(segment):
        characters = "".join(_HAN.findall(segment))
        yield from characters
        yield from _pairs(characters)
    elif _HANGUL.search(segment):
        yield from _korean_tokens(segment)
    else:
        yield segment


def _pairs(run: str) -> Iterator[str]:
    return (run[at : at + 2] for at in range(len(run) - 1))


def _korean_tokens(segment: str) -> Iterator[str]:
    """The word as written, then what is left of it without its particle."""
    stem = _stem(segment)
    if not {segment, stem} & stopwords.KOREAN:
        yield segment
    if stem in stopwords.KOREAN:
        return
    if len(stem) >= 2 if _SYLLABLE.search(stem) else _ASCII_WORD.fullmatch(stem):
        yield stem


def _stem(word: str) -> str:
    """`word` without its particle; empty if it has none, or is nothing but one."""
    match = _PARTICLES.fullmatch(word)
    return match[1] if match else ""


def _is_useful(token: str) -> bool:
    return not (
        token in stopwords.EVERY
        or _USELESS.fullmatch(token)
        or all(unicodedata.category(char)[0] in "PS" for char in token)
    )
