"""One writer and one watcher per index; what a dead one leaves behind is taken over."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ocmem.core import lock
from ocmem.errors import IndexBusy, IndexReadOnly


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "memory" / "main.sqlite"


def test_a_second_watcher_is_told_who_the_first_is(index: Path) -> None:
    with lock.watching(index) as former:
        assert former is None
        with pytest.raises(IndexBusy, match=rf"watched by ocmem watch \(process {os.getpid()}"):
            lock.watching(index).__enter__()


def test_a_watcher_that_ended_well_leaves_no_trace(index: Path) -> None:
    with lock.watching(index):
        pass

    with lock.watching(index) as former:
        assert former is None


def test_the_lock_of_a_dead_watcher_is_taken_over(index: Path) -> None:
    code = (
        "import os, pathlib\nfrom ocmem.core import lock\n"
        f"held = lock.watching(pathlib.Path({str(index)!r}))\nheld.__enter__()\nos._exit(9)"
    )
    child = subprocess.run([sys.executable, "-c", code], check=False)
    assert child.returncode == 9

    with lock.watching(index) as former:
        assert former is not None
        assert former.pid != os.getpid()
        now = lock.watcher_of(index)
    assert now is not None
    assert now.pid == os.getpid()


def test_who_watches_can_be_asked_and_nothing_is_created(index: Path) -> None:
    assert lock.watcher_of(index) is None
    assert not index.parent.exists()
    with lock.watching(index):
        found = lock.watcher_of(index)

    assert found is not None
    assert found.shown(found.started_at_ms + 5000) == (
        f"ocmem watch (process {os.getpid()}, since 5 s)"
    )
    assert lock.watcher_of(index) is None


def test_a_note_of_a_dead_watcher_is_no_watcher(index: Path) -> None:
    index.parent.mkdir()
    note = {"pid": os.getpid(), "command": "watch", "startedAt": time.time_ns() // 1_000_000}
    index.with_name("main.sqlite.watch").write_text(json.dumps(note))

    assert lock.watcher_of(index) is None


@pytest.mark.parametrize("note", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1e999}', "\0"])
def test_whatever_stands_in_a_lock_file_it_can_be_taken(index: Path, note: str) -> None:
    index.parent.mkdir()
    index.with_name("main.sqlite.watch").write_text(note)

    with lock.watching(index) as former:
        assert former is None


def test_a_watcher_and_a_writer_do_not_meet(index: Path) -> None:
    with lock.watching(index), lock.writing(index, wait_s=0, command="index"):
        assert lock.holder_of(index).startswith("ocmem index (process ")


def test_without_a_place_for_locks_nothing_is_watched(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(IndexReadOnly):
        lock.watching(tmp_path / "file" / "main.sqlite").__enter__()
