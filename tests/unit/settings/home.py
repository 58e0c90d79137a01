"""An empty home directory, and the settings that are found in it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ocmem.errors import SettingsError
from ocmem.settings import Documents, Overrides, Settings, resolve

Json = dict[str, Any]


class Home:
    """A home in which a test writes what it needs; the environment is bare."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.state = root / ".openclaw"
        self.config = self.state / "openclaw.json"
        self.overlay = root / "ocmem.json5"
        self.cwd = root / "here"
        self.now_ms = 0.0
        self.env = {"HOME": str(root), "OCMEM_CONFIG": str(self.overlay)}

    def write(self, config: object) -> None:
        """The config; text as it is, anything else as JSON."""
        self.file(self.config, config)

    def own(self, overlay: object) -> None:
        self.file(self.overlay, overlay)

    def defaults(self, **memory_search: object) -> None:
        self.write({"agents": {"defaults": {"memorySearch": memory_search}}})

    def own_defaults(self, **memory_search: object) -> None:
        self.own({"agents": {"defaults": {"memorySearch": memory_search}}})

    def newer(self, **search: object) -> None:
        """The config in the newer dialect."""
        self.write({"memory": {"search": search}})

    def auth(self, store: object, agent: str = "main", name: str = "auth-profiles.json") -> Path:
        return self.file(self.state / "agents" / agent / "agent" / name, store)

    def file(self, path: Path, content: object) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8", newline="")
        return path

    def resolve(self, overrides: Overrides | None = None, **env: str) -> Settings:
        return resolve(overrides or Overrides(), self.env | env, cwd=self.cwd, now_ms=self.now_ms)

    def error(self, **env: str) -> SettingsError:
        with pytest.raises(SettingsError) as caught:
            self.resolve(None, **env)
        return caught.value

    def problems(self, **env: str) -> list[str]:
        lines = str(self.error(**env)).splitlines()
        return [line[4:] for line in lines if line.startswith("  - ")]


def agent_ids(
    overrides: Overrides, env: Mapping[str, str], *, cwd: Path | None = None
) -> list[str]:
    """The agents that a command for several of them handles."""
    return Documents.read(overrides, env, cwd=cwd).wanted(overrides)[0]


def agent(name: str, **memory_search: object) -> Json:
    return {"id": name, "memorySearch": memory_search}
