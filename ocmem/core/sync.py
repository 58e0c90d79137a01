"""The one place that runs files -> chunker -> embedder -> store."""

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ocmem.core import chunk_rows, embedder, freshness, indexer, jobs, sql, substitute
from ocmem.core.embedder import Embedder, Identity, Notice, Progress, no_notice
from ocmem.core.embedding import Embedding
from ocmem.core.indexer import Indexer, Read
from ocmem.core.jobs import Batching
from ocmem.core.scan import Clock, Scan
from ocmem.core.store import Connection, derived, open_existing, rows, swap, vectors, writing
from ocmem.core.store.writing import FtsRowids
from ocmem.errors import EmbedderError, IndexDamaged, IndexMoved, IndexReadOnly, IndexUnavailable
from ocmem.model import IndexMeta, Issue, Source, SourceFile, Stamp, SyncReport
from ocmem.settings import Settings

if TYPE_CHECKING:
    from ocmem.core.batch import Batches

OWN_CACHE_ENTRIES = 50_000
MOVED_RETRIES = 12  # a program that does nothing but swap files in must not win
PROBE = "ping"
BEGUN = "sources of a first run"
GAVE_UP = "search gave up"  # when a search last ran out of time for its own sync


def no_progress(label: str, done: int, total: int) -> None: ...


def no_log(text: str) -> None: ...


