"""A new file takes the place of the old one: whole, on the disk, and under a lock."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ocmem.core.store import Connection, swap
from ocmem.errors import IndexBusy

ROWS = 500


def file_of(path: Path, text: str) -> Path:
    """A file of some pages with the same text in every row."""
    with Connection(path, "create") as db:
        db.run("CREATE TABLE t (text)")
        with db.transaction():
            db.run_many("INSERT INTO t VALUES (:text)", [{"text": text * 20}] * ROWS)
    return path


def texts(path: Path) -> list[tuple[str, int]]:
    with Connection(path, "write") as db:
        assert db.rows("PRAGMA integrity_check") == [("ok",)]
        return db.rows("SELECT DISTINCT text, count(*) FROM t GROUP BY text")


def leave_a_journal(path: Path) -> None:
    """What a program does that is killed in the middle of a transaction."""
    die = f"""if True:
        import os, signal, sqlite3
        db = sqlite3.connect({str(path)!r}, isolation_level=None)
        db.execute("PRAGMA cache_size = 1")  # so that pages reach the file before the end
        db.execute("BEGIN")
        db.execute("UPDATE t SET text = 'half'")
        os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", die], check=False)
    assert path.with_name(f"{path.name}-journal").stat().st_size > 0


def test_a_journal_that_a_crash_left_meanwhile_is_not_played_into_the_new_file(
    tmp_path: Path,
) -> None:
    path = file_of(tmp_path / "index", "old")
    built = file_of(tmp_path / "built", "new")
    old = Connection(path, "write")
    leave_a_journal(path)

    swap.replace(old, built, path)

    assert texts(path) == [("new" * 20, ROWS)]
    assert not built.exists()


@pytest.mark.parametrize("lock", ["BEGIN IMMEDIATE", "BEGIN; SELECT * FROM t LIMIT 1"])
def test_nothing_is_swapped_under_the_hands_of_another_program(tmp_path: Path, lock: str) -> None:
    path = file_of(tmp_path / "index", "old")
    built = file_of(tmp_path / "built", "new")

    with Connection(path, "write") as other, Connection(path, "write", busy_ms=50) as old:
        other.run(lock)
        with pytest.raises(IndexBusy):
            swap.replace(old, built, path)
        other.run("COMMIT")
        assert texts(path) == [("old" * 20, ROWS)]

        swap.replace(old, built, path)

    assert texts(path) == [("new" * 20, ROWS)]


def test_the_new_file_is_on_the_disk_before_the_old_one_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file_of(tmp_path / "index", "old")
    built = file_of(tmp_path / "built", "new")
    names = {built.stat().st_ino: "sync file", tmp_path.stat().st_ino: "sync folder"}
    events: list[str] = []
    fsync, rename = os.fsync, os.replace

    def spy_on_fsync(handle: int) -> None:
        events.append(names.get(os.fstat(handle).st_ino, "sync another"))
        fsync(handle)

    def spy_on_rename(source: Path, to: Path) -> None:
        events.append("rename")
        rename(source, to)

    monkeypatch.setattr(os, "fsync", spy_on_fsync)
    monkeypatch.setattr(os, "replace", spy_on_rename)
    swap.replace(Connection(path, "write"), built, path)

    assert events == ["sync file", "rename", "sync folder"]


def test_a_transaction_has_its_lock_before_it_reads(tmp_path: Path) -> None:
    path = file_of(tmp_path / "index", "old")
    seen = []

    with Connection(path, "write") as other, Connection(path, "write", busy_ms=50) as ours:
        other.run("BEGIN IMMEDIATE")
        # Who has read already cannot wait for the lock any more: it would be refused at once.
        with pytest.raises(IndexBusy), ours.transaction():
            seen = ours.rows("SELECT * FROM t")
            ours.run("DELETE FROM t")
        other.run("COMMIT")

    assert seen == []
