"""The values that travel between layers. Standard library only; nothing here does anything."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

Source = Literal["memory", "sessions"]
Vector = list[float]


@dataclass(frozen=True, slots=True)
class Stamp:
    """What `stat` said of a file; equal stamps mean an unread, unchanged file."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @property
    def mtime_ms(self) -> float:
        """Milliseconds with their fraction, in the double arithmetic of the reference."""
        seconds, nanoseconds = divmod(self.mtime_ns, 1_000_000_000)
        return seconds * 1000 + nanoseconds / 1e6


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that counts as memory, before it is read. `path` is how the index names it."""

    path: str
    source: Source
    location: str
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something in a memory folder that does not count, and why."""

    path: str
    source: Source
    why: str
    stamp: Stamp | None


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that was read: a note with its `text`, or a transcript with its `turns`.

    Turns come with their lines in the transcript, and are read from the open file each time.
    """

    path: str
    source: Source
    stamp: Stamp
    text: str
    hash: str
    turns: Iterable[tuple[int, str]] | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a text with the 1-based lines it spans, both ends included."""

    start_line: int
    end_line: int
    text: str


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A chunk with everything the index stores of it but its vector."""

    id: str
    path: str
    source: Source
    start_line: int
    end_line: int
    hash: str
    model: str
    text: str


@dataclass(frozen=True, slots=True)
class FileRow:
    """What the index remembers of a file; `stamp` is None when another program wrote the row."""

    hash: str
    stamp: Stamp | None
    stamped_at_ns: int


@dataclass(frozen=True, slots=True)
class IndexMeta:
    """The fingerprint in the index: another one means that everything is built anew."""

    model: str
    provider: str
    provider_key: str
    sources: tuple[str, ...]
    chunk_tokens: int
    chunk_overlap: int
    vector_dims: int | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that one side of the search brought up. `raw` is bm25 (positive) or cosine."""

    id: str
    raw: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a score came about, part by part; None where a side did not bring the chunk up."""

    vector_score: float | None
    vector_rank: int | None
    vector_normalized: float
    vector_weight: float
    text_score: float | None
    text_rank: int | None
    text_normalized: float
    text_weight: float
    decay: float
    final: float


@dataclass(frozen=True, slots=True)
class Snippet:
    text: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked answer. `score` is already weighted, decayed and comparable."""

    chunk: ChunkRow
    score: float
    snippet: Snippet
    explanation: Explanation
    text_score: float | None = None
    relaxed: bool = False


@dataclass(frozen=True, slots=True)
class Issue:
    """Something about the user's files that they should know. `lost` rows were kept for it."""

    message: str
    serious: bool = True


@dataclass(frozen=True, slots=True)
class Pending:
    """Batch jobs under way, and their texts; `waiting` are texts for jobs of a later run."""

    jobs: int
    chunks: int
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class BatchState:
    """How batch jobs went in one run: failures in a row, and why the last one failed."""

    failures: int = 0
    last_error: str | None = None
    is_off: bool = False


@dataclass(slots=True)
class SyncReport:
    """What one run over the files did; counters grow while it runs."""

    scanned: int = 0
    changed_paths: list[str] = field(default_factory=list)
    removed_paths: list[str] = field(default_factory=list)
    skipped: int = 0
    chunks: int = 0
    embedded: int = 0
    cached: int = 0
    seconds: float = 0.0
    full: bool = False
    issues: list[Issue] = field(default_factory=list)
    pending: Pending | None = None  # why some files were left for a later run
    batch: BatchState = field(default_factory=BatchState)

    @property
    def is_complete(self) -> bool:
        return self.pending is None

    @property
    def changed(self) -> int:
        return len(self.changed_paths)

    @property
    def removed(self) -> int:
        return len(self.removed_paths)
