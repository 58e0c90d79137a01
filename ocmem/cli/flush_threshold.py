"""`ocmem flush-threshold`: the arithmetic of the flush before a compaction."""

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ocmem.cli import common, flush_text, flush_wire, table
from ocmem.cli.common import Given
from ocmem.core import (
    citation,
    flush_prompt,
    jsjson,
    session_files,
    session_store,
    standing,
    tokens,
    usage,
    user_time,
)
from ocmem.core.session_store import SessionEntry
from ocmem.core.standing import Asked, Session, Standing
from ocmem.errors import SessionsError, UsageError
from ocmem.settings import Settings, flush
from ocmem.settings.flush import FlushSettings, WorkspaceAccess

FLUSH_IS_DUE = 3  # the exit code of `--check`
_MOST = 2**53 - 1
_FEW = 5


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed."""

    context_window: int | None
    reserve: int | None
    soft: int | None
    tokens: int | None
    session: str | None
    transcript: str | None
    all_sessions: bool
    heartbeat: bool
    provider: str | None
    workspace_access: WorkspaceAccess | None
    prompt: bool
    check: bool
    as_json: bool

    @property
    def is_about_a_session(self) -> bool:
        chosen = (self.tokens, self.session, self.transcript)
        return self.all_sessions or any(each is not None for each in chosen)


@dataclass(frozen=True, slots=True)
class _Scene:
    """What the answer depends on besides the command line."""

    settings: Settings
    flush: FlushSettings
    asked: Asked
    now: datetime  # the user's
    zone_name: str
    warnings: tuple[str, ...]

    @property
    def target(self) -> str:
        return flush_prompt.target_file(self.now)


def run(typed: Typed, given: Given, *, now: datetime | None = None) -> int:
    asked = _asked(typed)
    agent = citation.agent_of(typed.session)
    if agent is not None and not given.get("agent"):
        given = {**given, "agent": [agent]}
    scene = _scene(common.one_agent(given), asked, now or datetime.now(UTC))
    found: list[Standing] = []
    if typed.is_about_a_session or typed.check or not typed.prompt:
        sessions = _sessions(typed, scene)
        found = [standing.standing(each, scene.flush, scene.asked) for each in sessions]
    if typed.prompt:
        _print_prompts(typed, scene)
    elif typed.all_sessions:
        _print_all(typed, scene, found)
    else:
        _print_one(typed, given, scene, found[0])
    is_due = any(each.is_due for each in found)
    return FLUSH_IS_DUE if typed.check and is_due else 0


def _asked(typed: Typed) -> Asked:
    """The options, checked."""
    numbers = (
        ("--context-window", typed.context_window, 1),
        ("--reserve", typed.reserve, 0),
        ("--soft", typed.soft, 0),
        ("--tokens", typed.tokens, 0),
    )
    for option, number, least in numbers:
        if number is not None and number < least:
            raise UsageError(f"{option} must be {least} or more")
        if number is not None and number > _MOST:
            raise UsageError(f"{option} must be {_MOST} or less")
    sources = {
        "--tokens": typed.tokens is not None,
        "--session": typed.session is not None,
        "--transcript": typed.transcript is not None,
        "--all": typed.all_sessions,
    }
    chosen = [option for option, is_given in sources.items() if is_given]
    if len(chosen) > 1:
        raise UsageError(f"only one of {' and '.join(chosen)}, please")
    if typed.prompt and typed.all_sessions:
        raise UsageError("--prompt is the same for every session; leave out --all")
    return Asked(
        window=typed.context_window,
        reserve_floor=typed.reserve,
        soft_threshold=typed.soft,
        is_heartbeat=typed.heartbeat,
        provider=typed.provider,
        access=typed.workspace_access,
    )


def _scene(settings: Settings, asked: Asked, now: datetime) -> _Scene:
    configured = flush.resolve(settings.config.values, settings.agent_id)
    system = user_time.system_zone_name(settings.env)
    zone = user_time.user_zone(configured.timezone, system)
    return _Scene(
        settings=settings,
        flush=configured,
        asked=asked,
        now=now.astimezone(zone.zone),
        zone_name=zone.name,
        warnings=(*configured.warnings, *([zone.warning] if zone.warning else [])),
    )


def _sessions(typed: Typed, scene: _Scene) -> list[Session]:
    """The sessions that the command is about: one of them, unless all were asked for."""
    if typed.tokens is not None:
        return [Session(tokens=typed.tokens, source="argument")]
    if typed.transcript is not None:
        return [_from_transcript(typed.transcript, scene)]
    entries = session_store.read(scene.settings.sessions_dir)
    if typed.all_sessions:
        latest_first = sorted(entries.values(), key=_updated, reverse=True)
        return [standing.from_entry(entry) for entry in latest_first]
    wanted = typed.session if typed.session is not None else scene.flush.main_key
    entry = session_store.find(entries, common.typed(wanted))
    if entry is None and typed.session is not None:
        known = sorted(entries.values(), key=_updated, reverse=True)
        raise _unknown(common.typed(wanted), known, scene.settings)
    return [standing.from_entry(entry) if entry else Session()]


def _unknown(wanted: str, known: Sequence[SessionEntry], settings: Settings) -> UsageError:
    keys = [table.one_line(entry.key) for entry in known[:_FEW]]
    if len(known) > _FEW:
        keys.append(f"and {len(known) - _FEW} more (--all lists them)")
    nowhere = f"there are none in {settings.shown(settings.sessions_dir)}"
    hint = f"known: {', '.join(keys)}" if keys else nowhere
    return UsageError(f"--session: no such session: {table.one_line(wanted)}", hint=hint)


def _from_transcript(typed: str, scene: _Scene) -> Session:
    settings = scene.settings
    if not typed.strip():
        raise UsageError("--transcript needs a path")
    file = session_files.located(typed, settings.sessions_dir, home=settings.home)
    if file is None:
        raise UsageError(
            f"--transcript: no such transcript: {table.one_line(typed)}",
            hint="a path, or a name that ocmem sessions list shows",
        )
    size = usage.context_size(file, tokens.nearest_counter)
    return standing.from_transcript(settings.shown(file), size, _entry_of(file, settings))


def _entry_of(file: Path, settings: Settings) -> SessionEntry | None:
    """The store's entry of a transcript; it is not needed, only good to have."""
    try:
        entries = session_store.read(settings.sessions_dir).values()
    except SessionsError as error:
        common.warn(str(error))
        return None
    return session_files.owner(entries, file.name)


