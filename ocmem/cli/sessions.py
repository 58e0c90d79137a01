"""`ocmem sessions list` and `ocmem sessions export`."""

import math
import shutil
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from ocmem.cli import common, table, wire
from ocmem.cli.common import Given
from ocmem.core import session_export, session_files
from ocmem.core.session_export import DEFAULT_MESSAGES, Export
from ocmem.core.session_files import Session
from ocmem.errors import SessionsError, UsageError
from ocmem.settings import Settings, schema

_HOOK_MESSAGES = "hooks.internal.entries.session-memory.messages"
_NOTHING = "–"


def list_all(*, archived: bool, as_json: bool, given: Given) -> int:
    code = 0
    found: list[tuple[str, list[Session]]] = []
    for settings in common.each_agent(given):
        _refuse_folder(settings)
        try:
            sessions = session_files.sessions(settings.sessions_dir, archived=archived)
            found.append((settings.agent_id, sessions))
        except SessionsError as error:
            # The other agents are still worth a look.
            common.complain(error)
            code = 1
    if as_json:
        print(wire.document([wire.sessions(agent_id, each) for agent_id, each in found]))
        return code
    for at, (agent_id, sessions) in enumerate(found):
        if len(found) > 1:
            print(f"{'' if at == 0 else chr(10)}{agent_id}:")
        _print(sessions, now_ms=time.time() * 1000)
    return code


def export(wanted: str, *, messages: int | None, as_json: bool, given: Given) -> int:
    if messages is not None and messages < 1:
        raise UsageError("--messages must be 1 or more")
    settings = common.one_agent(given)
    _refuse_folder(settings)
    found = session_export.export(
        settings.sessions_dir,
        wanted,
        most=messages or _hook_messages(settings),
        now=datetime.now(UTC),
        home=settings.home,
    )
    _talk(settings, found)
    if as_json:
        print(wire.session_export(found))
    else:
        text = found.markdown
        sys.stdout.write(common.harmless(text) if sys.stdout.isatty() else text)
    return 0


def _talk(settings: Settings, found: Export) -> None:
    if found.is_borrowed:
        shown = settings.shown(found.location)
        common.warn(f"{found.key} has no transcript of its own; the hook would take {shown}")
    elif not found.messages:
        common.warn(f"nothing is said in {settings.shown(found.location)}")


def _hook_messages(settings: Settings) -> int:
    """How many the hook takes; what it cannot use counts as not set."""
    configured = schema.lookup(settings.config.values, _HOOK_MESSAGES)
    is_number = isinstance(configured, int | float) and not isinstance(configured, bool)
    return int(configured) if is_number and 1 <= configured < 1e9 else DEFAULT_MESSAGES


def _refuse_folder(settings: Settings) -> None:
    if settings.is_folder:
        raise UsageError("--workspace: a folder of notes has no sessions; name an --agent")


def _print(sessions: Sequence[Session], *, now_ms: float) -> None:
    if not sessions:
        print("No sessions.")
        return
    rows = [("UPDATED", "TOKENS", "SIZE", "KEY", "TRANSCRIPT")]
    for each in sessions:
        entry, file = each.entry, each.file
        rows.append(
            (
                table.age((now_ms - each.updated_at_ms) / 1000),
                _tokens(each),
                _NOTHING if file is None else table.size(file.size),
                _NOTHING if entry is None else _shown(entry.key),
                "missing" if file is None else _shown(file.path),
            )
        )
    text = table.aligned(rows, right=(0, 1, 2))
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else math.inf
    if max(map(table.width, text.split("\n"))) > room:
        # The names of transcripts are long: each on a line of its own.
        lines = table.aligned([row[:-1] for row in rows], right=(0, 1, 2)).split("\n")
        text = "\n".join(f"{line}\n  {row[-1]}" for line, row in zip(lines, rows, strict=True))
    print(text)


def _tokens(session: Session) -> str:
    """The size of the context; with a question mark where OpenClaw does not trust it."""
    entry = session.entry
    if entry is None or entry.total_tokens is None:
        return _NOTHING
    return f"{entry.total_tokens}{'' if entry.is_fresh else '?'}"


def _shown(text: str) -> str:
    return table.one_line(common.harmless(text))
