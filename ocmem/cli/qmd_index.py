"""`ocmem index` where QMD is the backend."""

import math
import sys
import time
from dataclasses import dataclass
from typing import Any

from ocmem.backends.qmd import sessions
from ocmem.backends.qmd.backend import QmdBackend
from ocmem.backends.qmd.collections import lacks
from ocmem.backends.qmd.front import NAME
from ocmem.backends.qmd.indexing import QmdReport
from ocmem.backends.qmd.sessions import Exporter
from ocmem.cli import common
from ocmem.cli.common import Given
from ocmem.errors import IndexBusy, IndexUnavailable, OcmemError, QmdError
from ocmem.settings import Settings


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a run; with `trouble`, QMD made nothing of it."""

    entry: dict[str, Any] | None = None
    trouble: OcmemError | None = None
    is_complete: bool = True


def run(settings: Settings, *, force: bool, waits: bool, as_json: bool, given: Given) -> Done:
    """Bring an agent's QMD up to date, and say so."""
    is_quiet = bool(given.get("quiet"))
    if given.get("verbose") and not as_json:
        _introduce(settings)
    began = time.monotonic()
    exporter = Exporter(settings, time.time() * 1000)
    try:
        report = _index(settings, exporter, force=force, waits=waits, is_quiet=is_quiet)
    except (QmdError, IndexUnavailable) as error:
        return Done(trouble=error)
    if report is None:
        return Done()
    seconds = time.monotonic() - began
    if exporter.is_complete and not as_json and not is_quiet:
        print(f"QMD index: {settings.shown(settings.qmd.database)} ({report.size} bytes)")
        print(f"Memory index updated ({settings.agent_id}).")
    for text in report.warnings:
        common.warn(text)
    if not is_quiet and not as_json:
        print(_summary(report, settings.qmd.mode, seconds), file=sys.stderr)
    return Done(fields(settings, report, seconds), is_complete=exporter.is_complete)


def preview(settings: Settings, *, as_json: bool) -> dict[str, Any]:
    """What a run would do to collections, and how many files QMD would look at."""
    backend = QmdBackend(settings)
    collections = backend.wanted.collections
    facts = backend.status()
    absent = facts.absent
    now_ms = time.time() * 1000
    files = sum(sessions.count(settings, each, now_ms) for each in collections)
    trouble = facts.trouble or facts.index_error
    if not as_json:
        told = f"{files} {'file' if files == 1 else 'files'}"
        print(f"Would have QMD look at {told} ({settings.agent_id}).")
        print(f"Collections: {', '.join(each.name for each in collections)}")
        if absent:
            print(f"To be made: {', '.join(absent)}")
        print("Cost: none; no text leaves this machine")
    issues = [*lacks(facts.missing, settings.shown), *facts.warnings]
    for text in issues:
        common.warn(text)
    if trouble is not None:
        common.warn(f"it could not be done now: {trouble}")
    fields = {
        "agentId": settings.agent_id,
        "dryRun": True,
        "backend": NAME,
        "files": {"scanned": files},
        "collections": [each.name for each in collections],
        "absent": list(absent),
        "issues": issues,
    }
    return fields if trouble is None else {**fields, "unavailable": str(trouble)}


def _index(
    settings: Settings, exporter: Exporter, *, force: bool, waits: bool, is_quiet: bool
) -> QmdReport | None:
    backend = QmdBackend(settings)
    try:
        return backend.index(force=force, export=exporter)
    except IndexBusy as error:
        if not is_quiet:
            common.warn(f"{error}; {'waiting' if waits else 'nothing done'}")
        if not waits:
            return None
        return backend.index(force=force, wait_s=math.inf, export=exporter)


def _introduce(settings: Settings) -> None:
    collections = QmdBackend(settings).wanted.collections
    print(f"Memory Index ({settings.agent_id})")
    print(f"Provider: {NAME} (requested: {NAME})")
    print(f"Model: {NAME}")
    sources = dict.fromkeys(each.source for each in collections)
    print(f"Sources: {', '.join(sources)}")
    print(f"Store: {settings.shown(settings.qmd.database)}")
    print()


def _summary(report: QmdReport, mode: str, seconds: float) -> str:
    counts = report.counts
    scanned = counts.new + counts.updated + counts.unchanged
    told = (
        f"checked {scanned} files: {counts.new + counts.updated} changed, {counts.removed} removed"
    )
    if report.embedded:
        told += " · embedded"
    if report.pending and mode != "search":
        told += f" · {report.pending} without vectors"
    return f"{told} · {seconds:.1f} s"


def fields(settings: Settings, report: QmdReport, seconds: float) -> dict[str, Any]:
    """As for the built-in index, whose chunks are documents here."""
    counts = report.counts
    scanned = counts.new + counts.updated + counts.unchanged
    return {
        "agentId": settings.agent_id,
        "files": {
            "scanned": scanned,
            "changed": counts.new + counts.updated,
            "removed": counts.removed,
            "skipped": 0,
        },
        "chunks": scanned,
        "embedded": 0,
        "cached": 0,
        "seconds": round(seconds, 3),
        "issues": list(report.warnings),
        "backend": NAME,
        "qmd": {
            "dbPath": str(settings.qmd.database),
            "bytes": report.size,
            "added": list(report.added),
            "removed": list(report.removed),
            "embedded": report.embedded,
            "pendingEmbeddings": report.pending,
        },
    }
