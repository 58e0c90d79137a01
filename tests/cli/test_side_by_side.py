"""Many programs on one index at the same time, ocmem's own and another."""

import random
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

import pytest

from ocmem.core.store import Connection
from tests.cli.program import Outcome, Program
from tests.fake_provider import FakeProvider

Rows = dict[str, list[tuple[Any, ...]]]

FILES: Final = 8
AT_ONCE: Final = 6
QUERY: Final = "heron"
PATIENCE_S: Final = 20.0
SEARCH: Final = ["search", QUERY, "--json"]
READ_ONLY: Final = [*SEARCH, "--no-sync", "--ranker", "openclaw", "--strict", "--min-score", "-9"]
OUR_TABLES: Final = ("ocmem_files", "ocmem_docs", "ocmem_fts")

# Every table with all that a search reads of it. The last one is where SQLite keeps the number
# of words of each row of `ocmem_fts`, whose text cannot be read back.
TABLES: Final = {
    "files": "SELECT path, source, hash FROM files",
    "chunks": """SELECT id, path, source, start_line, end_line, hash, model, text, embedding
                   FROM chunks""",
    "chunks_fts": "SELECT id, path, source, start_line, end_line, model, text FROM chunks_fts",
    "chunks_vec": "SELECT id, embedding FROM chunks_vec",
    "ocmem_docs": "SELECT id, model, source, unit_length FROM ocmem_docs",
    "ocmem_fts": """SELECT d.id, s.sz FROM ocmem_fts_docsize s
                      LEFT JOIN ocmem_docs d ON d.rowid = s.id""",
}


@pytest.fixture(params=["openai", "builtin"])
def provider(request: pytest.FixtureRequest, fake: FakeProvider) -> Callable[[Program], Path]:
    """Configures a program, and says where its index will be."""

    def configure(ocmem: Program) -> Path:
        if request.param == "openai":
            return configured(ocmem, fake)
        ocmem.configure_own(provider="builtin")
        return ocmem.own_index

    return configure


def configured(ocmem: Program, fake: FakeProvider) -> Path:
    ocmem.use(fake)
    return ocmem.shared_index


def text_of(number: int, version: object) -> str:
    """A note of three chunks or so; the word that is searched for is in all of them."""
    lines = [f"{QUERY} {number} {version} {line} " + "words of a note " * 5 for line in range(45)]
    return "\n".join(lines)


def name_of(number: int) -> str:
    return f"memory/{number:02}.md"


def write_all(ocmem: Program, version: object) -> None:
    for number in range(FILES):
        ocmem.note(name_of(number), text_of(number, version))


