"""A session transcript (JSON lines) -> its spoken turns, flattened and redacted, one at a time."""

import hashlib
import json
from array import array
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NoReturn

from ocmem.core import utf16
from ocmem.core.redact import redact

Turn = tuple[int, str]  # its line in the transcript, from 1, and what was said

MOST_LINE_BYTES = 32 * 1024 * 1024  # a longer line is passed over: nobody says that much
_SPEAKERS = {"user": "User", "assistant": "Assistant"}
_ROLES = (b'"user"', b'"assistant"')
_ESCAPE = b"\\u00"  # a role might be spelled with it


def _whole(digits: str) -> float:
    """JavaScript takes a number of any length, where Python refuses to."""
    return int(digits) if len(digits) < _LONG_NUMBER else float(digits)


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_LONG_NUMBER = 300
_DECODER = json.JSONDecoder(parse_int=_whole, parse_constant=_refused)


class Unreadable(OSError):
    """A transcript that could be opened, and then not be read to its end."""


class Transcript:
    """The turns of an open file, up to the length that it had when it was opened.

    It may grow meanwhile: whoever goes through it twice meets the same turns. Going through it
    raises Unreadable where the disk or the network gives up.
    """

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._size = size
        self.lines_read = 0
        self.lines_skipped = 0  # too long to be looked at

    def __iter__(self) -> Iterator[Turn]:
        return turns(self.lines())

    def lines(self) -> Iterator[bytes]:
        """The lines as they are; one that is too long to be a turn is empty."""
        self.lines_read = self.lines_skipped = 0
        left = self._size
        self._rewind()
        while left > 0 and (line := self._line(min(left, MOST_LINE_BYTES + 1))):
            self.lines_read += 1
            left -= len(line)
            if len(line) <= MOST_LINE_BYTES:
                yield line
                continue
            while left > 0 and line and not line.endswith(b"\n"):
                line = self._line(min(left, 1 << 20))
                left -= len(line)
            self.lines_skipped += 1
            yield b""

    def _rewind(self) -> None:
        try:
            self._file.seek(0)
        except OSError as error:
            raise Unreadable(*error.args) from error

    def _line(self, most: int) -> bytes:
        try:
            return self._file.readline(most)
        except OSError as error:
            raise Unreadable(*error.args) from error


def turns(lines: Iterable[bytes]) -> Iterator[Turn]:
    """What was spoken. Blank, torn and foreign lines are no turns, but they are counted."""
    for number, message in messages(lines):
        said = _said(message.get("content"))
        if said:
            yield number, f"{_SPEAKERS[message['role']]}: {redact(said)}"


def messages(lines: Iterable[bytes]) -> Iterator[tuple[int, dict[str, Any]]]:
    """What users and assistants sent, as it is recorded, with the number of the line."""
    for number, line in enumerate(lines, start=1):
        message = _message(line)
        if message is not None:
            yield number, message


def content_hash(spoken: Iterable[Turn]) -> str:
    """The hash that decides whether a transcript changed: of the turns, and of their places."""
    digest = hashlib.sha256()
    numbers = array("Q")
    for number, turn in spoken:
        digest.update(utf16.well_formed(f"\n{turn}" if numbers else turn).encode())
        numbers.append(number)
    digest.update(f"\n{','.join(map(str, numbers))}".encode())
    return digest.hexdigest()


def record_in(line: bytes) -> dict[str, Any]:
    """The object that a line holds; what is torn or odd holds nothing."""
    try:
        record = _DECODER.decode(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _message(line: bytes) -> dict[str, Any] | None:
    # Most of a transcript is what tools said: megabytes that need not be parsed.
    if not any(role in line for role in _ROLES) and _ESCAPE not in line:
        return None
    record = record_in(line)
    message = record.get("message")
    if not isinstance(message, dict) or record.get("type") != "message":
        return None
    role = message.get("role")
    return message if isinstance(role, str) and role in _SPEAKERS else None


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
