"""A session transcript (JSON lines) -> its spoken turns, flattened and redacted."""

import json
from collections.abc import Iterable

from ocmem.core import utf16
from ocmem.core.redact import redact

_SPEAKERS = {"user": "User", "assistant": "Assistant"}


def flatten(lines: Iterable[bytes]) -> tuple[str, list[int]]:
    """The turns, one a line, and for each of them its line number in the transcript."""
    turns: list[str] = []
    line_map: list[int] = []
    for number, line in enumerate(lines, start=1):
        turn = _turn(line)
        if turn is not None:
            turns.append(turn)
            line_map.append(number)
    return "\n".join(turns), line_map


def content_hash(text: str, line_map: list[int]) -> str:
    """The hash that decides whether a transcript changed."""
    return utf16.sha256(f"{text}\n{','.join(map(str, line_map))}")


def _turn(line: bytes) -> str | None:
    try:
        record = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None  # blank, torn or foreign lines are no turns
    message = record.get("message") if isinstance(record, dict) else None
    if not isinstance(message, dict) or record.get("type") != "message":
        return None
    role = message.get("role")
    speaker = _SPEAKERS.get(role) if isinstance(role, str) else None
    said = _said(message.get("content"))
    return f"{speaker}: {redact(said)}" if speaker and said else None


def _said(content: object) -> str:
    if isinstance(content, str):
        return utf16.collapse(content)
    if not isinstance(content, list):
        return ""
    texts = (
        utf16.collapse(block["text"])
        for block in content
        if isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    )
    return " ".join(filter(None, texts))