def at_the_same_time(
    ocmem: Program, commands: Sequence[list[str]], meanwhile: Callable[[], object]
) -> list[Outcome]:
    """Run the commands, some at once, and do `meanwhile` again and again until all have ended."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = [pool.submit(ocmem, *command) for command in commands]
        while wait(runs, timeout=0.01).not_done:
            meanwhile()
    return [run.result() for run in runs]


def contents(index: Path) -> Rows:
    with Connection(index, "read") as db:
        db.load_vectors(None)
        assert db.rows("PRAGMA integrity_check") == [("ok",)]
        return {table: sorted(db.rows(query)) for table, query in TABLES.items()}


def assert_all_went_well(runs: Sequence[Outcome]) -> None:
    for run in runs:
        assert (run.code, "Traceback" in run.err, "locked" in run.err) == (0, False, False), run


def assert_as_fresh(index: Path, ocmem: Program, configure: Callable[[Program], Path]) -> None:
    """The index is whole, has no row twice, and is what a first run over the notes would make."""
    fresh = Program(ocmem.home / "fresh")
    shutil.copytree(ocmem.workspace, fresh.workspace)
    fresh_index = configure(fresh)
    fresh.index()

    found = contents(index)
    for table, rows in found.items():
        keys = [row[0] for row in rows]
        assert len(keys) == len(set(keys)), f"{table} has rows twice"
    assert found == contents(fresh_index)


# ocmem beside ocmem


def test_indexers_and_searches_at_once_leave_an_index_like_a_fresh_one(
    ocmem: Program, provider: Callable[[Program], Path]
) -> None:
    index = provider(ocmem)
    write_all(ocmem, "first")
    ocmem.index()
    chance = random.Random(7)

    def edit() -> None:
        note = ocmem.workspace / name_of(chance.randrange(1, FILES))
        if note.exists() and chance.random() < 0.2:
            note.unlink()
        else:
            note.write_text(text_of(chance.randrange(FILES), chance.getrandbits(32)))

    commands = [["index"], SEARCH, ["index", "--force"], SEARCH, [*SEARCH, "--no-sync"], SEARCH] * 2
    runs = at_the_same_time(ocmem, commands, meanwhile=edit)
    last = ocmem("index")

    assert_all_went_well([*runs, last])
    assert all(r.results for r, args in zip(runs, commands, strict=True) if args[0] == "search")
    assert_as_fresh(index, ocmem, provider)


def test_first_searches_at_once_build_one_index(
    ocmem: Program, provider: Callable[[Program], Path], fake: FakeProvider
) -> None:
    index = provider(ocmem)
    write_all(ocmem, "first")

    runs = at_the_same_time(ocmem, [SEARCH] * AT_ONCE, meanwhile=lambda: None)

    assert_all_went_well(runs)
    assert all(run.results for run in runs)
    documents = [text for text in fake.texts() if text != QUERY]
    assert len(documents) == len(set(documents)), "something was paid for twice"
    assert_as_fresh(index, ocmem, provider)


# Another program beside ocmem


class OpenClaw:
    """Writes an index as OpenClaw does: no transaction, no waiting for locks, two renames.

    Its rows come from indexes that were made before, one a version of the notes. It runs here
    without its vector extension, as OpenClaw does where that fails to load, so `chunks_vec` is
    not kept in step.
    """

    def __init__(self, index: Path) -> None:
        self.index = index

    def connect(self) -> closing[sqlite3.Connection]:
        return closing(sqlite3.connect(self.index, timeout=0, isolation_level=None))

    def rewrite(self, path: str, version: Path) -> None:
        """Replace the rows of one file."""
        with closing(sqlite3.connect(version)) as db:
            chunks = db.execute("SELECT * FROM chunks WHERE path = ?", [path]).fetchall()
            words = db.execute("SELECT * FROM chunks_fts WHERE path = ?", [path]).fetchall()
            (file,) = db.execute("SELECT * FROM files WHERE path = ?", [path])
        with self.connect() as db:
            insist(db, "DELETE FROM chunks_fts WHERE path = ?", [path])
            insist(db, "DELETE FROM chunks WHERE path = ?", [path])
            for chunk, row in zip(chunks, words, strict=True):
                insist(db, f"INSERT OR REPLACE INTO chunks VALUES ({places(chunk)})", chunk)
                insist(db, f"INSERT INTO chunks_fts VALUES ({places(row)})", row)
            insist(db, f"INSERT OR REPLACE INTO files VALUES ({places(file)})", file)

    def rebuild(self, version: Path) -> None:
        """Swap another file in. For a moment there is none."""
        mark = uuid.uuid4()
        temporary = self.index.with_name(f"{self.index.name}.tmp-{mark}")
        backup = self.index.with_name(f"{self.index.name}.backup-{mark}")
        shutil.copyfile(version, temporary)
        self.index.rename(backup)
        temporary.rename(self.index)
        backup.unlink()


def insist(db: sqlite3.Connection, statement: str, values: Sequence[object]) -> None:
    """Where OpenClaw would give up and repeat its whole run later, try again."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            db.execute(statement, values)
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.001)


def journal_of(index: Path) -> Path:
    return index.with_name(f"{index.name}-journal")


def places(row: Sequence[object]) -> str:
    return ", ".join("?" * len(row))


def prepared(ocmem: Program, configure: Callable[[Program], Path], version: str) -> Path:
    """An index of that version of the notes, without any table of ocmem's own."""
    home = Program(ocmem.home / version)
    write_all(home, version)
    index = configure(home)
    home.index()
    with Connection(index, "write") as db:
        for table in OUR_TABLES:
            db.run(f"DROP TABLE {table}")
    return index


