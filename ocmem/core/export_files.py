"""Files of an export folder: written whole or not at all, and known again by their content."""

import contextlib
import errno
import hashlib
import os
import stat
from pathlib import Path
from types import TracebackType

from ocmem.model import Stamp
from ocmem.settings.reading import open_regular

# Always the same, as only one process writes there: what a killed run left is then found again.
_DRAFT = ".ocmem-export.tmp"
_PIECE = 1 << 20
NOT_REGULAR = (errno.ELOOP, errno.EISDIR, errno.EINVAL)  # what `open_regular` says of other things


class CannotWrite(Exception):
    """Trouble with the folder, not with one file: the next one would meet it as well."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.reason = error.strerror


class Draft:
    """A new file for the folder, for its owner only; nothing is left of it until it is put there.

    Raises CannotWrite where there is no room for it.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / _DRAFT
        self._hash = hashlib.sha256()

    def __enter__(self) -> "Draft":
        try:
            self._path.unlink(missing_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            self._file = os.fdopen(os.open(self._path, flags, 0o600), "wb")
        except OSError as error:
            raise CannotWrite(error) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def add(self, text: str) -> None:
        data = text.encode()
        self._hash.update(data)
        try:
            self._file.write(data)
        except OSError as error:
            raise CannotWrite(error) from error

    def finish(self) -> None:
        try:
            self._file.flush()
            self.mark = _mark(os.fstat(self._file.fileno()))
            self._file.close()
        except OSError as error:
            raise CannotWrite(error) from error

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def goes_on_from(self, target: Path) -> bool:
        """Whether `target` is a beginning of the new text, as an earlier export of a talk is."""
        try:
            with open_regular(target, follow=False) as old, self._path.open("rb") as new:
                while piece := old.read(_PIECE):
                    if new.read(len(piece)) != piece:
                        return False
        except OSError:
            return False
        return True

    def put(self, target: Path) -> None:
        """Take the place of `target`, all at once; raises OSError."""
        self._path.replace(target)


def remove_leftovers(folder: Path) -> None:
    """What a killed run was writing; it has what was said in it."""
    with contextlib.suppress(OSError):
        (folder / _DRAFT).unlink(missing_ok=True)


def digest_of(location: Path) -> str:
    """The hash of a regular file; of anything else none. Raises OSError if it cannot be read."""
    digest = hashlib.sha256()
    try:
        with open_regular(location, follow=False) as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
    except OSError as error:
        if error.errno in NOT_REGULAR:
            return ""
        raise
    return digest.hexdigest()


def mark_of(location: Path) -> Stamp | None:
    """What tells without reading that an exported file is as it was; None if there is no file."""
    try:
        status = os.lstat(location)
    except OSError:
        return None
    return _mark(status) if stat.S_ISREG(status.st_mode) else None


def _mark(status: os.stat_result) -> Stamp:
    # Without the one time that changes when a draft is put in its place.
    return Stamp(status.st_size, status.st_mtime_ns, 0, status.st_ino)
