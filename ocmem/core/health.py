"""What `status` reports: read-only, creates nothing."""

from dataclasses import dataclass, field
from pathlib import Path

from ocmem.core import embedder, ledger, sql, watch_lock
from ocmem.core.embedder import Notice, no_notice
from ocmem.core.freshness import differs, indexed_sources, scan_of, why_full
from ocmem.core.holder import Holder
from ocmem.core.store import Connection, open_existing, rows, vectors
from ocmem.errors import EmbedderError
from ocmem.model import BatchState, Pending, Source
from ocmem.settings import Fallback, Settings


@dataclass(frozen=True, slots=True)
class SourceHealth:
    source: Source
    files: int
    chunks: int
    total: int | None  # None where a folder could not be looked into
    issues: list[str]


@dataclass(slots=True)
class Health:
    """The state of one agent's index; everything here was looked up, nothing assumed."""

    settings: Settings
    sources: list[SourceHealth] = field(default_factory=list)
    is_dirty: bool = True
    vector_available: bool | None = None  # None: not looked at
    vector_path: str | None = None
    vector_error: str | None = None
    vector_dims: int | None = None
    cache_entries: int = 0
    probe_error: str | None = None
    probe_failure: EmbedderError | None = None  # the provider was asked, and could not answer
    was_probed: bool = False
    index_error: str | None = None
    pending: Pending | None = None  # batch jobs under way
    batch: BatchState = field(default_factory=BatchState)  # of an index run just before
    watcher: Holder | None = None
    instead_of: Fallback | None = None  # the backend that was to answer, and cannot

    @property
    def files(self) -> int:
        return sum(each.files for each in self.sources)

    @property
    def chunks(self) -> int:
        return sum(each.chunks for each in self.sources)

    @property
    def provider(self) -> str:
        return embedder.provider_in_use(self.settings.provider)

    @property
    def fts_available(self) -> bool:
        """SQLite comes with FTS5 here; a table that is missing is made when files are indexed."""
        return self.settings.search.query.hybrid

    @property
    def total(self) -> int | None:
        totals = [each.total for each in self.sources]
        return None if None in totals else sum(total for total in totals if total is not None)


def health(settings: Settings, *, deep: bool, notice: Notice = no_notice) -> Health:
    """Look at files and index; with `deep`, run a query, and ask the provider for an embedding."""
    watcher = watch_lock.watcher_of(settings.index_path)
    found = Health(settings, pending=ledger.pending(settings), watcher=watcher)
    db = open_existing(settings.index_path, "read")
    if db is None:
        with Connection(Path(":memory:"), "create") as scratch:
            _look_at_vectors(found, scratch)
        _count(found, None)
    else:
        with db:
            rows.refuse_foreign(db)
            _look_at_vectors(found, db)
            if deep and db.has_vectors:
                found.vector_error = vectors.trouble(db)
                found.vector_available = found.vector_error is None
            _count(found, db if rows.is_index(db) else None)
    if deep:
        found.was_probed = True
        try:
            found.probe_error = _probe(settings, notice, dims=found.vector_dims)
        except EmbedderError as error:
            found.probe_error, found.probe_failure = str(error), error
    return found


def _look_at_vectors(found: Health, db: Connection) -> None:
    search = found.settings.search
    found.vector_path = search.vector_extension_path
    found.vector_dims = vectors.dims_of(db)
    if not search.vector_enabled or found.provider == "none":
        return
    db.load_vectors(search.vector_extension_path)
    found.vector_available = db.has_vectors
    found.vector_path = db.vector_path
    found.vector_error = db.vector_error


def _count(found: Health, db: Connection | None) -> None:
    settings = found.settings
    counts = rows.counts(db) if db is not None else {}
    meta = rows.read_meta(db) if db is not None else None
    is_changed = False
    for source in indexed_sources(settings, meta):
        scan = scan_of(settings, db, [source])
        is_changed = (db is not None and differs(scan)) or is_changed
        seen = scan.found
        indexed, chunks = counts.get(source, (0, 0))
        found.sources.append(
            SourceHealth(
                source=source,
                files=indexed,
                chunks=chunks,
                total=None if source in seen.uncounted else len(seen.files),
                issues=[issue.message for issue in scan.issues()],
            )
        )
    if db is None:
        return
    identity = embedder.identity_of(settings.provider)
    is_stale = meta is None or why_full(meta, settings, identity, db) is not None
    found.is_dirty = is_stale or is_changed
    found.cache_entries = db.value(sql.COUNT_CACHED) if db.has_table("embedding_cache") else 0


def _probe(settings: Settings, notice: Notice, *, dims: int | None) -> str | None:
    """None if an embedding could be had that fits the index, else why not."""
    if not embedder.identity_of(settings.provider).has_vectors:
        return settings.provider.missing or "provider none: keywords only, as configured"
    provider = embedder.connect(settings, notice)
    timeout_s = embedder.probe_timeout_s(settings.provider.id)
    (vector,) = provider.embed_documents(["ping"], timeout_s=timeout_s)
    if dims is not None and len(vector) != dims:
        return f"{settings.provider.id} gives {len(vector)} dimensions, the index has {dims}"
    return None
