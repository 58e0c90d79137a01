"""Files that were read -> chunks -> vectors -> rows, a window of files at a time."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ocmem.core import chunker, embedder, embedding, fingerprint, utf16
from ocmem.core.embedder import Embedder, Identity, Progress
from ocmem.core.embedding import Embedding
from ocmem.core.jobs import Ask
from ocmem.core.scan import Clock
from ocmem.core.store import Connection, rows, vectors
from ocmem.core.store.rows import FtsRowids
from ocmem.errors import EmbedderError, IndexUnavailable
from ocmem.model import ChunkRow, SourceFile, SyncReport
from ocmem.settings import Settings

if TYPE_CHECKING:
    from ocmem.core.batch import Batches

_WINDOW_BYTES = 4_000_000  # of text; its vectors may be fifty times that
_JOB_WINDOW_BYTES = 64_000_000  # no vectors are held meanwhile

Log = Callable[[str], None]
Read = tuple[SourceFile, int]  # a file, and when it was read
Chunked = tuple[SourceFile, int, list[ChunkRow]]
Window = Sequence[Chunked]


def rows_of(settings: Settings, identity: Identity, file: SourceFile) -> list[ChunkRow]:
    """The rows that a file's text becomes."""
    search = settings.search
    chunks = chunker.chunks_of(file.text, tokens=search.chunk_tokens, overlap=search.chunk_overlap)
    line_map = file.line_map
    result = []
    for chunk in chunker.worth_keeping(chunks, max_bytes=identity.max_bytes):
        start, end = chunk.start_line, chunk.end_line
        if line_map is not None:
            start, end = (line_map[n - 1] if n <= len(line_map) else n for n in (start, end))
        row = ChunkRow(
            id="",
            path=file.path,
            source=file.source,
            start_line=start,
            end_line=end,
            hash=utf16.sha256(chunk.text),
            model="",
            text=chunk.text,
        )
        result.append(renamed(row, identity.model))
    return result


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


def uses_cache(settings: Settings, identity: Identity) -> bool:
    """Vectors that cost nothing are quicker made anew than kept twice."""
    return settings.search.cache_enabled and identity.costs


def request_groups(
    chunks: list[ChunkRow], *, group_bytes: int, most: int | None
) -> list[list[ChunkRow]]:
    """Chunks in runs that fit one request, by their size and by their number."""
    positions = embedder.groups_of([chunk.text for chunk in chunks], group_bytes=group_bytes)
    step = most or max(1, len(chunks))
    return [
        [chunks[at] for at in group[start : start + step]]
        for group in positions
        for start in range(0, len(group), step)
    ]