def _updated(entry: SessionEntry) -> float:
    return entry.updated_at_ms or 0.0


def _print_one(typed: Typed, given: Given, scene: _Scene, found: Standing) -> None:
    warnings = (*scene.warnings, *found.warnings)
    if typed.as_json:
        fields = flush_wire.standing(
            found, agent_id=scene.settings.agent_id, target=scene.target, warnings=warnings
        )
        print(jsjson.pretty(fields))
        return
    is_tty = sys.stdout.isatty()
    text = flush_text.report(
        found,
        missing_key=None if typed.is_about_a_session else scene.flush.main_key,
        target=scene.target,
        warnings=warnings,
        is_verbose=bool(given.get("verbose")),
        width=shutil.get_terminal_size().columns,
        is_narrow=is_tty,
        is_colored=common.wants_color(os.environ, is_tty=is_tty, option=given.get("color")),
    )
    print(text)


def _print_all(typed: Typed, scene: _Scene, found: Sequence[Standing]) -> None:
    if typed.as_json:
        fields = flush_wire.standings(
            found,
            agent_id=scene.settings.agent_id,
            target=scene.target,
            warnings=scene.warnings,
        )
        print(jsjson.pretty(fields))
        return
    if not found:
        print("No sessions.")
        return
    own = (text for each in found for text in each.warnings if text not in each.session.warnings)
    text = flush_text.listing(
        found,
        warnings=list(dict.fromkeys([*scene.warnings, *own])),
        now_ms=scene.now.timestamp() * 1000,
        width=shutil.get_terminal_size().columns if sys.stdout.isatty() else None,
    )
    print(text)


def _print_prompts(typed: Typed, scene: _Scene) -> None:
    for text in scene.warnings:
        common.warn(text)
    is_12_hour = user_time.is_12_hour(scene.flush.time_format, scene.settings.env)
    texts = flush_prompt.prompts(
        scene.flush, at=scene.now, zone_name=scene.zone_name, is_12_hour=is_12_hour
    )
    if typed.as_json:
        print(jsjson.pretty(flush_wire.prompts(texts)))
    else:
        written = flush_text.prompts(texts)
        print(common.harmless(written) if sys.stdout.isatty() else written)
