"""An index file that is damaged, foreign, in the way or out of reach."""

import os
import random
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.both_ways import both_ways
from tests.cli.program import Program, digest, indexed
from tests.fake_provider import FOREVER, FakeProvider

PAGE = 4096
REBUILD = "hint: ocmem index --force builds it anew and keeps the broken file aside"


@pytest.fixture
def filled(ocmem: Program) -> Program:
    """A program with a few notes, indexed."""
    for number in range(12):
        ocmem.note(f"memory/{number:02}.md", f"The heron stood on pier {number}.\n" * 30)
    ocmem.index()
    return ocmem


def asides(index: Path) -> list[Path]:
    return sorted(index.parent.glob(f"{index.name}.broken-*"))


def left_over(index: Path) -> set[str]:
    """What lies beside an index, its lock file apart."""
    return {path.name for path in index.parent.iterdir()} - {index.name, f"{index.name}.lock"}


# Damaged


def rubbish(data: bytes) -> bytes:
    return random.Random(1).randbytes(len(data))


def first_page_only(data: bytes) -> bytes:
    return data[:PAGE] + rubbish(data[PAGE:])


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def fifty_bytes(data: bytes) -> bytes:
    return data[:50]


@pytest.mark.parametrize("damage", [rubbish, first_page_only, half, fifty_bytes])
def test_a_damaged_index_is_told_on_stderr_and_force_repairs_it(
    filled: Program, damage: Callable[[bytes], bytes]
) -> None:
    broken = damage(filled.own_index.read_bytes())
    filled.own_index.write_bytes(broken)

    for args in (["search", "heron"], ["search", "heron", "--no-sync"], ["status"], ["index"]):
        text, _ = both_ways(filled, *args)

        assert (text.code, text.out) == (1, "")
        assert REBUILD in text.err
        assert str(filled.own_index) in text.err
    assert filled.own_index.read_bytes() == broken

    forced = filled("index", "--force")

    (aside,) = asides(filled.own_index)
    assert forced.code == 0
    assert f"the old file was kept aside as ~/.openclaw/memory/{aside.name}" in forced.err
    assert aside.read_bytes() == broken
    assert filled("search", "heron", "--json").results
    assert len(indexed(filled.own_index)) == 12


def spoil(index: Path, table: str) -> None:
    """Overwrite the first page of a table."""
    with closing(sqlite3.connect(index)) as db:
        found = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [table])
        (page,) = found.fetchone()
    data = bytearray(index.read_bytes())
    data[(page - 1) * PAGE : page * PAGE] = random.Random(2).randbytes(PAGE)
    index.write_bytes(data)


@pytest.mark.parametrize(
    "table",
    [
        "meta",
        "files",
        "chunks",
        "embedding_cache",
        "chunks_fts_data",
        "chunks_vec_chunks",
        "chunks_vec_rowids",
        "chunks_vec_vector_chunks00",
        "ocmem_files",
        "ocmem_docs",
        "ocmem_fts_data",
    ],
)
def test_damage_to_any_table_is_repaired_by_force(filled: Program, table: str) -> None:
    spoil(filled.own_index, table)

    before, _ = both_ways(filled, "search", "heron")
    status, _ = both_ways(filled, "status")
    forced = filled("index", "--force")
    _, after = both_ways(filled, "search", "heron")

    for done in (before, status):
        assert done.code == 0 or REBUILD in done.err
    assert forced.code == 0, forced.err
    assert (after.code, len(after.results)) == (0, 6)
    assert filled("index").err.startswith("checked 12 files: 0 changed")


def test_a_repair_that_fails_leaves_the_damaged_index_in_its_place(
    ocmem: Program, fake: FakeProvider
) -> None:
    ocmem.note("memory/a.md", "The heron stood.\n")
    ocmem.use(fake)
    ocmem.index()
    before = digest(ocmem.shared_index)
    spoil(ocmem.shared_index, "embedding_cache")
    fake.add_fault("status", code=401, body="no", times=FOREVER)

    forced = ocmem("index", "--force")
    found = ocmem("search", "heron", "--json")

    assert (forced.code, "401" in forced.err) == (1, True)
    assert digest(ocmem.shared_index) == before
    assert left_over(ocmem.shared_index) == set()
    assert (found.code, found.paths) == (0, ["memory/a.md"])


