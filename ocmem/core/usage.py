"""How large a session's context is, by its transcript. Line by line: a transcript may be huge."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from ocmem.core import jsjson, session_files, utf16
from ocmem.core.tokens import TokenCounter
from ocmem.core.transcript import Transcript, record_in

Source = Literal["transcript-usage", "transcript-tiktoken", "transcript-estimate"]
Record = dict[str, Any]

_MOST_TOKENS: Final = 2**53  # a larger number is none that JavaScript could count with
_PIECE_UNITS: Final = 4096  # tiktoken takes its time for long words
_IMAGE_CHARS: Final = 4800
_MIRROR = ("openclaw", "delivery-mirror")  # what the gateway said by itself


@dataclass(frozen=True, slots=True)
class ContextSize:
    """`tokens` is None where nothing was said. `method` tells how a count was made."""

    tokens: int | None
    source: Source
    method: str | None
    about: "Findings"


@dataclass(slots=True)
class Findings:
    """What a transcript tells of its session."""

    session_id: str | None = None
    provider: str | None = None  # of the last answer
    model: str | None = None
    usage: int | None = None  # of the last answer since the last compaction
    compactions: int = 0
    first_kept: str | None = None  # by the last compaction
    skipped: int = 0  # lines too long to look at


def context_size(file: Path, counter_for: Callable[[str | None], TokenCounter]) -> ContextSize:
    """What the last answer reported; failing that, a count of what the model would see."""
    with session_files.opened(file) as lines:
        found = _findings(lines)
        if found.usage is not None:
            return ContextSize(found.usage, "transcript-usage", None, found)
        counter = counter_for(found.model)
        tokens = _counted(lines, found, counter) or None
    source: Source = "transcript-tiktoken" if counter.is_exact else "transcript-estimate"
    return ContextSize(tokens, source, counter.method, found)


def _findings(transcript: Transcript) -> Findings:
    found = Findings()
    for at, record in enumerate(filter(None, map(record_in, transcript.lines()))):
        if record.get("type") == "compaction":
            found.compactions += 1
            found.usage = None
            found.first_kept = _text(record.get("firstKeptEntryId"))
        elif record.get("type") == "session" and at == 0:
            found.session_id = _text(record.get("id"))
        elif (message := _answer(record)) is not None:
            found.provider = _text(message.get("provider")) or found.provider
            found.model = _text(message.get("model")) or found.model
            found.usage = _prompt_tokens(message) or found.usage
    found.skipped = transcript.lines_skipped
    return found


def _answer(record: Record) -> Record | None:
    """What a model said, if anything; what the gateway said in its name does not count."""
    message = record.get("message")
    if record.get("type") != "message" or not isinstance(message, dict):
        return None
    if message.get("role") != "assistant":
        return None
    return None if (message.get("provider"), message.get("model")) == _MIRROR else message


def _prompt_tokens(message: Record) -> int | None:
    """The size of the context that an answer was given to, without the answer."""
    usage = message.get("usage")
    if not isinstance(usage, dict) or message.get("stopReason") in ("aborted", "error"):
        return None
    sent = sum(_count(usage.get(name)) for name in ("input", "cacheRead", "cacheWrite"))
    return sent or _count(usage.get("totalTokens")) or None


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 < value < _MOST_TOKENS else 0


def _counted(transcript: Transcript, found: Findings, counter: TokenCounter) -> int:
    """The context of the next turn: the last summary, what it kept, and all that came since."""
    total = compactions = 0
    is_kept = found.compactions == 0
    for record in map(record_in, transcript.lines()):
        if record.get("type") == "compaction":
            compactions += 1
            if compactions == found.compactions:
                total += _size(_text(record.get("summary")), counter)
                is_kept = True
            continue  # what an earlier one said is part of the last one's summary
        if found.first_kept and record.get("id") == found.first_kept:
            is_kept = True
        if is_kept:
            total += _size_of(record, counter)
    return total


def _size_of(record: Record, counter: TokenCounter) -> int:
    """What one line of the transcript adds to the context."""
    kind = record.get("type")
    if kind == "branch_summary":
        return _size(_text(record.get("summary")), counter)
    if kind == "custom_message":
        return _content_size(record.get("content"), counter, counts_images=True)
    message = record.get("message")
    if kind != "message" or not isinstance(message, dict):
        return 0
    counts_images = message.get("role") == "toolResult"
    return _content_size(message.get("content"), counter, counts_images=counts_images)


def _content_size(content: object, counter: TokenCounter, *, counts_images: bool) -> int:
    if isinstance(content, str):
        return _size(content, counter)
    if not isinstance(content, list):
        return 0
    blocks = [block for block in content if isinstance(block, dict)]
    images = sum(block.get("type") == "image" for block in blocks) if counts_images else 0
    text = "".join(map(_block_text, blocks))
    return _size(text, counter, more_chars=images * _IMAGE_CHARS)


def _block_text(block: Record) -> str:
    kind = block.get("type")
    if kind in ("text", "thinking"):
        return _text(block.get(kind)) or ""
    if kind == "toolCall":
        return f"{_text(block.get('name')) or ''}{_written(block.get('arguments'))}"
    return ""


def _written(arguments: object) -> str:
    try:
        return jsjson.compact(arguments)
    except RecursionError:  # nested just not too deeply to be read
        return ""


def _size(text: str | None, counter: TokenCounter, *, more_chars: int = 0) -> int:
    text = text or ""
    if not counter.is_exact:
        return -(-(utf16.length(text) + more_chars) // 4)
    pieces = utf16.pieces(text, _PIECE_UNITS)
    return sum(counter.count(utf16.well_formed(piece)) for piece in pieces) + more_chars // 4


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
