"""`ocmem status`."""

import math
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ocmem.backends.builtin import BuiltinBackend
from ocmem.cli import common, wire
from ocmem.cli.common import Given
from ocmem.core import files, substitute
from ocmem.core.health import Health, health
from ocmem.core.indexer import Log
from ocmem.core.jobs import FAILURE_LIMIT, SERVICES
from ocmem.errors import EmbedderError, IndexUnavailable, OcmemError
from ocmem.model import BatchState, SyncReport
from ocmem.settings import Fallback, Settings
from ocmem.settings.address import shown_url


@dataclass(frozen=True, slots=True)
class Shown:
    """One agent, for people and for programs; no lines where nothing could be looked up."""

    entry: dict[str, Any]
    lines: tuple[str, ...] = ()
    has_failed: bool = False


def run(*, deep: bool, index_first: bool, as_json: bool, given: Given) -> int:
    shown: list[Shown] = []
    for settings in common.each_agent(given):
        if not settings.search.enabled:
            print("Memory search disabled.", file=sys.stderr)
            continue
        log = common.log(given, as_json=as_json)
        show = _by_qmd if settings.uses_qmd else _by_ocmem
        shown.append(show(settings, given, log, deep=deep, index_first=index_first))
    code = max((int(each.has_failed) for each in shown), default=0)
    if as_json:
        print(wire.document([each.entry for each in shown]))
        return code
    is_tty = sys.stdout.isatty()
    colored = common.wants_color(os.environ, is_tty=is_tty, option=given.get("color"))
    for each in shown:
        for text in each.lines:
            line = common.harmless(text) if is_tty else text
            print(_painted(line) if colored else line)
        if each.lines:
            print()
    return code


def _by_ocmem(
    settings: Settings,
    given: Given,
    log: Log,
    *,
    deep: bool,
    index_first: bool,
    instead_of: Fallback | None = None,
) -> Shown:
    error, batch = None, BatchState()
    if index_first:
        settings, error, batch = _index(settings, given, log)
    try:
        notice = common.ProgressLine(is_quiet=bool(given.get("quiet"))).notice
        state = health(settings, deep=deep, notice=notice)
        second = _stand_in(state, given)
        if second is not None:
            state = health(second, deep=deep, notice=notice)
    except IndexUnavailable as failure:
        # The other agents are still worth a look.
        if str(failure) != error:
            common.complain(failure)
        entry = {"agentId": settings.agent_id, "error": str(failure)}
        return Shown(entry, has_failed=True)
    if state.vector_error:
        common.warn(f"sqlite-vec unavailable: {state.vector_error}")
    state.index_error = error
    state.batch = batch
    state.instead_of = instead_of
    lines = list(_lines(state))
    if index_first:
        done = "pending." if state.pending and state.is_dirty else "complete."
        lines.insert(0, f"Memory index {f'failed: {error}' if error else done}")
    return Shown(_fields(state), tuple(lines), has_failed=error is not None)


def _by_qmd(settings: Settings, given: Given, log: Log, *, deep: bool, index_first: bool) -> Shown:
    """QMD's state; where it cannot answer, that of the built-in index, which then does."""
    from ocmem.cli import qmd_index, qmd_status

    error, is_complete = None, True
    if index_first:
        done = qmd_index.run(
            settings, force=False, waits=True, as_json=True, given={**given, "quiet": True}
        )
        is_complete = done.is_complete
        if done.trouble is not None:
            error = str(done.trouble)
            failure = f"Memory index failed: {error}"
            common.complain(OcmemError(failure, hint=done.trouble.hint))
    state = qmd_status.look(settings, deep=deep, index_error=error)
    trouble = state.trouble
    if trouble is None:
        lines = list(qmd_status.lines(state))
        if index_first:
            told = f"failed: {error}" if error else "complete." if is_complete else "incomplete."
            lines.insert(0, f"Memory index {told}")
        has_failed = error is not None or not is_complete
        return Shown(qmd_status.fields(state), tuple(lines), has_failed=has_failed)
    instead = "the built-in index answers instead"
    common.complain(OcmemError(f"{trouble}; {instead}", hint=trouble.hint))
    instead_of = Fallback("qmd", str(trouble))
    second = common.stand_in(settings, given)
    shown = _by_ocmem(second, given, log, deep=deep, index_first=index_first, instead_of=instead_of)
    return replace(shown, has_failed=shown.has_failed or index_first)


