"""Which files count as memory; reads and hashes them."""

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ocmem.core import globs, transcript, utf16
from ocmem.model import FoundFile, Issue, LeftOut, Source, SourceFile, Stamp
from ocmem.settings import Settings

MEMORY_DIR = "memory"
MISSING = "missing"  # why an extra path that is not there is left out
_SUFFIX = ".md"
_MOST_NS = 2**63 - 1

Sighting = tuple[str, os.stat_result, str]  # location, what lstat said, real path


@dataclass(slots=True)
class Discovery:
    """What a walk found. Rows below an `unreachable` folder must outlive its absence."""

    files: list[FoundFile] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)
    unreachable: set[str] = field(default_factory=set)
    uncounted: set[Source] = field(default_factory=set)  # sources whose total is unknown
    left_out: list[LeftOut] | None = None  # filled only if it is a list


def discover(
    settings: Settings,
    sources: Iterable[Source] | None = None,
    *,
    had_memory: bool = False,
    with_left_out: bool = False,
) -> Discovery:
    """Every file that counts, in the order in which it is indexed.

    A folder that `had_memory` when it was indexed is not taken for a plain one without it.
    """
    found = Discovery(left_out=[] if with_left_out else None)
    wanted = settings.search.sources if sources is None else tuple(sources)
    if "memory" in wanted:
        _discover_memory(settings, found, is_plain=is_plain_folder(settings) and not had_memory)
    if "sessions" in wanted:
        _discover_sessions(settings, found)
    return found


def is_plain_folder(settings: Settings) -> bool:
    """A folder given by hand that has no memory layout: every Markdown file below it counts."""
    names = (*settings.root_files, MEMORY_DIR)
    return settings.is_folder and not any(
        os.path.lexists(settings.workspace / name) for name in names
    )


def extra_locations(settings: Settings) -> dict[str, str | None]:
    """The configured extra paths, absolute, each once, with the glob that narrows it, if any."""
    home = str(settings.home)
    found: dict[str, str | None] = {}
    for entry in settings.search.extra_paths:
        expanded = home + entry[1:] if entry == "~" or entry.startswith("~/") else entry
        location = os.path.normpath(settings.workspace / expanded)
        found.setdefault(location, settings.search.extra_patterns.get(entry))
    return found


@contextlib.contextmanager
def opened(found: FoundFile) -> Iterator[SourceFile]:
    """The file, decoded as the reference does; raises OSError if it cannot be read.

    A transcript may be too large to hold: its turns are there as long as the file is open.
    """
    with open(found.location, "rb") as file:
        # Before reading: a change during the read then shows as another stamp next time.
        stamp = stamp_of(os.fstat(file.fileno()))
        if found.source == "sessions":
            spoken = transcript.Transcript(file, stamp.size)
            digest = transcript.content_hash(spoken)
            yield SourceFile(found.path, found.source, stamp, "", digest, spoken)
            return
        data = file.read()
    yield _note(found, stamp, data)


def _note(found: FoundFile, stamp: Stamp, data: bytes) -> SourceFile:
    try:
        text = data.decode()
        digest = hashlib.sha256(data).hexdigest()
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        digest = utf16.sha256(text)
    return SourceFile(found.path, found.source, stamp, text, digest)


def error_code(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, type(error).__name__)


def _discover_memory(settings: Settings, found: Discovery, *, is_plain: bool) -> None:
    workspace = settings.workspace
    collected: list[Sighting] = []
    walk = _Walk(settings, found)
    if is_plain:
        text = f"workspace missing ({settings.shown(workspace)})"
        _check_folder(found, workspace, text)
        collected += walk.below(str(workspace), skip_hidden=True)
    else:
        if not os.path.exists(workspace):
            found.unreachable.add(str(workspace))
        for name in settings.root_files:
            collected += walk.one_file(str(workspace / name))
        extra = [
            list(_extra(settings, found, walk, location, pattern))
            for location, pattern in extra_locations(settings).items()
        ]
        collected += walk.memory_folder(str(workspace / MEMORY_DIR))
        collected += [file for files in extra for file in files]
    _keep(settings, found, walk, collected)
    if not found.files and not found.issues:
        text = f"no memory files found in {settings.shown(workspace)}"
        found.issues.append(Issue(text, serious=False))


def _keep(
    settings: Settings, found: Discovery, walk: "_Walk", collected: Iterable[Sighting]
) -> None:
    """Each file once, by the first of its names, unless it is excluded."""
    is_excluded = globs.matcher(settings.search.exclude)
    seen: set[str] = set()
    paths: set[str] = set()
    for location, status, real in collected:
        path = _stored_path(settings, location)
        if is_excluded(path):
            walk.leave_out(location, "excluded", status)
        elif real in seen:
            walk.leave_out(location, "duplicate", status)
        elif path in paths:  # a name with a backslash in it
            text = f"another file is known as {path}, file skipped ({settings.shown(location)})"
            found.issues.append(Issue(text))
            walk.leave_out(location, "duplicate", status)
        else:
            seen.add(real)
            paths.add(path)
            found.files.append(FoundFile(path, "memory", location, stamp_of(status)))


