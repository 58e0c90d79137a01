"""How old a note is, and what its score loses by it."""

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime

_DAY_MS = 86_400_000
_DATED = re.compile(r"(?:^|/)memory/(\d{4})-(\d{2})-(\d{2})\.md", re.ASCII)
_DATED_OR_SLUG = re.compile(r"(?:^|/)memory/(\d{4})-(\d{2})-(\d{2})(?:-[^/]*)?\.md", re.ASCII)
_EVERGREEN_FILES = ("MEMORY.md", "memory.md")


def decayed(score: float, *, age_days: float, half_life_days: float) -> float:
    """Halve `score` every `half_life_days`; notes from the future do not gain."""
    return score * math.exp(-(math.log(2) / half_life_days) * max(age_days, 0.0))


def age_days(
    path: str,
    source: str,
    *,
    now_ms: float,
    mtime_ms: Callable[[str], float | None],
    with_slugs: bool,
) -> float | None:
    """The age of a note in days, None for one that never ages. `with_slugs` dates more names."""
    path = path.replace("\\", "/").removeprefix("./")
    written_ms = _date_ms(path, with_slugs=with_slugs)
    if written_ms is None:
        if source == "memory" and _is_evergreen(path, with_slugs=with_slugs):
            return None
        written_ms = mtime_ms(path)
    return None if written_ms is None else max(0.0, now_ms - written_ms) / _DAY_MS


def _match(path: str, *, with_slugs: bool) -> re.Match[str] | None:
    pattern = _DATED_OR_SLUG if with_slugs else _DATED
    return next((m for m in pattern.finditer(path) if m.end() == len(path)), None)


def _date_ms(path: str, *, with_slugs: bool) -> float | None:
    match = _match(path, with_slugs=with_slugs)
    if match is None:
        return None
    year, month, day = map(int, match.groups())
    try:
        written = date(year, month, day)
    except ValueError:
        return None
    if year < 100:  # JavaScript's Date takes these for 19xx, and then fails its own check
        return None
    return datetime(written.year, written.month, written.day, tzinfo=UTC).timestamp() * 1000


def _is_evergreen(path: str, *, with_slugs: bool) -> bool:
    if path in _EVERGREEN_FILES:
        return True
    return path.startswith("memory/") and _match(path, with_slugs=with_slugs) is None
