"""One writer per index, who says who it is."""

import os
from pathlib import Path

import pytest

from ocmem.core import lock, watch_lock
from ocmem.errors import IndexBusy
from tests.unit.flocks import refused_flock


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "memory" / "main.sqlite"


def test_a_second_writer_is_told_who_the_first_is(index: Path) -> None:
    told = rf"by ocmem index \(process {os.getpid()}, since"

    with lock.writing(index, wait_s=0, command="index"), pytest.raises(IndexBusy, match=told):
        lock.writing(index, wait_s=0, command="search").__enter__()


def test_a_watcher_and_a_writer_do_not_meet(index: Path) -> None:
    with watch_lock.watching(index), lock.writing(index, wait_s=0, command="index"):
        assert lock.holder_of(index).startswith("ocmem index (process ")


def test_where_files_cannot_be_locked_one_may_write_all_the_same(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fcntl.flock", refused_flock)

    with lock.writing(index, wait_s=0, command="index"):
        assert lock.holder_of(index).startswith("ocmem index (process ")
