"""QMD's entries -> hits on files that people know. Pure, but for the question which files exist."""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ocmem.backends.qmd.answers import Entry
from ocmem.backends.qmd.collections import Collection
from ocmem.core import utf16
from ocmem.model import ChunkRow, Explanation, Hit, Snippet

MODEL = "qmd"
_ADDRESS = "qmd://"
_HEADER = re.compile(
    r"@@ -(?P<start>\d+)(?:,(?P<count>\d+))? @@(?: \(\d+ before, \d+ after\))?[^\S\n]*(?:\n|$)"
)

# Collection and path of the documents with a docid; empty where nobody can tell.
ByDocid = Callable[[str], list[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Place:
    """A file that QMD found: `inner` is its path in the collection, `shown` what people see."""

    collection: Collection
    inner: str
    shown: str


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a file that a snippet shows, and its text without the header about them."""

    start: int
    end: int
    text: str


def hits(
    entries: Iterable[Entry],
    collections: Iterable[Collection],
    *,
    workspace: Path,
    by_docid: ByDocid,
    max_snippet_chars: int,
    keeps_header: bool = False,
) -> list[Hit]:
    """One hit for each file, the best first; entries of other collections do not count.

    `keeps_header` leaves QMD's line about the lines in the snippet, as the reference does.
    """
    known = {each.name: each for each in collections}
    found: dict[tuple[str, str], Hit] = {}
    for entry in entries:
        place = _place(entry, known, workspace=workspace, by_docid=by_docid)
        if place is None:
            continue
        # Not by docid, which copies of a text share: each of them is a file of its own.
        file = (place.collection.source, place.shown)
        if file not in found or found[file].score < entry.score:
            found[file] = _hit(entry, place, max_snippet_chars, keeps_header=keeps_header)
    return sorted(found.values(), key=lambda hit: -hit.score)


def shown_path(collection: Collection, inner: str, workspace: Path) -> str:
    """Relative to the workspace if it lies there, else `qmd/<collection>/<path>`."""
    virtual = f"qmd/{collection.name}/{inner}"
    location = os.path.normpath(collection.root / inner)
    for root in (os.path.normpath(workspace), os.path.realpath(workspace)):
        if location.startswith(f"{root}{os.sep}"):
            shown = os.path.relpath(location, root).replace(os.sep, "/")
            # A folder of that name would be taken for where virtual names begin.
            return virtual if shown.startswith("qmd/") else shown
    return virtual


def lines_of(entry: Entry) -> Lines:
    """The lines by the header of the snippet; else the best line; else all that is shown."""
    header = _HEADER.match(entry.snippet)
    if header is not None:
        start = max(1, int(header["start"]))
        count = max(1, int(header["count"] or 1))
        return Lines(start, start + count - 1, entry.snippet[header.end() :])
    if entry.line is not None:
        return Lines(entry.line, entry.line, entry.snippet)
    return Lines(1, entry.snippet.count("\n") + 1, entry.snippet)


def _place(
    entry: Entry, known: Mapping[str, Collection], *, workspace: Path, by_docid: ByDocid
) -> Place | None:
    address = _split(entry.file)
    if address is None and entry.docid:
        rows = [(name, path) for name, path in by_docid(entry.docid) if name in known]
        # The best: in the collection that is named, then where the path fits.
        rows.sort(key=lambda row: (row[0] != entry.collection, not _fits(entry.file, row[1])))
        address = rows[0] if rows else None
    if address is None and entry.collection and entry.file and not Path(entry.file).is_absolute():
        address = (entry.collection, entry.file)
    if address is None or address[0] not in known:
        return None
    collection, inner = known[address[0]], address[1]
    if not inner or ".." in inner.split("/"):
        return None
    return Place(collection, inner, shown_path(collection, inner, workspace))


def _split(file: str) -> tuple[str, str] | None:
    """Collection and path of `qmd://collection/path`, which is not escaped in any way."""
    if not file.startswith(_ADDRESS):
        return None
    name, _, inner = file.removeprefix(_ADDRESS).lstrip("/").partition("/")
    return (name, inner) if inner else None


def _fits(file: str, path: str) -> bool:
    return bool(file) and (file == path or f"/{file}".endswith(f"/{path}"))


def _hit(entry: Entry, place: Place, max_chars: int, *, keeps_header: bool) -> Hit:
    lines = lines_of(entry)
    if keeps_header:
        snippet = Snippet(utf16.prefix(entry.snippet, max_chars), lines.start, lines.end)
    else:
        snippet = _trimmed(lines, max_chars)
    address = f"{_ADDRESS}{place.collection.name}/{place.inner}"
    return Hit(
        chunk=ChunkRow(
            id=f"{address}#{entry.docid}" if entry.docid else address,
            path=place.shown,
            source=place.collection.source,
            start_line=lines.start,
            end_line=lines.end,
            hash=entry.docid,
            model=MODEL,
            text=lines.text,
        ),
        score=entry.score,
        snippet=snippet,
        explanation=Explanation(
            vector_score=None,
            vector_rank=None,
            vector_normalized=0.0,
            vector_weight=0.0,
            text_score=None,
            text_rank=None,
            text_normalized=0.0,
            text_weight=0.0,
            decay=1.0,
            final=entry.score,
        ),
    )


def _trimmed(lines: Lines, max_chars: int) -> Snippet:
    """Without blank lines around it, and with the lines that are left."""
    parts = lines.text.split("\n")
    first = next((at for at, part in enumerate(parts) if part.strip()), 0)
    text = utf16.prefix("\n".join(parts[first:]).rstrip(), max_chars)
    start = min(lines.start + first, lines.end)
    return Snippet(text, start, min(lines.end, start + text.count("\n")))
