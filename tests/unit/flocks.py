"""A file system that cannot lock files."""

import errno
import os


def refused_flock(handle: int, operation: int) -> None:
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
