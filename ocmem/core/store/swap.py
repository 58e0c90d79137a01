"""Replacing a whole index at once, with no moment without one."""

import contextlib
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from ocmem.core import sql
from ocmem.core.store.connection import Connection
from ocmem.core.store.rows import CacheKey
from ocmem.errors import IndexDamaged, IndexReadOnly, IndexUnavailable

_STALE_TEMPORARY_S = 3600


def new_file(path: Path) -> Path:
    """An empty file of our own beside the index, readable by its owner only."""
    remove_stale(path)
    temporary = path.with_name(f"{path.name}.tmp-{uuid.uuid4()}")
    create_private(temporary)
    return temporary


def create_private(path: Path) -> None:
    with _written(path), contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def open_for_building(path: Path) -> Connection:
    """A connection for a file that is thrown away if the run dies: no journal, no syncing."""
    db = Connection(path, "write")
    db.run("PRAGMA synchronous = OFF")
    db.run("PRAGMA journal_mode = MEMORY")
    return db


def copy_cache(db: Connection, old: Path, *, after: int = 0) -> int:
    """Carry every paid vector over, or those behind a row; returns the last row that was there."""
    db.run("ATTACH :path AS old", {"path": str(old)})
    try:
        with db.transaction():
            last = int(db.value(sql.LAST_CACHED))
            db.run(sql.COPY_CACHE, {"after": after})
            return last
    except IndexDamaged as error:  # not the new file, which the error names
        raise IndexDamaged(f"{old}: its cache of embeddings is damaged", hint=error.hint) from error
    finally:
        db.run("DETACH old")


def borrow_cache(db: Connection, other: Path, key: CacheKey) -> None:
    """Take over what an index beside this one paid for with the same provider."""
    if not other.is_file():
        return
    db.run("ATTACH :path AS old", {"path": str(other)})
    try:
        with db.transaction():
            db.run(sql.BORROW_CACHE, key.bound())
    finally:
        db.run("DETACH old")


def replace(old: Connection | None, built: Path, path: Path) -> None:
    """Put the finished file in the index's place.

    The old file is locked first: that recovers a journal left by a crash, which would otherwise
    be replayed into the new file and mix the two.
    """
    with _written(path):
        _replace(old, built, path)


def _replace(old: Connection | None, built: Path, path: Path) -> None:
    _sync_to_disk(built)
    if old is None:
        os.replace(built, path)
    else:
        was_wal = old.value("PRAGMA journal_mode") == "wal"
        if was_wal and old.value("PRAGMA journal_mode = DELETE") != "delete":
            raise IndexUnavailable(f"{path} is in use by another program", hint="try again later")
        with old.transaction("EXCLUSIVE"):
            os.replace(built, path)
        old.close()
        if was_wal:
            with Connection(path, "write") as db:
                db.run("PRAGMA journal_mode = WAL")
    _sync_to_disk(path.parent)


def discard(built: Path) -> None:
    for suffix in ("", "-journal", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            built.with_name(built.name + suffix).unlink(missing_ok=True)


def put_aside(path: Path) -> Path:
    """Move a damaged file out of the way, its journal with it; nothing is deleted."""
    aside = path.with_name(f"{path.name}.broken-{time.strftime('%Y%m%d-%H%M%S')}")
    move(path, aside)
    return aside


def move(path: Path, to: Path) -> None:
    with _written(path):
        for suffix in ("-journal", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.replace(path.with_name(path.name + suffix), to.with_name(to.name + suffix))
        os.replace(path, to)


def remove_stale(path: Path) -> None:
    """Delete half-built files of runs that were killed. Only old ones: OpenClaw makes them too."""
    for sibling in path.parent.iterdir():
        if sibling.name.startswith(f"{path.name}.tmp-"):
            with contextlib.suppress(OSError):
                if time.time() - sibling.stat().st_mtime > _STALE_TEMPORARY_S:
                    sibling.unlink()


@contextlib.contextmanager
def _written(path: Path) -> Iterator[None]:
    """The system's refusals as ours."""
    try:
        yield
    except OSError as error:
        raise IndexReadOnly(f"{path} cannot be written: {error.strerror}") from error


def _sync_to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