def test_an_index_with_other_columns_is_damaged(filled: Program) -> None:
    with closing(sqlite3.connect(filled.own_index)) as db, db:
        db.execute("DROP TABLE chunks")
        db.execute("CREATE TABLE chunks (x)")

    search, _ = both_ways(filled, "search", "heron")
    forced = filled("index", "--force")

    assert (search.code, search.out) == (1, "")
    assert "no such column" in search.err
    assert REBUILD in search.err
    assert (forced.code, filled("search", "heron").code) == (0, 0)


def test_an_empty_file_is_no_index_yet(filled: Program) -> None:
    filled.own_index.write_bytes(b"")

    search, found = both_ways(filled, "search", "heron")

    assert (search.code, search.err, len(found.results)) == (0, "", 6)


def test_one_damaged_index_does_not_hide_the_others(ocmem: Program) -> None:
    ocmem.state.mkdir()
    ocmem.config.write_text('{"agents": {"list": [{"id": "main"}, {"id": "other"}]}}')
    ocmem("index")
    ocmem.own_index.write_bytes(b"rubbish" * 1000)

    text, as_json = both_ways(ocmem, "status")
    index, _ = both_ways(ocmem, "index")

    assert (text.code, index.code) == (1, 1)
    assert "Memory Search (other)\n" in text.out
    assert "Memory index updated (other).\n" in index.out
    assert {entry["agentId"]: "error" in entry for entry in as_json.json} == {
        "other": False,
        "main": True,
    }


# In the way


def test_a_database_of_another_program_is_left_alone(filled: Program) -> None:
    filled.own_index.unlink()
    with closing(sqlite3.connect(filled.own_index)) as db, db:
        db.execute("CREATE TABLE letters (text)")
        db.execute("INSERT INTO letters VALUES ('Dear Anna')")
    before = filled.own_index.read_bytes()

    for args in (["search", "heron"], ["search", "heron", "--no-sync"], ["status"], ["index"]):
        text, _ = both_ways(filled, *args)

        assert (text.code, text.out) == (1, "")
        assert f"{filled.own_index} is a database of some other program" in text.err
        assert "hint: ocmem index --force moves it aside" in text.err
    assert filled.own_index.read_bytes() == before

    forced = filled("index", "--force")

    (aside,) = asides(filled.own_index)
    assert (forced.code, aside.read_bytes()) == (0, before)
    assert filled("search", "heron", "--json").results


def test_a_folder_in_place_of_the_index_is_named_and_kept(filled: Program) -> None:
    filled.own_index.unlink()
    filled.own_index.mkdir()
    (filled.own_index / "letter.txt").write_text("Dear Anna")

    for args in (["search", "heron"], ["status"], ["index"], ["index", "--force"]):
        text, _ = both_ways(filled, *args)

        assert (text.code, text.out) == (1, "")
        assert f"{filled.own_index} is a folder, not an index" in text.err
        assert "hint: move it away, or set store.path" in text.err
    assert (filled.own_index / "letter.txt").read_text() == "Dear Anna"


def test_a_file_in_place_of_the_folder_is_named(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "The heron stood.\n")
    (ocmem.state / "memory").write_text("Dear Anna")

    for args in (["search", "heron"], ["index"], ["index", "--force"]):
        text, _ = both_ways(ocmem, *args)

        assert (text.code, text.out) == (1, "")
        assert f"cannot write in {ocmem.state / 'memory'}: it is not a folder" in text.err


# Out of reach


@pytest.mark.parametrize("place", ["file", "folder"])
def test_an_index_that_may_not_be_read_is_an_error(
    filled: Program, permissions: None, place: str
) -> None:
    closed = filled.own_index if place == "file" else filled.own_index.parent
    closed.chmod(0)

    search, _ = both_ways(filled, "search", "heron", bound=True)
    status, _ = both_ways(filled, "status", bound=True)
    index, _ = both_ways(filled, "index", bound=True)
    forced, _ = both_ways(filled, "index", "--force", bound=True)
    get, _ = both_ways(filled, "get", "memory/00.md", bound=True)

    closed.chmod(0o700)
    told = f"cannot open {filled.own_index}: Permission denied\n"
    assert (search.code, search.out, search.err) == (1, "", f"Memory search failed: {told}")
    assert (status.code, status.out, status.err) == (1, "", told)
    assert (index.code, forced.code, get.code) == (1, 1, 0)
    assert "Permission denied" in index.err
    assert len(indexed(filled.own_index)) == 12


