"""Files and their chunks, written into the tables that OpenClaw knows and into those beside them.

Every function here runs inside the caller's transaction.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from ocmem.core import sql, utf16
from ocmem.core.embedding import Embedding
from ocmem.core.store.connection import Connection
from ocmem.errors import IndexMoved
from ocmem.model import ChunkRow, SourceFile, Stamp

NO_HASH = ""  # differs from every file's: what carries it is read again when it can be


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
    put_chunks(db, chunks, with_fts=with_fts, now_ms=now_ms)
    put_file(db, file, stamped_at_ns=stamped_at_ns)


def write_part(
    db: Connection,
    file: SourceFile,
    chunks: Sequence[tuple[ChunkRow, Embedding]],
    *,
    with_fts: bool,
    now_ms: int,
) -> None:
    """Add to what the index holds of one file, which counts as changed until `write_rest`."""
    put_chunks(db, chunks, with_fts=with_fts, now_ms=now_ms)
    _put_row(db, file, NO_HASH)
    db.run(sql.DELETE_STAMP, {"path": file.path})


def write_rest(
    db: Connection,
    file: SourceFile,
    chunks: Sequence[tuple[ChunkRow, Embedding]],
    *,
    all_ids: Collection[str],
    with_fts: bool,
    fts_rowids: Mapping[str, Sequence[int]],
    now_ms: int,
    stamped_at_ns: int,
) -> None:
    """Add the last chunks of one file, and remove what is none of `all_ids`.

    Raises IndexMoved if another program has removed some that were to stay.
    """
    put_chunks(db, chunks, with_fts=with_fts, now_ms=now_ms)
    present = chunk_ids(db, file.path, file.source)
    if not present.issuperset(all_ids):
        raise IndexMoved(f"{db.path} was changed by another program", hint="try again")
    gone = present.difference(all_ids)
    rowids = [rowid for id in gone for rowid in fts_rowids.get(id, ())]
    _remove_chunks(db, file.path, gone, fts_rowids=rowids)
    db.run_many(sql.DELETE_CHUNK, [{"id": id} for id in gone])
    put_file(db, file, stamped_at_ns=stamped_at_ns)


def put_chunks(
    db: Connection,
    chunks: Iterable[tuple[ChunkRow, Embedding]],
    *,
    with_fts: bool,
    now_ms: int,
) -> None:
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


def put_file(db: Connection, file: SourceFile, *, stamped_at_ns: int) -> None:
    _put_row(db, file, file.hash)
    write_stamp(db, file.path, file.hash, file.stamp, stamped_at_ns=stamped_at_ns)


def _put_row(db: Connection, file: SourceFile, digest: str) -> None:
    db.run(
        sql.PUT_FILE,
        {
            "path": file.path,
            "source": file.source,
            "hash": digest,
            "mtime": file.stamp.mtime_ms,
            "size": file.stamp.size,
        },
    )


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
    _remove_chunks(db, path, chunk_ids(db, path, source), fts_rowids=fts_rowids)
    db.run(sql.DELETE_CHUNKS_OF_FILE, where)
    db.run(sql.DELETE_FILE, where)
    db.run(sql.DELETE_STAMP, {"path": path})


def chunk_ids(db: Connection, path: str, source: str) -> set[str]:
    """What the index holds of a file."""
    return {id for (id,) in db.rows(sql.CHUNK_IDS_OF_FILE, {"path": path, "source": source})}


def _remove_chunks(
    db: Connection, path: str, ids: Iterable[str], *, fts_rowids: Iterable[int]
) -> None:
    """From the tables beside `chunks`."""
    if db.has_vectors and db.has_table("chunks_vec"):
        db.run_many(sql.DELETE_VEC, [{"id": id} for id in ids])
    db.run_many(sql.DELETE_FTS, [{"rowid": rowid, "path": path} for rowid in fts_rowids])


class FtsRowids:
    """The keyword rows of files, looked up in one scan: the table has no index on the path."""

    def __init__(self, db: Connection, known_paths: set[str]) -> None:
        self._db = db
        self._known_paths = known_paths
        self._found: dict[str, dict[str, list[int]]] | None = None

    def of(self, path: str) -> list[int]:
        """Every keyword row of a file."""
        return [rowid for rowids in self.by_id(path).values() for rowid in rowids]

    def by_id(self, path: str) -> Mapping[str, list[int]]:
        """The same, by chunk id."""
        if path not in self._known_paths or not self._db.has_table("chunks_fts"):
            return {}
        if self._found is None:
            self._found = {}
            for rowid, owner, id in self._db.rows(sql.FTS_ROWIDS):
                self._found.setdefault(owner, {}).setdefault(id, []).append(rowid)
        return self._found.get(path, {})


def _signed(number: int) -> int:
    """An inode as SQLite can hold it: some file systems use all 64 bits."""
    return number - (1 << 64) if number >= 1 << 63 else number
