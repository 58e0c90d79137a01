"""One writer for each file or folder: locks that name their holder and free themselves."""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ocmem.errors import IndexBusy, IndexReadOnly

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: SQLite's own locks must do
    fcntl = None  # type: ignore[assignment]

_POLL_S = 0.05
_WATCHER_PATIENCE_S = 0.5  # `status` may be looking at the lock just now


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock, or held it last."""

    pid: int
    command: str
    started_at_ms: int

    def shown(self, now_ms: float) -> str:
        age_s = max(0, int((now_ms - self.started_at_ms) / 1000))
        return f"ocmem {self.command} (process {self.pid}, since {age_s} s)"


@contextlib.contextmanager
def writing(index: Path, *, wait_s: float, command: str) -> Iterator[None]:
    """Hold the index for writing; after `wait_s` seconds raise IndexBusy that says who has it."""
    with _held(_beside(index, "lock"), wait_s=wait_s) as handle:
        if handle is None:
            raise IndexBusy(f"{index} is being indexed by {holder_of(index)}")
        _sign(handle, command)
        yield


@contextlib.contextmanager
def exporting(folder: Path, *, wait_s: float) -> Iterator[None]:
    """Be the only one to export into a folder, which is created; otherwise raise IndexBusy."""
    export = folder / ".ocmem-export"
    with _held(_beside(export, "lock"), wait_s=wait_s) as handle:
        if handle is None:
            raise IndexBusy(f"{folder} is being written to by {holder_of(export)}")
        _sign(handle, "export")
        yield


@contextlib.contextmanager
def watching(index: Path) -> Iterator[Holder | None]:
    """Be the only watcher of an index; raises IndexBusy if there is one.

    Gives the holder of a lock that was left behind by a watcher that did not end as it should.
    """
    path = _beside(index, "watch")
    with _held(path, wait_s=_WATCHER_PATIENCE_S) as handle:
        former = _read(path)
        if handle is None or (fcntl is None and former is not None and _is_alive(former.pid)):
            by = former.shown(time.time() * 1000) if former else "another process"
            raise IndexBusy(f"{index} is watched by {by}", hint="one watcher is enough")
        _sign(handle, "watch")
        try:
            yield former
        finally:
            with contextlib.suppress(OSError):
                os.ftruncate(handle, 0)


def watcher_of(index: Path) -> Holder | None:
    """Who watches the index now. Creates nothing."""
    path = _beside(index, "watch")
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        holder = _read(path)
        if holder is None or not (_is_locked(handle) if fcntl else _is_alive(holder.pid)):
            return None
        return holder
    finally:
        os.close(handle)


def holder_of(index: Path) -> str:
    """Who holds the index for writing, for people."""
    holder = _read(_beside(index, "lock"))
    return holder.shown(time.time() * 1000) if holder else "another process"


@contextlib.contextmanager
def _held(path: Path, *, wait_s: float) -> Iterator[int | None]:
    """An open file under lock, or None if somebody else has it for longer than that."""
    try:
        _create_private(path.parent)
    except OSError as error:
        why = "it is not a folder" if isinstance(error, FileExistsError) else error.strerror
        raise IndexReadOnly(f"cannot write in {path.parent}: {why}") from error
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise IndexReadOnly(f"{path} cannot be written: {error.strerror}") from error
    try:
        yield handle if _acquire(handle, wait_s=wait_s) else None
    finally:
        os.close(handle)  # which also unlocks; the file stays, or two waiters could both win


def _sign(handle: int, command: str) -> None:
    note = {"pid": os.getpid(), "command": command, "startedAt": int(time.time() * 1000)}
    with contextlib.suppress(OSError):  # on a full disk the lock holds all the same
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(note).encode(), 0)


def _read(path: Path) -> Holder | None:
    try:
        note = json.loads(path.read_text())
        return Holder(int(note["pid"]), str(note["command"]), int(note["startedAt"]))
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None


def _beside(index: Path, kind: str) -> Path:
    return index.with_name(f"{index.name}.{kind}")


def _create_private(folder: Path) -> None:
    """Create a folder for its owner only, and those above it, which `parents=True` would not."""
    missing = [each for each in folder.parents if not each.exists()]
    for each in (*reversed(missing), folder):
        each.mkdir(mode=0o700, exist_ok=True)


def _acquire(handle: int, *, wait_s: float) -> bool:
    if fcntl is None:
        return True
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
            return True  # a file system without locks; SQLite's own still hold


def _is_locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
