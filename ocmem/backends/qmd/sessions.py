"""Transcripts as Markdown for QMD, where the settings ask for that."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ocmem.backends.qmd import walk
from ocmem.backends.qmd.collections import Collection
from ocmem.core import session_markdown
from ocmem.core.session_markdown import Exported
from ocmem.settings import Settings

_DAY_NS = 86_400_000_000_000


@dataclass(frozen=True, slots=True)
class Waiting:
    """What may have been said since: whether anything was, and the size of where it was."""

    is_any: bool
    size: int = 0


@dataclass(slots=True)
class Exporter:
    """Exports the sessions of an agent when called; gives what a person should know."""

    settings: Settings
    now_ms: float
    exported: Exported = field(default_factory=Exported)

    def __call__(self) -> Sequence[str]:
        qmd = self.settings.qmd
        if not qmd.exports_sessions:
            return ()
        self.exported = session_markdown.export(
            self.settings.sessions_dir,
            qmd.export_dir,
            workspace=self.settings.workspace,
            retention_days=qmd.retention_days,
            now_ms=self.now_ms,
            shown=self.settings.shown,
        )
        # That a folder is refused, the backend tells: it has no collection for it.
        return [issue.message for issue in self.exported.issues]

    @property
    def is_complete(self) -> bool:
        return not self.has_failed and self.exported.refused is None

    @property
    def has_failed(self) -> bool:
        """Whether something went wrong that may go well another time."""
        return any(issue.serious for issue in self.exported.issues)


def waiting(settings: Settings, *, since_ns: int | None, now_ms: float) -> Waiting:
    """The transcripts that are younger; all of them if there was no such time."""
    if not settings.qmd.exports_sessions:
        return Waiting(is_any=False)
    now_ns = int(now_ms * 1e6)
    after = since_ns or 0
    found = list(_transcripts(settings, now_ms))
    sizes = [each.st_size for each in found if after < each.st_mtime_ns <= now_ns]
    try:  # which tells of those that are gone
        folder_ns = os.stat(settings.sessions_dir).st_mtime_ns  # noqa: PTH116
    except OSError:
        return Waiting(is_any=bool(sizes), size=sum(sizes))
    has_moved = since_ns is not None and since_ns < folder_ns <= now_ns
    return Waiting(is_any=bool(sizes) or has_moved, size=sum(sizes))


def count(settings: Settings, collection: Collection, now_ms: float) -> int:
    """How many files a collection should have, the exports yet to be written among them."""
    if collection.kind == "sessions":
        return sum(1 for _ in _transcripts(settings, now_ms))
    return walk.count(collection)


def _transcripts(settings: Settings, now_ms: float) -> Iterator[os.stat_result]:
    """Those that an export is made of."""
    days = settings.qmd.retention_days
    oldest_ns = int(now_ms * 1e6) - days * _DAY_NS if days else 0
    try:
        with os.scandir(settings.sessions_dir) as entries:
            for entry in entries:
                if entry.name.endswith(".jsonl"):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode) and status.st_mtime_ns >= oldest_ns:
                        yield status
    except OSError:
        return  # the export will say what it makes of that
