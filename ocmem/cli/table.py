"""Plain columns for people: aligned by what a terminal shows, not by characters."""

import unicodedata
from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest

_GAP = 2


def aligned(
    rows: Sequence[Sequence[str]], *, right: Collection[int] = (), most: int | None = None
) -> str:
    """Columns two spaces apart; the last one is left ragged, and a cell may have several lines.

    A line of more than `most` cells does not widen its column for all the others: what stands
    to the right of it goes below it.
    """
    columns = [[cell.split("\n") for cell in column] for column in zip(*rows, strict=True)]
    rooms = [_room(column, most) for column in columns]
    lines: list[str] = []
    for row in zip(*columns, strict=True):
        start = 0
        for at, cell in enumerate(row):
            is_too_wide = max(map(width, cell)) > rooms[at]
            if is_too_wide or at == len(row) - 1:
                columns_here = range(start, at + 1)
                if any(row[column] != [""] for column in columns_here):
                    lines += _side_by_side(row, rooms, columns_here, right)
                start = at + 1
    return "\n".join(lines)


def one_line(text: str) -> str:
    """`text` with line breaks and tabs as pictures, so that it stays in its row."""
    return text.replace("\n", "␊").replace("\t", "␉")


def width(text: str) -> int:
    """How many cells a terminal gives to `text`."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def size(number: int) -> str:
    """Bytes in three digits or so: 812 B, 3.4 kB, 12 MB."""
    amount, unit = float(number), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.1f} {unit}" if unit != "B" and amount < 10 else f"{amount:.0f} {unit}"


def age(seconds: float) -> str:
    """Whole ones of the largest fitting unit: 40 s, 12 min, 3 d, 2 y. The future is `now`."""
    if seconds < 1:
        return "now"
    for limit, divisor, unit in ((60, 1, "s"), (3600, 60, "min"), (86_400, 3600, "h")):
        if seconds < limit:
            return f"{int(seconds / divisor)} {unit}"
    days = int(seconds / 86_400)
    return f"{days} d" if days < 730 else f"{int(days / 365)} y"


def _room(column: Sequence[Sequence[str]], most: int | None) -> int:
    widths = [width(line) for cell in column for line in cell]
    return max((each for each in widths if most is None or each <= most), default=most or 0)


def _side_by_side(
    row: Sequence[Sequence[str]], rooms: Sequence[int], columns: range, right: Collection[int]
) -> Iterator[str]:
    indent = " " * sum(room + _GAP for room in rooms[: columns.start])
    for texts in zip_longest(*(row[at] for at in columns), fillvalue=""):
        cells = []
        for at, text in zip(columns, texts, strict=True):
            padding = " " * (rooms[at] - width(text))
            cells.append(padding + text if at in right else text + padding)
        yield (indent + (" " * _GAP).join(cells)).rstrip()


def _cells(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
