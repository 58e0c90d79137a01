"""One golden case on disk: its files, its config, its index, and what it answers."""

import json
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import apsw

from ocmem.backends.builtin import BuiltinBackend
from ocmem.core.search import Wanted
from ocmem.model import Hit
from ocmem.settings import Overrides, Settings, resolve
from tests.golden.cases import Case, Variant
from tests.golden.rule import RuleEmbedder

NOW_MS = 1_772_366_400_000.0  # 2026-03-01T12:00:00Z
MTIME_NS = 1_772_280_000_123_456_789  # a fraction of a millisecond is kept, too

T = TypeVar("T")


@dataclass(slots=True)
class World:
    """One case on disk: its files, its config, and an embedder that counts."""

    case: Case
    root: Path
    embedder: RuleEmbedder = field(init=False)

    def __post_init__(self) -> None:
        self.embedder = RuleEmbedder(is_unit=self.case.name == "unit_vectors")

    @property
    def state(self) -> Path:
        return self.root / "state"

    def write(self) -> None:
        self.case.write(self.root)
        sessions = self.root / "sessions"
        if sessions.exists():
            shutil.copytree(sessions, self.state / "agents" / "main" / "sessions")
        for file in self.root.rglob("*"):
            os.utime(file, ns=(MTIME_NS, MTIME_NS))

    def settings(self, variant: Variant | None = None) -> Settings:
        """The settings of one variant; the index stays the one that is there."""
        workspace = str(self.root / "workspace")
        memory_search = self.case.settings(self.root, variant)
        config = {"agents": {"defaults": {"workspace": workspace, "memorySearch": memory_search}}}
        file = self.root / "openclaw.json"
        file.write_text(json.dumps(config), encoding="utf-8")
        env = {"HOME": str(self.root), "OCMEM_CONFIG": str(self.root / "absent.json5")}
        return resolve(Overrides(state_dir=str(self.state), config=str(file)), env=env)

    def backend(self, variant: Variant | None = None) -> BuiltinBackend:
        return BuiltinBackend(self.settings(variant), embedder=self.embedder)

    def search(self, query: str, variant: Variant) -> list[Hit]:
        backend = self.backend(variant)
        configured = backend.settings.search.query
        wanted = Wanted(
            query=query,
            max_results=given(variant.max_results, configured.max_results),
            min_score=given(variant.min_score, configured.min_score),
            fused_min_score=None,
            ranker="openclaw",
            strict=True,
            half_life_days=configured.half_life_days if configured.decay else None,
            mmr_lambda=configured.mmr_lambda if configured.mmr else None,
            sources=backend.settings.search.sources,
            snippet=None,
            now_ms=NOW_MS,
        )
        return backend.search(wanted, sync=False).hits

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        db = apsw.Connection(str(self.settings().index_path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return db.execute(statement).fetchall()
        finally:
            db.close()


def given(chosen: T | None, default: T) -> T:
    return default if chosen is None else chosen
