"""Everything a first search would wait for, done beforehand and timed."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from ocmem.core import embedder, sql
from ocmem.core.embedder import Embedder, Notice, Progress
from ocmem.core.store import open_existing, rows
from ocmem.errors import EmbedderError, OcmemError
from ocmem.settings import Settings
from ocmem.settings.address import shown_url

PROBE = "ping"


@runtime_checkable
class HasModelFile(Protocol):
    """An embedder whose model is a file on this machine, fetched if need be."""

    def fetch(self) -> Path: ...


@dataclass(frozen=True, slots=True)
class Step:
    """`error` is None where it went well; `detail` says what came of it."""

    name: str
    seconds: float
    detail: str
    error: OcmemError | None = None


@dataclass(slots=True)
class Warmup:
    """The steps for one agent, each done once the one before it has succeeded."""

    settings: Settings
    notice: Notice
    progress: Progress
    clock: Callable[[], float] = time.perf_counter
    steps: list[Step] = field(default_factory=list)
    embedder: Embedder | None = None  # loaded by the first step

    @property
    def failure(self) -> OcmemError | None:
        return next((step.error for step in self.steps if step.error is not None), None)

    @property
    def chunks(self) -> int | None:
        """How much there is to search; None without an index."""
        db = open_existing(self.settings.index_path, "read")
        if db is None:
            return None
        with db:
            rows.refuse_foreign(db)
            return int(db.value(sql.COUNT_ALL_CHUNKS)) if rows.is_index(db) else None

    def load(self) -> None:
        """Find the provider, fetch its model if it has one, load that, and embed a line twice.

        The second time shows how long it takes from now on.
        """
        self.step("provider", self._connect)
        connected = self.embedder
        if connected is None:
            return
        if isinstance(connected, HasModelFile):
            self.step("model", lambda: connected.fetch().name)
        for name in ("load", "embed"):
            self.step(name, lambda: f"{self._embed(connected)} dimensions")

    def step(self, name: str, action: Callable[[], str]) -> None:
        """Do something whose result is a few words, unless a step before it failed."""
        if self.failure is not None:
            return
        began = self.clock()
        try:
            detail, error = action(), None
        except OcmemError as failure:
            detail, error = str(failure), failure
        self.steps.append(Step(name, self.clock() - began, detail, error))

    def _connect(self) -> str:
        self.embedder = embedder.connect(self.settings, self.notice, self.progress)
        endpoint = self.settings.provider.endpoint
        return shown_url(endpoint.base_url) if endpoint else "on this machine"

    def _embed(self, loaded: Embedder) -> int:
        timeout_s = embedder.probe_timeout_s(self.settings.provider.id)
        (vector,) = loaded.embed_documents([PROBE], timeout_s=timeout_s)
        if not vector:
            raise EmbedderError(f"{self.settings.provider.id} gave no vector for a word")
        return len(vector)
