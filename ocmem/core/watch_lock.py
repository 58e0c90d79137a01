"""One watcher per index: by a lock on a file, or by the note in it where there are no locks."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ocmem.core import holder, lock
from ocmem.core.holder import Holder
from ocmem.errors import IndexBusy, IndexReadOnly

_PATIENCE_S = 0.5  # `status` may be looking at the lock just now
_SETTLE_S = 0.3  # for somebody who started at the same moment


class WatchLock:
    """Held from `take` to `release`.

    With locks, it is the lock on a file that nobody has replaced. Without, whoever's note is in the
    file has it, and nobody writes over the note of one who is alive. Two who both found nobody
    there write one after the other, and then look whose note it is; should one of them be slower
    than the pause in between, the other learns of it at its next `keep`.
    """

    def __init__(self, index: Path, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.former: Holder | None = None  # who left the lock behind, not having ended as it should
        self._index = index
        self._path = lock.beside(index, "watch")
        self._me = holder.ourselves("watch")
        self._sleep = sleep
        self._handle: int | None = None  # of the locked file
        self._has_written = False  # our note, where there are no locks

    def take(self) -> None:
        """Be the only watcher, or raise IndexBusy."""
        while True:
            handle = lock.open_file(self._path)
            try:
                is_locked = lock.acquire(handle, wait_s=_PATIENCE_S)
                self.former = holder.read(self._path)
                if is_locked is False:
                    raise self._busy(self.former)
                if is_locked:
                    holder.sign(handle, self._me)
                    self._handle = handle
            finally:
                if self._handle is None:
                    os.close(handle)
            if not is_locked:
                return self._write_note()
            if self._is_held():
                return None
            self._close()  # the file was removed before it was locked

    def keep(self) -> None:
        """Check that it is still ours, and take it anew if somebody removed it.

        Raises IndexBusy if somebody else has it by now.
        """
        if not self._is_held():
            self._close()
            # If it cannot be written, the next sync will say so, and the next call tries again.
            with contextlib.suppress(IndexReadOnly):
                self.take()

    def release(self) -> None:
        if self._handle is not None:
            self._close()
        elif self._has_written and holder.read(self._path) == self._me:
            with contextlib.suppress(OSError):
                os.truncate(self._path, 0)

    def _is_held(self) -> bool:
        if self._handle is not None:
            try:
                return os.path.samestat(os.fstat(self._handle), self._path.stat())
            except (FileNotFoundError, NotADirectoryError):
                return False
            except OSError:
                return True  # it cannot be seen just now, which takes no lock away
        if not self._has_written or holder.read(self._path) != self._me:
            return False
        with contextlib.suppress(OSError):
            os.utime(self._path)  # which is how those on other machines see that we are alive
        return True

    def _close(self) -> None:
        if self._handle is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._handle, 0)
            os.close(self._handle)  # which also unlocks
            self._handle = None

    def _write_note(self) -> None:
        draft = self._path.with_name(f"{self._path.name}.{os.getpid()}-{time.time_ns()}")
        try:
            try:
                draft.touch(0o600)
                draft.write_bytes(self._me.note)
                former = self.former = holder.read(self._path)
                # Both by the clock of the file system, which may be that of another machine.
                age_s = draft.stat().st_mtime - self._path.stat().st_mtime
                is_ours = self._has_written and former == self._me
                if former is not None and not is_ours and former.is_alive(note_age_s=age_s):
                    raise self._busy(former)
                draft.replace(self._path)  # whole: nobody may read half a note
                self._has_written = True
            finally:
                draft.unlink(missing_ok=True)
        except OSError as error:
            raise IndexReadOnly(f"{self._path} cannot be written: {error.strerror}") from error
        self._sleep(_SETTLE_S)
        written = holder.read(self._path)
        if written != self._me:
            raise self._busy(written)

    def _busy(self, by: Holder | None) -> IndexBusy:
        who = by.shown(time.time() * 1000) if by else "another process"
        return IndexBusy(f"{self._index} is watched by {who}", hint="one watcher is enough")


@contextlib.contextmanager
def watching(index: Path, *, sleep: Callable[[float], None] = time.sleep) -> Iterator[WatchLock]:
    """Be the only watcher of an index; raises IndexBusy if there is one."""
    ours = WatchLock(index, sleep=sleep)
    try:
        ours.take()
        yield ours
    finally:
        ours.release()


def watcher_of(index: Path) -> Holder | None:
    """Who watches the index now. Creates nothing."""
    path = lock.beside(index, "watch")
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = holder.read(path)
        if found is None:
            return None
        is_held = lock.is_locked(handle)
        if is_held is None:
            is_held = found.is_alive(note_age_s=time.time() - os.fstat(handle).st_mtime)
        return found if is_held else None
    finally:
        os.close(handle)
