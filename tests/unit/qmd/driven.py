"""A home whose config names the fake QMD, and the backend that drives it."""

import json
from pathlib import Path
from typing import Any

from ocmem.backends.qmd.backend import QmdBackend
from ocmem.settings import Overrides, Settings, resolve
from tests.fake_qmd import FakeQmd

Json = dict[str, Any]


class Driven:
    """Time stands still unless a test moves `now_ms`; `pauses` are those that were asked for."""

    def __init__(self, root: Path, fake: FakeQmd) -> None:
        self.root = root
        self.fake = fake
        self.state = root / ".openclaw"
        self.workspace = self.state / "workspace"
        self.memory = self.workspace / "memory"
        self.memory.mkdir(parents=True)
        (self.workspace / "MEMORY.md").write_text("The boat is called Heron.\n")
        (self.memory / "day.md").write_text("# Day\n\nRouter model: ER605.\nSaw a heron.\n")
        self.now_ms = 1_000_000_000_000
        self.offline = False
        self.pauses: list[float] = []
        self.configure()

    def configure(self, **qmd: Any) -> None:  # noqa: ANN401
        # A machine under load is given time, unless the time is what it is about.
        limits = {"timeoutMs": 60_000, **qmd.pop("limits", {})}
        chosen = {"command": str(self.fake.command), "limits": limits, **qmd}
        config = {"memory": {"backend": "qmd", "qmd": chosen}}
        (self.state / "openclaw.json").write_text(json.dumps(config))

    @property
    def settings(self) -> Settings:
        env = {"HOME": str(self.root), "OCMEM_CONFIG": str(self.root / "own.json5")}
        return resolve(Overrides(offline=self.offline), env)

    @property
    def backend(self) -> QmdBackend:
        """A new one each time, as for a new process."""
        return QmdBackend(
            self.settings,
            env=self.fake.env,
            clock_ms=lambda: self.now_ms,
            pause=self.pauses.append,
        )

    @property
    def home(self) -> Path:
        return self.state / "agents" / "main" / "qmd"

    @property
    def database(self) -> Path:
        return self.home / "xdg-cache" / "qmd" / "index.sqlite"

    def found(self, query: str, **options: Any) -> list[str]:  # noqa: ANN401
        """The paths that a search brings."""
        return [hit.chunk.path for hit in self.backend.search(query, **options).hits]

    def with_models(self) -> None:
        models = self.home / "xdg-cache" / "qmd" / "models"
        models.mkdir(parents=True, exist_ok=True)
        for name in ("embed", "expand", "rerank"):
            (models / f"{name}.gguf").touch()