def _discover_sessions(settings: Settings, found: Discovery) -> None:
    folder = settings.sessions_dir
    shown = settings.shown(folder)
    is_excluded = globs.matcher(settings.search.exclude)
    try:
        for entry in _sorted_entries(str(folder)):
            why = _add_session(settings, found, entry, is_excluded)
            if why is not None and found.left_out is not None:
                path = utf16.well_formed(f"sessions/{entry.name}")
                found.left_out.append(LeftOut(path, "sessions", why, _stamp_of_entry(entry)))
    except FileNotFoundError:
        found.unreachable.add(str(folder))
        found.issues.append(Issue(f"sessions directory missing ({shown})", serious=False))
    except OSError as error:
        found.unreachable.add(str(folder))
        found.uncounted.add("sessions")
        text = f"sessions directory not accessible ({shown}): {error_code(error)}"
        found.issues.append(Issue(text))


def _add_session(
    settings: Settings,
    found: Discovery,
    entry: os.DirEntry[str],
    is_excluded: Callable[[str], bool],
) -> str | None:
    """Take a transcript in, or say why it is left out; None also if it went away meanwhile."""
    path = f"sessions/{entry.name}"
    shown = settings.shown(entry.path)
    if not entry.name.endswith(".jsonl"):
        return "not a transcript"
    if path != utf16.well_formed(path):
        text = f"file name is not valid UTF-8, file skipped ({utf16.well_formed(shown)})"
        found.issues.append(Issue(text))
        return "name is not UTF-8"
    if not entry.is_file(follow_symlinks=False):
        return "symlink" if entry.is_symlink() else "not a file"
    if is_excluded(path):
        return "excluded"
    try:
        stamp = stamp_of(entry.stat(follow_symlinks=False))
        found.files.append(FoundFile(path, "sessions", entry.path, stamp))
    except FileNotFoundError:
        pass  # it went away after the listing
    except OSError as error:
        found.unreachable.add(entry.path)
        found.issues.append(Issue(f"{shown} not readable ({error_code(error)})"))
    return None


@dataclass(frozen=True, slots=True)
class _Walk:
    """Collects files and, instead of stopping, notes what it could not see."""

    settings: Settings
    found: Discovery

    def one_file(self, location: str) -> Iterator[Sighting]:
        try:
            status = os.lstat(location)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                self._not_seen(os.path.dirname(location), error)
            return
        if stat.S_ISREG(status.st_mode):
            self._check_readable(location)
            yield location, status, os.path.realpath(location)
        else:
            self.leave_out(location, "symlink" if stat.S_ISLNK(status.st_mode) else "not a file")

    def memory_folder(self, folder: str) -> Iterator[Sighting]:
        try:
            mode = os.lstat(folder).st_mode
        except FileNotFoundError:
            self.found.unreachable.add(folder)
            text = f"memory directory missing ({self.settings.shown(folder)})"
            self.found.issues.append(Issue(text, serious=False))
            return
        except OSError as error:
            self._not_seen(folder, error)
            return
        if stat.S_ISDIR(mode):
            yield from self.below(folder)
        else:
            self.leave_out(folder, "symlink" if stat.S_ISLNK(mode) else "not a folder")
            text = f"not a folder, or a link to one, so skipped ({self.settings.shown(folder)})"
            self.found.issues.append(Issue(text, serious=False))

    def below(self, folder: str, *, skip_hidden: bool = False) -> Iterator[Sighting]:
        """Markdown files under `folder`, depth first, names in byte order, no symlinks."""
        # A stack of open listings instead of recursion: folders nest deeper than Python likes.
        listings = [self._listing(folder)]
        while listings:
            real, entries = listings[-1]
            entry = next(entries, None)
            if entry is None:
                listings.pop()
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    hidden = entry.name.startswith(".") or entry.name == "node_modules"
                    if not (skip_hidden and hidden):
                        listings.append(self._listing(entry.path))
                    else:
                        self.leave_out(entry.path, "hidden folder")
                elif entry.name.endswith(_SUFFIX) and entry.is_file(follow_symlinks=False):
                    if self._is_badly_named(entry.path):
                        continue
                    status = entry.stat(follow_symlinks=False)
                    self._check_readable(entry.path)
                    yield entry.path, status, f"{real}/{entry.name}"
                elif self.found.left_out is not None:
                    self._explain(entry)
            except FileNotFoundError:
                continue  # it went away between the listing and the look
            except OSError as error:
                # A folder that may be listed but not entered; once is enough for all in it.
                parent = os.path.dirname(entry.path)
                if parent not in self.found.unreachable:
                    self._not_seen(parent, error, "scan failed")

    def unreadable(self, location: str, code: str) -> None:
        self.found.issues.append(Issue(f"{self.settings.shown(location)} not readable ({code})"))

    def _check_readable(self, location: str) -> None:
        if not os.access(location, os.R_OK):
            self.unreadable(location, "EACCES")

    def leave_out(self, location: str, why: str, status: os.stat_result | None = None) -> None:
        if self.found.left_out is not None:
            path = _stored_path(self.settings, location)
            stamp = None if status is None else stamp_of(status)
            self.found.left_out.append(LeftOut(path, "memory", why, stamp))

    def _explain(self, entry: os.DirEntry[str]) -> None:
        if entry.is_symlink():
            self.leave_out(entry.path, "symlink")
        elif entry.is_file(follow_symlinks=False):
            self.leave_out(entry.path, "not Markdown", entry.stat(follow_symlinks=False))
        else:
            self.leave_out(entry.path, "not a file")

    def _listing(self, folder: str) -> tuple[str, Iterator[os.DirEntry[str]]]:
        try:
            return os.path.realpath(folder), iter(_sorted_entries(folder))
        except OSError as error:
            if error.errno != errno.ENOENT:
                self._not_seen(folder, error)
            return folder, iter(())

    def _not_seen(self, folder: str, error: OSError, what: str = "not accessible") -> None:
        if folder in self.found.unreachable:
            return
        self.found.unreachable.add(folder)
        self.found.uncounted.add("memory")
        places = {str(self.settings.workspace): "workspace"}
        places[str(self.settings.workspace / MEMORY_DIR)] = "memory directory"
        kind = places.get(folder, "folder")
        text = f"{kind} {what} ({self.settings.shown(folder)}): {error_code(error)}"
        self.found.issues.append(Issue(text))
        self.leave_out(folder, "unreadable")

    def _is_badly_named(self, location: str) -> bool:
        if location.isascii():
            return False
        path = os.path.relpath(location, self.settings.workspace)
        if path == utf16.well_formed(path):
            return False
        shown = utf16.well_formed(self.settings.shown(location))
        self.found.issues.append(Issue(f"file name is not valid UTF-8, file skipped ({shown})"))
        self.leave_out(utf16.well_formed(location), "name is not UTF-8")
        return True


