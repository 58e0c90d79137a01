"""Transcripts -> a folder of Markdown for QMD, as the reference writes it; others' files stay."""

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ocmem.core import lock, utf16
from ocmem.core.export_files import (
    NOT_REGULAR,
    CannotWrite,
    Draft,
    digest_of,
    mark_of,
    remove_leftovers,
)
from ocmem.core.export_manifest import Entry, Manifest
from ocmem.core.transcript import Transcript, Turn
from ocmem.errors import IndexBusy, IndexReadOnly
from ocmem.model import Issue, Stamp
from ocmem.settings.reading import open_regular

_TRANSCRIPT = ".jsonl"
_EXPORT = ".md"
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export did, by file name. `foreign` files are others' and were not touched."""

    written: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    issues: tuple[Issue, ...] = ()
    refused: str | None = None  # why nothing may be exported into that folder

    @property
    def has_changed(self) -> bool:
        return bool(self.written or self.removed)


def export(
    sessions_dir: Path,
    export_dir: Path,
    *,
    workspace: Path,
    retention_days: int | None,
    now_ms: float,
    wait_s: float = 5.0,
    shown: Callable[[Path], str] = str,
) -> Exported:
    """Bring the folder in step with the transcripts: write what changed, remove what is gone.

    Only what ocmem wrote is ever removed, and only as long as nobody else has changed it. Whatever
    cannot be read or written becomes an issue; nothing is raised for it.
    """
    why = refusal(export_dir, workspace=workspace, sessions_dir=sessions_dir, shown=shown)
    if why is not None:
        return Exported(refused=why)
    oldest_ms = now_ms - retention_days * _DAY_MS if retention_days else None
    try:
        with lock.exporting(export_dir, wait_s=wait_s):
            return _Export(sessions_dir, export_dir, shown).run(oldest_ms)
    except IndexBusy as error:  # the other one does what is to be done
        return Exported(issues=(Issue(str(error), serious=False),))
    except IndexReadOnly as error:
        return Exported(issues=(Issue(str(error)),))
    except OSError as error:
        text = f"{shown(export_dir)} cannot be used for exported sessions: {error.strerror}"
        return Exported(issues=(Issue(text),))


def refusal(
    export_dir: Path,
    *,
    workspace: Path,
    sessions_dir: Path,
    shown: Callable[[Path], str] = str,
) -> str | None:
    """Why sessions must not be exported there; None where they may."""
    # The reference deletes every other .md file of the folder, and may be using the same settings.
    places = {
        "the workspace": workspace,
        "the memory folder": workspace / "memory",
        "the folder of the transcripts": sessions_dir,
    }
    for what, place in places.items():
        above = [Path(os.path.realpath(place))]
        above += above[0].parents
        at = next((depth for depth, one in enumerate(above) if _is_same(one, export_dir)), None)
        if at is not None:
            verb = "holds" if at else "is"
            return f"sessions cannot be exported into {shown(export_dir)}: it {verb} {what}"
    return None


def markdown(base: str, spoken: Iterable[Turn]) -> Iterator[str]:
    """The reference's Markdown, piece by piece."""
    yield f"{heading(base)}\n\n"
    is_empty = True
    for _, turn in spoken:
        is_empty = False
        yield f"{utf16.well_formed(turn)}\n"
    if is_empty:
        yield "(empty)\n"


def heading(base: str) -> str:
    """The first line of a session's export; the name of a file must not begin a second one."""
    return "# Session " + base.replace("\r", " ").replace("\n", " ")


