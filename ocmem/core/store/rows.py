"""Reading and writing the tables that OpenClaw knows."""

import contextlib
import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ocmem.core import embedding, jsjson, sql, utf16
from ocmem.core.embedding import Embedding
from ocmem.core.store.connection import Connection, Row
from ocmem.errors import IndexDamaged
from ocmem.model import ChunkRow, FileRow, IndexMeta, Source, SourceFile, Stamp

_HASHES_PER_READ = 400


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


def write_file(
    db: Connection,
    file: SourceFile,
    chunks: Sequence[tuple[ChunkRow, Embedding]],
    *,
    with_fts: bool,
    fts_rowids: Iterable[int],
    now_ms: int,
    stamped_at_ns: int,
) -> None:
    """Replace everything the index holds of one file. Runs inside the caller's transaction."""
    remove_file(db, file.path, file.source, fts_rowids=fts_rowids)
    written: dict[str, Embedding] = {}
    for row, vector in chunks:
        bound = {
            "id": row.id,
            "path": row.path,
            "source": row.source,
            "start_line": row.start_line,
            "end_line": row.end_line,
            "hash": row.hash,
            "model": row.model,
            "text": utf16.well_formed(row.text),
        }
        db.run(sql.PUT_CHUNK, {**bound, "embedding": vector.json, "updated_at": now_ms})
        if row.id in written:  # a repeated piece of one long line; one row per id
            continue
        written[row.id] = vector
        if with_fts:
            put_fts(db, row)
    if db.has_vectors and db.has_table("chunks_vec"):
        put_vectors(db, written.items())
    db.run(
        sql.PUT_FILE,
        {
            "path": file.path,
            "source": file.source,
            "hash": file.hash,
            "mtime": file.stamp.mtime_ms,
            "size": file.stamp.size,
        },
    )
    write_stamp(db, file.path, file.hash, file.stamp, stamped_at_ns=stamped_at_ns)


def put_vectors(db: Connection, entries: Iterable[tuple[str, Embedding]]) -> None:
    """Store vectors by chunk id; whatever was known of the length of a former one is forgotten."""
    bound = [{"id": id, "embedding": vector.blob} for id, vector in entries if vector.blob]
    ids = [{"id": each["id"]} for each in bound]
    db.run_many(sql.DELETE_VEC, ids)  # vec0 cannot replace
    db.run_many(sql.PUT_VEC, bound)
    if db.has_table("ocmem_docs"):
        db.run_many(sql.FORGET_LENGTH, ids)


def put_fts(db: Connection, row: ChunkRow) -> None:
    bound = {
        "text": utf16.well_formed(row.text),
        "id": row.id,
        "path": row.path,
        "source": row.source,
        "model": row.model,
        # As doubles: the reference binds all numbers so, and these columns have no affinity.
        "start_line": float(row.start_line),
        "end_line": float(row.end_line),
    }
    db.run(sql.PUT_FTS, bound)


def write_stamp(
    db: Connection, path: str, digest: str, stamp: Stamp, *, stamped_at_ns: int
) -> None:
    bound = {
        "path": path,
        "hash": digest,
        "size": stamp.size,
        "mtime_ns": stamp.mtime_ns,
        "ctime_ns": stamp.ctime_ns,
        "inode": _signed(stamp.inode),
        "stamped_at_ns": stamped_at_ns,
    }
    db.run(sql.PUT_STAMP, bound)


def remove_file(db: Connection, path: str, source: str, *, fts_rowids: Iterable[int]) -> None:
    """Forget a file. Runs inside the caller's transaction."""
    where = {"path": path, "source": source}
    if db.has_vectors and db.has_table("chunks_vec"):
        db.run_many(sql.DELETE_VEC, [{"id": id} for (id,) in db.rows(sql.CHUNK_IDS_OF_FILE, where)])
    db.run_many(sql.DELETE_FTS, [{"rowid": rowid, "path": path} for rowid in fts_rowids])
    db.run(sql.DELETE_CHUNKS_OF_FILE, where)
    db.run(sql.DELETE_FILE, where)
    db.run(sql.DELETE_STAMP, {"path": path})


class FtsRowids:
    """The keyword rows of files, looked up in one scan: the table has no index on the path."""

    def __init__(self, db: Connection, known_paths: set[str]) -> None:
        self._db = db
        self._known_paths = known_paths
        self._found: dict[str, list[int]] | None = None

    def of(self, path: str) -> list[int]:
        if path not in self._known_paths or not self._db.has_table("chunks_fts"):
            return []
        if self._found is None:
            self._found = {}
            for rowid, owner in self._db.rows(sql.FTS_ROWIDS):
                self._found.setdefault(owner, []).append(rowid)
        return self._found.get(path, [])


def chunks_by_id(db: Connection, ids: Iterable[str]) -> dict[str, ChunkRow]:
    found = db.rows(sql.CHUNKS_BY_ID, {"ids": json.dumps(list(ids))})
    return {row[0]: chunk_row(row) for row in found}


def chunks_of_file(db: Connection, path: str, source: str) -> list[ChunkRow]:
    found = db.rows(sql.CHUNKS_OF_FILE, {"path": path, "source": source})
    return [chunk_row(row) for row in found]


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


def _signed(number: int) -> int:
    """An inode as SQLite can hold it: some file systems use all 64 bits."""
    return number - (1 << 64) if number >= 1 << 63 else number
