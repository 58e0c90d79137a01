"""Has a file changed since QMD looked? Told by times alone: what QMD stored of it is not read."""

import contextlib

from ocmem.backends.qmd.backend import QmdBackend
from ocmem.backends.qmd.walk import walk
from ocmem.errors import IndexBusy

PATIENCE_MS = 5000  # of somebody who only wants to search


def catch_up(backend: QmdBackend) -> str | None:
    """Let QMD look at what changed, as far as that is quick; else a warning."""
    behind = f"QMD's index is out of date; run: {backend.settings.index_command}"
    try:
        return None if backend.refresh(patience_ms=PATIENCE_MS) else behind
    except IndexBusy as error:
        return f"{error}; answering from what is there"


def is_stale(backend: QmdBackend) -> bool:
    """Whether a note or a folder is younger than QMD's last update."""
    updated_ns = _updated_ns(backend)
    if updated_ns is None:
        return False  # without an index there is nothing to be behind
    now_ns = backend.clock_ms() * 1_000_000
    return any(
        updated_ns
        < seen.stamp.mtime_ns
        <= now_ns  # one from the future would never be looked at enough
        for each in backend.wanted.collections
        if each.kind != "sessions"
        for seen in walk(each)
    )


def _updated_ns(backend: QmdBackend) -> int | None:
    """When QMD last looked: by our note of it, or by its index where others had it look."""
    known_ms = backend.updated_at_ms
    times = [] if known_ms is None else [known_ms * 1_000_000]
    database = backend.qmd.database
    for path in (database, database.with_name(f"{database.name}-wal")):
        with contextlib.suppress(OSError):
            times.append(path.stat().st_mtime_ns)
    return max(times, default=None) if database.exists() else None
