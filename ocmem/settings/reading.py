"""Files that others write, read without ever waiting for one."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def regular_bytes(file: Path, *, most: int) -> bytes:
    """What a regular file has, up to `most` bytes; raises OSError if it is none, or cannot."""
    with open_regular(file) as opened:
        return opened.read(most)


def open_regular(file: Path, *, follow: bool = True) -> BinaryIO:
    """A regular file, open for reading; raises OSError if it is none, or cannot be opened.

    Without `follow`, a symbolic link is none.
    """
    # Without O_NONBLOCK, opening a pipe waits for somebody to write into it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(file, flags if follow else flags | os.O_NOFOLLOW)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "not a regular file")
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")
