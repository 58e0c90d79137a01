"""Nearest vectors, with the very scores that the reference computes."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from ocmem.core import embedding, sql
from ocmem.core.store.connection import Connection
from ocmem.errors import IndexUnavailable
from ocmem.model import Candidate, Vector

Precision = Literal["float32", "float64"]

_MOST_NEIGHBOURS = 4096  # vec0's own limit for k
_MARGIN = 32
_ROWS_PER_SCAN = 2000
# Room for the rounding of float32 distances, and for vectors that are only nearly of length one.
_SLACK = 4 * embedding.UNIT_TOLERANCE


def dims_of(db: Connection) -> int | None:
    """The dimension of the vector table; None without one."""
    statement = db.value(sql.TABLE_SQL, {"name": "chunks_vec"})
    match = re.search(r"FLOAT\[(\d+)\]", statement or "", re.IGNORECASE)
    return int(match[1]) if match else None


def dims_stored(db: Connection) -> int | None:
    """The dimension of the vectors beside the text; None without any."""
    text = db.value(sql.ANY_EMBEDDING)
    return len(json.loads(text)) if text else None


def ensure_table(db: Connection, dims: int) -> None:
    """A vector table of `dims` dimensions; one of another size is stale and goes."""
    if dims_of(db) not in (None, dims):
        db.run(sql.DROP_VEC)
    db.run(sql.CREATE_VEC.format(dims=dims))


def nearest(
    db: Connection, query: Vector, *, model: str, sources: Sequence[str], limit: int
) -> list[Candidate]:
    """The `limit` most similar chunks by cosine, best first."""
    if not db.has_vectors:
        return scan_stored(db, query, model=model, sources=sources, limit=limit, dtype="float32")
    if not db.has_table("chunks_vec"):
        return []
    blob = embedding.float32_blob(query)
    found = _by_knn(db, blob, model=model, sources=sources, limit=limit)
    if found is None:
        bound = {"query": blob, "model": model, "sources": json.dumps(sources), "limit": limit}
        found = [Candidate(id, 1 - distance) for id, distance in db.rows(sql.SCAN_VEC, bound)]
    return found


def trouble(db: Connection) -> str | None:
    """Why the vector table cannot be searched; None if a query goes through."""
    dims = dims_of(db)
    if dims is None:
        return None
    try:
        db.rows(sql.PROBE_VEC, {"query": embedding.float32_blob([1.0] + [0.0] * (dims - 1))})
    except IndexUnavailable as error:
        return str(error)
    return None


def cosines(
    db: Connection, query: Vector, ids: Iterable[str], *, dtype: Precision
) -> dict[str, float]:
    """The similarity of those of the chunks that have a vector; `dtype` as for `scan_stored`."""
    query_blob = embedding.float32_blob(query)
    if not db.has_vectors:
        stored = db.rows(sql.EMBEDDINGS_AMONG, {"ids": json.dumps(list(ids))})
        scores = _scores([json.loads(text) for _, text in stored], query, dtype)
        return {id: score for (id, _), score in zip(stored, scores, strict=True)}
    dims = dims_of(db)
    if dims is None:
        return {}
    return {id: 1 - distance for id, distance in _distances(db, query_blob, ids, dims=dims).items()}


def norms_of(db: Connection, ids: Iterable[str], *, dims: int) -> dict[str, float]:
    """The lengths of stored vectors."""
    stored = _stored(db, ids, dims=dims)
    return {id: math.hypot(*embedding.float32_values(blob)) for id, blob in stored}


def _distances(db: Connection, query: bytes, ids: Iterable[str], *, dims: int) -> dict[str, float]:
    """The cosine distances of stored vectors, as sqlite-vec computes them."""
    return {
        id: db.value(sql.COSINE_DISTANCE, {"stored": blob, "query": query})
        for id, blob in _stored(db, ids, dims=dims)
    }


def _stored(db: Connection, ids: Iterable[str], *, dims: int) -> Iterator[tuple[str, bytes]]:
    """Vectors from vec0's own pages: a look-up walks through a thousand to get at one."""
    size = 4 * dims
    with db.snapshot():
        for page, members in _places(db, ids).items():
            offsets = [size * at for _, at in members]
            found = db.pieces("chunks_vec_vector_chunks00", "vectors", page, offsets, size=size)
            yield from zip((id for id, _ in members), found, strict=True)


