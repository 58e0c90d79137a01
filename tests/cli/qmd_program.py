"""The program in a home whose settings name the fake QMD."""

import json
from pathlib import Path
from typing import Any

from tests.cli.program import Program
from tests.fake_qmd import FakeQmd

GROUP = "agent:main:discord:channel:99"


class QmdProgram(Program):
    """`Program` with QMD as its backend, two notes, and a built-in index of keywords alone."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.fake = FakeQmd(home / "fake")
        self.env["FAKE_QMD"] = str(self.fake.folder)
        self.note("MEMORY.md", "The boat is called Heron.\n")
        self.note("memory/day.md", "# Day\n\nRouter model: ER605.\nSaw a heron.\n")
        self.configure_own(provider="none")
        self.configure_qmd()

    def configure_qmd(self, *, agents: object = None, **qmd: Any) -> None:  # noqa: ANN401
        # A machine under load is given time, unless the time is what it is about.
        limits = {"timeoutMs": 60_000, **qmd.pop("limits", {})}
        chosen = {"command": str(self.fake.command), "limits": limits, **qmd}
        config: dict[str, object] = {"memory": {"backend": "qmd", "qmd": chosen}}
        self.configure_all(config | ({"agents": agents} if agents else {}))

    def ask(self, *args: str, code: int = 0) -> dict[str, Any]:
        """What `search --json` answers."""
        done = self("search", *args, "--json")
        assert done.code == code, done.err
        answer: dict[str, Any] = done.json
        return answer

    def say(self, base: str, *turns: str) -> Path:
        """A transcript of the main agent."""
        path = self.state / "agents" / "main" / "sessions" / f"{base}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        said = [{"role": "user", "content": turn} for turn in turns]
        lines = (json.dumps({"type": "message", "message": each}) for each in said)
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    def with_models(self) -> None:
        models = self.corner / "xdg-cache" / "qmd" / "models"
        models.mkdir(parents=True, exist_ok=True)
        for name in ("embed", "expand", "rerank"):
            (models / f"{name}.gguf").touch()

    @property
    def corner(self) -> Path:
        """The agent's own, where QMD works."""
        return self.state / "agents" / "main" / "qmd"

    @property
    def database(self) -> Path:
        return self.corner / "xdg-cache" / "qmd" / "index.sqlite"
