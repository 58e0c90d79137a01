"""A chat as the Markdown that OpenClaw's session-memory hook writes when a new one begins."""

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ocmem.core import session_files, session_store, transcript, utf16
from ocmem.core.redact import redact
from ocmem.core.session_store import SessionEntry
from ocmem.errors import SessionsError

DEFAULT_MESSAGES = 15
_UNKNOWN = "unknown"
_TIME = re.compile(r"(\d{4}-\d{2}-\d{2}T\d{2})-(\d{2})-(\d{2})(?:\.\d+)?Z")


@dataclass(frozen=True, slots=True)
class Export:
    """What the hook would write. `moment` is UTC, as its file name is."""

    location: Path  # the transcript that it was taken from
    key: str | None
    session_id: str | None
    channel: str | None
    moment: datetime
    messages: tuple[str, ...]
    is_borrowed: bool  # the transcript is not the chat's own, which has none

    @property
    def file_name(self) -> str:
        """The hook's, if no model gives it a better one."""
        return f"{self.moment:%Y-%m-%d-%H%M}.md"

    @property
    def markdown(self) -> str:
        lines = [
            f"# Session: {self.moment:%Y-%m-%d %H:%M:%S} UTC",
            "",
            f"- **Session Key**: {self.key or _UNKNOWN}",
            f"- **Session ID**: {self.session_id or _UNKNOWN}",
            f"- **Source**: {self.channel or _UNKNOWN}",
            "",
        ]
        if self.messages:
            lines += ["## Conversation Summary", "", *self.messages, ""]
        return "\n".join(lines)


def export(sessions_dir: Path, wanted: str, *, most: int, now: datetime, home: Path) -> Export:
    """The last messages of a chat, by its key or id, or of a transcript, by its name or path.

    Raises SessionsError where there is neither.
    """
    entries = session_store.read(sessions_dir)
    entry = session_store.find(entries, wanted)
    is_borrowed = False
    if entry is not None:
        location, is_borrowed = _transcript_of(entry, sessions_dir)
    else:
        location = session_files.located(wanted, sessions_dir, home=home)
        entry = None if location is None else session_files.owner(entries.values(), location.name)
    if location is None:
        raise _unknown(wanted, entry)
    location, messages = _spoken(location, most)
    return Export(
        location=location,
        key=entry.key if entry else None,
        session_id=entry.session_id if entry else session_files.id_of(location.name),
        channel=entry.channel if entry else None,
        moment=_archived_at(location.name) or now,
        messages=messages,
        is_borrowed=is_borrowed,
    )


def _transcript_of(entry: SessionEntry, sessions_dir: Path) -> tuple[Path | None, bool]:
    """Where the hook looks, in its order; True where it takes one that is not the chat's own."""
    if entry.session_file is not None:
        told = sessions_dir / entry.session_file
        if session_files.archived_at(told.name) is None and os.path.isfile(told):  # noqa: PTH113
            return told, False
    files = {file.name: file for file in session_files.files_in(sessions_dir)}
    own = session_files.own_file(entry, files)
    if own is not None:
        return sessions_dir / own.name, False
    for name in session_files.own_names(entry, files):
        if _resets(sessions_dir / name):
            return sessions_dir / name, False
    last = max(files, default=None)
    return (None, False) if last is None else (sessions_dir / last, True)


def _spoken(location: Path, most: int) -> tuple[Path, tuple[str, ...]]:
    """The last messages, and where they are: an archived copy, if nothing is left in the file."""
    messages: tuple[str, ...] = ()
    if os.path.lexists(location):
        messages = _last_messages(location, most)
    resets = [] if messages else _resets(location)
    if not resets:
        return location, messages
    return resets[-1], _last_messages(resets[-1], most)


def _resets(location: Path) -> list[Path]:
    """Copies that were made when the chat began anew; their names sort by time."""
    try:
        names = os.listdir(location.parent)  # noqa: PTH208
    except OSError:
        return []
    return [location.with_name(n) for n in sorted(names) if n.startswith(f"{location.name}.reset.")]


def _last_messages(location: Path, most: int) -> tuple[str, ...]:
    with session_files.opened(location) as spoken:
        return tuple(map(redact, deque(messages_in(spoken.lines()), maxlen=most)))


def messages_in(lines: Iterable[bytes]) -> Iterator[str]:
    """`user: …` and `assistant: …`, without commands and without what other sessions sent."""
    for _, message in transcript.messages(lines):
        text = _first_text(message.get("content"))
        provenance = message.get("provenance")
        kind = provenance.get("kind") if isinstance(provenance, dict) else None
        is_foreign = message["role"] == "user" and kind == "inter_session"
        if text and not text.startswith("/") and not is_foreign:
            yield f"{message['role']}: {text}"


def _first_text(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = (b.get("text") for b in blocks if isinstance(b, dict) and b.get("type") == "text")
    first = next(texts, None)
    return first if isinstance(first, str) else ""


def _archived_at(name: str) -> datetime | None:
    """When the chat began anew: the moment at which the hook ran."""
    match = _TIME.fullmatch(session_files.archived_at(name) or "")
    if match is None:
        return None
    try:
        return datetime.fromisoformat(":".join(match.groups())).replace(tzinfo=UTC)
    except ValueError:
        return None


def _unknown(wanted: str, entry: SessionEntry | None) -> SessionsError:
    hint = "ocmem sessions list shows what there is"
    if entry is not None:
        return SessionsError(f"{entry.key} has no transcript", hint=hint)
    shown = utf16.well_formed(wanted)
    return SessionsError(f"no session and no transcript is called {shown}", hint=hint)