@dataclass(slots=True)
class Sync:
    """One run over the files of one agent. The caller holds the lock."""

    settings: Settings
    progress: Progress = no_progress
    clock_ns: Clock = field(default_factory=Clock)
    deadline: float | None = None  # monotonic; embedding stops there
    thorough: bool = True  # compare the keyword and vector tables id by id
    embedder: Embedder | None = None  # connected when first needed, unless given
    log: indexer.Log = no_log  # what is going on, for people who asked
    notice: Notice = no_notice  # what goes wrong on the way, for everybody
    batching: Batching = jobs.ONLY_LOOKING
    only: tuple[Source, ...] = ()  # the sources to catch up with; all of them, if none is named
    report: SyncReport = field(default_factory=SyncReport)
    identity: Identity = field(init=False)
    _in_hand: dict[str, Embedding] = field(default_factory=dict)
    _batches: "Batches | None" = None
    _plain: int = 0  # texts embedded with plain requests
    _is_forced: bool = False

    def __post_init__(self) -> None:
        self.identity = embedder.identity_of(self.settings.provider)

    def run(self, *, force: bool = False) -> SyncReport:
        """Bring the index up to date, or build it anew where its fingerprint does not fit."""
        started = time.monotonic()
        self._is_forced = force
        if jobs.may_be_used(self.settings, self.batching):
            from ocmem.core import batch

            self._batches = batch.batches_of(
                self.settings,
                self.batching,
                progress=self.progress,
                notice=self.notice,
                log=self.log,
            )
        for attempt in range(MOVED_RETRIES):
            try:
                self._run(force=force)
                break
            except IndexMoved:
                if attempt == MOVED_RETRIES - 1:
                    raise
                self.report = SyncReport()
        if self._batches is not None:
            self.report.pending = self._batches.pending()
            self.report.batch = self._batches.state
        self.report.seconds = time.monotonic() - started
        return self.report

    def _run(self, *, force: bool) -> None:
        path = self.settings.index_path
        try:
            self._update(path, force=force)
        except IndexDamaged:
            if not force:
                raise
            # Some damage shows only when the rows are carried over.
            aside = swap.put_aside(path)
            text = f"the old file was kept aside as {self.settings.shown(aside)}"
            self.report = SyncReport(issues=[Issue(text, serious=False)])
            try:
                self._full(None, path, dims=None)
            except BaseException:
                swap.move(aside, path)  # better than none: it may still answer by keyword
                raise

    def _update(self, path: Path, *, force: bool) -> None:
        live = self._open_live(path)
        try:
            meta = None if live is None else rows.read_meta(live)
            if live is None or force or self.why_full(meta, live):
                self._full(live, path, dims=self._true_dims() if force else None)
            elif meta is not None:
                self._incremental(live, meta)
        finally:
            if live is not None:
                live.close()

    def why_full(self, meta: IndexMeta | None, db: Connection) -> str | None:
        """Why the index must be built anew; None if it only needs catching up."""
        return freshness.why_full(meta, self.settings, self.identity, db)

    # --- opening ---------------------------------------------------------------------------------

    def _open_live(self, path: Path) -> Connection | None:
        live = open_existing(path)
        if live is None and swap.put_back(path):
            live = open_existing(path)
        if live is None:
            return None
        try:
            rows.refuse_foreign(live)
            if live.mode == "read":
                raise IndexReadOnly(f"{path} cannot be written")
            self._prepare(live)
            swap.remove_stale(path)
        except BaseException:
            live.close()
            raise
        return live

    def _prepare(self, db: Connection) -> None:
        with_fts = self.settings.search.query.hybrid
        self.load_vectors(db)
        wanted = [*rows.TABLES, *(["chunks_fts"] if with_fts else [])]
        if not all(map(db.has_table, wanted)):
            with db.transaction():
                rows.create_schema(db, with_fts=with_fts)

    def load_vectors(self, db: Connection) -> None:
        search = self.settings.search
        if search.vector_enabled and self.identity.has_vectors:
            db.load_vectors(search.vector_extension_path)

    # --- incremental -----------------------------------------------------------------------------

    def _incremental(self, db: Connection, meta: IndexMeta) -> None:
        derived.mend_vector_table(db)
        sources = self.only or freshness.indexed_sources(self.settings, meta)
        scan = self._scan(db, sources)
        fts_rowids = FtsRowids(db, {path for _, path in scan.known})
        # First what is gone: that needs no provider, and must not be found while one is down.
        removed = self._remove(db, scan.gone(), fts_rowids)
        together = tuple(sorted({*sources, *meta.sources}))
        meta = self._noted(db, meta, replace(meta, sources=together))
        work = self._indexer(db, scan, fts_rowids=fts_rowids, dims=vectors.dims_of(db))
        work.index(_counted(scan.changed(self.clock_ns), scan, self.progress))
        vanished = [key for key in scan.gone() if key not in removed]
        removed += self._remove(db, vanished, fts_rowids)
        if scan.restamped:
            with db.transaction():
                for file, read_at in scan.restamped:
                    writing.write_stamp(db, file.path, file.hash, file.stamp, stamped_at_ns=read_at)
        dims = vectors.dims_of(db) if db.has_vectors else meta.vector_dims
        self._noted(db, meta, replace(meta, vector_dims=dims))
        self.report.removed_paths = [path for _, path in removed]
        self._finish(db, scan)

    def _noted(self, db: Connection, meta: IndexMeta, updated: IndexMeta) -> IndexMeta:
        """The fingerprint, changed in the index where it has changed."""
        if updated != replace(meta, sources=tuple(sorted(meta.sources))):
            with db.transaction():
                rows.write_meta(db, updated)
        return updated

    def _remove(
        self, db: Connection, gone: list[tuple[Source, str]], fts_rowids: FtsRowids
    ) -> list[tuple[Source, str]]:
        for source, path in gone:
            with db.transaction():
                writing.remove_file(db, path, source, fts_rowids=fts_rowids.of(path))
        return gone

    # --- full ------------------------------------------------------------------------------------

    def _full(self, live: Connection | None, path: Path, *, dims: int | None) -> None:
        self.report.full = True
        choice = self.settings.provider
        if choice.missing and _is_populated(live):
            raise embedder.unavailable(choice, choice.missing)  # a full index beats an empty one
        if live is None and self.identity.costs:
            self._connected()  # without a provider there is nothing to make a file for
            with self._first_file(path) as first:
                return self._full(first, path, dims=dims)
        built = swap.new_file(path)
        try:
            with swap.open_for_building(built) as db:
                is_whole = self._build(db, live, dims=dims)
            if not is_whole:
                return None  # the old index stays until the vectors are there
            if live is not None and not path.exists():
                live.close()
                live = None
            swap.replace(live, built, path)
        finally:
            swap.discard(built)
        return None

    def _first_file(self, path: Path) -> Connection:
        """An empty index, so that paid vectors have a place to stay if this run is killed."""
        swap.create_private(path)
        live = Connection(path, "write")
        self._prepare(live)
        rows.set_state(live, BEGUN, " ".join(self.settings.search.sources))
        return live

    def _begun(self, live: Connection, wanted: tuple[Source, ...]) -> tuple[Source, ...]:
        """Also the sources that a first run was asked for, and was killed over."""
        if self.settings.shares_index:
            return wanted
        names = (rows.state(live, BEGUN) or "").split()
        every: tuple[Source, ...] = ("memory", "sessions")
        return wanted + tuple(each for each in every if each in names and each not in wanted)

    def _true_dims(self) -> int | None:
        """What the provider answers with now: the model behind its URL may have changed."""
        if not self.identity.costs or not self.settings.search.cache_enabled:
            return None
        with contextlib.suppress(EmbedderError):  # the cache may be all that is needed
            provider = self.identity.provider
            timeout_s = embedder.probe_timeout_s(provider)
            return len(self._connected().embed_query(PROBE, timeout_s=timeout_s)) or None
        return None

    def _build(self, db: Connection, live: Connection | None, *, dims: int | None) -> bool:
        """Fill a new index; False if some of its vectors are still under way in batch jobs."""
        self._prepare(db)
        search, identity = self.settings.search, self.identity
        keeps_cache = indexer.uses_cache(self.settings, identity)
        copied = 0
        if live is not None and search.cache_enabled:
            # Also where this provider needs none: another one's is paid for, too.
            copied = swap.copy_cache(db, live.path)
        if keeps_cache and not copied and self.settings.paid_index is not None:
            with contextlib.suppress(IndexUnavailable):
                swap.borrow_cache(db, self.settings.paid_index, identity.cache_key)
        meta = rows.read_meta(live) if live is not None else None
        # Who names sources and asks for a new index does not ask for those of the old one.
        is_choice = self._is_forced and bool(self.only)
        sources = freshness.indexed_sources(self.settings, None if is_choice else meta)
        if meta is None and live is not None and not is_choice:
            sources = self._begun(live, sources)
        scan = self._scan(live, sources)
        work = self._indexer(db, scan, mirror=live, fts_rowids=FtsRowids(db, set()), dims=dims)
        everything = scan.changed(self.clock_ns, everything=True)
        work.index(_counted(everything, scan, self.progress))
        if work.left:
            self.report.changed_paths = []
            self._count(db if live is None else live, scan)
            return False
        if live is not None:
            self._carry_over(work, live, meta, scan)
            if keeps_cache:  # what another program paid for meanwhile
                swap.copy_cache(db, live.path, after=copied)
        with db.transaction():
            rows.write_meta(
                db,
                IndexMeta(
                    model=identity.model,
                    provider=identity.provider,
                    provider_key=identity.cache_key.provider_key,
                    sources=tuple(sources),
                    chunk_tokens=search.chunk_tokens,
                    chunk_overlap=search.chunk_overlap,
                    vector_dims=vectors.dims_of(db),
                ),
            )
        if keeps_cache and search.cache_max_entries is not None:
            rows.prune_cache(db, search.cache_max_entries)
        if live is not None:
            self.report.removed_paths = [path for _, path in scan.gone()]
        self._finish(db, scan)
        return True

    def _carry_over(
        self, work: Indexer, live: Connection, meta: IndexMeta | None, scan: Scan
    ) -> None:
        """Keep what was indexed of files that are out of reach: their text is in the old index."""
        search = self.settings.search
        is_cut_alike = meta is not None and (
            (meta.chunk_tokens, meta.chunk_overlap) == (search.chunk_tokens, search.chunk_overlap)
            and embedder.max_bytes(meta.provider) == self.identity.max_bytes
        )
        out_of_reach = [key for keys in scan.kept().values() for key in keys]
        for source, path in [*out_of_reach, *scan.unreadable]:
            old = live.rows(sql.COPY_FILE_ROWS, {"path": path, "source": source})
            if not old:
                continue
            _, _, digest, mtime, size = old[0]
            stamp = Stamp(size, round(mtime * 1e6), 0, 0)
            model = self.identity.model
            file = SourceFile(path, source, stamp, "", digest if is_cut_alike else writing.NO_HASH)
            chunks = rows.chunks_of_file(live, path, source)
            work.carry_over(file, (chunk_rows.renamed(chunk, model) for chunk in chunks))

    # --- both ------------------------------------------------------------------------------------

    def _scan(self, db: Connection | None, sources: Sequence[Source]) -> Scan:
        for source in sources:
            self.log(f"sync: indexing {source.removesuffix('s')} files")
        return freshness.scan_of(self.settings, db, sources)

    def _indexer(
        self,
        db: Connection,
        scan: Scan,
        *,
        fts_rowids: FtsRowids,
        dims: int | None,
        mirror: Connection | None = None,
    ) -> Indexer:
        return Indexer(
            settings=self.settings,
            identity=self.identity,
            db=db,
            mirror=mirror,
            fts_rowids=fts_rowids,
            connect=self._connected,
            report=self.report,
            progress=self.progress,
            log=self.log,
            clock_ns=self.clock_ns,
            deadline=self.deadline,
            dims=dims,
            in_hand=self._in_hand,
            batches=self._batches,
            on_plain=self._before_plain,
            on_unreadable=scan.note,
        )

    def _before_plain(self, count: int) -> None:
        before, self._plain = self._plain, self._plain + count
        is_large = before <= jobs.LARGE_BACKFILL < self._plain
        if is_large and jobs.would_be_cheaper(self.settings, self.batching):
            self.notice(
                f"embeddings: more than {jobs.LARGE_BACKFILL} chunks to embed; batch jobs are "
                "cheaper and slower, and what is embedded stays: ocmem index --batch"
            )

    def _connected(self) -> Embedder:
        if self.embedder is None:
            self.embedder = embedder.connect(self.settings, self.notice, self.progress)
        return self.embedder

    def _finish(self, db: Connection, scan: Scan) -> None:
        search = self.settings.search
        switches = freshness.table_switches(self.settings)
        is_thorough = self.thorough or rows.state(db, "tables") != switches
        if not self.settings.shares_index:
            # On a shared file, chunks of no file may be half of another program's work.
            is_thorough = rows.remove_orphans(db) or is_thorough
            if search.cache_enabled:
                rows.prune_cache(db, search.cache_max_entries or OWN_CACHE_ENTRIES)
        derived.repair(db, with_fts=search.query.hybrid, thorough=is_thorough)
        derived.refresh(db)
        rows.set_state(db, "tables", switches)
        substitute.note(self.settings, db)
        if rows.state(db, GAVE_UP):
            rows.set_state(db, GAVE_UP, "")
        self._count(db, scan)

    def _count(self, db: Connection, scan: Scan) -> None:
        self.report.scanned = len(scan.found.files) - len(scan.vanished)
        self.report.skipped = len(scan.unreadable)
        self.report.chunks = derived.count(db)
        self.report.issues += scan.issues()
        if db.vector_error is not None:
            text = f"sqlite-vec unavailable: {db.vector_error}"
            self.report.issues.append(Issue(text, serious=False))
        if freshness.has_moved(self.settings, db):
            text = (
                f"{self.settings.provider.id} is asked at another address than the one that the "
                "index was built with; if the model there is another, run: ocmem index --force"
            )
            self.report.issues.append(Issue(text, serious=False))


def _is_populated(db: Connection | None) -> bool:
    return db is not None and rows.is_index(db) and bool(db.value(sql.HAS_CHUNKS))


def _counted(reads: Iterable[Read], scan: Scan, progress: Progress) -> Iterator[Read]:
    total = len(scan.found.files)
    for done, read in enumerate(reads, start=1):
        label = "Indexing session files…" if read[0].turns else "Indexing memory files…"
        progress(label, done, total)
        yield read
