"""What an index run would do, send and pay for; nothing is written, nobody is asked."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ocmem.core import chunk_rows, embedder, freshness, indexer, ledger
from ocmem.core.batch import MOST_LINES
from ocmem.core.embedder import Identity
from ocmem.core.jobs import SERVICES
from ocmem.core.scan import Clock, Scan
from ocmem.core.store import Connection, open_existing, rows, writing
from ocmem.core.tokens import ESTIMATE, counter_for
from ocmem.core.transcript import Unreadable
from ocmem.model import ChunkRow, Issue, Pending, Source, SourceFile
from ocmem.settings import Settings

_PART_BYTES = 4_000_000  # of text that is held at once
_REQUEST_BYTES = 8000  # what every service behind a URL gets at once


@dataclass(slots=True)
class Estimate:
    """Counters grow while files are read; `why_full` is None where only changes would be taken."""

    why_full: str | None = None
    scanned: int = 0
    changed: int = 0
    removed: int = 0
    chunks: int = 0
    cached: int = 0
    to_embed: int = 0
    tokens: int = 0
    token_method: str = ESTIMATE
    requests: int = 0
    jobs: int | None = None  # batch jobs in place of requests
    pending: Pending | None = None  # in batch jobs of earlier runs
    issues: list[Issue] = field(default_factory=list)


def estimate(
    settings: Settings,
    *,
    force: bool,
    batch: bool | None = None,
    only: tuple[Source, ...] = (),
) -> Estimate:
    """`batch`: with batch jobs or without, whatever the settings say; `only`: as for `Sync`."""
    found = _estimated(settings, force=force, only=only)
    found.pending = ledger.pending(settings)
    wants_jobs = settings.search.remote.batch.enabled if batch is None else batch
    if wants_jobs and settings.provider.id in SERVICES and settings.search.cache_enabled:
        found.requests, found.jobs = 0, -(-found.to_embed // MOST_LINES)
    return found


def _estimated(settings: Settings, *, force: bool, only: tuple[Source, ...]) -> Estimate:
    identity = embedder.identity_of(settings.provider)
    db = open_existing(settings.index_path, "read")
    if db is None:
        return _estimate(settings, identity, None, why_full="there is no index yet")
    with db:
        rows.refuse_foreign(db)
        if not rows.is_index(db):
            return _estimate(settings, identity, None, why_full="there is no index yet")
        if settings.search.vector_enabled and identity.has_vectors:
            db.load_vectors(settings.search.vector_extension_path)
        why = freshness.why_full(rows.read_meta(db), settings, identity, db)
        why = "--force" if force else why
        return _estimate(settings, identity, db, why_full=why, only=only)


def _estimate(
    settings: Settings,
    identity: Identity,
    db: Connection | None,
    *,
    why_full: str | None,
    only: tuple[Source, ...] = (),
) -> Estimate:
    found = Estimate(why_full=why_full)
    meta = None if db is None else rows.read_meta(db)
    sources = freshness.indexed_sources(settings, meta)
    scan = freshness.scan_of(settings, db, sources if why_full else only or sources)
    counter = counter_for(identity.model) if settings.provider.endpoint else None
    if counter is not None:
        found.token_method = counter.method
    known: set[str] = set()
    for file, _ in scan.changed(Clock(), everything=why_full is not None):
        found.changed += 1
        present = set() if db is None or why_full else _present(db, file)
        for chunks in _parts(settings, scan, file):
            found.chunks += len(chunks)
            if not identity.has_vectors:
                continue
            fresh = {
                chunk.hash: chunk
                for chunk in chunks
                if chunk.hash not in known and chunk.id not in present
            }
            known |= fresh.keys()
            paid = _cached(settings, db, fresh)
            new = [chunk for chunk in fresh.values() if chunk.hash not in paid]
            found.to_embed += len(new)
            if counter is not None:
                found.tokens += sum(counter.count(chunk.text) for chunk in new)
                found.requests += _requests(settings, new)
    found.cached = len(known) - found.to_embed if identity.costs else 0
    found.scanned = len(scan.found.files) - len(scan.vanished)
    found.removed = len(scan.gone())
    found.issues = scan.issues()
    return found


def _parts(settings: Settings, scan: Scan, file: SourceFile) -> Iterator[list[ChunkRow]]:
    """The chunks of a file, as far as it can be read."""
    identity = embedder.identity_of(settings.provider)
    try:
        yield from chunk_rows.parts_of(
            chunk_rows.rows_of(settings, identity, file), most=_PART_BYTES
        )
    except Unreadable as error:
        scan.note(file.source, file.path, error)


def _present(db: Connection, file: SourceFile) -> set[str]:
    """Chunks that stay as they are: those of a transcript that has only grown."""
    return set() if file.turns is None else writing.chunk_ids(db, file.path, file.source)


def _cached(settings: Settings, db: Connection | None, hashes: Iterable[str]) -> set[str]:
    """Which texts were paid for before, in this index or in OpenClaw's beside it."""
    identity = embedder.identity_of(settings.provider)
    if not indexer.uses_cache(settings, identity):
        return set()
    known: set[str] = set()
    if db is not None:
        known |= rows.cached(db, identity.cache_key, hashes).keys()
    if db is None and settings.paid_index is not None:
        paid = open_existing(settings.paid_index, "read")
        if paid is not None:
            with paid:
                if rows.is_index(paid):
                    known |= rows.cached(paid, identity.cache_key, hashes).keys()
    return known


def _requests(settings: Settings, chunks: list[ChunkRow]) -> int:
    most = settings.search.remote.max_items
    return len(indexer.request_groups(chunks, group_bytes=_REQUEST_BYTES, most=most))
