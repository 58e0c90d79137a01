"""A home whose agent also talks: transcripts that grow, are torn, and are rewritten."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ocmem.model import Source
from ocmem.settings import Overrides, Settings
from tests.unit.place import Place

MANY = 450  # turns that make more text than one of the `small_transactions` takes
OPTED_IN: dict[str, Any] = {
    "sources": ["memory", "sessions"],
    "experimental": {"sessionMemory": True},
}


def line(said: str, role: str = "user") -> str:
    """One turn as OpenClaw writes it."""
    message = {"role": role, "content": [{"type": "text", "text": said}]}
    return json.dumps({"type": "message", "message": message}) + "\n"


def header(id: str) -> str:
    return json.dumps({"type": "session", "version": 3, "id": id}) + "\n"


class Chats(Place):
    """Both sources, as after the opt-in."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.configure(**OPTED_IN)
        self.folder = root / ".openclaw" / "agents" / "main" / "sessions"
        self.folder.mkdir(parents=True)

    def say(self, name: str, *turns: str) -> Path:
        """Append turns to a transcript, which begins with its header."""
        path = self.folder / f"{name}.jsonl"
        begins = "" if path.exists() else header(name)
        with path.open("a") as file:
            file.write(begins + "".join(map(line, turns)))
        return path

    def asking_for(self, *sources: Source) -> Settings:
        """The settings with `--source` for once."""
        return self.settings_of(Overrides(sources=sources))

    def lines_of(self, name: str) -> list[tuple[int, int]]:
        """The lines that the chunks of a transcript span."""
        found = self.sql(
            "SELECT start_line, end_line FROM chunks WHERE path = :path ORDER BY start_line",
            path=f"sessions/{name}.jsonl",
        )
        return [(start, end) for start, end in found]


def long_turns(count: int) -> Iterable[str]:
    """Turns of about a kilobyte, no two alike."""
    return (f"turn{number} " + "lorem" * 200 for number in range(count))
