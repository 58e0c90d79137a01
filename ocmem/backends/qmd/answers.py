"""What QMD printed -> its entries. Pure; every generation of QMD talks a little differently."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ocmem.backends.qmd.causes import excerpt
from ocmem.backends.qmd.collections import Listed
from ocmem.backends.qmd.process import Output
from ocmem.errors import QmdError

_NOTHING = re.compile(
    r"^(?:\[[^\]\n]*\]\s*|[a-z]+:\s*)*no results found(?: above [a-z ]+)?\.?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_BLOCK = re.compile(r"^(?P<name>\S+)(?: \(qmd://[^)\s]*\))?(?: \[[a-z]+\])?$")
_FIELD = re.compile(r"^\s+(?P<key>Pattern|Mask|Path):\s*(?P<value>.*?)\s*$|^(?P<top>Path):\s*(.*)$")
_OPENING = re.compile(r"(?P<indent>^\s*)?\[(?=\s*[{\]\"])", re.MULTILINE)
_PATH = re.compile(r"^\s*Path:\s*(.*?)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Entry:
    """One result as QMD gives it. `file` may be a `qmd://` address, a path, or absent."""

    docid: str  # without the leading #
    score: float
    file: str
    line: int | None
    snippet: str
    collection: str | None = None


def entries(output: Output) -> list[Entry]:
    """The results of a search; raises QmdError for what cannot be understood."""
    stdout = output.stdout.strip()
    if not stdout and _NOTHING.search(output.stderr):
        return []
    if not stdout:
        raise QmdError("QMD answered nothing at all", cause="output")
    found = _array(stdout)
    if found is None or not all(isinstance(each, dict) for each in found):
        # In this order: a snippet may well say that there were no results.
        if _NOTHING.search(stdout):
            return []
        shown = excerpt(stdout)
        raise QmdError(f"QMD's answer is no list of results: {shown}", cause="output")
    return [entry for entry in map(_entry, found) if entry is not None]


def listing(text: str) -> list[Listed]:
    """What `collection list` printed, as JSON or as text."""
    found = _array(text.strip()) if text.lstrip().startswith("[") else None
    if found is not None:
        return [each for each in map(_listed, found) if each is not None]
    return list(_listed_text(text))


def shown_path(text: str) -> str | None:
    """The folder in what `collection show` printed."""
    match = _PATH.search(text)
    return match[1] or None if match else None


def _array(text: str) -> list[Any] | None:
    """The JSON array that `text` is, or the first in it that could be an answer."""
    decoder = json.JSONDecoder()
    for match in _OPENING.finditer(text):
        try:
            found, end = decoder.raw_decode(text, match.end() - 1)
        except (ValueError, RecursionError):
            continue
        # An empty one stands on a line of its own; in a message it may mean anything.
        if found or (match["indent"] is not None and not text[end:].partition("\n")[0].strip()):
            return list(found)
    return None


def _entry(raw: object) -> Entry | None:
    if not isinstance(raw, dict):
        return None
    docid = _text(raw.get("docid")).strip().removeprefix("#")
    file = _text(raw.get("file"))
    if not docid and not file:
        return None
    line = _number(raw.get("line"))
    return Entry(
        docid=docid,
        score=_number(raw.get("score")),
        file=file,
        line=int(line) if line >= 1 else None,
        snippet=_text(raw.get("snippet")),
        collection=_text(raw.get("collection")) or None,
    )


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return 0.0
    try:
        number = float(value)
    except OverflowError:  # hundreds of digits
        return 0.0
    return number if math.isfinite(number) else 0.0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _listed(raw: object) -> Listed | None:
    if isinstance(raw, str):
        return Listed(raw, None, None)
    if not isinstance(raw, dict) or not _text(raw.get("name")):
        return None
    pattern = _text(raw.get("pattern")) or _text(raw.get("mask"))
    return Listed(raw["name"], _text(raw.get("path")) or None, pattern or None)


def _listed_text(text: str) -> Iterator[Listed]:
    name, fields = "", dict[str, str]()
    for line in [*text.splitlines(), ""]:
        field = _FIELD.match(line)
        block = _BLOCK.match(line)
        if field is not None and name:
            fields[field["key"] or field["top"]] = field["value"] or ""
        elif block is not None or not line.strip():
            if name:
                pattern = fields.get("Pattern") or fields.get("Mask")
                yield Listed(name, fields.get("Path") or None, pattern or None)
            name, fields = block["name"] if block is not None else "", {}
