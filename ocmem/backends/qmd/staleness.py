"""Has a file changed since QMD looked? Told by times alone: what QMD stored of it is not read."""

import os
from dataclasses import dataclass

from ocmem.backends.qmd import sessions
from ocmem.backends.qmd.backend import QmdBackend
from ocmem.backends.qmd.collections import Collection, is_folder
from ocmem.backends.qmd.sessions import Exporter
from ocmem.backends.qmd.walk import walk
from ocmem.errors import IndexBusy, QmdError

PATIENCE_MS = 5000  # of somebody who only wants to search
MOST_BYTES = 32 * 1024 * 1024  # of transcripts that are exported meanwhile: a second at most


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether QMD's index is and stays behind, and what to tell about it."""

    is_behind: bool = False
    warnings: tuple[str, ...] = ()


def caught_up(backend: QmdBackend, *, syncs: bool) -> Standing:
    """Let QMD look at what changed, as far as that is quick."""
    told: list[str] = []
    is_behind = False
    if not syncs:
        if not is_stale(backend):
            return Standing()
        what = f"files changed since QMD looked; run: {backend.settings.index_command}"
        return Standing(True, (what,))
    waiting = _waiting(backend)
    if waiting.size > MOST_BYTES:
        is_behind = True
        told.append(f"QMD lacks some sessions; run: {backend.settings.index_command}")
    elif waiting.is_any:
        told += Exporter(backend.settings, backend.clock_ms())()
    behind = _refreshed(backend) if _is_behind(backend) else None
    told += [behind] if behind else []
    return Standing(is_behind or behind is not None, tuple(told))


def is_stale(backend: QmdBackend) -> bool:
    """Whether a note or a talk is younger than QMD's last look at it, or is not there any more."""
    return _waiting(backend).is_any or _is_behind(backend)


def _refreshed(backend: QmdBackend) -> str | None:
    """A warning if that cannot be."""
    try:
        if backend.refresh(patience_ms=PATIENCE_MS):
            return None
    except IndexBusy as error:
        return f"{error}; answering from what is there"
    except QmdError as error:
        if error.cause != "timeout":
            return f"{error}; answering from what is there"
    return f"QMD's index is out of date; run: {backend.settings.index_command}"


def _waiting(backend: QmdBackend) -> sessions.Waiting:
    since_ns, now_ms = _updated_ns(backend), backend.clock_ms()
    return sessions.waiting(backend.settings, since_ns=since_ns, now_ms=now_ms)


def _is_behind(backend: QmdBackend) -> bool:
    """As to the files themselves; without an index there is nothing to be behind."""
    documents, updated_ns = backend.documents(), _updated_ns(backend)
    if documents is None or updated_ns is None:
        return False
    now_ns = backend.clock_ms() * 1_000_000
    return any(
        _has_changed(each, documents.get(each.name, 0), since_ns=updated_ns, now_ns=now_ns)
        for each in backend.wanted.collections
    )


def _has_changed(collection: Collection, documents: int, *, since_ns: int, now_ns: int) -> bool:
    is_there, has_text = False, False
    for seen in walk(collection):
        # One from the future would never have been looked at enough.
        if since_ns < seen.stamp.mtime_ns <= now_ns:
            return True
        is_there = True
        has_text = has_text or (not seen.is_folder and seen.stamp.size > 0)
    if not is_there:
        # A file that is gone, but not a folder that is: its disk may be unmounted.
        return documents > 0 and is_folder(collection.root)
    return has_text and not documents  # a disk that is mounted again brings its old times along


def _updated_ns(backend: QmdBackend) -> int | None:
    """When QMD last looked: by our note of it; by its index, where only others had it look."""
    known_ms = backend.updated_at_ms
    if known_ms is not None:
        return known_ms * 1_000_000 + 999_999  # what is a little older is of the same millisecond
    try:
        return os.stat(backend.qmd.database).st_mtime_ns  # noqa: PTH116
    except OSError:
        return None