@dataclass(slots=True)
class Indexer:
    """Writes files into `db`. `mirror` also gets every paid vector, in case this run is killed."""

    settings: Settings
    identity: Identity
    db: Connection
    mirror: Connection | None
    fts_rowids: FtsRowids
    connect: Callable[[], Embedder]
    report: SyncReport
    progress: Progress
    log: Log
    clock_ns: Clock
    deadline: float | None  # monotonic; embedding stops there
    dims: int | None  # of the vectors that are in the index, or are to be
    in_hand: dict[str, Embedding] = field(default_factory=dict)  # paid, perhaps not stored yet
    batches: "Batches | None" = None
    on_plain: Callable[[int], None] = lambda count: None  # told of texts before they are paid for
    left: int = 0  # files whose vectors are under way in a batch job
    _from_jobs: set[str] = field(default_factory=set)

    def index(self, files: Iterable[Read]) -> None:
        """Chunk, embed and write, a window at a time: memory stays bounded."""
        chunked = (
            (replace(file, text=""), read_at, rows_of(self.settings, self.identity, file))
            for file, read_at in files
        )
        if self.batches is None:
            for window in _windows(chunked, most=_WINDOW_BYTES):
                self.write(window)
            return
        self.batches.begin(self)
        for window in _windows(chunked, most=_JOB_WINDOW_BYTES):
            held = self.batches.embed(self._asks(window))
            ready = [each for each in window if held.isdisjoint(chunk.hash for chunk in each[2])]
            self.left += len(window) - len(ready)
            for part in _windows(ready, most=_WINDOW_BYTES):
                self.write(part)

    def write(self, window: Window) -> None:
        """Each file in a transaction of its own."""
        known = self._vectors(window)
        sizes = {vector.dims for vector in known.values() if vector.blob}
        if self.db.has_vectors and sizes and vectors.dims_of(self.db) not in sizes:
            with self.db.transaction():
                vectors.ensure_table(self.db, *sizes)
        for file, read_at, chunks in window:
            with self.db.transaction():
                rows.write_file(
                    self.db,
                    file,
                    [(chunk, known.get(chunk.hash, embedding.EMPTY)) for chunk in chunks],
                    with_fts=self.settings.search.query.hybrid,
                    fts_rowids=self.fts_rowids.of(file.path),
                    now_ms=self.clock_ns() // 1_000_000,
                    stamped_at_ns=read_at,
                )
            self.report.changed += 1
        self.in_hand.clear()

    def _vectors(self, window: Window) -> dict[str, Embedding]:
        """A vector for every chunk of the window, from the cache or from the provider."""
        if not self.identity.has_vectors:
            return {}
        hashes = [chunk.hash for _, _, chunks in window for chunk in chunks]
        known = self._cached(hashes)
        jobs = self._from_jobs
        self.report.cached += sum(digest in known for digest in hashes if digest not in jobs)
        missing = self._missing(window, set(known))
        if not missing:
            return known
        total = sum(map(len, missing))
        done = 0
        self.on_plain(total)
        for _ in missing:
            self.log("embeddings: batch start")
        for at, answer in embedder.embed_groups(
            self.connect(),
            [[chunk.text for chunk in group] for group in missing],
            timeout_s=embedder.document_timeout_s(self.identity.provider),
            deadline=self.deadline,
        ):
            fresh = [
                (chunk.hash, embedding.from_values(vector))
                for chunk, vector in zip(missing[at], answer, strict=False)  # of a failure, a part
            ]
            self.check(fresh)
            known.update(fresh)
            self.report.embedded += len(fresh)
            if uses_cache(self.settings, self.identity):
                self._store(fresh)
            done += len(fresh)
            self.progress("Embedding chunks…", done, total)
        return known

    def _cached(self, hashes: Sequence[str]) -> dict[str, Embedding]:
        known = {digest: self.in_hand[digest] for digest in hashes if digest in self.in_hand}
        if uses_cache(self.settings, self.identity):
            known |= rows.cached(self.db, self.identity.cache_key, hashes)
        if self.dims is None:
            self.dims = next((vector.dims for vector in known.values()), None)
        # From before the model behind the URL changed: of no use beside the others.
        return {digest: vector for digest, vector in known.items() if vector.dims == self.dims}

    def _missing(self, window: Window, known: set[str]) -> list[list[ChunkRow]]:
        """What to ask for, one request each. The reference groups paid calls file by file."""
        per_file: list[list[ChunkRow]] = []
        for _, _, chunks in window:
            new = [c for c in {c.hash: c for c in chunks}.values() if c.hash not in known]
            known.update(chunk.hash for chunk in new)
            if new:
                per_file.append(new)
        if not self.identity.costs:
            per_file = [[chunk for chunks in per_file for chunk in chunks]] if per_file else []
        return [group for chunks in per_file for group in self._groups(chunks)]

    def _groups(self, chunks: list[ChunkRow]) -> list[list[ChunkRow]]:
        most = self.settings.search.remote.max_items
        return request_groups(chunks, group_bytes=self.connect().group_bytes, most=most)

    def _asks(self, window: Window) -> dict[str, Ask]:
        """What the window lacks, by hash, as lines of a batch job."""
        asks: dict[str, Ask] = {}
        for _, _, chunks in window:
            for position, chunk in enumerate(chunks):
                if chunk.hash not in asks:
                    asks[chunk.hash] = Ask(_custom_id(chunk, position), chunk.text)
        sizes = rows.cached_sizes(self.db, self.identity.cache_key, asks)
        if self.dims is None:
            self.dims = next(iter(sizes.values()), None)
        has = {digest for digest, dims in sizes.items() if dims == self.dims}
        return {digest: ask for digest, ask in asks.items() if digest not in has}

    def check(self, fresh: Sequence[tuple[str, Embedding]]) -> None:
        for _, vector in fresh:
            if vector.blob and self.dims is None:
                self.dims = vector.dims
            if vector.blob and vector.dims != self.dims:
                raise _misfit(
                    f"{self.identity.provider} embeddings failed: got {vector.dims} dimensions "
                    f"where the index has {self.dims}",
                    hint="if the model behind the URL changed, run: ocmem index --force",
                )
            asked = self.settings.provider.dimensions
            if vector.blob and asked not in (None, vector.dims):
                raise _misfit(
                    f"{self.identity.provider} embeddings failed: got {vector.dims} dimensions "
                    f"where remote.dimensions asks for {asked}",
                    hint="the model may not offer that; leave out remote.dimensions",
                )

    def keep(self, fresh: Sequence[tuple[str, Embedding]]) -> None:
        """Vectors from a batch job; first to where they outlive a build that is given up."""
        now_ms = self.clock_ns() // 1_000_000
        for db in (self.mirror, self.db):
            if db is not None:
                rows.write_cache(db, self.identity.cache_key, fresh, now_ms=now_ms)
        self.report.embedded += len(fresh)
        self._from_jobs.update(digest for digest, _ in fresh)

    def _store(self, fresh: Sequence[tuple[str, Embedding]]) -> None:
        self.in_hand.update(fresh)
        now_ms = self.clock_ns() // 1_000_000
        key = self.identity.cache_key
        rows.write_cache(self.db, key, fresh, now_ms=now_ms)
        if self.mirror is not None:
            with contextlib.suppress(IndexUnavailable):  # the copy in hand is what counts
                rows.write_cache(self.mirror, key, fresh, now_ms=now_ms)


def _windows(files: Iterable[Chunked], *, most: int) -> Iterator[list[Chunked]]:
    """Runs of files with about so much text."""
    window: list[Chunked] = []
    size = 0
    for each in files:
        window.append(each)
        size += sum(len(chunk.text) for chunk in each[2])
        if size >= most:
            yield window
            window, size = [], 0
    if window:
        yield window


def _custom_id(chunk: ChunkRow, position: int) -> str:
    return fingerprint.custom_id(
        source=chunk.source,
        path=chunk.path,
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        text_hash=chunk.hash,
        position=position,
    )


def _misfit(message: str, *, hint: str) -> EmbedderError:
    """No outage: a fallback would only hide it."""
    error = EmbedderError(message, hint=hint)
    error.is_outage = False
    return error