def test_searches_beside_a_program_that_rewrites_rows_find_and_mend(
    ocmem: Program, provider: Callable[[Program], Path]
) -> None:
    index = provider(ocmem)
    versions = {name: prepared(ocmem, provider, name) for name in ("one", "two")}
    write_all(ocmem, "one")
    ocmem.index()
    other = OpenClaw(index)
    chance = random.Random(7)

    def rewrite() -> None:
        number, version = chance.randrange(FILES), chance.choice(list(versions))
        ocmem.note(name_of(number), text_of(number, version))
        other.rewrite(name_of(number), versions[version])

    runs = at_the_same_time(ocmem, [SEARCH, [*SEARCH, "--no-sync"]] * 5, meanwhile=rewrite)
    # Without a transaction, what the other program wrote last may be a mix of two versions.
    write_all(ocmem, "last")
    last = ocmem("index")

    assert_all_went_well([*runs, last])
    assert all(run.results for run in runs)
    assert_as_fresh(index, ocmem, provider)


def test_searches_beside_a_program_that_swaps_the_file_find_and_do_not_disturb(
    ocmem: Program, provider: Callable[[Program], Path]
) -> None:
    index = provider(ocmem)
    versions = {name: prepared(ocmem, provider, name) for name in ("one", "two")}
    write_all(ocmem, "one")
    ocmem.index()
    other = OpenClaw(index)
    chance = random.Random(7)

    def swap_and_rewrite() -> None:
        number, version = chance.randrange(FILES), chance.choice(list(versions))
        write_all(ocmem, version)
        other.rebuild(versions[version])
        ocmem.note(name_of(number), text_of(number, "two"))
        other.rewrite(name_of(number), versions["two"])

    runs = at_the_same_time(ocmem, [READ_ONLY] * 12, meanwhile=swap_and_rewrite)
    last = ocmem("index")

    assert_all_went_well([*runs, last])
    assert all(run.results for run in runs)
    assert_as_fresh(index, ocmem, provider)


def test_a_search_overtaken_by_a_swap_leaves_the_new_files_journal_alone(ocmem: Program) -> None:
    is_asked, may_answer = threading.Event(), threading.Event()

    def hold_the_query(text: str) -> None:
        if text == QUERY:
            is_asked.set()
            may_answer.wait(PATIENCE_S)

    with FakeProvider(dims=16, vector=hold_the_query) as fake:
        two = prepared(ocmem, lambda home: configured(home, fake), "two")
        write_all(ocmem, "one")
        ocmem.use(fake)
        ocmem.index()
        other = OpenClaw(ocmem.shared_index)

        with ocmem.start(*READ_ONLY) as search:
            assert is_asked.wait(PATIENCE_S)
            other.rebuild(two)
            with other.connect() as db:
                db.execute("PRAGMA cache_size = 1")  # so that pages reach the file right away
                db.execute("BEGIN")
                db.execute("UPDATE chunks SET updated_at = 1")
                assert journal_of(ocmem.shared_index).exists()
                may_answer.set()
                with suppress(subprocess.TimeoutExpired):  # it may have to wait for us
                    search.wait(timeout=0.5)
                db.execute("COMMIT")
            out, err = search.communicate(timeout=PATIENCE_S)

    overtaken = Outcome(search.returncode, out.decode(), err.decode())
    assert_all_went_well([overtaken])
    assert overtaken.results
    assert fake.texts().count(QUERY) == 1


@pytest.mark.parametrize("args", [["status"], SEARCH, [*SEARCH, "--no-sync"], ["index"]])
def test_a_journal_of_a_killed_program_stands_in_nobodys_way(
    ocmem: Program, args: list[str]
) -> None:
    ocmem.configure_own(provider="builtin")
    write_all(ocmem, "one")
    ocmem.index()
    before = contents(ocmem.own_index)
    die = f"""if True:
        import os, signal, sqlite3
        db = sqlite3.connect({str(ocmem.own_index)!r}, isolation_level=None)
        db.execute("PRAGMA cache_size = 1")  # so that pages reach the file before the end
        db.execute("BEGIN")
        db.execute("DELETE FROM chunks")
        os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", die], check=False)
    assert journal_of(ocmem.own_index).exists()

    done = ocmem(*args)

    assert done.code == 0, done.err
    assert "not brought up to date" not in done.err
    assert contents(ocmem.own_index) == before


def test_keyword_rows_that_another_program_left_twice_are_mended(ocmem: Program) -> None:
    ocmem.configure_own(provider="builtin")
    write_all(ocmem, "one")
    ocmem.index()
    before = contents(ocmem.own_index)
    with OpenClaw(ocmem.own_index).connect() as db:
        db.execute("INSERT INTO chunks_fts SELECT * FROM chunks_fts WHERE path = ?", [name_of(3)])

    ocmem.index()

    assert contents(ocmem.own_index) == before
