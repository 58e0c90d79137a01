"""Reading and writing the tables that OpenClaw knows."""

import contextlib
import json
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ocmem.core import embedding, jsjson, sql
from ocmem.core.embedding import Embedding
from ocmem.core.store.connection import Connection, Row
from ocmem.errors import IndexDamaged, IndexMoved
from ocmem.model import ChunkRow, FileRow, IndexMeta, Source, Stamp

_HASHES_PER_READ = 400
_CHUNKS_PER_READ = 400


@dataclass(frozen=True, slots=True)
class CacheKey:
    """Whose vectors these are: another model or endpoint must never answer for this one."""

    provider: str
    model: str
    provider_key: str

    def bound(self) -> dict[str, str]:
        return {
            "provider": self.provider,
            "model": self.model,
            "provider_key": self.provider_key,
        }


TABLES = ("meta", "files", "chunks", "embedding_cache", "ocmem_files", "ocmem_state")


def create_schema(db: Connection, *, with_fts: bool) -> None:
    """The reference's tables, in its order; an old file gets the column it lacks."""
    for statement in sql.CREATE_BASE:
        db.run(statement)
    if with_fts:
        db.run(sql.CREATE_FTS)
    for table, statement in sql.ADD_SOURCE.items():
        if "source" not in {name for (name,) in db.rows(sql.COLUMNS, {"table": table})}:
            db.run(statement)
    for statement in sql.CREATE_CHUNK_INDEXES:
        db.run(statement)
    db.run(sql.CREATE_STAMPS)
    db.run(sql.CREATE_STATE)
    db.look()


def is_index(db: Connection) -> bool:
    """As `Connection.is_index`."""
    return db.is_index


def refuse_foreign(db: Connection) -> None:
    """Raise IndexDamaged if the file is some other program's database."""
    if db.tables and not is_index(db):
        raise IndexDamaged(
            f"{db.path} is a database of some other program",
            hint="ocmem index --force moves it aside and builds an index there",
        )


