"""A home with notes, an embedder that counts words, and what the index makes of them."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ocmem.backends.answer import Answer
from ocmem.backends.builtin import BuiltinBackend
from ocmem.core.scan import Clock
from ocmem.core.search import Wanted
from ocmem.core.store import Connection
from ocmem.model import Source, SyncReport, Vector
from ocmem.settings import Overrides, Settings, resolve
from tests.fake_provider.vectors import word_vector

Rows = dict[str, list[tuple[Any, ...]]]

NOTES = {"one.md": "alpha beta", "two.md": "gamma delta", "three.md": "epsilon zeta"}


class Words:
    """An embedder that counts words and remembers what it was asked."""

    group_bytes = 8000
    concurrency = 1

    def __init__(self, dims: int = 8) -> None:
        self.dims = dims
        self.asked: list[str] = []
        self.before: Callable[[], object] = lambda: None

    def embed_documents(self, texts: Sequence[str], *, timeout_s: float) -> list[Vector]:
        self.before()
        self.asked += texts
        return [self.vector(text) for text in texts]

    def embed_query(self, text: str, *, timeout_s: float) -> Vector:
        return self.vector(text)

    def vector(self, text: str) -> Vector:
        return word_vector(text, self.dims)


@dataclass(frozen=True)
class Ahead(Clock):
    """A clock that runs ahead: to it, every file here is old enough to be trusted."""

    seconds: int = 60

    def __call__(self) -> int:
        return time.time_ns() + self.seconds * 1_000_000_000


class Place:
    """A home with a workspace; settings come from files, as for the program."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config = root / "openclaw.json"
        self.overlay = root / "own.json5"
        self.workspace = root / ".openclaw" / "workspace"
        self.memory = self.workspace / "memory"
        self.memory.mkdir(parents=True)
        self.embedder = Words()
        self.clock: Clock = Ahead()
        self.configure()

    def configure(self, *, own: dict[str, Any] | None = None, **memory_search: Any) -> None:  # noqa: ANN401
        remote = {"baseUrl": "http://127.0.0.1:9/v1", "apiKey": "k"}
        chosen = {"provider": "openai", "remote": remote, **memory_search}
        self.config.write_text(json.dumps({"agents": {"defaults": {"memorySearch": chosen}}}))
        self.overlay.write_text(json.dumps({"agents": {"defaults": {"memorySearch": own or {}}}}))

    @property
    def settings(self) -> Settings:
        return self.settings_of(Overrides())

    def settings_of(self, overrides: Overrides) -> Settings:
        return resolve(
            overrides,
            {
                "HOME": str(self.root),
                "OPENCLAW_CONFIG_PATH": str(self.config),
                "OPENCLAW_STATE_DIR": str(self.root / ".openclaw"),
                "OCMEM_CONFIG": str(self.overlay),
            },
        )

    @property
    def index_path(self) -> Path:
        return self.settings.index_path

    def write(self, **notes: str) -> None:
        for name, text in notes.items():
            (self.memory / f"{name}.md").write_text(text)

    def index(
        self,
        *,
        force: bool = False,
        settings: Settings | None = None,
        only: tuple[Source, ...] = (),
    ) -> SyncReport:
        self.embedder.asked.clear()
        backend = BuiltinBackend(
            settings or self.settings, clock_ns=self.clock, embedder=self.embedder
        )
        return backend.index(force=force, wait_s=0, only=only)

    def search(self, query: str, *, sync: bool = False) -> Answer:
        wanted = Wanted(
            query=query,
            max_results=10,
            min_score=-1.0,
            fused_min_score=None,
            ranker="openclaw",
            strict=True,
            half_life_days=None,
            mmr_lambda=None,
            sources=("memory", "sessions"),
            snippet=None,
            now_ms=0.0,
        )
        backend = BuiltinBackend(self.settings, clock_ns=self.clock, embedder=self.embedder)
        return backend.search(wanted, sync=sync)

    def sql(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:  # noqa: ANN401
        with Connection(self.index_path, "write") as db:
            db.load_vectors(None)
            return db.rows(statement, values)

    def rows(self) -> Rows:
        return rows_of(self.index_path)

    def cached(self) -> int:
        return int(self.sql("SELECT count(*) FROM embedding_cache")[0][0])

    def meta(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.sql("SELECT value FROM meta")[0][0])
        return found

    def set_meta(self, **changes: object) -> None:
        value = {k: v for k, v in (self.meta() | changes).items() if v is not None}
        self.sql("UPDATE meta SET value = :value", value=json.dumps(value))


def rows_of(path: Path) -> Rows:
    """What an index holds, table by table, in an order of its own."""
    with Connection(path, "read") as db:
        found = {
            "files": db.rows("SELECT path, source, hash FROM files ORDER BY path"),
            "chunks": db.rows("SELECT id, path, text, embedding FROM chunks ORDER BY id"),
        }
        for table in ("chunks_fts", "chunks_vec_rowids", "ocmem_docs"):
            if db.has_table(table):
                found[table] = db.rows(f"SELECT id FROM {table} ORDER BY id")
        return found


def ids_in_step(rows: Rows) -> bool:
    ids = [(id,) for id, *_ in rows["chunks"]]
    return ids == rows["chunks_fts"] == rows["chunks_vec_rowids"] == rows["ocmem_docs"]