def _extra(
    settings: Settings, found: Discovery, walk: _Walk, location: str, pattern: str | None
) -> Iterator[Sighting]:
    shown = settings.shown(location)
    try:
        status = os.lstat(location)
    except FileNotFoundError:
        is_file_gone = location.endswith(_SUFFIX) and os.path.isdir(os.path.dirname(location))
        if not is_file_gone:
            found.unreachable.add(location)
        found.issues.append(Issue(f"additional memory path missing ({shown})", serious=False))
        walk.leave_out(location, MISSING)
        return
    except OSError as error:
        found.unreachable.add(location)
        text = f"additional memory path not accessible ({shown}): {error_code(error)}"
        found.issues.append(Issue(text))
        walk.leave_out(location, "unreadable")
        return
    if stat.S_ISDIR(status.st_mode) and not os.access(location, os.R_OK):
        found.unreachable.add(location)
        walk.unreadable(location, "EACCES")
        walk.leave_out(location, "unreadable")
    elif stat.S_ISDIR(status.st_mode):
        is_wanted: Callable[[str], bool] = globs.matcher([pattern] if pattern else ["**"])
        for sighting in walk.below(location):
            if is_wanted(os.path.relpath(sighting[0], location)):
                yield sighting
            else:
                walk.leave_out(sighting[0], "not in pattern", sighting[1])
    elif stat.S_ISREG(status.st_mode) and location.endswith(_SUFFIX):
        yield from walk.one_file(location)
    else:
        walk.leave_out(location, "symlink" if stat.S_ISLNK(status.st_mode) else "not Markdown")


def _stored_path(settings: Settings, location: str) -> str:
    return os.path.relpath(location, settings.workspace).replace("\\", "/")


def _check_folder(found: Discovery, folder: Path, missing: str) -> None:
    try:
        os.lstat(folder)
    except (FileNotFoundError, NotADirectoryError):
        found.unreachable.add(str(folder))
        found.issues.append(Issue(missing, serious=False))
    except OSError:
        found.unreachable.add(str(folder))  # what hides it has been reported


def _sorted_entries(folder: str) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: os.fsencode(entry.name))


def _stamp_of_entry(entry: os.DirEntry[str]) -> Stamp | None:
    """The stamp of a regular file that may be gone by now."""
    try:
        is_plain = entry.is_file(follow_symlinks=False)
        return stamp_of(entry.stat(follow_symlinks=False)) if is_plain else None
    except OSError:
        return None


def stamp_of(status: os.stat_result) -> Stamp:
    # Some file systems keep times beyond 2262, which SQLite cannot hold in nanoseconds.
    times = (status.st_mtime_ns, status.st_ctime_ns)
    mtime_ns, ctime_ns = (max(-_MOST_NS, min(time_ns, _MOST_NS)) for time_ns in times)
    return Stamp(status.st_size, mtime_ns, ctime_ns, status.st_ino)
