"""A file that was read -> its chunks, as the index stores them."""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ocmem.core import chunker, fingerprint, utf16
from ocmem.core.embedder import Identity
from ocmem.model import ChunkRow, SourceFile
from ocmem.settings import Settings


def rows_of(settings: Settings, identity: Identity, file: SourceFile) -> Iterator[ChunkRow]:
    """The rows that a file's text becomes, one at a time: there may be too many to hold."""
    search = settings.search
    line_map = array("Q")  # the true line of each turn
    lines: Iterable[str] = file.text.split("\n")
    if file.turns is not None:
        lines = _noted(file.turns, line_map)
    for chunk in chunker.cut(lines, tokens=search.chunk_tokens, overlap=search.chunk_overlap):
        for piece in chunker.worth_keeping([chunk], max_bytes=identity.max_bytes):
            start, end = piece.start_line, piece.end_line
            if file.turns is not None:
                start, end = line_map[start - 1], line_map[end - 1]
            row = ChunkRow(
                id="",
                path=file.path,
                source=file.source,
                start_line=start,
                end_line=end,
                hash=utf16.sha256(piece.text),
                model="",
                text=piece.text,
            )
            yield renamed(row, identity.model)


def renamed(row: ChunkRow, model: str) -> ChunkRow:
    """The row as a chunk of that model: its id depends on it."""
    id = fingerprint.chunk_id(
        source=row.source,
        path=row.path,
        start_line=row.start_line,
        end_line=row.end_line,
        text_hash=row.hash,
        model=model,
    )
    return replace(row, id=id, model=model)


def _noted(turns: Iterable[tuple[int, str]], line_map: "array[int]") -> Iterator[str]:
    for number, turn in turns:
        line_map.append(number)
        yield turn


def parts_of(chunks: Iterable[ChunkRow], *, most: int) -> Iterator[list[ChunkRow]]:
    """Runs of chunks with about so much text."""
    part: list[ChunkRow] = []
    size = 0
    for chunk in chunks:
        part.append(chunk)
        size += len(chunk.text)
        if size >= most:
            yield part
            part, size = [], 0
    if part:
        yield part
