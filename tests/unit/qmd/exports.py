"""A state directory with transcripts, and the folder that they are exported into."""

import os
from pathlib import Path

from ocmem.core.session_markdown import Exported, export
from tests.unit.chats import header, line

NOW_MS = 1_772_323_200_000.0  # 2026-03-01T00:00:00Z
DAY_S = 86_400
TODAY_S = int(NOW_MS / 1000)


class Exports:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = root / "workspace"
        self.sessions = root / "agents" / "main" / "sessions"
        self.folder = root / "agents" / "main" / "qmd" / "sessions"
        self.workspace.mkdir(parents=True)
        self.sessions.mkdir(parents=True)

    def say(self, base: str, *turns: str) -> Path:
        """Append turns to a transcript, which begins with its header."""
        path = self.sessions / f"{base}.jsonl"
        begins = "" if path.exists() else header("x")
        with path.open("a") as file:
            file.write(begins + "".join(map(line, turns)))
        return path

    def age(self, base: str, days: float) -> None:
        at = TODAY_S - days * DAY_S
        os.utime(self.sessions / f"{base}.jsonl", (at, at))

    def drop(self, base: str) -> None:
        (self.sessions / f"{base}.jsonl").unlink()

    def put(self, name: str, text: str) -> Path:
        """A file in the export folder that ocmem did not write."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / name
        path.write_text(text)
        return path

    def run(self, into: Path | None = None, *, retention_days: int | None = None) -> Exported:
        return export(
            self.sessions,
            into or self.folder,
            workspace=self.workspace,
            retention_days=retention_days,
            now_ms=NOW_MS,
            wait_s=0,
        )

    def text(self, name: str) -> str:
        return (self.folder / name).read_bytes().decode()

    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir() if path.name.endswith(".md"))

    def state(self) -> dict[str, tuple[bytes, int, int]]:
        """Everything in the folder but the lock, which says who held it last."""
        files = [path for path in self.folder.iterdir() if path.suffix != ".lock"]
        found = {path.name: (path.read_bytes(), path.stat()) for path in files}
        return {name: (data, s.st_mtime_ns, s.st_ino) for name, (data, s) in found.items()}


def messages(done: Exported) -> list[str]:
    return [issue.message for issue in done.issues]
