"""A model file from the web: resumed after an interruption, checked, then put in place at once.

What has arrived is in `<name>.part`, beside the target; `<name>.part.etag` says which version of
the file that is the beginning of. The open `.part` file is also the lock between two processes.
"""

import contextlib
import errno
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ocmem.errors import EmbedderError
from ocmem.providers import gguf, web
from ocmem.providers.web import MayPass, Place, Promise

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: the later of two downloads wins
    fcntl = None  # type: ignore[assignment]

Report = Callable[[int, int], None]  # bytes that are here, bytes in all or 0

_POLL_S = 0.2
_KEPT = "what has arrived is kept; the next run goes on from there"


class _Changed(Exception):
    """What is here is not the beginning of what the server has."""


def fetch(
    place: Place,
    target: Path,
    *,
    report: Report,
    notice: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Put the GGUF file of that address at `target`, unless another process just did."""
    try:
        _make_folder(target.parent)
        with _held_part(target, notice=notice, sleep=sleep) as part:
            if part is not None:
                _Download(place, target, part, report, notice, sleep).run()
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _no_room(target, None) from error
        raise EmbedderError(
            f"cannot write in {target.parent}: {error.strerror or error}",
            hint="set local.modelCacheDir to a folder that can be written",
        ) from error


@dataclass(slots=True)
class _Download:
    place: Place
    target: Path
    part: IO[bytes]
    report: Report
    notice: Callable[[str], None]
    sleep: Callable[[float], None]

    def run(self) -> None:
        promise = self._attempts()
        self._check(promise)
        os.fsync(self.part.fileno())
        _part_of(self.target).replace(self.target)
        _etag_of(self.target).unlink(missing_ok=True)
        _sync_folder(self.target.parent)

    def _attempts(self) -> Promise:
        failures, furthest = 0, self._size()
        while True:
            try:
                return self._attempt()
            except _Changed:
                self._discard()
                failures += 1
                message, wait_s = f"{self.place.shown} keeps changing", 0.0
            except MayPass as error:
                # Only a byte that was never here before counts as getting on.
                failures = 1 if self._size() > furthest else failures + 1
                furthest = max(furthest, self._size())
                message, wait_s = str(error), web.backoff_s(failures)
            if failures == web.ATTEMPTS:
                raise EmbedderError(message, hint=_KEPT)
            if wait_s:
                self.notice(f"{message}; retrying in {wait_s * 1000:.0f}ms")
                self.sleep(wait_s)

    def _attempt(self) -> Promise:
        """One request, to the end of the file."""
        start = self._size()
        validator = _validator(self.target)
        if start and not validator:
            self._discard()  # nothing says of which version it is
            start = 0
        headers = {"Range": f"bytes={start}-", "If-Range": validator} if start else {}
        with web.answered(self.place, headers) as (answer, promise):
            if answer.status_code == 416 and start:
                if web.range_of(answer) != (None, start):
                    raise _Changed
                return promise  # it was complete, and the process died before it could say so
            web.refuse_failure(answer, self.place)
            if answer.status_code == 206:
                if web.range_of(answer)[0] != start or promise.validator not in ("", validator):
                    raise _Changed
            else:
                self._discard()  # all of it comes again, whatever was asked for
                _etag_of(self.target).write_text(promise.validator)
            self._check_room(promise)
            self._receive(web.pieces(answer, self.place), promise.size)
        if promise.size is not None and self._size() > promise.size:
            raise _Changed
        if promise.size is not None and self._size() < promise.size:
            raise MayPass(f"{self.place.shown} broke off")
        return promise

    def _receive(self, pieces: Iterator[bytes], size: int | None) -> None:
        done = self._size()
        self.part.seek(done)
        for piece in pieces:
            _write(self.part, piece)
            done += len(piece)
            self.report(done, size or 0)
            if size is not None and done > size:
                break

    def _check(self, promise: Promise) -> None:
        digest = self._digest() if promise.sha256 else None
        self.part.seek(0)
        try:
            if digest != promise.sha256:
                raise EmbedderError(
                    f"the download from {self.place.shown} is damaged: its SHA-256 is {digest}, "
                    f"and the server promised {promise.sha256}",
                    hint="what was downloaded is deleted; try again",
                )
            gguf.check_magic(self.part.read(4))
        except EmbedderError:
            self._discard()
            _part_of(self.target).unlink(missing_ok=True)
            raise

    def _check_room(self, promise: Promise) -> None:
        needed = (promise.size or 0) - self._size()
        if shutil.disk_usage(self.target.parent).free < needed:
            raise _no_room(self.target, needed)

    def _digest(self) -> str:
        self.part.seek(0)
        return hashlib.file_digest(self.part, "sha256").hexdigest()  # type: ignore[arg-type]

    def _discard(self) -> None:
        self.part.truncate(0)
        _etag_of(self.target).unlink(missing_ok=True)

    def _size(self) -> int:
        return os.fstat(self.part.fileno()).st_size


@contextlib.contextmanager
def _held_part(
    target: Path, *, notice: Callable[[str], None], sleep: Callable[[float], None]
) -> Iterator[IO[bytes] | None]:
    """The part file, ours alone; None if another process has finished the target meanwhile."""
    path = _part_of(target)
    has_told = False
    while not target.exists():
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        # Unbuffered: what was received must be there after a kill.
        with os.fdopen(handle, "r+b", buffering=0) as part:
            if not _lock(part):
                if not has_told:
                    notice(f"another process is downloading {target.name}; waiting")
                    has_told = True
                sleep(_POLL_S)
                continue
            if not _is_still(path, part):
                continue  # it was renamed before the lock was ours
            if target.exists():
                path.unlink(missing_ok=True)  # ours, made a moment too late
                break
            yield part
            return
    yield None


def _lock(file: IO[bytes]) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks
    return True


def _is_still(path: Path, file: IO[bytes]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _make_folder(folder: Path) -> None:
    missing = [each for each in folder.parents if not each.exists()]
    for each in (*reversed(missing), folder):
        each.mkdir(mode=0o700, exist_ok=True)


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # not every file system can
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _part_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.part")


def _etag_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.part.etag")


def _validator(target: Path) -> str:
    try:
        return _etag_of(target).read_text()
    except (OSError, ValueError):
        return ""


def _no_room(target: Path, needed: int | None) -> EmbedderError:
    size = "" if needed is None else f": it needs {needed / 1e6:.0f} MB"
    return EmbedderError(
        f"no room for the model in {target.parent}{size}",
        hint=f"make room, or set local.modelCacheDir; {_KEPT}",
    )


def _write(file: IO[bytes], data: bytes) -> None:
    """All of it: an unbuffered file may take less at a time."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]
