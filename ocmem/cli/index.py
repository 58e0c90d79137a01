"""`ocmem index`."""

import math
import sys
from functools import partial

from ocmem.backends.builtin import BuiltinBackend
from ocmem.cli import common, wire
from ocmem.cli.common import Given
from ocmem.core import embedder, files
from ocmem.core.indexer import Log
from ocmem.core.jobs import Batching
from ocmem.errors import IndexBusy, OcmemError, SettingsError, UsageError
from ocmem.model import Pending, Source, SyncReport
from ocmem.settings import Settings
from ocmem.settings.address import shown_url


def run(
    *,
    force: bool,
    waits: bool,
    provider: str | None,
    sources: tuple[Source, ...],
    batch: bool | None,
    as_json: bool,
    given: Given,
) -> int:
    is_quiet = bool(given.get("quiet"))
    batching = Batching(wanted=batch)
    code = 0
    entries: list[object] = []
    for settings in common.each_agent(given, provider=provider, sources=sources):
        if not settings.search.enabled:
            print("Memory search disabled.", file=sys.stderr)
            continue
        if given.get("verbose") and not as_json:
            _introduce(settings)
        try:
            log = common.log(given, as_json=as_json)
            index = partial(
                _index,
                force=force,
                waits=waits,
                batching=batching,
                only=sources,
                is_quiet=is_quiet,
                log=log,
            )
            settings, report = common.with_fallback(
                index, settings, given, provider=provider, sources=sources
            )
        except (SettingsError, UsageError):
            raise
        except OcmemError as error:
            failure = f"Memory index failed ({settings.agent_id}): {error}"
            common.complain(OcmemError(failure, hint=error.hint))
            entries.append({"agentId": settings.agent_id, "error": str(error)})
            code = 1
            continue
        if report is None:
            continue
        entries.append(wire.report(settings, report))
        is_complete = not any(issue.serious for issue in report.issues)
        if is_complete and not as_json and not is_quiet:
            print(_headline(settings.agent_id, report))
        for issue in report.issues:
            common.warn(issue.message)
        code = code if is_complete else 1
        if not is_quiet and not as_json:
            print(_summary(report), file=sys.stderr)
        if report.pending is not None and not is_quiet:
            print(f"hint: {_advice(settings, report.pending)}", file=sys.stderr)
    if as_json:
        print(wire.document(entries))
    return code


def _index(
    settings: Settings,
    *,
    force: bool,
    waits: bool,
    batching: Batching,
    only: tuple[Source, ...],
    is_quiet: bool,
    log: Log,
) -> SyncReport | None:
    progress = common.ProgressLine(is_quiet=is_quiet)
    backend = BuiltinBackend(settings, progress, log=log, notice=progress.notice)
    try:
        return backend.index(force=force, wait_s=0, batching=batching, only=only)
    except IndexBusy as error:
        if not is_quiet:
            common.warn(f"{error}; {'waiting' if waits else 'nothing done'}")
        if not waits:
            return None
        return backend.index(force=force, wait_s=math.inf, batching=batching, only=only)
    finally:
        progress.clear()


def _introduce(settings: Settings) -> None:
    choice = settings.provider
    memory = f"MEMORY.md + {settings.shown(settings.workspace / 'memory')}/*.md"
    if files.is_plain_folder(settings):
        memory = f"{settings.shown(settings.workspace)}/**/*.md"
    sources = [f"memory ({memory})"]
    if "sessions" in settings.search.sources:
        sources.append(f"sessions ({settings.shown(settings.sessions_dir)}/*.jsonl)")
    print(f"Memory Index ({settings.agent_id})")
    provider = embedder.provider_in_use(choice)
    print(f"Provider: {provider} (requested: {choice.requested})")
    print(f"Model: {shown_url(choice.model) if provider != 'none' else 'none'}")
    print(f"Sources: {', '.join(sources)}")
    extra = [settings.shown(path) for path in files.extra_locations(settings)]
    if extra:
        print(f"Extra paths: {', '.join(extra)}")
    if choice.fallback is not None:
        print(f"Fallback: {choice.fallback.origin}")
    print()


def _headline(agent_id: str, report: SyncReport) -> str:
    pending = report.pending
    if pending is None:
        return f"Memory index updated ({agent_id})."
    what = f"{_count(pending.waiting, 'chunk')} left for the next run"
    if pending.jobs:
        jobs, chunks = _count(pending.jobs, "batch job"), _count(pending.chunks, "chunk")
        what = f"{jobs} with {chunks} {'is' if pending.jobs == 1 else 'are'} under way"
    return f"Memory index pending ({agent_id}): {what}."


def _advice(settings: Settings, pending: Pending) -> str:
    more = f"; {_count(pending.waiting, 'more chunk')} to hand in" if pending.waiting else ""
    return f"run {settings.index_command} later to fetch what is done{more}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _summary(report: SyncReport) -> str:
    how = "rebuilt" if report.full else "checked"
    return (
        f"{how} {report.scanned} files: {report.changed} changed, {report.removed} removed, "
        f"{report.skipped} skipped · {report.chunks} chunks · {report.embedded} embedded, "
        f"{report.cached} from cache · {report.seconds:.1f} s"
    )
