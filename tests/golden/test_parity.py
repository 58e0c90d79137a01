"""The same files, settings and vectors give the rows and the answers that OpenClaw gave."""

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ocmem.core import embedding, sql
from ocmem.core.ranker import Ranked
from ocmem.core.search import Searcher
from ocmem.core.store import Connection, open_existing, vectors
from ocmem.model import Candidate, Hit
from tests.golden.cases import CASES, Case, Json, expected_of
from tests.golden.world import World, given

SCORE_DIGITS = 9
TEXT_HEAD = 60  # what the expected rows keep of a text beside its hash

# What the reference's rows have, by `typeof`.
STORAGE = {
    "files": {
        "path": "text",
        "source": "text",
        "hash": "text",
        "mtime": "real",
        "size": "integer",
    },
    "chunks": {
        "id": "text",
        "path": "text",
        "source": "text",
        "start_line": "integer",
        "end_line": "integer",
        "hash": "text",
        "model": "text",
        "text": "text",
        "embedding": "text",
        "updated_at": "integer",
    },
    "embedding_cache": {
        "provider": "text",
        "model": "text",
        "provider_key": "text",
        "hash": "text",
        "embedding": "text",
        "dims": "integer",
        "updated_at": "integer",
    },
    "chunks_fts": {"text": "text", "id": "text", "start_line": "real", "end_line": "real"},
}

Result = tuple[float, str, int, int, str, str]


@pytest.fixture(scope="session")
def world_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Case], World]:
    """Every case, written and indexed once."""
    worlds: dict[str, World] = {}

    def indexed(case: Case) -> World:
        if case.name not in worlds:
            world = World(case, tmp_path_factory.mktemp(case.name))
            world.write()
            world.backend().index(force=True, wait_s=0)
            worlds[case.name] = world
        return worlds[case.name]

    return indexed


@pytest.fixture
def knn_calls(monkeypatch: pytest.MonkeyPatch) -> list[list[Candidate] | None]:
    """What the nearest-neighbour search gave each time; None means that it declined."""
    calls: list[list[Candidate] | None] = []
    real = vectors._by_knn

    def spy(
        db: Connection, query: bytes, *, model: str, sources: Sequence[str], limit: int
    ) -> list[Candidate] | None:
        calls.append(real(db, query, model=model, sources=sources, limit=limit))
        return calls[-1]

    monkeypatch.setattr(vectors, "_by_knn", spy)
    return calls


@pytest.fixture
def uncut(monkeypatch: pytest.MonkeyPatch) -> list[Result]:
    """All that a search ranked, before its list was cut."""
    results: list[Result] = []
    cut = Searcher._cut

    def spy(self: Searcher, ranked: list[Ranked], floor: float | None) -> list[Hit]:
        self._load(each.id for each in ranked)
        results.extend(_result(self._hit(each)) for each in ranked)
        return cut(self, ranked, floor)

    monkeypatch.setattr(Searcher, "_cut", spy)
    return results


each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@each_case
def test_the_rows_are_those_that_openclaw_wrote(
    case: Case, world_of: Callable[[Case], World]
) -> None:
    world = world_of(case)
    expected = expected_of(case)

    chunks = _chunks(world)

    assert world.settings().index_path == world.state / "memory" / "main.sqlite"
    assert _schema(world) == _columns_of(expected["schema"])
    assert _meta(world) == expected["meta"]
    assert _meta_keys(world) == [list(row) for row in expected["meta"].values()]
    assert _files(world) == _by_key(expected["files"], "source", "path")
    assert chunks == _by_key(expected["chunks"], "id")
    assert _cache(world) == _by_key(expected["cache"], "hash")
    [(fts_rows,)] = world.rows("SELECT count(*) FROM chunks_fts")
    assert fts_rows == len(chunks) <= expected["fts_rows"]


