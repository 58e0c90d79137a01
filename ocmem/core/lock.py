"""One writer per index: a lock file that names its holder and frees itself when that one dies."""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

from ocmem.errors import IndexBusy, IndexReadOnly

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: SQLite's own locks must do
    fcntl = None  # type: ignore[assignment]

_POLL_S = 0.05


@contextlib.contextmanager
def writing(index: Path, *, wait_s: float, command: str) -> Iterator[None]:
    """Hold the index for writing; after `wait_s` seconds raise IndexBusy that says who has it."""
    path = index.with_name(index.name + ".lock")
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
        _acquire(handle, path, wait_s=wait_s)
        note = {"pid": os.getpid(), "command": command, "startedAt": int(time.time() * 1000)}
        with contextlib.suppress(OSError):  # on a full disk the lock holds all the same
            os.ftruncate(handle, 0)
            os.pwrite(handle, json.dumps(note).encode(), 0)
        yield
    finally:
        os.close(handle)  # which also unlocks; the file stays, or two waiters could both win


def holder_of(index: Path) -> str:
    """Who holds the lock, for people."""
    path = index.with_name(index.name + ".lock")
    try:
        note = json.loads(path.read_text())
        age = max(0, int(time.time() - note["startedAt"] / 1000))
        return f"ocmem {note['command']} (process {note['pid']}, since {age} s)"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def _create_private(folder: Path) -> None:
    """Create a folder for its owner only, and those above it, which `parents=True` would not."""
    missing = [each for each in folder.parents if not each.exists()]
    for each in (*reversed(missing), folder):
        each.mkdir(mode=0o700, exist_ok=True)


def _acquire(handle: int, path: Path, *, wait_s: float) -> None:
    if fcntl is None:
        return
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                index = path.with_name(path.name.removesuffix(".lock"))
                raise IndexBusy(f"{index} is being indexed by {holder_of(index)}") from None
            time.sleep(_POLL_S)
        except OSError:
            return  # a file system without locks; SQLite's own still hold