@dataclass(slots=True)
class _Export:
    """One pass over the transcripts of a folder."""

    sessions_dir: Path
    folder: Path
    shown: Callable[[Path], str]
    issues: list[Issue] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    blocked: list[str] = field(default_factory=list)

    def run(self, oldest_ms: float | None) -> Exported:
        remove_leftovers(self.folder)
        manifest = Manifest(self.folder)
        found = self._transcripts(oldest_ms)
        kept = {f"{base}{_EXPORT}" for base in found or ()}
        try:
            for base, stamp in (found or {}).items():
                if stamp is not None:
                    self._one(base, stamp, manifest)
        except CannotWrite as error:
            reason = f"cannot write in {self.shown(self.folder)}: {error.reason}"
            self.issues.append(Issue(f"{reason}; not all sessions are exported"))
        removed = [] if found is None else self._clear(manifest, kept)
        with contextlib.suppress(CannotWrite):  # what it says on disk already still holds
            manifest.save()
        here = {utf16.well_formed(name) for name in os.listdir(self.folder)}  # noqa: PTH208
        others = {name for name in here if name.endswith(_EXPORT)} - kept - manifest.entries.keys()
        return Exported(
            written=tuple(self.written),
            unchanged=tuple(self.unchanged),
            removed=tuple(removed),
            foreign=tuple(sorted({*others, *self.blocked})),
            issues=tuple(self.issues),
        )

    def _transcripts(self, oldest_ms: float | None) -> dict[str, Stamp | None] | None:
        """By base name, those to be exported, with their stamps; None if it cannot be known."""
        found: dict[str, Stamp | None] = {}
        try:
            with os.scandir(self.sessions_dir) as listing:
                entries = sorted(listing, key=lambda entry: os.fsencode(entry.name))
        except FileNotFoundError:
            text = f"sessions directory missing ({self.shown(self.sessions_dir)})"
            self.issues.append(Issue(text, serious=False))
            return None
        except OSError as error:
            text = f"{self.shown(self.sessions_dir)} cannot be read: {error.strerror}"
            self.issues.append(Issue(text))
            return None
        for entry in entries:
            base = entry.name.removesuffix(_TRANSCRIPT)
            if base in ("", entry.name):
                continue
            if base != utf16.well_formed(base):
                text = utf16.well_formed(self.shown(Path(entry.path)))
                self.issues.append(Issue(f"file name is not valid UTF-8, file skipped ({text})"))
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # it went away after the listing
            except OSError as error:
                self._unreadable(base, error)
                found[base] = None
                continue
            is_old = oldest_ms is not None and status.st_mtime_ns / 1e6 < oldest_ms
            if stat.S_ISREG(status.st_mode) and not is_old:
                found[base] = _stamp(status)
        return found

    def _one(self, base: str, stamp: Stamp, manifest: Manifest) -> None:
        target = self.folder / f"{base}{_EXPORT}"
        entry = manifest.entries.get(target.name)
        mark = mark_of(target)
        if entry is not None and mark is not None and entry.is_of(stamp, mark):
            self.unchanged.append(target.name)
            return
        is_ours = self._is_ours(target, entry)
        if is_ours is None:
            return
        with Draft(self.folder) as draft:
            try:
                stamp = self._fill(draft, base)
            except FileNotFoundError:
                return  # the next export will see that it is gone
            except OSError as error:
                self._unreadable(base, error)
                return
            if mark is not None and _has(target, draft.digest):
                # Also where the reference wrote it: the text is ours to the last byte.
                manifest.settle(target.name, Entry((draft.digest,), stamp, mark))
                self.unchanged.append(target.name)
            elif not is_ours and not draft.goes_on_from(target):
                self._leave(target, "is no export of it, or was changed since")
            else:
                self._put(draft, target, Entry((draft.digest,), stamp, draft.mark), manifest)

    def _put(self, draft: Draft, target: Path, entry: Entry, manifest: Manifest) -> None:
        manifest.announce(target.name, entry)
        try:
            draft.put(target)
        except OSError as error:
            self.issues.append(Issue(f"{self.shown(target)} cannot be written: {error.strerror}"))
            return
        manifest.settle(target.name, entry)
        self.written.append(target.name)

    def _fill(self, draft: Draft, base: str) -> Stamp:
        with open_regular(self.sessions_dir / f"{base}{_TRANSCRIPT}", follow=False) as file:
            # Before reading: what is added meanwhile then shows as another stamp next time.
            stamp = _stamp(os.fstat(file.fileno()))
            spoken = Transcript(file, stamp.size)
            for piece in markdown(base, spoken):
                draft.add(piece)
            draft.finish()
        if spoken.lines_skipped:
            text = f"lines of {base}{_TRANSCRIPT} too long to be turns: {spoken.lines_skipped}"
            self.issues.append(Issue(text, serious=False))
        return stamp

    def _is_ours(self, target: Path, entry: Entry | None) -> bool | None:
        """Whether what is there is what ocmem wrote, or nothing; None where nobody can tell."""
        try:
            with open_regular(target, follow=False) as file:
                if not file.read(1):
                    return True
            return entry is not None and digest_of(target) in entry.hashes
        except FileNotFoundError:
            return True
        except OSError as error:
            is_odd = error.errno in NOT_REGULAR
            self._leave(target, "is no file" if is_odd else f"cannot be read ({error.strerror})")
            return None

    def _leave(self, target: Path, reason: str) -> None:
        """Not to be replaced: somebody may want it."""
        if target.name not in self.blocked:
            self.blocked.append(target.name)
        left = f"{self.shown(target)} {reason}, so it is left as it is"
        self.issues.append(Issue(f"{left}, and {target.stem}{_TRANSCRIPT} is not exported"))

    def _clear(self, manifest: Manifest, kept: set[str]) -> list[str]:
        """Remove our exports of transcripts that are gone or too old."""
        removed = []
        for name in sorted(manifest.entries.keys() - kept):
            target = self.folder / name
            try:
                if digest_of(target) not in manifest.entries[name].hashes:
                    text = f"{self.shown(target)} has no transcript any more, but was changed since"
                    self.issues.append(Issue(f"{text} it was exported, so it is left as it is"))
                    continue
                target.unlink()
                removed.append(name)
            except (FileNotFoundError, NotADirectoryError):
                pass  # somebody was faster
            except OSError as error:
                text = f"{self.shown(target)} cannot be removed: {error.strerror}"
                self.issues.append(Issue(text))
                continue
            manifest.forget(name)
        return removed

    def _unreadable(self, base: str, error: OSError) -> None:
        location = self.shown(self.sessions_dir / f"{base}{_TRANSCRIPT}")
        self.issues.append(Issue(f"{location} cannot be read: {error.strerror}"))


def _has(location: Path, digest: str) -> bool:
    try:
        return digest_of(location) == digest
    except OSError:
        return False


def _is_same(one: Path, other: Path) -> bool:
    # Also by identity: a file system may take two spellings for one name.
    try:
        return one.samefile(other)
    except OSError:
        return str(one) == os.path.realpath(other)


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
