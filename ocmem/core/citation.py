"""A hit -> the words that point back at its file, and the way back."""

import re

from ocmem.core import utf16
from ocmem.model import ChunkRow

_CITATION = re.compile(r"(?s)(?P<path>.+)#L(?P<start>\d{1,9})(?:-L(?P<end>\d{1,9}))?")


def citation(chunk: ChunkRow) -> str:
    """`path#L12-L34`, or `path#L12` for a single line."""
    if chunk.start_line == chunk.end_line:
        return f"{chunk.path}#L{chunk.start_line}"
    return f"{chunk.path}#L{chunk.start_line}-L{chunk.end_line}"


def parse(text: str) -> tuple[str, int, int] | None:
    """Path, first and last line of a citation as printed; None if `text` is not one."""
    match = _CITATION.fullmatch(text)
    if match is None:
        return None
    start = int(match["start"])
    return match["path"], start, int(match["end"] or start)


def wanted(mode: str, *, session_key: str | None) -> bool:
    """Whether answers carry a `Source:` line: `on`, `off`, or `auto`, which means direct chats."""
    if mode != "auto":
        return mode == "on"
    return chat_type(session_key) == "direct"


def chat_type(session_key: str | None) -> str:
    """`direct`, `group` or `channel`; a key that is not an agent's counts as direct."""
    _, chat = _parts(session_key)
    return next((kind for kind in ("channel", "group") if kind in chat), "direct")


def agent_of(session_key: str | None) -> str | None:
    """The agent that a key of the form `agent:<id>:<rest>` names."""
    return _parts(session_key)[0]


def _parts(session_key: str | None) -> tuple[str | None, list[str]]:
    parts = utf16.trim(session_key or "").lower().split(":")
    if len(parts) < 3 or parts[0] != "agent" or not parts[1]:
        return None, []
    return parts[1], parts[2:]
