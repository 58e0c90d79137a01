"""`ocmem status` where QMD is the backend."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ocmem.backends.qmd import causes, collections, sessions, staleness
from ocmem.backends.qmd.backend import QmdBackend
from ocmem.backends.qmd.facts import Facts
from ocmem.backends.qmd.front import NAME
from ocmem.core import watch_lock
from ocmem.core.holder import Holder
from ocmem.errors import (
    IndexBusy,
    IndexDamaged,
    IndexReadOnly,
    IndexUnavailable,
    OcmemError,
    QmdError,
)
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
    was_probed: bool  # by a search; without an index there is nothing to search
    issues: tuple[str, ...] = ()
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


def look(settings: Settings, *, deep: bool, index_error: str | None = None) -> QmdState:
    """Creates nothing; QMD itself is only started with `deep`."""
    backend = QmdBackend(settings)
    facts = backend.status(asks_version=deep)
    now_ms = time.time() * 1000
    is_searchable = facts.index_exists and not facts.absent
    return QmdState(
        settings=settings,
        facts=facts,
        sources=tuple(
            Counted(
                source,
                facts.documents(source),
                sum(sessions.count(settings, each, now_ms) for each in wanted),
            )
            for source in _SOURCES
            if (wanted := [each for each in facts.collections if each.source == source])
        ),
        is_dirty=bool(facts.absent) or staleness.is_stale(backend),
        was_probed=deep and is_searchable,
        issues=(
            *collections.lacks(facts.missing, settings.shown),
            *([str(facts.index_error)] if facts.index_error else []),
            *facts.warnings,
        ),
        index_error=index_error,
        trouble=_trouble(backend, facts, deep=deep and is_searchable),
        watcher=watch_lock.watcher_of(settings.qmd.database),
    )


def _trouble(backend: QmdBackend, facts: Facts, *, deep: bool) -> OcmemError | None:
    """Why the next search would not be answered by QMD, as far as one can tell."""
    if facts.trouble is not None:
        return facts.trouble
    if deep:
        return _failure(backend)
    if isinstance(facts.index_error, IndexDamaged):
        return causes.damaged("search")
    if facts.index_error is not None and not isinstance(facts.index_error, IndexBusy):
        return facts.index_error
    if not facts.index_exists and not _could_be_made(backend.qmd.home):
        return IndexReadOnly(f"cannot write in {backend.settings.shown(backend.qmd.home)}")
    try:
        backend.check(_PROBE)
    except QmdError as error:
        return error
    return None


def _failure(backend: QmdBackend) -> OcmemError | None:
    """What comes of a search."""
    try:
        backend.retry()
        backend.search(_PROBE)
    except (QmdError, IndexUnavailable) as error:
        return error
    return None


def _could_be_made(folder: Path) -> bool:
    """Whether a first search may write there, once it has made what is missing above."""
    there = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


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
    if state.issues:
        yield "Issues:"
        yield from (f"  {issue}" for issue in state.issues)


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
    issues = list(state.issues)
    entry["scan"] = {
        "sources": [
            {"source": each.source, "totalFiles": each.files, "issues": issues if not at else []}
            for at, each in enumerate(state.sources)
        ],
        "totalFiles": state.files,
        "issues": issues,
    }
    return entry