def _stand_in(state: Health, given: Given) -> Settings | None:
    """The fallback, where the provider has failed, just now or when it was last tried."""
    failure = state.probe_failure
    noted = None if state.was_probed else substitute.reason(state.settings)
    if failure is None and noted is None:
        return None
    try:
        second = common.fallback(state.settings, given, failure or EmbedderError(str(noted)))
    except EmbedderError:
        return None
    if failure is not None:
        common.tell_switch(second, failure)
    return second


def _index(settings: Settings, given: Given, log: Log) -> tuple[Settings, str | None, BatchState]:
    """The settings in force afterwards, with a fallback if one stepped in, what went wrong, and
    how batch jobs went."""
    batch = BatchState()
    try:
        settings, report = common.with_fallback(
            lambda chosen: _run_index(chosen, given, log), settings, given
        )
        failure = "; ".join(issue.message for issue in report.issues if issue.serious)
        batch = report.batch
        hint = None
    except OcmemError as error:
        failure, hint = str(error), error.hint
    if not failure:
        return settings, None, batch
    common.complain(OcmemError(f"Memory index failed: {failure}", hint=hint))
    return settings, failure, batch


def _run_index(settings: Settings, given: Given, log: Log) -> SyncReport:
    progress = common.ProgressLine(is_quiet=bool(given.get("quiet")))
    try:
        backend = BuiltinBackend(settings, progress, log=log, notice=progress.notice)
        return backend.index(force=False, wait_s=math.inf)
    finally:
        progress.clear()


def _lines(state: Health) -> Iterator[str]:
    settings = state.settings
    search, choice = settings.search, settings.provider
    yield f"Memory Search ({settings.agent_id})"
    yield f"Provider: {state.provider} (requested: {choice.requested})"
    yield f"Model: {shown_url(choice.model) if state.provider != 'none' else 'none'}"
    yield f"Sources: {', '.join(search.sources)}"
    extra = [settings.shown(path) for path in files.extra_locations(settings)]
    if extra:
        yield f"Extra paths: {', '.join(extra)}"
    yield f"Indexed: {state.files}/{_total(state.total)} files · {state.chunks} chunks"
    yield f"Dirty: {'yes' if state.is_dirty else 'no'}"
    yield f"Store: {settings.shown(settings.index_path)}"
    yield f"Workspace: {settings.shown(settings.workspace)}"
    if state.was_probed:
        yield f"Embeddings: {'unavailable' if state.probe_error else 'ready'}"
        if state.probe_error:
            yield f"Embeddings error: {state.probe_error}"
    yield "By source:"
    for each in state.sources:
        yield f"  {each.source} · {each.files}/{_total(each.total)} files · {each.chunks} chunks"
    instead_of = state.instead_of or choice.fallback
    if instead_of is not None:
        yield f"Fallback: {instead_of.origin}"
    yield from _vector_lines(state)
    yield f"FTS: {'ready' if state.fts_available else 'disabled'}"
    if search.cache_enabled:
        yield f"Embedding cache: enabled ({state.cache_entries} entries)"
        if search.cache_max_entries:
            yield f"Cache cap: {search.cache_max_entries}"
    else:
        yield "Embedding cache: disabled"
    batch = "enabled" if _batch_enabled(state) else "disabled"
    yield f"Batch: {batch} (failures {state.batch.failures}/{FAILURE_LIMIT})"
    if state.batch.last_error:
        yield f"Batch error: {state.batch.last_error}"
    if state.pending is not None:
        yield f"Batch jobs: {state.pending.jobs} pending ({state.pending.chunks} chunks)"
    if instead_of is not None:
        yield instead_of.reason
    if state.watcher is not None:
        yield f"Watched by: {state.watcher.shown(time.time() * 1000)}"
    if choice.id == "builtin":
        yield (
            "Note: builtin is an English model; for Korean, Chinese or Japanese notes a "
            "multilingual model ranks better (keywords work in every language)"
        )
    if state.index_error:
        yield f"Index error: {state.index_error}"
    issues = [issue for each in state.sources for issue in each.issues]
    if issues:
        yield "Issues:"
        yield from (f"  {issue}" for issue in issues)


