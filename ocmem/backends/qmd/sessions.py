"""Transcripts as Markdown for QMD, where the settings ask for that."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ocmem.core import session_markdown
from ocmem.core.session_markdown import Exported
from ocmem.settings import Settings


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
        refused = [self.exported.refused] if self.exported.refused else []
        return [*refused, *(issue.message for issue in self.exported.issues)]

    @property
    def is_complete(self) -> bool:
        is_serious = any(issue.serious for issue in self.exported.issues)
        return not is_serious and self.exported.refused is None
