"""The same files, settings and vectors give the rows and the answers that OpenClaw gave."""

import gzip
import hashlib
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import apsw
import pytest

from ocmem.backends.builtin import BuiltinBackend
from ocmem.core import embedding, sql
from ocmem.core.search import Wanted
from ocmem.core.store import Connection, open_existing, vectors
from ocmem.model import Candidate, Hit
from ocmem.settings import Overrides, Settings, resolve
from tests.golden.cases import CASES, Case, Json, Variant
from tests.golden.rule import RuleEmbedder

NOW_MS = 1_772_366_400_000.0  # 2026-03-01T12:00:00Z
MTIME_NS = 1_772_280_000_123_456_789  # a fraction of a millisecond is kept, too
SCORE_DIGITS = 9
TEXT_HEAD = 60  # what the expected rows keep of a text beside its hash

Result = tuple[float, str, int, int, str, str]
T = TypeVar("T")


@dataclass(slots=True)
class World:
    """One case on disk: its files, its config, and an embedder that counts."""

    case: Case
    root: Path
    embedder: RuleEmbedder = field(init=False)

    def __post_init__(self) -> None:
        self.embedder = RuleEmbedder(is_unit=self.case.name == "unit_vectors")

    @property
    def state(self) -> Path:
        return self.root / "state"

    def write(self) -> None:
        self.case.write(self.root)
        sessions = self.root / "sessions"
        if sessions.exists():
            shutil.copytree(sessions, self.state / "agents" / "main" / "sessions")
        for file in self.root.rglob("*"):
            os.utime(file, ns=(MTIME_NS, MTIME_NS))

    def settings(self, variant: Variant | None = None) -> Settings:
        """The settings of one variant; the index stays the one that is there."""
        workspace = str(self.root / "workspace")
        memory_search = self.case.settings(self.root, variant)
        config = {"agents": {"defaults": {"workspace": workspace, "memorySearch": memory_search}}}
        file = self.root / "openclaw.json"
        file.write_text(json.dumps(config), encoding="utf-8")
        env = {"HOME": str(self.root), "OCMEM_CONFIG": str(self.root / "absent.json5")}
        return resolve(Overrides(state_dir=str(self.state), config=str(file)), env=env)

    def backend(self, variant: Variant | None = None) -> BuiltinBackend:
        return BuiltinBackend(self.settings(variant), embedder=self.embedder)

    def search(self, query: str, variant: Variant) -> list[Hit]:
        backend = self.backend(variant)
        configured = backend.settings.search.query
        wanted = Wanted(
            query=query,
            max_results=_given(variant.max_results, configured.max_results),
            min_score=_given(variant.min_score, configured.min_score),
            fused_min_score=None,
            ranker="openclaw",
            strict=True,
            half_life_days=configured.half_life_days if configured.decay else None,
            mmr_lambda=configured.mmr_lambda if configured.mmr else None,
            sources=backend.settings.search.sources,
            snippet=None,
            now_ms=NOW_MS,
        )
        return backend.search(wanted, sync=False).hits

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        db = apsw.Connection(str(self.settings().index_path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return db.execute(statement).fetchall()
        finally:
            db.close()


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


each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@each_case
def test_the_rows_are_those_that_openclaw_wrote(
    case: Case, world_of: Callable[[Case], World]
) -> None:
    world = world_of(case)
    expected = _expected(case)

    chunks = _chunks(world)
    typed = {"chunks_fts": ("start_line", "end_line"), "files": ("mtime",)}
    types = {
        (table, column): {kind for (kind,) in world.rows(f"SELECT typeof({column}) FROM {table}")}
        for table, columns in typed.items()
        for column in columns
    }

    assert world.settings().index_path == world.state / "memory" / "main.sqlite"
    assert _schema(world) == _columns_of(expected["schema"])
    assert _meta(world) == expected["meta"]
    assert _meta_keys(world) == [list(row) for row in expected["meta"].values()]
    assert _files(world) == _by_key(expected["files"], "source", "path")
    assert chunks == _by_key(expected["chunks"], "id")
    assert _cache(world) == _by_key(expected["cache"], "hash")
    [(fts_rows,)] = world.rows("SELECT count(*) FROM chunks_fts")
    assert fts_rows == len(chunks) <= expected["fts_rows"]
    assert types["chunks_fts", "start_line"] == types["chunks_fts", "end_line"] == {"real"}
    assert types["files", "mtime"] == {"real"}


@each_case
def test_a_second_run_changes_and_embeds_nothing(
    case: Case, world_of: Callable[[Case], World]
) -> None:
    world = world_of(case)
    before = world.embedder.documents

    report = world.backend().index(force=False, wait_s=0)

    assert (report.full, report.changed, report.removed, report.embedded) == (False, 0, 0, 0)
    assert report.scanned == len(_expected(case)["files"])
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
    case: Case, name: str, query: str, world_of: Callable[[Case], World]
) -> None:
    world = world_of(case)
    expected = [_wire(row) for row in _expected(case)["search"][name]["results"][query]]

    found = [_result(hit) for hit in world.search(query, case.variants[name])]

    assert [result[0] for result in found] == pytest.approx(
        [result[0] for result in expected], rel=0, abs=1e-9
    )
    is_cut = len(expected) == _given(case.variants[name].max_results, 6)
    ours, theirs = list(_ties(found)), list(_ties(expected))
    if is_cut:  # the cut may go through a tie, and then either side of it is right
        ours, theirs = ours[:-1], theirs[:-1]
    assert ours == theirs


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
    limit = min(200, _given(variant.max_results, 6) * 4)

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


def _expected(case: Case) -> Json:
    folder = Path(__file__).parent / "openclaw"
    plain = folder / f"{case.name}.json"
    data = plain.read_bytes() if plain.exists() else gzip.decompress(_packed(plain).read_bytes())
    loaded: Json = json.loads(data)
    return loaded


def _packed(plain: Path) -> Path:
    return plain.with_suffix(".json.gz")


def _given(chosen: T | None, default: T) -> T:
    return default if chosen is None else chosen


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


def _ties(results: Sequence[Result]) -> Iterator[list[tuple[object, ...]]]:
    """Runs of equal scores, each sorted: their order within is nobody's promise."""
    for _, run in itertools.groupby(results, key=lambda result: round(result[0], SCORE_DIGITS)):
        yield sorted(result[1:] for result in run)
