"""How much of what was found is told. Pure; lengths are UTF-16 code units, as in the reference."""

from collections.abc import Sequence
from dataclasses import replace

from ocmem.core import utf16
from ocmem.model import Hit, Snippet


def most_results(limit: int, requested: int | None) -> int:
    """A caller can ask for fewer than the settings allow, not for more."""
    return limit if requested is None else max(1, min(limit, requested))


def injected(hits: Sequence[Hit], max_chars: int) -> list[Hit]:
    """The first hits, as far as their snippets fit; the one that does not is cut and the last."""
    kept: list[Hit] = []
    left = max_chars
    for hit in hits:
        length = utf16.length(hit.snippet.text)
        if left <= 0:
            break
        if length > left:
            kept.append(replace(hit, snippet=_cut(hit.snippet, left)))
            break
        kept.append(hit)
        left -= length
    return kept


def _cut(snippet: Snippet, max_chars: int) -> Snippet:
    text = utf16.prefix(snippet.text, max_chars)
    dropped = snippet.text.count("\n") - text.count("\n")
    return replace(snippet, text=text, end_line=max(snippet.start_line, snippet.end_line - dropped))
