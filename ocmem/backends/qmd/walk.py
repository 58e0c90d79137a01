"""The files that QMD looks at, as far as names and times tell; nothing is read."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from ocmem.backends.qmd.collections import Collection
from ocmem.core import files, globs
from ocmem.model import Stamp

_WILD = "*?[{,"
_LEFT_OUT = frozenset(("node_modules", "vendor", "dist", "build"))  # by QMD, at any depth


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
    is_wanted = globs.matcher(_masks(pattern))
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
                        if is_deep and entry.name not in _LEFT_OUT:
                            folders.append(entry.path)
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


def _masks(pattern: str) -> list[str]:
    """A pattern may be several, with commas between them; those in brackets part nothing."""
    masks, depth = [""], 0
    for sign in pattern:
        depth = max(0, depth + (sign in "{[") - (sign in "}]"))
        if sign == "," and not depth:
            masks.append("")
        else:
            masks[-1] += sign
    return [mask.strip() for mask in masks if mask.strip()]


def _file(location: str) -> Seen | None:
    try:
        status = os.lstat(location)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None  # QMD follows no links
    return Seen(location, files.stamp_of(status), is_folder=False)