def _places(db: Connection, ids: Iterable[str]) -> dict[int, list[tuple[str, int]]]:
    """Where vectors are kept: page -> the id of each that is in it, and its number there."""
    places: dict[int, list[tuple[str, int]]] = {}
    for id, page, at in db.rows(sql.VEC_PLACES, {"ids": json.dumps(list(ids))}):
        places.setdefault(page, []).append((id, at))
    return places


def scan_stored(
    db: Connection,
    query: Vector,
    *,
    model: str,
    sources: Sequence[str],
    limit: int,
    dtype: Precision,
) -> list[Candidate]:
    """Without the vector table: float64 as the reference does it, float32 as sqlite-vec would."""
    bound = {"model": model, "sources": json.dumps(sources), "limit": _ROWS_PER_SCAN, "after": -1}
    found: list[Candidate] = []
    while batch := db.rows(sql.EMBEDDINGS_OF_MODEL, bound):
        vectors = [json.loads(text) for _, _, text in batch]
        scores = _scores(vectors, query, dtype)
        found += [
            Candidate(id, score)
            for (_, id, _), score in zip(batch, scores, strict=True)
            if math.isfinite(score)
        ]
        found = sorted(found, key=lambda candidate: -candidate.raw)[:limit]
        bound["after"] = batch[-1][0]
    return found


def _by_knn(
    db: Connection, query: bytes, *, model: str, sources: Sequence[str], limit: int
) -> list[Candidate] | None:
    """KNN ranks by straight distance; None where that could differ from ranking by angle.

    For vectors of length one, distance² = 2 · (1 - cosine). So whatever lies outside the k
    nearest has a cosine distance of at least half the largest distance² among them, and once the
    last wanted candidate lies below that, no other chunk can belong to the list.
    """
    norm = math.hypot(*embedding.float32_values(query))
    if not embedding.has_unit_length(norm) or not db.has_table("ocmem_docs"):
        return None
    bound = {"query": query, "model": model, "sources": json.dumps(sources)}
    total, wanted, uneven = db.rows(sql.COUNT_DOCS, bound)[0]
    if uneven:
        return None
    statement = sql.KNN if wanted == total else sql.KNN_AMONG
    k = limit + _MARGIN
    while k <= _MOST_NEIGHBOURS:
        with db.snapshot():
            found = db.rows(statement, {**bound, "k": k})
            places = {id: place for id, _, place in found if place is not None}
            distances = _distances(db, query, places, dims=len(query) // 4)
        ranked = sorted((distances[id], place, id) for id, place in places.items())[:limit]
        is_all = len(found) < k
        reach = max((distance for _, distance, *_ in found), default=0.0) ** 2 / 2 - _SLACK
        if is_all or (len(ranked) == limit and ranked[-1][0] < reach):
            return [Candidate(id, 1 - distance) for distance, _, id in ranked]
        k *= 4
    return None


def _scores(vectors: list[Vector], query: Vector, dtype: Precision) -> list[float]:
    """Cosines, summed in index order so that every rounding is the reference's."""
    scores = [0.0] * len(vectors)
    sizes = [min(len(query), len(vector)) for vector in vectors]
    for dims in set(sizes):  # one, unless the model changed behind its URL
        places = [at for at, size in enumerate(sizes) if size == dims]
        some = _scores_of_size([vectors[at][:dims] for at in places], query[:dims], dtype)
        for at, score in zip(places, some, strict=True):
            scores[at] = score
    return scores


def _scores_of_size(vectors: list[Vector], query: Vector, dtype: Precision) -> list[float]:
    import numpy as np

    matrix = np.array(vectors, dtype=dtype)
    wanted = np.array(query, dtype=dtype)
    dot, length = np.zeros((2, len(vectors)), dtype=dtype)
    query_length = wanted.dtype.type(0)
    for column, weight in zip(matrix.T, wanted, strict=True):
        dot += column * weight
        length += column * column
        query_length += weight * weight
    norms = np.sqrt(length.astype("float64")) * math.sqrt(query_length)
    with np.errstate(divide="ignore", invalid="ignore"):
        cosine = np.where(norms > 0, dot.astype("float64") / norms, 0.0)
    if dtype == "float32":
        cosine = 1 - (1 - cosine).astype("float32").astype("float64")
    return [float(score) for score in cosine]
