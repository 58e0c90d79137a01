"""What ocmem has exported into a folder, so that it never deletes anything else there.

One JSON line for each file, added before the file is put in place: a run that is killed then leaves
nothing behind that ocmem would not know for its own. A later line about the same file adds to the
earlier ones; a finished run writes the whole anew. The name is none that QMD's `**/*.md` matches.
"""

import json
import os
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ocmem.core import utf16
from ocmem.core.export_files import CannotWrite, Draft
from ocmem.model import Stamp
from ocmem.settings.reading import regular_bytes

NAME = ".ocmem-manifest.jsonl"
_FORMAT = 1  # of the Markdown: with another one, every transcript is read again
_MOST_BYTES = 256 * 2**20
_HASH = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Entry:
    """An exported file. Its content has one of the `hashes`, or it is no longer ours."""

    hashes: tuple[str, ...]
    transcript: Stamp | None = None  # as it was when it was read
    file: Stamp | None = None

    def is_of(self, transcript: Stamp, file: Stamp) -> bool:
        """Whether neither has changed since."""
        return (self.transcript, self.file) == (transcript, file)


class Manifest:
    """The entries of a folder by file name.

    Raises OSError where they cannot be read, CannotWrite where they cannot be kept.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self.entries: dict[str, Entry] = {}
        self._is_dirty = False
        self._is_there = True
        try:
            lines = regular_bytes(self._path, most=_MOST_BYTES).splitlines()
        except FileNotFoundError:
            self._is_there = False
            return
        # A line without its end, or of somebody else, counts for nothing.
        notes = [note for note in map(_parsed, lines) if note is not None]
        is_current = any(note.get("format") == _FORMAT for note in notes)
        for note in notes:
            self._take(note, is_current=is_current)

    def announce(self, name: str, entry: Entry) -> None:
        """Say on disk that the file will soon be as the entry has it; it may still be as it was."""
        self.entries[name] = self._joined(name, entry)
        head = [] if self._is_there else [{"format": _FORMAT}]
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        try:
            with os.fdopen(os.open(self._path, flags, 0o600), "ab") as file:
                file.write(
                    f"\n{_lines([*head, _note(name, entry)])}".encode()
                )  # what stands there may be torn
        except OSError as error:
            raise CannotWrite(error) from error
        self._is_there = self._is_dirty = True

    def settle(self, name: str, entry: Entry) -> None:
        """The file is now as the entry has it."""
        self._is_dirty = self._is_dirty or self.entries.get(name) != entry
        self.entries[name] = entry

    def forget(self, name: str) -> None:
        self._is_dirty = True
        del self.entries[name]

    def save(self) -> None:
        """Write all of it, if it changed. Where that fails, what was there still holds."""
        if not self._is_dirty:
            return
        notes = [_note(name, entry) for name, entry in sorted(self.entries.items())]
        with Draft(self._path.parent) as draft:
            draft.add(_lines([{"format": _FORMAT}, *notes]))
            draft.finish()
            try:
                draft.put(self._path)
            except OSError as error:
                raise CannotWrite(error) from error
        self._is_dirty = False

    def _take(self, note: dict[str, Any], *, is_current: bool) -> None:
        name = note.get("name")
        hashes = note.get("hashes")
        if not isinstance(name, str) or not _is_name(name) or not isinstance(hashes, list):
            return
        transcript = _stamp(note.get("transcript")) if is_current else None
        found = tuple(each for each in hashes if isinstance(each, str) and _HASH.fullmatch(each))
        self.entries[name] = self._joined(name, Entry(found, transcript, _stamp(note.get("file"))))

    def _joined(self, name: str, entry: Entry) -> Entry:
        former = self.entries[name].hashes if name in self.entries else ()
        return replace(entry, hashes=tuple(dict.fromkeys((*former, *entry.hashes))))


def _is_name(name: str) -> bool:
    """Whatever somebody writes into the manifest, no name leads out of the folder."""
    is_plain = not {"/", "\0"} & {*name} and name == utf16.well_formed(name)
    return is_plain and name.endswith(".md")


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        note = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return note if isinstance(note, dict) else None


def _note(name: str, entry: Entry) -> dict[str, Any]:
    return {"name": name, **asdict(entry)}


def _lines(notes: Iterable[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(note)}\n" for note in notes)


def _stamp(value: object) -> Stamp | None:
    try:
        return Stamp(**value) if isinstance(value, dict) else None
    except TypeError:
        return None
