"""One writer for each file or folder: locks that name their holder and free themselves."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from ocmem.core import holder
from ocmem.errors import IndexBusy, IndexReadOnly

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

_POLL_S = 0.05


@contextlib.contextmanager
def writing(index: Path, *, wait_s: float, command: str) -> Iterator[None]:
    """Hold the index for writing; after `wait_s` seconds raise IndexBusy that says who has it."""
    # Where files cannot be locked, two writers may meet. SQLite's own locks and the swap of whole
    # files keep the index sound then; at worst both embed the same chunks. To go by notes instead,
    # as watchers do, a long run would have to renew its own all along.
    with _held(index, wait_s=wait_s, command=command) as is_held:
        if not is_held:
            raise IndexBusy(f"{index} is being indexed by {holder_of(index)}")
        yield


@contextlib.contextmanager
def exporting(folder: Path, *, wait_s: float) -> Iterator[None]:
    """Be the only one to export into a folder, which is created; otherwise raise IndexBusy."""
    export = folder / ".ocmem-export"
    with _held(export, wait_s=wait_s, command="export") as is_held:
        if not is_held:
            raise IndexBusy(f"{folder} is being written to by {holder_of(export)}")
        yield


@contextlib.contextmanager
def _held(path: Path, *, wait_s: float, command: str) -> Iterator[bool]:
    """The lock beside `path`, signed; False if somebody else has it for longer than that."""
    handle = open_file(beside(path, "lock"))
    try:
        is_held = acquire(handle, wait_s=wait_s) is not False
        if is_held:
            holder.sign(handle, holder.ourselves(command))
        yield is_held
    finally:
        os.close(handle)  # which also unlocks; the file stays, or two waiters could both win


def holder_of(index: Path) -> str:
    """Who holds the index for writing, for people."""
    found = holder.read(beside(index, "lock"))
    return found.shown(time.time() * 1000) if found else "another process"


def beside(index: Path, kind: str) -> Path:
    return index.with_name(f"{index.name}.{kind}")


def open_file(path: Path) -> int:
    """A lock file, created if need be, its folders too."""
    try:
        _create_private(path.parent)
    except OSError as error:
        why = "it is not a folder" if isinstance(error, FileExistsError) else error.strerror
        raise IndexReadOnly(f"cannot write in {path.parent}: {why}") from error
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise IndexReadOnly(f"{path} cannot be written: {error.strerror}") from error


def acquire(handle: int, *, wait_s: float) -> bool | None:
    """Lock an open file; False if somebody else has it for longer, None if there are no locks."""
    if fcntl is None:
        return None
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        except OSError:
            return None  # as on some network file systems


def is_locked(handle: int) -> bool | None:
    """Whether somebody holds the file now; None if there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False


def _create_private(folder: Path) -> None:
    """Create a folder for its owner only, and those above it, which `parents=True` would not."""
    missing = [each for each in folder.parents if not each.exists()]
    for each in (*reversed(missing), folder):
        each.mkdir(mode=0o700, exist_ok=True)
