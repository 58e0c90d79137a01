"""A bar of one line: where a session stands between 0, flush, compaction and window."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_FULL, _EMPTY = "█", "░"
_GREEN, _YELLOW, _RED, _PLAIN = "\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[0m"
_FEWEST_CELLS = 10  # with fewer, the numbers at both ends make way
_GAP = "   "


@dataclass(frozen=True, slots=True)
class Scale:
    """The points of the bar, in tokens. No flush happens at 0."""

    flush: int
    compaction: int
    window: int

    def cell(self, tokens: int, cells: int) -> int:
        """Where a number of tokens falls."""
        return min(cells - 1, tokens * cells // self.window)


def bar(scale: Scale, tokens: int | None, *, width: int, is_colored: bool = False) -> str:
    """`0 [███F█C░░] 200000`; the end is open where the window is exceeded.

    However coarse the cells: F is covered exactly if the flush point is reached, C if compaction
    is due, and X, which is both, if one of them is.
    """
    tokens = tokens or 0
    left, cells, right = _frame(scale, width)
    if tokens > scale.window:
        right = right.replace("]", ">")
    marks = _marks(scale, cells)
    covered = _covered(scale, tokens, cells)
    drawn = [marks.get(at, _FULL if at < covered else _EMPTY) for at in range(cells)]
    if is_colored and covered:
        drawn[0] = _color(scale, tokens) + drawn[0]
        drawn[covered - 1] += _PLAIN
    return "".join([left, *drawn, right])


def legend(scale: Scale, tokens: int | None, *, width: int) -> str:
    """What the signs mean, in as many lines as the width asks for."""
    _, cells, _ = _frame(scale, width)
    points = [f"F flush {scale.flush}", f"C compaction {scale.compaction}"]
    if scale.flush == 0:
        points[0] = "no flush"
    elif "X" in _marks(scale, cells).values():
        points = [f"X flush {scale.flush}, compaction {scale.compaction}"]
    told = "tokens unknown" if tokens is None else f"{_FULL} tokens {tokens}"
    return "\n".join(_lines([told, *points, f"window {scale.window}"], width))


def _frame(scale: Scale, width: int) -> tuple[str, int, str]:
    left, right = "0 [", f"] {scale.window}"
    cells = width - len(left) - len(right)
    if cells >= _FEWEST_CELLS:
        return left, cells, right
    return "[", max(1, width - 2), "]"


def _marks(scale: Scale, cells: int) -> dict[int, str]:
    marks = {scale.cell(scale.compaction, cells): "C"}
    if scale.flush:
        at = scale.cell(scale.flush, cells)
        marks[at] = "X" if at in marks else "F"
    return marks


def _covered(scale: Scale, tokens: int, cells: int) -> int:
    """How many cells are full."""
    full = min(cells, max(tokens * cells // scale.window, min(tokens, 1)))
    points = [(scale.compaction, tokens > scale.compaction)]
    if scale.flush:
        points.append((scale.flush, tokens >= scale.flush))
    for point, is_reached in sorted(points, key=lambda each: each[1]):
        at = scale.cell(point, cells)
        full = max(full, at + 1) if is_reached else min(full, at)
    return full


def _color(scale: Scale, tokens: int) -> str:
    if tokens > scale.compaction:
        return _RED
    return _YELLOW if scale.flush and tokens >= scale.flush else _GREEN


def _lines(parts: Sequence[str], width: int) -> Iterator[str]:
    line = ""
    for part in parts:
        if line and len(line) + len(_GAP) + len(part) > width:
            yield line
            line = ""
        line = f"{line}{_GAP}{part}" if line else part
    yield line
