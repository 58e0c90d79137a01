"""Is an index in step with its files and settings, and if not, how far behind?"""

from collections.abc import Sequence

from ocmem.core import embedder, files, sql, utf16
from ocmem.core.embedder import Identity
from ocmem.core.scan import Clock, Scan
from ocmem.core.store import Connection, rows
from ocmem.model import IndexMeta, Source
from ocmem.settings import Settings


def scan_of(
    settings: Settings,
    db: Connection | None,
    sources: Sequence[Source],
    *,
    with_left_out: bool = False,
) -> Scan:
    """A comparison of the files with what `db` holds."""
    known = {}
    if db is not None and rows.is_index(db):
        for source in sources:
            for path, row in rows.files_of(db, source).items():
                known[source, path] = row
    # A folder that had a `memory/` when it was indexed has not become a plain one without it.
    had_memory = any(path.startswith(f"{files.MEMORY_DIR}/") for _, path in known)
    found = files.discover(settings, sources, had_memory=had_memory, with_left_out=with_left_out)
    return Scan(settings, found, known)


def why_full(
    meta: IndexMeta | None, settings: Settings, identity: Identity, db: Connection
) -> str | None:
    """The first trigger of a full rebuild that applies."""
    if meta is None:
        return "no fingerprint in the index"
    search = settings.search
    pairs = {
        "model": (meta.model, identity.model),
        "provider": (meta.provider, identity.provider),
        "endpoint": (meta.provider_key, identity.cache_key.provider_key),
        "chunk size": (meta.chunk_tokens, search.chunk_tokens),
        "chunk overlap": (meta.chunk_overlap, search.chunk_overlap),
    }
    if settings.shares_index:
        pairs["sources"] = (sorted(meta.sources), sorted(search.sources))
    changed = [name for name, (old, new) in pairs.items() if old != new]
    if changed:
        return f"{changed[0]} changed"
    has_vectors = identity.has_vectors and db.has_vectors
    if has_vectors and meta.vector_dims is None and db.value(sql.HAS_CHUNKS):
        return "the index has no vectors yet"
    return None


def indexed_sources(settings: Settings, meta: IndexMeta | None) -> tuple[Source, ...]:
    """What to keep in step. On ocmem's own file, a source that was once asked for stays."""
    wanted = settings.search.sources
    if settings.shares_index or meta is None:
        return wanted
    stayed: list[Source] = [s for s in ("memory", "sessions") if s in meta.sources]
    return tuple(dict.fromkeys([*wanted, *stayed]))


def table_switches(settings: Settings) -> str:
    """Which derived tables are kept; after a change of mind, counts alone prove nothing."""
    search = settings.search
    return f"fts={search.query.hybrid:d} vec={search.vector_enabled:d}"


def has_moved(settings: Settings, db: Connection) -> bool:
    """Whether the vectors came from another address than the one that is configured now.

    The fingerprint of these providers does not tell, so the first run remembers it.
    """
    endpoint = settings.provider.endpoint
    if endpoint is None or settings.provider.id not in ("voyage", "mistral"):
        return False
    address = utf16.sha256(endpoint.base_url)  # some put a password there
    if rows.state(db, "endpoint") is None:
        rows.set_state(db, "endpoint", address)
    return rows.state(db, "endpoint") != address


def is_dirty(
    settings: Settings, db: Connection | None, sources: Sequence[Source] | None = None
) -> bool:
    """Whether files of these sources, or of all, differ from the index, by a real comparison."""
    if db is None or not rows.is_index(db):
        return True
    meta = rows.read_meta(db)
    if meta is None or why_full(meta, settings, embedder.identity_of(settings.provider), db):
        return True
    wanted = indexed_sources(settings, meta) if sources is None else sources
    return differs(scan_of(settings, db, wanted))


def differs(scan: Scan) -> bool:
    return any(True for _ in scan.changed(Clock())) or bool(scan.gone())
