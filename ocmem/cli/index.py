"""`ocmem index`."""

import math
import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

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

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed."""

    force: bool
    waits: bool
    backend: str | None
    provider: str | None
    sources: tuple[Source, ...]
    batch: bool | None
    as_json: bool

    @property
    def choice(self) -> dict[str, Any]:
        """What leads to one index and no other."""
        return {"backend": self.backend, "provider": self.provider, "sources": self.sources}


def run(typed: Typed, given: Given) -> int:
    code = 0
    entries: list[object] = []
    for settings in common.each_agent(given, **typed.choice):
        if not settings.search.enabled:
            print("Memory search disabled.", file=sys.stderr)
            continue
        if settings.uses_qmd:
            failed, entry = _by_qmd(typed, given, settings)
        else:
            failed, entry = _by_ocmem(typed, given, settings)
        code = max(code, failed)
        entries += [entry] if entry is not None else []
    if typed.as_json:
        print(wire.document(entries))
    return code


def _by_qmd(typed: Typed, given: Given, settings: Settings) -> tuple[int, Entry | None]:
    """QMD's index; where QMD fails, the built-in one, which answers then."""
    from ocmem.cli import qmd_index

    done = qmd_index.run(
        settings, force=typed.force, waits=typed.waits, as_json=typed.as_json, given=given
    )
    if done.trouble is None:
        return 0 if done.is_complete else 1, done.entry
    common.complain(_failure(settings, done.trouble))
    common.warn("the built-in index is brought up to date, to answer where QMD cannot")
    _, entry = _by_ocmem(typed, given, common.stand_in(settings, given, sources=typed.sources))
    entry = entry or {"agentId": settings.agent_id}
    reason = {"from": "qmd", "reason": str(done.trouble)}
    return 1, {**entry, "backend": "builtin", "fallback": reason}


def _by_ocmem(typed: Typed, given: Given, settings: Settings) -> tuple[int, Entry | None]:
    is_quiet = bool(given.get("quiet"))
    if given.get("verbose") and not typed.as_json:
        _introduce(settings)
    log = common.log(given, as_json=typed.as_json)
    index = partial(_index, typed=typed, is_quiet=is_quiet, log=log)
    try:
        settings, report = common.with_fallback(index, settings, given, **typed.choice)
    except (SettingsError, UsageError):
        raise
    except OcmemError as error:
        common.complain(_failure(settings, error))
        return 1, {"agentId": settings.agent_id, "error": str(error)}
    if report is None:
        return 0, None
    is_complete = not any(issue.serious for issue in report.issues)
    if is_complete and not typed.as_json and not is_quiet:
        print(_headline(settings.agent_id, report))
    for issue in report.issues:
        common.warn(issue.message)
    if not is_quiet and not typed.as_json:
        print(_summary(report), file=sys.stderr)
    if report.pending is not None and not is_quiet:
        print(f"hint: {_advice(settings, report.pending)}", file=sys.stderr)
    return 0 if is_complete else 1, wire.report(settings, report)


def _failure(settings: Settings, error: OcmemError) -> OcmemError:
    return OcmemError(f"Memory index failed ({settings.agent_id}): {error}", hint=error.hint)


def _index(settings: Settings, *, typed: Typed, is_quiet: bool, log: Log) -> SyncReport | None:
    progress = common.ProgressLine(is_quiet=is_quiet)
    backend = BuiltinBackend(settings, progress, log=log, notice=progress.notice)
    index = partial(
        backend.index,
        force=typed.force,
        batching=Batching(wanted=typed.batch),
        only=typed.sources,
    )
    try:
        return index(wait_s=0)
    except IndexBusy as error:
        if not is_quiet:
            common.warn(f"{error}; {'waiting' if typed.waits else 'nothing done'}")
        return index(wait_s=math.inf) if typed.waits else None
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
