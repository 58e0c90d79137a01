"""Files that were read -> chunks -> vectors -> rows, a window of files at a time."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, TypedDict

from ocmem.core import chunk_rows, embedder, embedding, fingerprint
from ocmem.core.embedder import Embedder, Identity, Progress
from ocmem.core.embedding import Embedding
from ocmem.core.jobs import Ask
from ocmem.core.scan import Clock
from ocmem.core.store import Connection, rows, vectors, writing
from ocmem.core.store.writing import FtsRowids
from ocmem.core.transcript import Unreadable
from ocmem.errors import EmbedderError, IndexUnavailable
from ocmem.model import ChunkRow, Source, SourceFile, SyncReport
from ocmem.settings import Settings

if TYPE_CHECKING:
    from ocmem.core.batch import Batches

_WINDOW_BYTES = 4_000_000  # of text; its vectors may be fifty times that
_JOB_WINDOW_BYTES = 64_000_000  # no vectors are held meanwhile

Log = Callable[[str], None]
Read = tuple[SourceFile, int]  # a file, and when it was read
Unread = Callable[[Source, str, OSError], None]


@dataclass(frozen=True, slots=True)
class Chunked:
    """A file and the chunks to be written; those of `kept_ids` are in the index and stay.

    A large file has `parts` instead, which are read from it as long as it is open.
    """

    file: SourceFile
    read_at: int
    chunks: list[ChunkRow]
    kept_ids: frozenset[str] = frozenset()
    parts: Iterable[list[ChunkRow]] | None = None


Window = Sequence[Chunked]


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


class _How(TypedDict):
    with_fts: bool
    now_ms: int


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
    on_unreadable: Unread = lambda source, path, error: None
    left: int = 0  # files whose vectors are under way in a batch job
    _from_jobs: set[str] = field(default_factory=set)

    def index(self, files: Iterable[Read]) -> None:
        """Chunk, embed and write, a window at a time: memory stays bounded."""
        if self.batches is not None:
            self.batches.begin(self)
        most = _WINDOW_BYTES if self.batches is None else _JOB_WINDOW_BYTES
        for window in _windows(self._chunked(files, most), most=most):
            if window[0].parts is not None:
                self._index_large(window[0], window[0].parts)
                continue
            for part in _windows(self._ready(window), most=_WINDOW_BYTES):
                self.write(part)

    def write(self, window: Window) -> None:
        """Each file in a transaction of its own."""
        known = self._vectors([each.chunks for each in window])
        for each in window:
            chunks = [(chunk, known.get(chunk.hash, embedding.EMPTY)) for chunk in each.chunks]
            with self.db.transaction():
                if each.kept_ids:
                    new_ids = {chunk.id for chunk in each.chunks}
                    self._write_rest(each, chunks, all_ids=each.kept_ids | new_ids)
                else:
                    writing.write_file(
                        self.db,
                        each.file,
                        chunks,
                        fts_rowids=self.fts_rowids.of(each.file.path),
                        stamped_at_ns=each.read_at,
                        **self._how(),
                    )
            self.report.changed_paths.append(each.file.path)
        self.in_hand.clear()

    def _chunked(self, files: Iterable[Read], most: int) -> Iterator[Chunked]:
        """Files with their chunks, or with the parts of those that have too many."""
        for file, read_at in files:
            parts = chunk_rows.parts_of(
                chunk_rows.rows_of(self.settings, self.identity, file), most=most
            )
            try:
                first, second = next(parts, []), next(parts, None)
            except Unreadable as error:
                self.on_unreadable(file.source, file.path, error)
                continue
            bare = replace(file, text="", turns=None)
            if second is not None:
                yield Chunked(bare, read_at, [], parts=chain([first, second], parts))
            elif file.source == "sessions":
                # It only grows, so what is there can stay. A note's rows are all written anew,
                # as the reference does: their order decides between equal scores. (But for
                # notes that are written in parts: there it would cost too much.)
                present = writing.chunk_ids(self.db, file.path, file.source)
                new = [chunk for chunk in first if chunk.id not in present]
                kept = frozenset(chunk.id for chunk in first if chunk.id in present)
                yield Chunked(bare, read_at, new, kept)
            else:
                yield Chunked(bare, read_at, first)

    def _ready(self, window: Window) -> list[Chunked]:
        """Without the files whose vectors are under way in a batch job."""
        if self.batches is None:
            return list(window)
        held = self.batches.embed(self._asks([each.chunks for each in window]))
        ready = [each for each in window if held.isdisjoint(chunk.hash for chunk in each.chunks)]
        self.left += len(window) - len(ready)
        return ready

    def _index_large(self, whole: Chunked, parts: Iterable[list[ChunkRow]]) -> None:
        """A file that is too large for one transaction, part by part.

        It counts as changed until the last part is there: a killed run is continued.
        """
        try:
            is_whole = self._write_parts(whole, parts, self.batches)
        except Unreadable as error:
            self.on_unreadable(whole.file.source, whole.file.path, error)
            return
        if is_whole:
            self.report.changed_paths.append(whole.file.path)
        else:
            self.left += 1

    def carry_over(self, file: SourceFile, chunks: Iterable[ChunkRow]) -> None:
        """Write what another index holds of a file that is out of reach."""
        parts = chunk_rows.parts_of(chunks, most=_WINDOW_BYTES)
        self._write_parts(Chunked(file, 0, []), parts, None)

    def _write_parts(
        self, whole: Chunked, parts: Iterable[list[ChunkRow]], batches: "Batches | None"
    ) -> bool:
        """False if some of the vectors are under way in batch jobs."""
        file = whole.file
        present = writing.chunk_ids(self.db, file.path, file.source)
        all_ids: set[str] = set()
        is_held = False
        for part in parts:
            own = {chunk.id: chunk for chunk in part if chunk.id not in all_ids}
            all_ids.update(own)
            new = [chunk for id, chunk in own.items() if id not in present]
            if batches is not None:
                is_held = bool(batches.embed(self._asks([new]))) or is_held
            if is_held:
                continue
            for some in chunk_rows.parts_of(new, most=_WINDOW_BYTES):
                known = self._vectors([some])
                chunks = [(chunk, known.get(chunk.hash, embedding.EMPTY)) for chunk in some]
                with self.db.transaction():
                    writing.write_part(self.db, file, chunks, **self._how())
                self.in_hand.clear()
        if is_held:
            return False
        with self.db.transaction():
            self._write_rest(whole, [], all_ids=all_ids)
        return True

    def _write_rest(
        self, each: Chunked, chunks: list[tuple[ChunkRow, Embedding]], *, all_ids: Set[str]
    ) -> None:
        writing.write_rest(
            self.db,
            each.file,
            chunks,
            all_ids=all_ids,
            fts_rowids=self.fts_rowids.by_id(each.file.path),
            stamped_at_ns=each.read_at,
            **self._how(),
        )

    def _how(self) -> "_How":
        return {
            "with_fts": self.settings.search.query.hybrid,
            "now_ms": self.clock_ns() // 1_000_000,
        }

    def _vectors(self, groups: Sequence[list[ChunkRow]]) -> dict[str, Embedding]:
        """A vector for every chunk, by file, and a table that can take them."""
        known = self._embedded(groups)
        sizes = {vector.dims for vector in known.values() if vector.blob}
        if self.db.has_vectors and sizes and vectors.dims_of(self.db) not in sizes:
            with self.db.transaction():
                vectors.ensure_table(self.db, *sizes)
        return known

    def _embedded(self, groups: Sequence[list[ChunkRow]]) -> dict[str, Embedding]:
        """From the cache or from the provider."""
        if not self.identity.has_vectors:
            return {}
        hashes = [chunk.hash for chunks in groups for chunk in chunks]
        known = self._cached(hashes)
        jobs = self._from_jobs
        self.report.cached += sum(digest in known for digest in hashes if digest not in jobs)
        missing = self._missing(groups, set(known))
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

    def _missing(self, groups: Sequence[list[ChunkRow]], known: set[str]) -> list[list[ChunkRow]]:
        """What to ask for, one request each. The reference groups paid calls file by file."""
        per_file: list[list[ChunkRow]] = []
        for chunks in groups:
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

    def _asks(self, groups: Sequence[list[ChunkRow]]) -> dict[str, Ask]:
        """What is lacking, by hash, as lines of a batch job."""
        asks: dict[str, Ask] = {}
        for chunks in groups:
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
    """Runs of files with about so much text; a large file is alone."""
    window: list[Chunked] = []
    size = 0
    for each in files:
        if each.parts is not None:
            if window:
                yield window
            yield [each]
            window, size = [], 0
            continue
        window.append(each)
        size += sum(len(chunk.text) for chunk in each.chunks)
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
