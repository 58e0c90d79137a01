"""`ocmem index`."""

import math
import sys

from ocmem.backends.builtin import BuiltinBackend
from ocmem.cli import common, wire
from ocmem.cli.common import Given
from ocmem.core import embedder, files
from ocmem.core.indexer import Log
from ocmem.errors import EmbedderError, IndexBusy, OcmemError, SettingsError, UsageError
from ocmem.model import SyncReport
from ocmem.settings import Settings


def run(*, force: bool, waits: bool, as_json: bool, given: Given) -> int:
    is_quiet = bool(given.get("quiet"))
    code = 0
    entries: list[object] = []
    for settings in common.each_agent(given):
        if not settings.search.enabled:
            print("Memory search disabled.", file=sys.stderr)
            continue
        if given.get("verbose") and not as_json:
            _introduce(settings)
        try:
            log = common.log(given, as_json=as_json)
            try:
                report = _index(settings, force=force, waits=waits, is_quiet=is_quiet, log=log)
            except EmbedderError as error:
                settings = common.fallback(settings, given, error)
                common.tell_switch(settings, error)
                report = _index(settings, force=force, waits=waits, is_quiet=is_quiet, log=log)
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
            print(f"Memory index updated ({settings.agent_id}).")
        for issue in report.issues:
            common.warn(issue.message)
        code = code if is_complete else 1
        if not is_quiet and not as_json:
            print(_summary(report), file=sys.stderr)
    if as_json:
        print(wire.document(entries))
    return code


def _index(
    settings: Settings, *, force: bool, waits: bool, is_quiet: bool, log: Log
) -> SyncReport | None:
    progress = common.ProgressLine(is_quiet=is_quiet)
    backend = BuiltinBackend(settings, progress, log=log, notice=progress.notice)
    try:
        return backend.index(force=force, wait_s=0)
    except IndexBusy as error:
        if not is_quiet:
            common.warn(f"{error}; {'waiting' if waits else 'nothing done'}")
        if not waits:
            return None
        return backend.index(force=force, wait_s=math.inf)
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
    print(f"Model: {choice.model if provider != 'none' else 'none'}")
    print(f"Sources: {', '.join(sources)}")
    extra = [settings.shown(path) for path in files.extra_locations(settings)]
    if extra:
        print(f"Extra paths: {', '.join(extra)}")
    if choice.fallback is not None:
        print(f"Fallback: {choice.fallback.origin}")
    print()


def _summary(report: SyncReport) -> str:
    how = "rebuilt" if report.full else "checked"
    return (
        f"{how} {report.scanned} files: {report.changed} changed, {report.removed} removed, "
        f"{report.skipped} skipped · {report.chunks} chunks · {report.embedded} embedded, "
        f"{report.cached} from cache · {report.seconds:.1f} s"
    )
