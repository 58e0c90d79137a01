"""The files that QMD looks at, as far as names and times tell; nothing is read."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from ocmem.backends.qmd.collections import Collection
from ocmem.core import files, globs
from ocmem.model import Stamp

_WILD = "*?[{"


@dataclass(frozen=True, slots=True)
class Seen:
    """A file that counts, or a folder that such a file may come into or go from."""

    location: str
    stamp: Stamp
    is_folder: bool


def walk(collection: Collection) -> Iterator[Seen]:
    """What a collection is made of now; what cannot be looked at is left out."""
    root, pattern = str(collection.root), collection.pattern
    if not is_wild(pattern):
        seen = _file(os.path.join(root, pattern))  # noqa: PTH118
        yield from [seen] if seen else []
        return
    is_wanted = globs.matcher([pattern])
    is_deep = goes_deep(pattern)
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            yield Seen(folder, files.stamp_of(os.stat(folder)), is_folder=True)  # noqa: PTH116
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue  # QMD does not look there
                    if entry.is_dir(follow_symlinks=False):
                        folders += [entry.path] if is_deep else []
                    elif entry.is_file(follow_symlinks=False) and is_wanted(
                        os.path.relpath(entry.path, root)
                    ):
                        stamp = files.stamp_of(entry.stat(follow_symlinks=False))
                        yield Seen(entry.path, stamp, is_folder=False)
        except OSError:
            continue  # QMD's update will say what it makes of that


def is_wild(pattern: str) -> bool:
    """Whether it may stand for more than one file."""
    return any(sign in pattern for sign in _WILD)


def goes_deep(pattern: str) -> bool:
    """Whether it may stand for files in folders of the root."""
    return "/" in pattern or "**" in pattern


def count(collection: Collection) -> int:
    return sum(not seen.is_folder for seen in walk(collection))


def _file(location: str) -> Seen | None:
    try:
        return Seen(location, files.stamp_of(os.lstat(location)), is_folder=False)
    except OSError:
        return None