@each_case
@pytest.mark.parametrize("table", STORAGE)
def test_every_value_is_stored_in_the_type_that_openclaw_stores(
    case: Case, table: str, world_of: Callable[[Case], World]
) -> None:
    kinds = STORAGE[table]
    columns = ", ".join(f"typeof({name})" for name in kinds)

    stored = set(world_of(case).rows(f"SELECT {columns} FROM {table}"))

    assert stored == {tuple(kinds.values())}


@each_case
def test_a_second_run_changes_and_embeds_nothing(
    case: Case, world_of: Callable[[Case], World]
) -> None:
    world = world_of(case)
    before = world.embedder.documents

    report = world.backend().index(force=False, wait_s=0)

    assert (report.full, report.changed, report.removed, report.embedded) == (False, 0, 0, 0)
    assert report.scanned == len(expected_of(case)["files"])
    assert world.embedder.documents == before


@each_case
def test_a_rebuild_gives_the_same_rows_and_embeds_nothing(
    case: Case, world_of: Callable[[Case], World], tmp_path: Path
) -> None:
    first = world_of(case)
    # A folder of its own, so that the other tests keep the index that they look at.
    again = World(case, tmp_path / case.name)
    again.write()
    again.backend().index(force=True, wait_s=0)
    before = again.embedder.documents

    report = again.backend().index(force=True, wait_s=0)

    assert report.full
    assert (report.embedded, again.embedder.documents) == (0, before)
    for rows in (_schema, _meta, _files, _chunks, _cache, _vectors):
        assert rows(again) == rows(first)


@pytest.mark.parametrize(
    ("case", "name", "query"),
    [
        pytest.param(case, name, query, id=f"{case.name}-{name}-{at}")
        for case in CASES
        for name in case.variants
        for at, query in enumerate(case.queries)
    ],
)
def test_a_search_finds_what_openclaw_found(
    case: Case, name: str, query: str, world_of: Callable[[Case], World], uncut: list[Result]
) -> None:
    world = world_of(case)
    expected = [_wire(row) for row in expected_of(case)["search"][name]["results"][query]]

    found = [_result(hit) for hit in world.search(query, case.variants[name])]

    assert [result[0] for result in found] == pytest.approx(
        [result[0] for result in expected], rel=0, abs=1e-9
    )
    ours, theirs = list(_ties(found)), list(_ties(expected))
    assert ours[:-1] == theirs[:-1]
    if expected:
        last = expected[-1][0]
        equals = sorted(result[1:] for result in uncut if _is_tie(result[0], last))
        # The cut may go through a tie, and then either side of it is right.
        is_cut_through = len(equals) > len(theirs[-1])
        assert ours[-1] == theirs[-1] or (is_cut_through and _is_among(theirs[-1], equals))


@pytest.mark.parametrize("name", ["default", "wide"])
def test_vectors_of_length_one_are_found_by_knn_with_the_answers_of_a_scan(
    name: str,
    world_of: Callable[[Case], World],
    knn_calls: list[list[Candidate] | None],
) -> None:
    case = next(case for case in CASES if case.name == "unit_vectors")
    world = world_of(case)
    variant = case.variants[name]
    settings = world.settings(variant)
    limit = min(200, given(variant.max_results, 6) * 4)

    for query in case.queries:
        world.search(query, variant)
        by_knn = knn_calls.pop()

        assert by_knn is not None
        db = open_existing(settings.index_path)
        assert db is not None
        with db:
            db.load_vectors(None)
            vector = world.embedder.embed_query(query, timeout_s=1)
            bound = {
                "query": embedding.float32_blob(vector),
                "model": settings.provider.model,
                "sources": json.dumps(settings.search.sources),
                "limit": limit,
            }
            scanned = [Candidate(id, 1 - far) for id, far in db.rows(sql.SCAN_VEC, bound)]
        assert len(by_knn) == limit
        assert [c.raw for c in by_knn] == [c.raw for c in scanned]
        above = scanned[-1].raw
        assert {c.id for c in by_knn if c.raw > above} == {c.id for c in scanned if c.raw > above}


def test_vectors_of_other_lengths_are_never_left_to_knn(
    world_of: Callable[[Case], World], knn_calls: list[list[Candidate] | None]
) -> None:
    case = next(case for case in CASES if case.name == "basic")

    world_of(case).search("gateway host", case.variants["default"])

    assert knn_calls == [None]


