"""ocmem's own tables, brought up to date with whatever is in `chunks` by now.

Another program may have rewritten `chunks` since, so nothing here is trusted before it has been
compared, id by id. Everything can be rebuilt from `chunks` at any time.
"""

import contextlib
import json

from ocmem.core import cjk, embedding, sql
from ocmem.core.store import rows, vectors, writing
from ocmem.core.store.connection import Connection
from ocmem.errors import IndexBusy, IndexMoved, IndexReadOnly

_DOCS_PER_TRANSACTION = 500


def refresh(db: Connection) -> None:
    """Make `ocmem_docs` and `ocmem_fts` match `chunks`; aside, where the file is not writable."""
    if not _is_stale(db):
        return
    with contextlib.suppress(IndexReadOnly, IndexBusy, IndexMoved), db.writer() as writer:
        _refresh(writer, temporary=False)
    if _is_stale(db):
        _refresh(db, temporary=True)


def repair(db: Connection, *, with_fts: bool, thorough: bool) -> None:
    """Bring `chunks_fts` and `chunks_vec` back in line after a time of being switched off.

    Comparing all ids reads the whole keyword table; without `thorough`, counts must differ first.
    """
    if with_fts:
        _repair_fts(db, thorough=thorough)
    if db.has_vectors and db.has_table("chunks_vec"):
        _repair_vec(db, thorough=thorough)


def mend_vector_table(db: Connection) -> None:
    """Give a vector table that another program made for other vectors its true size again."""
    dims = vectors.dims_of(db) if db.has_vectors else None
    stored = vectors.dims_stored(db) if dims is not None else None
    if stored is None or stored == dims:
        return
    with db.transaction():
        vectors.ensure_table(db, stored)
    _repair_vec(db, thorough=True)


def matching(
    db: Connection, query: str, *, sources: tuple[str, ...], limit: int
) -> list[tuple[str, float]]:
    """Chunk ids with their bm25 weight, best first, for an FTS5 query over our own table."""
    bound = {"query": query, "sources": json.dumps(sources), "limit": limit}
    return [(id, score) for id, score in db.rows(sql.SEARCH_OWN_FTS, bound)]


def frequency(db: Connection, query: str) -> int:
    """In how many chunks an FTS5 query matches."""
    return int(db.value(sql.COUNT_OWN_MATCHES, {"query": query}))


def count(db: Connection) -> int:
    return int(db.value(sql.COUNT_ALL_CHUNKS))


def _refresh(db: Connection, *, temporary: bool) -> None:
    if temporary or not (db.has_table("ocmem_docs") and db.has_table("ocmem_fts")):
        # Temporary tables hide those of the file, so the queries need not know.
        schema = "temp" if temporary else "main"
        db.run(sql.CREATE_DOCS.format(temp="TEMP" if temporary else ""))
        db.run(sql.CREATE_OWN_FTS.format(schema=schema))
    gone = [rowid for (rowid,) in db.rows(sql.DOCS_GONE)]
    for at in range(0, len(gone), _DOCS_PER_TRANSACTION):
        with db.transaction():
            some = [{"rowid": rowid} for rowid in gone[at : at + _DOCS_PER_TRANSACTION]]
            db.run_many(sql.DELETE_DOC, some)
            db.run_many(sql.DELETE_OWN_FTS, some)
    missing = [id for (id,) in db.rows(sql.DOCS_MISSING)]
    for at in range(0, len(missing), _DOCS_PER_TRANSACTION):
        _add(db, missing[at : at + _DOCS_PER_TRANSACTION])
    _measure(db)


def _is_stale(db: Connection) -> bool:
    if not (db.has_table("ocmem_docs") and db.has_table("ocmem_fts")):
        return True
    queries = [sql.DOCS_GONE, sql.DOCS_MISSING]
    if db.has_vectors and db.has_table("chunks_vec"):
        queries.append(sql.UNKNOWN_LENGTHS)
    return any(db.rows(f"{query} LIMIT 1") for query in queries)


def _add(db: Connection, ids: list[str]) -> None:
    chunks = rows.chunks_by_id(db, ids)
    with db.transaction():
        # Another process may have added some of them since they were looked up.
        for (id,) in db.rows(
            f"{sql.DOCS_MISSING} AND c.id IN (SELECT value FROM json_each(:ids))",
            {"ids": json.dumps(list(chunks))},
        ):
            chunk = chunks[id]
            bound = {"id": id, "model": chunk.model, "source": chunk.source, "unit_length": None}
            db.run(sql.PUT_DOC, bound)
            db.run(sql.PUT_OWN_FTS, {"rowid": db.last_rowid, "text": cjk.spaced(chunk.text)})


def _measure(db: Connection) -> None:
    """Note for each new vector whether it has length one: only then may KNN rank it."""
    dims = vectors.dims_of(db)
    if dims is None or not db.has_vectors:
        return
    unknown = db.rows(sql.UNKNOWN_LENGTHS)
    if not unknown:
        return
    norms = vectors.norms_of(db, [id for _, id in unknown], dims=dims)
    bound = [
        {
            "rowid": rowid,
            "id": id,
            "unit_length": int(embedding.has_unit_length(norms.get(id, 0.0))),
        }
        for rowid, id in unknown
    ]
    with db.transaction():
        db.run_many(sql.SET_LENGTH, bound)


def _repair_fts(db: Connection, *, thorough: bool) -> None:
    if not db.has_table("chunks_fts"):
        with db.transaction():
            db.run(sql.CREATE_FTS)
    elif not thorough and db.value(sql.COUNT_FTS) >= db.value(sql.COUNT_ALL_CHUNKS):
        return
    surplus = db.rows(sql.FTS_SURPLUS)
    missing = db.rows(sql.FTS_MISSING)
    if not surplus and not missing:
        return
    with db.transaction():
        db.run_many(sql.DELETE_FTS, [{"rowid": rowid, "path": path} for rowid, path in surplus])
        for row in missing:
            writing.put_fts(db, rows.chunk_row(row))


def _repair_vec(db: Connection, *, thorough: bool) -> None:
    if not thorough and db.value(sql.COUNT_VEC) == db.value(sql.COUNT_ALL_CHUNKS):
        return
    dims = vectors.dims_of(db)
    gone = [{"id": id} for (id,) in db.rows(sql.VEC_GONE)]
    missing = [(id, embedding.from_json(text)) for id, text in db.rows(sql.VEC_MISSING)]
    fitting = [(id, vector) for id, vector in missing if vector.dims == dims]
    if not gone and not fitting:
        return
    with db.transaction():
        db.run_many(sql.DELETE_VEC, gone)
        writing.put_vectors(db, fitting)
