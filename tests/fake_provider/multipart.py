"""Multipart bodies, read strictly: what a lenient server would forgive is an error here."""

import json
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from typing import Any


@dataclass(frozen=True, slots=True)
class Part:
    """One part; its header names are in lower case, its text is exactly what was sent."""

    headers: dict[str, str]
    text: str

    def param(self, header: str, name: str) -> str:
        """A parameter such as `name="file"`; empty if there is none."""
        return header_param(self.headers.get(header, ""), name)

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def as_json(self) -> dict[str, Any]:
        return {"headers": self.headers, "text": self.text}


def parts_of(content_type: str, raw: bytes) -> list[Part]:
    """Raises ValueError, also for text that is not UTF-8."""
    boundary = header_param(content_type, "boundary")
    if not boundary:
        raise ValueError("the content type names no boundary")
    first, *rest = (b"\r\n" + raw).split(f"\r\n--{boundary}".encode())
    if first or not rest or rest[-1] not in (b"--", b"--\r\n"):
        raise ValueError("the body does not begin or end with its boundary")
    return [_part(piece) for piece in rest[:-1]]


def _part(piece: bytes) -> Part:
    head, blank, content = piece.partition(b"\r\n\r\n")
    if not blank:
        raise ValueError("a part has no blank line after its headers")
    lines = head.decode("utf-8").split("\r\n")
    pairs = [line.partition(":") for line in lines if line]
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return Part(headers, content.decode("utf-8"))


def json_lines(text: str) -> list[object]:
    """The values of a JSONL text, None for each line that is no JSON; a final newline is one."""
    values: list[object] = []
    for line in text.split("\n"):
        value = None
        with suppress(ValueError):
            value = json.loads(line)
        values.append(value)
    return values


def header_param(value: str, name: str) -> str:
    message = Message()
    message["content-type"] = value
    found = message.get_param(name, failobj="")
    return found if isinstance(found, str) else ""
