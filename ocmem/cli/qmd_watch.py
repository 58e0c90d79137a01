"""What `ocmem watch` has QMD do, and how it tells of that."""

import time
from dataclasses import dataclass, field
from typing import Any

from ocmem.backends.qmd.backend import QmdBackend
from ocmem.backends.qmd.indexing import QmdReport
from ocmem.backends.qmd.sessions import Exporter
from ocmem.cli import qmd_index
from ocmem.model import Source
from ocmem.settings import Settings


@dataclass(frozen=True, slots=True)
class QmdSync:
    """One update of QMD's index."""

    settings: Settings
    report: QmdReport
    seconds: float
    skipped: int = 0  # sessions could not all be exported
    is_complete: bool = True  # nothing is left for later

    @property
    def has_changed(self) -> bool:
        counts = self.report.counts
        return bool(counts.new or counts.updated or counts.removed)

    @property
    def line(self) -> str:
        counts = self.report.counts
        told = [
            f"{count} {what}"
            for count, what in (
                (counts.new, "new"),
                (counts.updated, "updated"),
                (counts.removed, "removed"),
            )
            if count
        ]
        vectors = " · embedded" if self.report.embedded else ""
        return f"QMD: {', '.join(told) or 'nothing changed'}{vectors} · {self.seconds:.1f} s"

    @property
    def fields(self) -> dict[str, Any]:
        return qmd_index.fields(self.settings, self.report, self.seconds)


@dataclass(slots=True)
class Runner:
    """Has QMD update, and embed when its interval has passed: the backend remembers."""

    settings: Settings
    wait_s: float  # for another run that holds the index
    _backend: QmdBackend = field(init=False)

    def __post_init__(self) -> None:
        self._backend = QmdBackend(self.settings)

    def __call__(self, only: tuple[Source, ...]) -> tuple[Settings, QmdSync]:
        began = time.monotonic()
        export = Exporter(self.settings, time.time() * 1000)
        report = self._backend.index(wait_s=self.wait_s, export=export, command="watch")
        seconds = time.monotonic() - began
        skipped = 1 if export.has_failed else 0
        return self.settings, QmdSync(self.settings, report, seconds, skipped)
