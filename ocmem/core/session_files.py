"""An agent's transcripts on disk: which there are, whose they are, and how one is opened."""

import contextlib
import errno
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ocmem.core import session_store, utf16
from ocmem.core.session_store import SessionEntry
from ocmem.core.transcript import Transcript
from ocmem.errors import SessionsError
from ocmem.settings import paths
from ocmem.settings.reading import open_regular

FOLDER = "sessions/"  # what the index calls the folder, wherever it is
_SUFFIX = ".jsonl"
_ARCHIVED = re.compile(r"(?P<base>.+\.jsonl)\.(?:reset|deleted|bak)\.(?P<time>[^/]+)")


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A transcript in the sessions folder, by its name there."""

    name: str
    size: int
    mtime_ms: float

    @property
    def path(self) -> str:
        """How the index and citations name it."""
        return f"{FOLDER}{self.name}"


@dataclass(frozen=True, slots=True)
class Session:
    """A chat, its transcript, or both: either may be missing, but not the two."""

    entry: SessionEntry | None
    file: SessionFile | None

    @property
    def session_id(self) -> str | None:
        if self.entry is not None:
            return self.entry.session_id
        return id_of(self.file.name) if self.file is not None else None

    @property
    def updated_at_ms(self) -> float:
        told = self.entry.updated_at_ms if self.entry is not None else None
        written = self.file.mtime_ms if self.file is not None else 0.0
        return written if told is None else told


def sessions(sessions_dir: Path, *, archived: bool = False) -> list[Session]:
    """Every chat and every transcript, the latest first."""
    files = {file.name: file for file in files_in(sessions_dir, archived=archived)}
    found: list[Session] = []
    claimed: set[str] = set()
    for entry in session_store.read(sessions_dir).values():
        file = own_file(entry, files)
        found.append(Session(entry, file))
        if file is not None:
            claimed.add(file.name)
    found += [Session(None, file) for name, file in files.items() if name not in claimed]
    return sorted(found, key=lambda each: -each.updated_at_ms)


def files_in(sessions_dir: Path, *, archived: bool = False) -> list[SessionFile]:
    """The transcripts of a folder by name; `archived` ones were reset or deleted."""
    found = []
    try:
        with os.scandir(sessions_dir) as entries:
            for entry in entries:
                is_wanted = entry.name.endswith(_SUFFIX) or (
                    archived and _ARCHIVED.fullmatch(entry.name)
                )
                with contextlib.suppress(FileNotFoundError):  # it went away after the listing
                    if is_wanted and entry.is_file(follow_symlinks=False):
                        status = entry.stat(follow_symlinks=False)
                        name = utf16.well_formed(entry.name)
                        found.append(SessionFile(name, status.st_size, status.st_mtime_ns / 1e6))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise SessionsError(f"{sessions_dir} cannot be read: {error.strerror}") from error
    return sorted(found, key=lambda file: file.name)


def own_file(entry: SessionEntry, files: Mapping[str, SessionFile]) -> SessionFile | None:
    """The transcript that belongs to a chat, if it is in the folder."""
    return next((files[name] for name in own_names(entry, files) if name in files), None)


def own_names(entry: SessionEntry, files: Mapping[str, SessionFile]) -> Iterator[str]:
    """The names that its transcript may have: as told, by its id, or the newest of its topics."""
    if entry.session_file is not None:
        yield os.path.basename(without_archive(entry.session_file))  # noqa: PTH119 - Windows, too
    if entry.session_id is not None:
        yield f"{entry.session_id}{_SUFFIX}"
        topics = [
            file for file in files.values() if file.name.startswith(f"{entry.session_id}-topic-")
        ]
        yield from (file.name for file in sorted(topics, key=lambda file: -file.mtime_ms))


def id_of(name: str) -> str:
    """The session id in the name of a transcript, archived or not."""
    stem = without_archive(name).removesuffix(_SUFFIX)
    return stem.partition("-topic-")[0]


def without_archive(name: str) -> str:
    """The name that an archived transcript had."""
    match = _ARCHIVED.fullmatch(name)
    return match["base"] if match else name


def archived_at(name: str) -> str | None:
    """When a transcript was archived, as its name has it: `2026-02-20T10-00-00.000Z`."""
    match = _ARCHIVED.fullmatch(name)
    return match["time"] if match else None


@contextlib.contextmanager
def opened(location: Path, *, follow: bool = True) -> Iterator[Transcript]:
    """A transcript to be read; raises SessionsError where there is none that can be.

    Without `follow`, what is behind a symbolic link is none.
    """
    try:
        file = open_regular(location, follow=follow)
    except (FileNotFoundError, NotADirectoryError):
        raise SessionsError(f"no such transcript: {location}") from None
    except ValueError:
        raise SessionsError("a path cannot hold a NUL character") from None
    except OSError as error:
        why = "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror
        raise SessionsError(f"{location} cannot be read: {why}") from error
    with file:
        try:
            yield Transcript(file, os.fstat(file.fileno()).st_size)
        except OSError as error:
            raise SessionsError(f"{location} cannot be read: {error.strerror}") from error


def located(wanted: str, sessions_dir: Path, *, home: Path) -> Path | None:
    """A transcript by its name in the sessions folder, or by a path, which may begin with `~`."""
    asked = wanted.strip()
    if not asked or "\0" in asked:
        return None
    name = asked.removeprefix(FOLDER)
    if "/" not in name:
        for place in (sessions_dir / name, sessions_dir / f"{name}{_SUFFIX}"):
            if os.path.lexists(place):
                return place
    place = paths.expand(asked, home)
    return place if os.path.lexists(place) else None


def owner(entries: Iterable[SessionEntry], name: str) -> SessionEntry | None:
    """The chat that a transcript belongs to, if the store knows."""
    id, base = id_of(name), without_archive(name)
    known = list(entries)
    by_file = (entry for entry in known if Path(entry.session_file or "").name == base)
    by_id = (entry for entry in known if entry.session_id == id)
    return next(by_file, None) or next(by_id, None)
