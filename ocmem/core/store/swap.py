"""Replacing a whole index at once, with no moment without one."""

import contextlib
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from ocmem.core import sql
from ocmem.core.store.connection import COMPANIONS, Connection, open_left_behind
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
    for suffix in ("", *COMPANIONS):
        with contextlib.suppress(OSError):
            _beside(built, suffix).unlink(missing_ok=True)


def put_aside(path: Path) -> Path:
    """Move a damaged file out of the way, its journal with it; nothing is deleted."""
    aside = path.with_name(f"{path.name}.broken-{time.strftime('%Y%m%d-%H%M%S')}")
    move(path, aside)
    return aside


def put_back(path: Path) -> bool:
    """Undo the first rename of a swap whose second never came. The caller holds ocmem's lock.

    The other program may only be slow. So nothing that appeared at `path` meanwhile is overwritten;
    and if its rename comes after all, it replaces the file put back here, as it was to replace that
    file in the first place. Who has it open notices, as after any other swap.
    """
    found = open_left_behind(path)
    if found is None:
        return False
    found.close()
    moved: list[str] = []
    with _written(path):
        try:
            for suffix in (*COMPANIONS, ""):  # the file last: who sees it needs its journal, too
                with contextlib.suppress(FileNotFoundError):
                    _move_where_free(_beside(found.path, suffix), _beside(path, suffix))
                    moved.append(suffix)
        except FileExistsError:
            for suffix in moved:
                os.replace(_beside(path, suffix), _beside(found.path, suffix))
            return False
    return "" in moved


def move(path: Path, to: Path) -> None:
    with _written(path):
        for suffix in COMPANIONS:
            with contextlib.suppress(FileNotFoundError):
                os.replace(_beside(path, suffix), _beside(to, suffix))
        os.replace(path, to)


def remove_stale(path: Path) -> None:
    """Delete half-built files of runs that were killed. Only old ones: OpenClaw makes them too."""
    for sibling in path.parent.iterdir():
        if sibling.name.startswith(f"{path.name}.tmp-"):
            with contextlib.suppress(OSError):
                if time.time() - sibling.stat().st_mtime > _STALE_TEMPORARY_S:
                    sibling.unlink()


def _move_where_free(source: Path, to: Path) -> None:
    """Rename, but raise FileExistsError instead of overwriting."""
    try:
        os.link(source, to)  # refused where there is a file, in one step
    except (FileExistsError, FileNotFoundError):
        raise
    except OSError:
        # A file system without links. Between look and rename lies a moment, and at worst an index
        # that appeared in it is replaced by an older one, which the next run brings up to date.
        if to.exists():
            raise FileExistsError(str(to)) from None
        source.rename(to)
    else:
        source.unlink()


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


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
