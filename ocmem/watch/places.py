"""Which folders are watched for an agent, and which of them send no events."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ocmem.core import files
from ocmem.model import Source
from ocmem.settings import Settings

# Others may write there without this machine's kernel knowing.
_REMOTE = tuple(
    "nfs cifs smb 9p afs ceph glusterfs lustre beegfs davfs vboxsf prl_fs drvfs fuse.".split()
)
_OCTAL = re.compile(r"\\([0-7]{3})")  # how a space in a path is written there
_MOUNTS = Path("/proc/self/mountinfo")


@dataclass(frozen=True, slots=True)
class Place:
    """A folder to watch. `names`: only these entries of it matter; None: all of them."""

    path: str
    source: Source
    is_recursive: bool
    names: frozenset[str] | None = None
    suffix: str = ".md"  # of the files that count

    def cares_about(self, path: str, *, is_folder: bool) -> bool:
        """Whether an event about `path` may mean that the index is behind."""
        name = path.rsplit("/", 1)[-1]
        if self.names is not None:
            return name in self.names
        if self.source == "sessions":
            return name.endswith(".jsonl") and not is_folder
        return is_folder or name.endswith(self.suffix)


def places_of(settings: Settings, sources: Iterable[Source]) -> list[Place]:
    """The folders of an agent, whether they exist or not; each once."""
    wanted = set(sources)
    found: list[Place] = []
    if "memory" in wanted:
        found += _memory_places(settings)
    if "sessions" in wanted:
        found.append(Place(str(settings.sessions_dir), "sessions", is_recursive=False))
    return list(dict.fromkeys(found))


def _memory_places(settings: Settings) -> Iterator[Place]:
    workspace = str(settings.workspace)
    if files.is_plain_folder(settings):
        yield Place(workspace, "memory", is_recursive=True)
        return
    names = frozenset({*settings.root_files, files.MEMORY_DIR})
    yield Place(workspace, "memory", is_recursive=False, names=names)
    yield Place(f"{workspace}/{files.MEMORY_DIR}", "memory", is_recursive=True)
    for extra in files.extra_locations(settings):
        if extra.endswith(".md") and not os.path.isdir(extra):  # noqa: PTH112
            folder, _, name = extra.rpartition("/")
            names = frozenset({name})
            yield Place(folder or "/", "memory", is_recursive=False, names=names)
        else:
            yield Place(extra, "memory", is_recursive=True)


def why_without_events(path: str, mounts: str | None = None) -> str | None:
    """Why changes below `path` might not be reported; None where they are."""
    kind = _file_system(os.path.realpath(path), _mounts() if mounts is None else mounts)
    return f"it is on a {kind} file system" if kind.startswith(_REMOTE) else None


def _mounts() -> str:
    try:
        return _MOUNTS.read_text(errors="replace")
    except OSError:
        return ""  # not Linux


def _file_system(path: str, mounts: str) -> str:
    """The kind of the innermost mount that holds `path`."""
    best, kind = "", ""
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split(" ")
        if len(fields) < 5 or not right:
            continue
        point = _OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[4])
        is_above = path == point or path.startswith(point.rstrip("/") + "/")
        if is_above and len(point) >= len(best):
            best, kind = point, right.split(" ")[0]
    return kind