def read_meta(db: Connection) -> IndexMeta | None:
    """The fingerprint; None if there is none or it makes no sense."""
    try:
        found = json.loads(db.value(sql.GET_META) or "null")
        return IndexMeta(
            model=found["model"],
            provider=found["provider"],
            provider_key=found.get("providerKey", ""),
            sources=tuple(found.get("sources") or ("memory",)),
            chunk_tokens=found["chunkTokens"],
            chunk_overlap=found["chunkOverlap"],
            vector_dims=found.get("vectorDims"),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def write_meta(db: Connection, meta: IndexMeta) -> None:
    value: dict[str, object] = {
        "model": meta.model,
        "provider": meta.provider,
        "providerKey": meta.provider_key,
        "sources": sorted(meta.sources),
        "chunkTokens": meta.chunk_tokens,
        "chunkOverlap": meta.chunk_overlap,
    }
    if meta.vector_dims is not None:
        value["vectorDims"] = meta.vector_dims
    db.run(sql.SET_META, {"value": jsjson.compact(value)})


def state(db: Connection, key: str) -> str | None:
    """Something that only ocmem wants to remember of its last run."""
    return db.value(sql.GET_STATE, {"key": key}) if db.has_table("ocmem_state") else None


def set_state(db: Connection, key: str, value: str) -> None:
    if state(db, key) != value:
        with db.transaction():
            db.run(sql.SET_STATE, {"key": key, "value": value})


def remove_orphans(db: Connection) -> bool:
    """Forget chunks whose file the index does not have, left by a killed writer."""
    if not db.value(sql.HAS_ORPHANS):
        return False
    with db.transaction():
        db.run(sql.DELETE_ORPHANS)
    return True


def files_of(db: Connection, source: Source) -> dict[str, FileRow]:
    """Every indexed file of a source, by path."""
    statement = sql.FILES_OF_SOURCE if db.has_table("ocmem_files") else sql.FILES_WITHOUT_STAMPS
    return {
        path: FileRow(
            hash=digest,
            stamp=None if size is None else Stamp(size, mtime_ns, ctime_ns, inode),
            stamped_at_ns=stamped_at_ns or 0,
        )
        for path, digest, size, mtime_ns, ctime_ns, inode, stamped_at_ns in db.rows(
            statement, {"source": source}
        )
    }


def chunks_by_id(db: Connection, ids: Iterable[str]) -> dict[str, ChunkRow]:
    found = db.rows(sql.CHUNKS_BY_ID, {"ids": json.dumps(list(ids))})
    return {row[0]: chunk_row(row) for row in found}


def chunks_of_file(db: Connection, path: str, source: str) -> Iterator[ChunkRow]:
    """What the index holds of a file, in its order; there may be too much to hold at once.

    Raises IndexMoved if another program takes some of it away meanwhile.
    """
    ids = [id for (id,) in db.rows(sql.CHUNK_IDS_OF_FILE, {"path": path, "source": source})]
    for at in range(0, len(ids), _CHUNKS_PER_READ):
        some = ids[at : at + _CHUNKS_PER_READ]
        found = chunks_by_id(db, some)
        if len(found) < len(some):
            raise IndexMoved(f"{db.path} was changed by another program", hint="try again")
        yield from (found[id] for id in some)


def chunk_row(row: Row) -> ChunkRow:
    id, path, source, start_line, end_line, digest, model, text = row
    return ChunkRow(
        id=id,
        path=path,
        source=source,
        start_line=int(start_line),
        end_line=int(end_line),
        hash=digest,
        model=model,
        text=text,
    )


def counts(db: Connection) -> dict[str, tuple[int, int]]:
    """Source -> files, chunks."""
    files: Mapping[str, int] = dict(db.rows(sql.COUNT_FILES))
    chunks: Mapping[str, int] = dict(db.rows(sql.COUNT_CHUNKS))
    return {name: (files.get(name, 0), chunks.get(name, 0)) for name in {*files, *chunks}}


def cached(db: Connection, key: CacheKey, hashes: Iterable[str]) -> dict[str, Embedding]:
    """The vectors that are already paid for, by text hash."""
    wanted = list(dict.fromkeys(hashes))
    found: dict[str, Embedding] = {}
    for at in range(0, len(wanted), _HASHES_PER_READ):
        some = json.dumps(wanted[at : at + _HASHES_PER_READ])
        for digest, text in db.rows(sql.GET_CACHED, {**key.bound(), "hashes": some}):
            # A damaged entry is as good as none.
            with contextlib.suppress(ValueError, TypeError, struct.error):
                found[digest] = embedding.from_json(text)
    return found


def cached_sizes(db: Connection, key: CacheKey, hashes: Iterable[str]) -> dict[str, int | None]:
    """As `cached`, but only the dimensions: there may be too many vectors to hold at once."""
    wanted = list(dict.fromkeys(hashes))
    found: dict[str, int | None] = {}
    for at in range(0, len(wanted), _HASHES_PER_READ):
        some = json.dumps(wanted[at : at + _HASHES_PER_READ])
        found |= dict(db.rows(sql.CACHED_SIZES, {**key.bound(), "hashes": some}))
    return found


def write_cache(
    db: Connection, key: CacheKey, entries: Iterable[tuple[str, Embedding]], *, now_ms: int
) -> None:
    bound = [
        {
            **key.bound(),
            "hash": digest,
            "embedding": vector.json,
            "dims": vector.dims,
            "updated_at": now_ms,
        }
        for digest, vector in entries
        if vector.blob
    ]
    if bound:
        with db.transaction():
            db.run_many(sql.PUT_CACHED, bound)


def prune_cache(db: Connection, max_entries: int) -> None:
    surplus = db.value(sql.COUNT_CACHED) - max_entries
    if surplus > 0:
        with db.transaction():
            db.run(sql.PRUNE_CACHE, {"surplus": surplus})
