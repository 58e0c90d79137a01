"""Every file in the memory folders, whether it counts, and how the index stands to it."""

from collections.abc import Iterator
from dataclasses import dataclass

from ocmem.core import files, sql
from ocmem.core.freshness import indexed_sources, scan_of
from ocmem.core.scan import Scan, is_untouched
from ocmem.core.store import Connection, open_existing, rows
from ocmem.model import FoundFile, Issue, Source, Stamp
from ocmem.settings import Settings


@dataclass(frozen=True, slots=True)
class Listed:
    """One file. `state` is indexed, changed, new, gone, kept, unreadable, or why it is left out."""

    path: str
    source: Source
    state: str
    chunks: int = 0
    size: int | None = None
    mtime_ms: float | None = None

    @property
    def counts(self) -> bool:
        return self.state in ("indexed", "changed", "new", "unreadable", "kept")


@dataclass(frozen=True, slots=True)
class Listing:
    files: list[Listed]
    issues: list[Issue]


def listing(settings: Settings) -> Listing:
    """Read-only: nothing is created and nothing is indexed."""
    db = open_existing(settings.index_path, "read")
    if db is None:
        return _listing(settings, None)
    with db:
        return _listing(settings, db if rows.is_index(db) else None)


def _listing(settings: Settings, db: Connection | None) -> Listing:
    meta = None if db is None else rows.read_meta(db)
    scan = scan_of(settings, db, indexed_sources(settings, meta), with_left_out=True)
    chunks: dict[tuple[str, str], int] = {}
    if db is not None:
        chunks = {(source, path): n for source, path, n in db.rows(sql.COUNT_CHUNKS_BY_FILE)}
    listed = [_found(scan, file, chunks) for file in scan.found.files]
    left_out = scan.found.left_out or []
    explained = {(left.source, left.path) for left in left_out if left.why != files.MISSING}
    absent = [file for file in _absent(scan, chunks) if (file.source, file.path) not in explained]
    listed += absent
    counted = {(file.source, file.path) for file in listed}
    # Several extra paths may lead to the same file, and each may have its own reason.
    told: set[tuple[Source, str, Stamp | None]] = {
        *((file.source, file.path, file.stamp) for file in scan.found.files),
        *((file.source, file.path, None) for file in absent),
    }
    for left in left_out:
        if (left.source, left.path, left.stamp) in told:
            continue
        told.add((left.source, left.path, left.stamp))
        key = (left.source, left.path)
        count = 0 if key in counted else chunks.get(key, 0)
        listed.append(_with_stamp(left.path, left.source, left.why, count, left.stamp))
    return Listing(listed, scan.found.issues)


def _found(scan: Scan, file: FoundFile, chunks: dict[tuple[str, str], int]) -> Listed:
    row = scan.known.get((file.source, file.path))
    count = chunks.get((file.source, file.path), 0)
    if row is not None and is_untouched(row, file.stamp):
        state = "indexed"
    else:
        try:
            with files.opened(file) as read:
                is_same = row is not None and row.hash == read.hash
            state = "new" if row is None else "indexed" if is_same else "changed"
        except OSError:
            state = "unreadable"
    return _with_stamp(file.path, file.source, state, count, file.stamp)


def _absent(scan: Scan, chunks: dict[tuple[str, str], int]) -> Iterator[Listed]:
    for source, path in scan.gone():
        yield Listed(path, source, "gone", chunks.get((source, path), 0))
    for keys in scan.kept().values():
        for source, path in keys:
            yield Listed(path, source, "kept", chunks.get((source, path), 0))


def _with_stamp(path: str, source: Source, state: str, chunks: int, stamp: Stamp | None) -> Listed:
    if stamp is None:
        return Listed(path, source, state, chunks)
    return Listed(path, source, state, chunks, stamp.size, stamp.mtime_ms)