def test_a_read_only_state_directory_still_answers(filled: Program, permissions: None) -> None:
    before = digest(filled.own_index)
    filled.own_index.parent.chmod(0o500)

    in_step, _ = both_ways(filled, "search", "heron", bound=True)
    filled.note("memory/new.md", "The zeppelin landed near the heron.\n")
    behind, found = both_ways(filled, "search", "heron", bound=True)
    status, _ = both_ways(filled, "status", bound=True)
    failures = [
        both_ways(filled, *args, bound=True)[0] for args in (["index"], ["index", "--force"])
    ]

    filled.own_index.parent.chmod(0o700)
    assert (in_step.code, in_step.err) == (0, "")
    assert (behind.code, status.code) == (0, 0)
    assert "sync failed (search)" in behind.err
    assert "cannot be written" in behind.err
    assert (found.json["stale"], len(found.results)) == (True, 6)
    assert "Dirty: yes" in status.out
    for done in failures:
        assert (done.code, done.out) == (1, "")
        assert "cannot be written" in done.err
    assert digest(filled.own_index) == before
    assert left_over(filled.own_index) == set()


def test_without_an_index_and_a_place_for_one_a_search_fails(
    ocmem: Program, permissions: None
) -> None:
    ocmem.note("MEMORY.md", "The heron stood.\n")
    ocmem.state.chmod(0o500)

    search, _ = both_ways(ocmem, "search", "heron", bound=True)
    index, _ = both_ways(ocmem, "index", bound=True)
    status, _ = both_ways(ocmem, "status", bound=True)

    ocmem.state.chmod(0o700)
    told = f"cannot write in {ocmem.state / 'memory'}: Permission denied"
    assert (search.code, search.out, search.err) == (1, "", f"Memory search failed: {told}\n")
    assert (index.code, told in index.err) == (1, True)
    assert status.code == 0


@pytest.fixture
def small_disk(ocmem: Program) -> Iterator[Path]:
    """A state directory of a few megabytes."""
    disk = ocmem.home / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can make a disk that is soon full")
    ocmem.env["OPENCLAW_STATE_DIR"] = str(disk)
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as filler, pytest.raises(OSError, match="space"):
        while True:
            filler.write(bytes(PAGE))


def test_a_full_disk_still_answers_and_loses_nothing(ocmem: Program, small_disk: Path) -> None:
    for number in range(6):
        ocmem.note(f"memory/{number}.md", f"The heron stood on pier {number}.\n")
    ocmem.index()
    index = small_disk / "memory" / "main.ocmem.sqlite"
    before = digest(index)
    fill(small_disk)
    for number in range(60):
        ocmem.note(f"memory/new-{number}.md", f"The zeppelin landed on pier {number}.\n" * 20)

    search, found = both_ways(ocmem, "search", "heron")
    failures = [both_ways(ocmem, *args)[0] for args in (["index"], ["index", "--force"])]

    assert (search.code, len(found.results), found.json["stale"]) == (0, 6, True)
    assert "sync failed (search): no room left on the disk for" in search.err
    for done in failures:
        assert (done.code, done.out) == (1, "")
        assert "no room left on the disk for" in done.err
    assert digest(index) == before
    assert left_over(index) == set()

    (small_disk / "filler").unlink()

    assert ocmem("index").code == 0
    assert len(indexed(index)) == 66


def test_a_disk_too_small_for_a_first_index_is_told(ocmem: Program, small_disk: Path) -> None:
    ocmem.note("MEMORY.md", "The heron stood.\n")
    fill(small_disk)

    for args in (["index"], ["search", "heron"]):
        text, _ = both_ways(ocmem, *args)

        assert (text.code, text.out) == (1, "")
        assert "No space left on device" in text.err or "no room left on the disk" in text.err


# Interrupted


def test_ctrl_c_while_a_search_brings_the_index_up_to_date_loses_nothing(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "The heron stood.\n")
    asked = threading.Event()
    with FakeProvider(vector=lambda text: asked.set() if "flew" in text else None) as fake:
        ocmem.use(fake)
        ocmem.index()
        before = digest(ocmem.shared_index)
        ocmem.note("memory/new.md", "The heron flew.\n")
        fake.add_fault("hang", text="flew", times=FOREVER)

        with ocmem.start("search", "heron", "--json") as child:
            assert asked.wait(20)
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=20)

    assert (child.returncode, out) == (130, b"")
    assert b"Traceback" not in err
    assert digest(ocmem.shared_index) == before
    assert left_over(ocmem.shared_index) == set()
