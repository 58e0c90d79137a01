"""Files against index: which changed, which are gone, which only seem to be."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ocmem.core import files
from ocmem.core.files import Discovery
from ocmem.model import FileRow, FoundFile, Issue, Source, SourceFile, Stamp
from ocmem.settings import Settings

# A file touched this close to the moment it was read may have changed again within the same
# tick of the file system's clock; its stamp proves nothing.
_GUARD_NS = 3_000_000_000


@dataclass(slots=True)
class Scan:
    """A comparison under way. Sets fill up while `changed` runs."""

    settings: Settings
    found: Discovery
    known: dict[tuple[Source, str], FileRow]
    unreadable: set[tuple[Source, str]] = field(default_factory=set)
    vanished: set[tuple[Source, str]] = field(default_factory=set)
    restamped: list[tuple[SourceFile, int]] = field(default_factory=list)

    def changed(
        self, clock_ns: "Clock", *, everything: bool = False
    ) -> Iterator[tuple[SourceFile, int]]:
        """Files whose text differs from the index (or all), each with the time it was read."""
        for found in self.found.files:
            row = self.known.get((found.source, found.path))
            if not everything and not self._is_touched(found):
                continue
            read_at = clock_ns()
            with self._opened(found) as source:
                if source is None:
                    continue
                if not everything and row is not None and row.hash == source.hash:
                    self.restamped.append((replace(source, text="", turns=None), read_at))
                    continue
                yield source, read_at

    def may_differ(self) -> bool:
        """Whether files must be read to know more; nothing is read yet."""
        return any(map(self._is_touched, self.found.files))

    def gone(self) -> list[tuple[Source, str]]:
        """Indexed files that were deleted, as far as one can tell; call after `changed`."""
        seen = {(found.source, found.path) for found in self.found.files} - self.vanished
        accounted = seen | self.unreadable
        lost = [key for key in self.known if key not in accounted]
        return [key for key in lost if self._refuge(key) is None]

    def kept(self) -> dict[str, list[tuple[Source, str]]]:
        """Indexed files in folders that cannot be looked into, by folder."""
        seen = {(found.source, found.path) for found in self.found.files}
        kept: dict[str, list[tuple[Source, str]]] = {}
        for key in self.known:
            refuge = None if key in seen else self._refuge(key)
            if refuge is not None:
                kept.setdefault(refuge, []).append(key)
        return kept

    def issues(self) -> list[Issue]:
        """What stands between the files and a complete index; call after `changed`."""
        kept = []
        for folder, lost in self.kept().items():
            files_were = "file in it was" if len(lost) == 1 else "files in it were"
            text = (
                f"{self.settings.shown(folder)} is missing or unreadable; {len(lost)} indexed "
                f"{files_were} kept. If it is gone for good, create it empty and run: ocmem index"
            )
            kept.append(Issue(text))
        return [*self.found.issues, *kept]

    def _is_touched(self, found: FoundFile) -> bool:
        row = self.known.get((found.source, found.path))
        return row is None or not is_untouched(row, found.stamp)

    @contextlib.contextmanager
    def _opened(self, found: FoundFile) -> Iterator[SourceFile | None]:
        """The file, or None where it went away or cannot be read, which is noted."""
        with contextlib.ExitStack() as stack:
            source = None
            try:
                source = stack.enter_context(files.opened(found))
            except FileNotFoundError:
                self.vanished.add((found.source, found.path))
            except OSError as error:
                self.note(found.source, found.path, error)
            yield source

    def note(self, source: Source, path: str, error: OSError) -> None:
        """A file turned out to be unreadable, at once or on the way."""
        self.unreadable.add((source, path))
        places = (each.location for each in self.found.files if each.path == path)
        shown = self.settings.shown(next(places, path))
        known = {issue.message for issue in self.found.issues}
        if not any(text.startswith(f"{shown} not readable") for text in known):
            self.found.issues.append(Issue(f"{shown} not readable ({files.error_code(error)})"))

    def _refuge(self, key: tuple[Source, str]) -> str | None:
        """The unreachable folder that a path lies in, if any."""
        source, path = key
        if source == "sessions":
            location = str(self.settings.sessions_dir / path.removeprefix("sessions/"))
        else:
            location = os.path.normpath(self.settings.workspace / path)
        holding = [folder for folder in self.found.unreachable if _is_below(location, folder)]
        return min(holding, key=len, default=None)  # the outermost: one cause, one message


class Clock:
    """Nanoseconds since the epoch, as a callable; tests hand in their own."""

    def __call__(self) -> int:
        import time

        return time.time_ns()


def is_untouched(row: FileRow, stamp: Stamp) -> bool:
    """Whether `stat` alone proves that the file is the one that was read."""
    return row.stamp == stamp and all(
        # A time in the far future is no recent change either; some clock was wrong.
        abs(row.stamped_at_ns - changed_ns) > _GUARD_NS
        for changed_ns in (stamp.mtime_ns, stamp.ctime_ns)
    )


def _is_below(location: str, folder: str) -> bool:
    return location == folder or location.startswith(folder.rstrip("/") + "/")
