"""OpenClaw was killed between its two renames: the index is there, under another name."""

import os
from pathlib import Path

import pytest

from ocmem.core.store import Connection, derived, open_existing, swap
from ocmem.core.store import connection as opening
from ocmem.errors import EmbedderError, IndexReadOnly
from tests.unit.place import Place, rows_of


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_SWAP_PATIENCE_S", 0.0)


def move_aside(path: Path, mark: str = "1234") -> Path:
    """The first of the two renames."""
    return path.rename(path.with_name(f"{path.name}.backup-{mark}"))


def names_beside(path: Path) -> set[str]:
    return {each.name for each in path.parent.iterdir()} - {f"{path.name}.lock"}


def test_a_run_puts_the_index_back_and_pays_nothing_again(place: Place) -> None:
    place.index()
    before = place.rows()
    move_aside(place.index_path)

    report = place.index()

    assert (report.full, report.embedded, place.embedder.asked) == (False, 0, [])
    assert place.rows() == before
    assert names_beside(place.index_path) == {place.index_path.name}


@pytest.mark.parametrize("sync", [True, False])
def test_a_search_answers_from_what_was_moved_aside(place: Place, sync: bool) -> None:
    place.index()
    backup = move_aside(place.index_path)
    before = backup.read_bytes()

    found = place.search("alpha beta", sync=sync).hits

    assert found[0].chunk.path == "memory/one.md"
    assert names_beside(place.index_path) == {backup.name}
    assert backup.read_bytes() == before


def test_a_search_while_the_provider_is_down_leaves_nothing_in_front_of_the_index(
    place: Place,
) -> None:
    place.index()
    move_aside(place.index_path)
    place.write(four="eta theta")

    def down() -> None:
        raise EmbedderError("down")

    place.embedder.before = down
    answer = place.search("alpha beta", sync=True)

    assert answer.hits[0].chunk.path == "memory/one.md"
    assert answer.stale
    assert len(place.rows()["files"]) == 3


def test_a_search_that_has_something_to_add_puts_the_index_back(place: Place) -> None:
    place.index()
    move_aside(place.index_path)
    place.write(four="eta theta")

    found = place.search("eta theta", sync=True).hits

    assert found[0].chunk.path == "memory/four.md"
    assert names_beside(place.index_path) == {place.index_path.name}


def test_tables_that_lag_behind_are_not_mended_under_the_wrong_name(place: Place) -> None:
    place.index()
    place.sql("DELETE FROM ocmem_docs")
    backup = move_aside(place.index_path)
    before = backup.read_bytes()

    db = open_existing(place.index_path, "read")

    assert db is not None
    with db:
        with pytest.raises(IndexReadOnly), db.writer():
            pass
        derived.refresh(db)
        assert db.value("SELECT count(*) FROM ocmem_docs") == 3
    assert backup.read_bytes() == before


def test_of_several_the_newest_that_is_an_index_is_put_back(place: Place) -> None:
    place.index()
    path = place.index_path
    old = path.with_name(f"{path.name}.backup-a")
    old.write_bytes(path.read_bytes())
    place.write(four="eta theta")
    place.index()
    newest = rows_of(path)
    backup = move_aside(path, "b")
    broken = path.with_name(f"{path.name}.backup-c")
    broken.write_bytes(b"no index at all" * 100)
    empty = path.with_name(f"{path.name}.backup-d")
    empty.touch()
    for at, each in enumerate((old, backup, broken, empty)):
        os.utime(each, (1_000 + at, 1_000 + at))

    assert swap.put_back(path)

    assert rows_of(path) == newest
    assert names_beside(path) == {path.name, old.name, broken.name, empty.name}


def test_without_an_index_among_them_a_new_one_is_built(place: Place) -> None:
    place.index()
    path = place.index_path
    path.rename(place.root / "away")
    path.with_name(f"{path.name}.backup-1").write_bytes(b"no index at all" * 100)

    report = place.index()

    assert (report.full, report.embedded) == (True, 3)


def test_what_was_only_in_the_log_comes_back_with_the_file(place: Place) -> None:
    place.index()
    path = place.index_path
    place.sql("PRAGMA journal_mode = WAL")
    with Connection(path, "write") as db:
        db.run("PRAGMA wal_autocheckpoint = 0")
        db.run("UPDATE files SET hash = 'in the log'")
        # As a killed program leaves them: the last to close would have emptied the log.
        backup = path.with_name(f"{path.name}.backup-1")
        for suffix in ("", "-wal", "-shm"):
            copied = path.with_name(path.name + suffix).read_bytes()
            backup.with_name(backup.name + suffix).write_bytes(copied)
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)

    assert swap.put_back(path)

    assert place.sql("SELECT DISTINCT hash FROM files") == [("in the log",)]
    assert not list(path.parent.glob("*.backup-*"))


@pytest.mark.parametrize("has_links", [True, False])
def test_a_swap_that_was_only_slow_is_not_undone(
    place: Place, monkeypatch: pytest.MonkeyPatch, has_links: bool
) -> None:
    place.index()
    path = place.index_path
    backup = move_aside(path, "1")
    swapped_in = backup.read_bytes() + b"newer"
    link = os.link

    def finish_first(source: Path, to: Path) -> None:
        path.write_bytes(swapped_in)  # at the last moment before ours
        if not has_links:
            raise PermissionError("no links here")
        link(source, to)

    monkeypatch.setattr(os, "link", finish_first)

    assert not swap.put_back(path)

    assert path.read_bytes() == swapped_in
    assert backup.exists()


def test_a_log_goes_back_to_where_it_was_if_the_file_has_to_stay(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.index()
    path = place.index_path
    backup = move_aside(path, "1")
    log = backup.with_name(f"{backup.name}-wal")
    log.touch()
    link = os.link

    def appear_behind_the_log(source: Path, to: Path) -> None:
        if to == path:
            path.write_bytes(b"newer")
        link(source, to)

    monkeypatch.setattr(os, "link", appear_behind_the_log)

    assert not swap.put_back(path)

    assert path.read_bytes() == b"newer"
    assert names_beside(path) == {path.name, backup.name, log.name}


def test_the_index_is_put_back_where_there_are_no_links(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.index()
    before = place.rows()
    move_aside(place.index_path)

    def refuse(source: Path, to: Path) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    place.index()

    assert place.rows() == before
    assert names_beside(place.index_path) == {place.index_path.name}
