"""Text -> chunks with line numbers, cut exactly where the reference cuts."""

from collections.abc import Iterable, Iterator

from ocmem.core import utf16
from ocmem.model import Chunk

CHARS_PER_TOKEN = 4
SMALLEST_CHUNK = 32


def chunks_of(text: str, *, tokens: int, overlap: int) -> list[Chunk]:
    """The chunks of a whole file. Blank text gives blank chunks; `worth_keeping` drops them."""
    return [*cut(text.split("\n"), tokens=tokens, overlap=overlap)]


def cut(lines: Iterable[str], *, tokens: int, overlap: int) -> Iterator[Chunk]:
    """The same, line by line: no more than a chunk is held."""
    max_chars = max(SMALLEST_CHUNK, tokens * CHARS_PER_TOKEN)
    overlap_chars = max(0, overlap * CHARS_PER_TOKEN)
    held: list[tuple[str, int, int]] = []  # segment, its line, its length with the newline
    held_chars = 0
    for segment, line in _segments(lines, max_chars):
        size = utf16.length(segment) + 1
        if held and held_chars + size > max_chars:
            yield _chunk(held)
            held, held_chars = _carried(held, overlap_chars)
        held.append((segment, line, size))
        held_chars += size
    if held:
        yield _chunk(held)


def worth_keeping(chunks: Iterable[Chunk], *, max_bytes: int) -> list[Chunk]:
    """Drop blank chunks and cut those that are too long for one embedding, in UTF-8 bytes."""
    return [
        piece for chunk in chunks if utf16.trim(chunk.text) for piece in _fitting(chunk, max_bytes)
    ]


def _segments(lines: Iterable[str], max_chars: int) -> Iterator[tuple[str, int]]:
    for number, line in enumerate(lines, start=1):
        # A string of n characters has at most 2n code units, so most lines need no counting.
        if 2 * len(line) <= max_chars or utf16.length(line) <= max_chars:
            yield line, number
        else:
            for piece in utf16.pieces(line, max_chars):
                yield piece, number


def _chunk(held: list[tuple[str, int, int]]) -> Chunk:
    # Two pieces of one long line are joined by a newline that the file does not have:
    # ids and hashes of the reference depend on it.
    text = "\n".join(segment for segment, _, _ in held)
    return Chunk(start_line=held[0][1], end_line=held[-1][1], text=text)


def _carried(
    held: list[tuple[str, int, int]], overlap_chars: int
) -> tuple[list[tuple[str, int, int]], int]:
    """The tail that the next chunk repeats; the segment that reaches the limit stays whole."""
    if overlap_chars <= 0:
        return [], 0
    chars = 0
    for at in range(len(held) - 1, -1, -1):
        chars += held[at][2]
        if chars >= overlap_chars:
            return held[at:], chars
    return list(held), chars


def _fitting(chunk: Chunk, max_bytes: int) -> Iterator[Chunk]:
    if 4 * len(chunk.text) <= max_bytes or utf16.utf8_length(chunk.text) <= max_bytes:
        yield chunk
        return
    start = size = 0
    for at, character in enumerate(chunk.text):
        width = utf16.utf8_length(character)
        if size + width > max_bytes and at > start:
            yield Chunk(chunk.start_line, chunk.end_line, chunk.text[start:at])
            start, size = at, 0
        size += width
    yield Chunk(chunk.start_line, chunk.end_line, chunk.text[start:])
