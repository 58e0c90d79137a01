"""`sessions.json`: what OpenClaw remembers of each chat. Read only, and never trusted."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ocmem.core import utf16
from ocmem.errors import SessionsError
from ocmem.settings.reading import regular_bytes

STORE_NAME = "sessions.json"
_MOST_BYTES = 256 * 1024 * 1024
_MOST_COUNT = 2**53  # JavaScript counts no further


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """One chat. A field is None where the store does not have it, or has something unusable."""

    key: str
    session_id: str | None
    updated_at_ms: float | None
    session_file: str | None  # the transcript, if it is not the usual one
    chat_type: str | None
    channel: str | None  # where it was last heard from: telegram, webchat, …
    provider: str | None  # of the model that was chosen for it, else of the last one used
    model: str | None
    context_tokens: int | None  # the window as OpenClaw last resolved it
    total_tokens: int | None  # the size of the context after the last run
    is_fresh: bool  # False where OpenClaw itself says that `total_tokens` is out of date
    compaction_count: int  # 0 where it was never counted
    flushed_at_ms: float | None
    flushed_in_cycle: int | None  # `compaction_count` at the last flush


def read(sessions_dir: Path) -> dict[str, SessionEntry]:
    """Every chat of an agent by its key; none where there is no store yet."""
    file = sessions_dir / STORE_NAME
    try:
        data = regular_bytes(file, most=_MOST_BYTES + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SessionsError(f"{file} cannot be read: {error.strerror}") from error
    if len(data) > _MOST_BYTES:
        raise SessionsError(f"{file} is larger than {_MOST_BYTES >> 20} MiB")
    try:
        found = json.loads(data.decode("utf-8", "replace").removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        # OpenClaw may be writing it; it also mends it by itself.
        raise SessionsError(f"{file} is not valid JSON", hint="try again") from None
    if not isinstance(found, dict):
        raise SessionsError(f"{file} does not hold an object of sessions")
    entries = {utf16.well_formed(key): value for key, value in found.items()}
    return {key: _entry(key, value) for key, value in entries.items() if isinstance(value, dict)}


def find(entries: Mapping[str, SessionEntry], wanted: str) -> SessionEntry | None:
    """The chat with that key, whatever its case, or with that session id."""
    asked = utf16.trim(wanted)
    if asked in entries:
        return entries[asked]
    lowered = asked.lower()
    by_key = (entry for key, entry in entries.items() if key.lower() == lowered)
    by_id = (entry for entry in entries.values() if entry.session_id == asked)
    return next(by_key, None) or next(by_id, None)


def _entry(key: str, value: Mapping[str, object]) -> SessionEntry:
    return SessionEntry(
        key=key,
        session_id=_text(value, "sessionId"),
        updated_at_ms=_number(value, "updatedAt"),
        session_file=_path(value, "sessionFile"),
        chat_type=_text(value, "chatType"),
        channel=_channel(value, key),
        provider=_text(value, "providerOverride") or _text(value, "modelProvider"),
        model=_text(value, "modelOverride") or _text(value, "model"),
        context_tokens=_count(value, "contextTokens"),
        total_tokens=_count(value, "totalTokens"),
        is_fresh=value.get("totalTokensFresh") is not False,
        compaction_count=_count(value, "compactionCount") or 0,
        flushed_at_ms=_number(value, "memoryFlushAt"),
        flushed_in_cycle=_count(value, "memoryFlushCompactionCount"),
    )


def _channel(value: Mapping[str, object], key: str) -> str | None:
    delivery = value.get("deliveryContext")
    named = (
        _text(value, "lastChannel"),
        _text(value, "channel"),
        _text(delivery, "channel") if isinstance(delivery, dict) else None,
        _channel_in(key),
    )
    return next(filter(None, named), None)


def _channel_in(key: str) -> str | None:
    """`agent:main:telegram:direct:1` tells it, too."""
    parts = key.split(":")
    is_chat = len(parts) > 4 and parts[0] == "agent" and parts[3] in ("direct", "group", "channel")
    return parts[2] if is_chat else None


def _text(value: Mapping[str, object], name: str) -> str | None:
    found = value.get(name)
    return utf16.well_formed(found) if isinstance(found, str) and utf16.trim(found) else None


def _path(value: Mapping[str, object], name: str) -> str | None:
    found = _text(value, name)
    return None if found is None or "\0" in found else found


def _number(value: Mapping[str, object], name: str) -> float | None:
    found = value.get(name)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return float(found) if abs(found) < 1e300 else None


def _count(value: Mapping[str, object], name: str) -> int | None:
    found = _number(value, name)
    return None if found is None or found < 0 else int(min(found, _MOST_COUNT))