def _vector_lines(state: Health) -> Iterator[str]:
    names = {None: "unknown", True: "ready", False: "unavailable"}
    is_enabled = state.settings.search.vector_enabled
    yield f"Vector: {names[state.vector_available] if is_enabled else 'disabled'}"
    if state.vector_dims is not None:
        yield f"Vector dims: {state.vector_dims}"
    if state.vector_path is not None:
        yield f"Vector path: {state.settings.shown(state.vector_path)}"
    if state.vector_error is not None:
        yield f"Vector error: {state.vector_error}"


def _fields(state: Health) -> dict[str, Any]:
    settings = state.settings
    probe: dict[str, Any] = {"ok": state.probe_error is None, "error": state.probe_error}
    fields = {
        "agentId": settings.agent_id,
        "status": _status_fields(state),
        "embeddingProbe": _present(probe) if state.was_probed else None,
        "indexError": state.index_error,
    }
    scan = {
        "sources": [
            {"source": each.source, "totalFiles": each.total, "issues": each.issues}
            for each in state.sources
        ],
        "totalFiles": state.total,
        "issues": [issue for each in state.sources for issue in each.issues],
    }
    return {**_present(fields), "scan": scan}


def _status_fields(state: Health) -> dict[str, Any]:
    settings = state.settings
    search, choice = settings.search, settings.provider
    has_model = state.provider != "none"
    instead_of = state.instead_of or choice.fallback
    return _present(
        {
            "backend": "builtin",
            "files": state.files,
            "chunks": state.chunks,
            "dirty": state.is_dirty,
            "workspaceDir": str(settings.workspace),
            "dbPath": str(settings.index_path),
            "provider": state.provider,
            "model": shown_url(choice.model) if has_model else None,
            "requestedProvider": choice.requested,
            "sources": list(search.sources),
            "extraPaths": list(search.extra_paths),
            "sourceCounts": [
                {"source": each.source, "files": each.files, "chunks": each.chunks}
                for each in state.sources
            ],
            "cache": _present(
                {
                    "enabled": search.cache_enabled,
                    "entries": state.cache_entries if search.cache_enabled else None,
                    "maxEntries": search.cache_max_entries,
                }
            ),
            "fts": {"enabled": search.query.hybrid, "available": state.fts_available},
            "fallback": wire.fallback(instead_of) if instead_of else None,
            "vector": _present(
                {
                    "enabled": search.vector_enabled,
                    "available": state.vector_available,
                    "extensionPath": state.vector_path,
                    "loadError": state.vector_error,
                    "dims": state.vector_dims,
                }
            ),
            "batch": _batch_fields(state),
            "watcher": _watcher_fields(state),
            "custom": _present(
                {
                    "searchMode": "hybrid" if has_model else "fts-only",
                    "providerUnavailableReason": choice.missing,
                    "fallback": _disabled(state.instead_of),
                }
            ),
        }
    )


def _disabled(backend: Fallback | None) -> dict[str, Any] | None:
    return None if backend is None else {"disabled": True, "reason": backend.reason}


def _batch_fields(state: Health) -> dict[str, Any]:
    limits, went = state.settings.search.remote.batch, state.batch
    return _present(
        {
            "enabled": _batch_enabled(state),
            "failures": went.failures,
            "limit": FAILURE_LIMIT,
            "wait": limits.wait,
            "concurrency": limits.concurrency,
            "pollIntervalMs": limits.poll_interval_ms,
            "timeoutMs": limits.timeout_minutes * 60_000,
            "lastError": went.last_error,
            "lastProvider": state.provider if went.last_error else None,
            "pending": wire.pending(state.pending) if state.pending else None,
        }
    )


def _watcher_fields(state: Health) -> dict[str, Any] | None:
    if state.watcher is None:
        return None
    return {"pid": state.watcher.pid, "startedAt": state.watcher.started_at_ms}


def _batch_enabled(state: Health) -> bool:
    is_wanted = state.settings.search.remote.batch.enabled and not state.batch.is_off
    return is_wanted and state.provider in SERVICES


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    """Without what is None: the reference leaves absent keys out."""
    return {name: value for name, value in fields.items() if value is not None}


def _total(total: int | None) -> str:
    return "?" if total is None else str(total)


def _painted(line: str) -> str:
    """The reference's roles: heading in bold, labels muted."""
    label, colon, rest = line.partition(": ")
    if not colon:
        return f"\x1b[1m{line}\x1b[0m" if line.startswith("Memory Search") else line
    return f"\x1b[2m{label}{colon}\x1b[0m{rest}"
