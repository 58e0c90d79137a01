"""A question as people ask it -> the text that QMD is given. Pure."""

import re

from ocmem.core import utf16
from ocmem.settings.qmd import Mode

_HAN = re.compile("[\u3400-\u9fff]")
_TYPED = re.compile(r"\s*(?:lex|vec|hyde|intent|expand):", re.IGNORECASE)
_MOST_KEYWORDS = 12


def text_for(query: str, mode: Mode) -> str:
    """Empty if there is nothing to look for."""
    # A NUL ends an argument, and half a surrogate pair cannot be one.
    query = utf16.trim(utf16.well_formed(query).replace("\0", " "))
    if mode == "search" and _HAN.search(query):
        return _keywords(query) or query
    if mode == "query" and not is_typed(query):
        # Several lines would be taken for a query document, whose lines have types.
        return " ".join(query.split())
    return query


def is_typed(query: str) -> bool:
    """Whether it is written in QMD's own language of typed lines, as `lex: router`."""
    return _TYPED.match(query) is not None


def needs_models(query: str, mode: Mode) -> bool:
    if mode == "search":
        return False
    lines = [line.strip().lower() for line in query.splitlines() if line.strip()]
    return mode == "vsearch" or not all(line.startswith("lex:") for line in lines)


def _keywords(query: str) -> str:
    from ocmem.core import keywords  # only such a query needs its many words

    long_enough = [word for word in keywords.extract(query) if utf16.length(word) >= 2]
    return " ".join(long_enough[:_MOST_KEYWORDS])
