"""Which notes may be read by name, and the lines asked for. Nothing outside memory gets out."""

import errno
import math
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ocmem.core import files, session_files, utf16, virtual
from ocmem.errors import NotReadable
from ocmem.settings import Settings


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a note, counted from 1; no lines at all have `end_line` before `start_line`.

    Of a transcript, the turns that stand in those lines.
    """

    text: str
    path: str  # as the index names the file
    start_line: int
    end_line: int
    total_lines: int  # of a transcript, as far as it was read
    is_transcript: bool = False


def read_lines(
    settings: Settings,
    path: str,
    *,
    start: int | None = None,
    count: int | None = None,
    collections: Mapping[str, Path] | None = None,
    whole_workspace: bool = False,
) -> Excerpt:
    """`count` lines from `start` on, or all that follow; a trailing newline begins a last line.

    With the roots of QMD's `collections`, also what `qmd/<collection>/<path>` names. With the
    `whole_workspace`, every note in it, wherever it lies.
    """
    asked = utf16.trim(path)
    if not asked:
        raise NotReadable("no path given", hint=_hint(settings, whole_workspace=whole_workspace))
    if "\0" in asked:
        raise NotReadable("a path cannot hold a NUL character")
    transcript = _transcript_name(settings, asked)
    if transcript is not None:
        return _read_turns(settings, transcript, start=start or 1, count=count)
    target = _target(settings, asked, collections, whole_workspace=whole_workspace)
    try:
        data = _read(settings, asked, target)
    except ValueError:  # half a surrogate pair: no file has such a name
        shown = utf16.well_formed(asked)
        raise NotReadable(f"no such file: {shown}", errno=errno.ENOENT) from None
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotReadable(f"no such file: {asked}", errno=error.errno) from None
    except OSError as error:
        reason = f"{asked} cannot be read: {error.strerror}"
        raise NotReadable(reason, errno=error.errno) from None
    lines = data.decode("utf-8", "replace").split("\n")
    first = start or 1
    wanted = lines[first - 1 :] if count is None else lines[first - 1 : first - 1 + count]
    return Excerpt(
        text="\n".join(wanted),
        path=target.path,
        start_line=first,
        end_line=first + len(wanted) - 1,
        total_lines=len(lines),
    )


def _transcript_name(settings: Settings, asked: str) -> str | None:
    """The name of the transcript that is meant; None for everything else."""
    folder = "" if settings.is_folder else f"{os.path.normpath(settings.sessions_dir)}/"
    for prefix in (session_files.FOLDER, folder):
        name = asked.removeprefix(prefix)
        if prefix and name != asked and name.endswith(".jsonl") and "/" not in name:
            return name
    return None


def _read_turns(settings: Settings, name: str, *, start: int, count: int | None) -> Excerpt:
    """What was said in those lines of a transcript, one turn a line, as the index has it."""
    if settings.is_folder:
        raise NotReadable("a folder of notes has no transcripts")
    last = math.inf if count is None else start + count - 1
    turns: list[str] = []
    with session_files.opened(settings.sessions_dir / name, follow=False) as spoken:
        for number, turn in spoken:
            if number > last:
                break
            if number >= start:
                turns.append(turn)
        total = spoken.lines_read
    return Excerpt(
        text="\n".join(turns),
        path=f"{session_files.FOLDER}{name}",
        start_line=start,
        end_line=max(start - 1, int(min(last, total))),
        total_lines=total,
        is_transcript=True,
    )


def stored_path(
    settings: Settings, path: str, *, collections: Mapping[str, Path] | None = None
) -> str:
    """How the index names a file, whether it is there or not."""
    asked = utf16.trim(path)
    if collections is not None and asked.startswith(virtual.FOLDER):
        return virtual.located(asked, collections).path
    return os.path.relpath(_location(settings, asked), settings.workspace)


@dataclass(frozen=True, slots=True)
class _Place:
    """A folder and what may be read below it, by path relative to it."""

    root: str
    allows: Callable[[str], bool]

    def has(self, location: str) -> bool:
        inner = _below(self.root, location)
        return inner is not None and self.allows(inner)

    def truly_has(self, location: str) -> bool:
        """As `has`, with every symbolic link followed: none may lead out, or to other files."""
        return _Place(os.path.realpath(self.root), self.allows).has(os.path.realpath(location))


@dataclass(frozen=True, slots=True)
class _Target:
    """What was asked for, and the places that it may lie in."""

    location: str
    path: str  # as the index names it
    places: tuple[_Place, ...]
    hint: str


def _target(
    settings: Settings,
    asked: str,
    collections: Mapping[str, Path] | None,
    *,
    whole_workspace: bool,
) -> _Target:
    if collections is not None and asked.startswith(virtual.FOLDER):
        found = virtual.located(asked, collections)
        place = _Place(found.root, _anything)
        hint = "the .md files of a collection can be read, and nothing beside it"
        return _Target(found.location, found.path, (place,), hint)
    location = _location(settings, asked)
    return _Target(
        location=location,
        path=os.path.relpath(location, settings.workspace),
        places=tuple(_places(settings, whole_workspace=whole_workspace)),
        hint=_hint(settings, whole_workspace=whole_workspace),
    )


def _read(settings: Settings, asked: str, target: _Target) -> bytes:
    location = target.location
    places = [place for place in target.places if place.has(location)]
    if not places or not location.endswith(".md"):
        raise _refusal(settings, asked, target, is_inside=bool(places))
    _check_kind(asked, os.lstat(location).st_mode)
    if not any(place.truly_has(location) for place in places):
        raise NotReadable(
            f"{asked} leads out of the memory files through a symbolic link", hint=target.hint
        )
    # Another process may swap the file meanwhile: not for a link, nor for a pipe to wait on.
    descriptor = os.open(location, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        _check_kind(asked, os.fstat(descriptor).st_mode)
        return file.read()


def _location(settings: Settings, asked: str) -> str:
    """Absolute and without `..`; links stay as they are, but for those above the workspace."""
    workspace = os.path.normpath(settings.workspace)
    location = "/" + os.path.normpath(Path(workspace) / asked).lstrip("/")
    if _below(workspace, location) is None:
        inner = _below(os.path.realpath(workspace), location)
        if inner is not None:
            return f"{workspace}/{inner}"
    return location


def _places(settings: Settings, *, whole_workspace: bool) -> Iterator[_Place]:
    def is_memory(inner: str) -> bool:
        return inner in settings.root_files or inner.startswith(f"{files.MEMORY_DIR}/")

    allows = _is_note if files.is_plain_folder(settings) else is_memory
    yield _Place(os.path.normpath(settings.workspace), _anything if whole_workspace else allows)
    for extra in map(Path, files.extra_locations(settings)):
        try:
            mode = os.lstat(extra).st_mode
        except OSError:
            continue
        if stat.S_ISDIR(mode):
            yield _Place(str(extra), _anything)
        elif stat.S_ISREG(mode):
            yield _Place(str(extra.parent), extra.name.__eq__)


def _anything(inner: str) -> bool:
    return True


def _is_note(inner: str) -> bool:
    folders = inner.split("/")[:-1]
    return not any(name.startswith(".") or name == "node_modules" for name in folders)


def _below(root: str, location: str) -> str | None:
    """The path from `root` down to `location`; None where it does not lead down."""
    prefix = root.rstrip("/") + "/"
    return location.removeprefix(prefix) if location.startswith(prefix) else None


def _check_kind(asked: str, mode: int) -> None:
    if stat.S_ISLNK(mode):
        raise NotReadable(f"{asked} is a symbolic link, which is not followed")
    if stat.S_ISDIR(mode):
        raise NotReadable(f"{asked} is a folder; name a file in it")
    if not stat.S_ISREG(mode):
        raise NotReadable(f"{asked} is not a regular file")


def _refusal(settings: Settings, asked: str, target: _Target, *, is_inside: bool) -> NotReadable:
    inner = _below(os.path.normpath(settings.workspace), target.location) or target.location
    if (is_inside or inner == files.MEMORY_DIR) and Path(target.location).is_dir():
        return NotReadable(f"{asked} is a folder; name a file in it")
    if is_inside:
        return NotReadable(f"{asked} is not a Markdown file: its name does not end in .md")
    return NotReadable(f"{asked} is not one of the memory files", hint=target.hint)


def _hint(settings: Settings, *, whole_workspace: bool) -> str:
    workspace = settings.shown(settings.workspace)
    also = ", and what memorySearch.extraPaths names" if settings.search.extra_paths else ""
    if whole_workspace:
        return f"any .md file below {workspace} can be read{also}"
    if files.is_plain_folder(settings):
        return f"any .md file below {workspace} can be read, but not in hidden folders"
    return f"in {workspace}, MEMORY.md and the .md files below memory/ can be read{also}"
