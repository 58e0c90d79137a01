"""Which part of a chunk to show."""

from collections.abc import Sequence

from ocmem.core import cjk, utf16
from ocmem.core.terms import Term, Tokens
from ocmem.model import ChunkRow, Snippet

MAX_UNITS = 700


def head(chunk: ChunkRow) -> Snippet:
    """The reference's snippet: the beginning, untouched."""
    text = utf16.prefix(chunk.text, MAX_UNITS)
    return _placed(chunk, text, first=0)


def best(chunk: ChunkRow, terms: Sequence[tuple[Term, float]], *, stems: Tokens) -> Snippet:
    """The window whose terms weigh most, cut at line borders unless one line is too long.

    Without terms, or without any in the chunk, that is the beginning.
    """
    if utf16.length(chunk.text) <= MAX_UNITS:
        return head(chunk)
    lines = chunk.text.split("\n")
    sizes = [utf16.length(line) + 1 for line in lines]
    present = [_present(line, terms, stems) for line in lines]
    # Best first: weight, then how well its matches sit in the middle, then the earlier one.
    top: tuple[float, float, int] | None = None
    chosen = (0, 0)
    end = units = 0
    for start in range(len(lines)):
        while end < len(lines) and units + sizes[end] - 1 <= MAX_UNITS:
            units += sizes[end]
            end += 1
        if end == start:  # a single line that does not fit
            window = present[start]
            stop, units, end = start + 1, 0, start + 1
        else:
            window = set[int]().union(*present[start:end])
            stop = end
            units -= sizes[start]
        weight = sum(terms[at][1] for at in window)
        rank = (weight, -_imbalance(present[start:stop]), -start)
        if top is None or rank > top:
            top, chosen = rank, (start, stop)
    start, stop = chosen
    if sizes[start] - 1 > MAX_UNITS:
        return _placed(chunk, _part_of_line(lines[start], terms, stems), first=start, lines=1)
    return _placed(chunk, "\n".join(lines[start:stop]), first=start)


def _present(line: str, terms: Sequence[tuple[Term, float]], stems: Tokens) -> set[int]:
    tokens = frozenset(stem for _, _, stem in stems(cjk.spaced(line)))
    return {at for at, (term, _) in enumerate(terms) if term.is_in(tokens)}


def _imbalance(present: Sequence[set[int]]) -> float:
    """How far the matches lie from the middle of a window, in lines."""
    places = [at for at, found in enumerate(present) if found]
    if not places:
        return 0.0
    return abs((places[0] + places[-1]) / 2 - (len(present) - 1) / 2)


def _part_of_line(line: str, terms: Sequence[tuple[Term, float]], stems: Tokens) -> str:
    data = line.encode("utf-16-le", "surrogatepass")
    # Two bytes a unit, so MAX_UNITS bytes are half a window. Half a pair at an end is left out.
    starts = range(0, max(1, len(data) - MAX_UNITS), MAX_UNITS)
    windows = [data[at : at + 2 * MAX_UNITS].decode("utf-16-le", "ignore") for at in starts]
    weights = [sum(terms[at][1] for at in _present(part, terms, stems)) for part in windows]
    return windows[weights.index(max(weights))]


def _placed(chunk: ChunkRow, text: str, *, first: int, lines: int | None = None) -> Snippet:
    """The snippet with its lines in the file; the chunk's own where lines do not correspond."""
    if chunk.text.count("\n") != chunk.end_line - chunk.start_line:
        return Snippet(text, chunk.start_line, chunk.end_line)
    start = chunk.start_line + first
    end = start + (lines - 1 if lines is not None else text.count("\n"))
    return Snippet(text, start, end)