# --- what is compared ---------------------------------------------------------------------------


def _by_key(rows: Sequence[Json], *names: str) -> dict[tuple[Any, ...], Json]:
    found = {tuple(row[name] for name in names): row for row in rows}
    assert len(found) == len(rows)
    return found


def _records(world: World, statement: str, columns: str) -> list[Json]:
    names = columns.split()
    return [
        dict(zip(names, row, strict=True)) for row in world.rows(statement.format(", ".join(names)))
    ]


def _files(world: World) -> dict[tuple[Any, ...], Json]:
    columns = "path source hash size"
    return _by_key(_records(world, "SELECT {} FROM files", columns), "source", "path")


def _chunks(world: World) -> dict[tuple[Any, ...], Json]:
    columns = "id path source start_line end_line hash model text embedding"
    rows = _records(world, "SELECT {} FROM chunks", columns)
    for row in rows:
        vector = json.loads(row.pop("embedding"))
        row["text_sha256"] = hashlib.sha256(row["text"].encode()).hexdigest()
        row["text"] = row["text"][:TEXT_HEAD]
        row["dims"] = len(vector)
        row["embedding_head"] = vector[:4]
    return _by_key(rows, "id")


def _cache(world: World) -> dict[tuple[Any, ...], Json]:
    columns = "provider model provider_key hash dims"
    return _by_key(_records(world, "SELECT {} FROM embedding_cache", columns), "hash")


def _vectors(world: World) -> dict[str, str]:
    return dict(world.rows("SELECT id, embedding FROM chunks"))


def _meta(world: World) -> Json:
    return {key: json.loads(value) for key, value in world.rows("SELECT key, value FROM meta")}


def _meta_keys(world: World) -> list[list[str]]:
    return [list(row) for row in _meta(world).values()]


def _schema(world: World) -> dict[str, str]:
    """Tables and indexes with their columns, without the insides of the virtual ones."""
    ignored = ("chunks_fts_*", "chunks_vec_*", "ocmem_*")
    clauses = " ".join(f"AND name NOT GLOB '{pattern}'" for pattern in ignored)
    statement = f"SELECT sql FROM sqlite_master WHERE sql IS NOT NULL {clauses}"
    return _columns_of([text for (text,) in world.rows(statement)])


def _columns_of(statements: Sequence[str]) -> dict[str, str]:
    """Name -> everything after it, spaces aside: tables with their columns, and indexes."""
    found = {}
    for statement in statements:
        words = statement.replace("IF NOT EXISTS ", "").replace("(", " ( ").split()
        at = words.index("TABLE" if "TABLE" in words[:3] else "INDEX") + 1
        found[words[at]] = "".join(words[at + 1 :])
    return found


# --- results ------------------------------------------------------------------------------------


def _result(hit: Hit) -> Result:
    chunk = hit.chunk
    return (
        hit.score,
        chunk.path,
        chunk.start_line,
        chunk.end_line,
        chunk.source,
        hit.snippet.text,
    )


def _wire(row: Json) -> Result:
    names = ("score", "path", "startLine", "endLine", "source", "snippet")
    score, path, start, end, source, snippet = (row[name] for name in names)
    return score, path, start, end, source, snippet


def _is_tie(one: float, other: float) -> bool:
    return round(one, SCORE_DIGITS) == round(other, SCORE_DIGITS)


def _is_among(some: Sequence[tuple[object, ...]], all: Sequence[tuple[object, ...]]) -> bool:
    """Whether the one list is a part of the other, each item as often as it is there."""
    return not Counter(some) - Counter(all)


def _ties(results: Sequence[Result]) -> Iterator[list[tuple[object, ...]]]:
    """Runs of equal scores, each sorted: their order within is nobody's promise."""
    for _, run in itertools.groupby(results, key=lambda result: round(result[0], SCORE_DIGITS)):
        yield sorted(result[1:] for result in run)
