"""`ocmem status` where QMD is the backend."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ocmem.backends.qmd import staleness, walk
from ocmem.backends.qmd.backend import QmdBackend
from ocmem.backends.qmd.facts import Facts
from ocmem.backends.qmd.front import NAME
from ocmem.core import watch_lock
from ocmem.core.holder import Holder
from ocmem.errors import IndexUnavailable, OcmemError, QmdError
from ocmem.model import Source
from ocmem.settings import Settings

_PROBE = "ping"
_SOURCES: tuple[Source, ...] = ("memory", "sessions")


@dataclass(frozen=True, slots=True)
class Counted:
    """Documents that QMD has of a source, and the files that there are for it."""

    source: Source
    documents: int
    files: int


@dataclass(frozen=True, slots=True)
class QmdState:
    """What was looked up of an agent's QMD. `trouble`: why it cannot answer."""

    settings: Settings
    facts: Facts
    sources: tuple[Counted, ...]
    is_dirty: bool
    was_probed: bool
    trouble: OcmemError | None = None
    watcher: Holder | None = None
    index_error: str | None = None

    @property
    def documents(self) -> int:
        return sum(each.documents for each in self.sources)

    @property
    def files(self) -> int:
        return sum(each.files for each in self.sources)

    @property
    def uses_vectors(self) -> bool:
        return self.settings.qmd.mode != "search"


def look(settings: Settings, *, deep: bool) -> QmdState:
    """Creates nothing; QMD itself is only started with `deep`."""
    backend = QmdBackend(settings)
    facts = backend.status(asks_version=deep)
    return QmdState(
        settings=settings,
        facts=facts,
        sources=tuple(
            Counted(source, facts.documents(source), sum(map(walk.count, wanted)))
            for source in _SOURCES
            if (wanted := [each for each in facts.collections if each.source == source])
        ),
        is_dirty=bool(facts.absent) or staleness.is_stale(backend),
        was_probed=deep,
        trouble=_trouble(backend, facts, deep=deep),
        watcher=watch_lock.watcher_of(settings.qmd.database),
    )


def _trouble(backend: QmdBackend, facts: Facts, *, deep: bool) -> OcmemError | None:
    """Why the next search would not be answered by QMD, as far as one can tell."""
    if facts.trouble is not None:
        return facts.trouble
    if not deep:
        failure = facts.failure if facts.rest_ms else None
        if failure is None:
            return None
        return QmdError(failure.reason, cause="resting", hint=failure.hint)
    if not facts.index_exists or facts.absent:
        return None  # a search would make what is missing
    try:
        backend.retry()
        backend.search(_PROBE)
    except (QmdError, IndexUnavailable) as error:
        return error
    return None


def lines(state: QmdState) -> Iterator[str]:
    settings, facts = state.settings, state.facts
    yield f"Memory Search ({settings.agent_id})"
    yield f"Provider: {NAME} (requested: {NAME})"
    yield f"Model: {NAME}"
    yield f"Sources: {', '.join(each.source for each in state.sources)}"
    yield f"Indexed: {state.documents}/{state.files} files · {state.documents} chunks"
    yield f"Dirty: {'yes' if state.is_dirty else 'no'}"
    yield f"Store: {settings.shown(settings.qmd.database)}"
    yield f"Workspace: {settings.shown(settings.workspace)}"
    version = f" {facts.version}" if facts.version else ""
    yield f"QMD: {facts.location}{version} ({settings.qmd.mode})"
    if state.was_probed:
        yield "Probe: ready"
    yield "By source:"
    for each in state.sources:
        yield (f"  {each.source} · {each.documents}/{each.files} files · {each.documents} chunks")
    yield f"Collections: {', '.join(each.name for each in facts.collections)}"
    if facts.absent:
        yield f"Not yet made: {', '.join(facts.absent)}"
    yield f"Vector: {_vector(state)}"
    if facts.embed_failure is not None:
        yield f"Vector error: {facts.embed_failure.reason}"
    yield f"Updated: {_updated(facts)}"
    if state.watcher is not None:
        yield f"Watched by: {state.watcher.shown(time.time() * 1000)}"
    if state.index_error:
        yield f"Index error: {state.index_error}"
    if facts.warnings:
        yield "Issues:"
        yield from (f"  {warning}" for warning in facts.warnings)


def _vector(state: QmdState) -> str:
    facts = state.facts
    if not state.uses_vectors:
        return "not used (searchMode: search)"
    if not facts.has_models:
        return "no models on this machine; ocmem warmup fetches them"
    if facts.counts.pending:
        return f"{facts.counts.pending} of {facts.counts.contents} texts have none yet"
    return "ready"


def _updated(facts: Facts) -> str:
    if facts.updated_at_ms is None:
        return "never by ocmem"
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(facts.updated_at_ms / 1000))


def fields(state: QmdState) -> dict[str, Any]:
    """As for the built-in index, as far as QMD has the like."""
    settings, facts = state.settings, state.facts
    counts = facts.counts
    status: dict[str, Any] = {
        "backend": NAME,
        "files": state.documents,
        "chunks": state.documents,
        "dirty": state.is_dirty,
        "workspaceDir": str(settings.workspace),
        "dbPath": str(settings.qmd.database),
        "provider": NAME,
        "model": NAME,
        "requestedProvider": NAME,
        "sources": [each.source for each in state.sources],
        "sourceCounts": [
            {"source": each.source, "files": each.documents, "chunks": each.documents}
            for each in state.sources
        ],
        "vector": {
            "enabled": state.uses_vectors,
            "available": facts.has_models and counts.pending == 0,
        },
        "batch": {
            "enabled": False,
            "failures": 0,
            "limit": 0,
            "wait": False,
            "concurrency": 0,
            "pollIntervalMs": 0,
            "timeoutMs": 0,
        },
        "custom": {
            "qmd": {
                "collections": len(facts.collections),
                "lastUpdateAt": facts.updated_at_ms,
                "command": facts.location,
                "version": facts.version,
                "searchMode": settings.qmd.mode,
                "names": [each.name for each in facts.collections],
                "absent": list(facts.absent),
                "hasModels": facts.has_models,
                "pendingEmbeddings": counts.pending,
            }
        },
    }
    if state.watcher is not None:
        watcher = state.watcher
        status["watcher"] = {"pid": watcher.pid, "startedAt": watcher.started_at_ms}
    entry: dict[str, Any] = {"agentId": settings.agent_id, "status": status}
    if state.was_probed:
        entry["embeddingProbe"] = {"ok": True}
    if state.index_error:
        entry["indexError"] = state.index_error
    issues = list(facts.warnings)
    entry["scan"] = {
        "sources": [
            {"source": each.source, "totalFiles": each.files, "issues": issues if not at else []}
            for at, each in enumerate(state.sources)
        ],
        "totalFiles": state.files,
        "issues": issues,
    }
    return entry
