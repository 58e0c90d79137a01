"""One watcher per index; what a dead one leaves behind is taken over."""

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from ocmem.core import holder, lock
from ocmem.core.holder import Holder
from ocmem.core.watch_lock import WatchLock, watcher_of, watching
from ocmem.errors import IndexBusy, IndexReadOnly
from tests.unit.flocks import refused_flock


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "memory" / "main.sqlite"


@pytest.fixture
def unlockable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fcntl.flock", refused_flock)


@pytest.fixture(params=["flock", "note"])
def either(request: pytest.FixtureRequest) -> None:
    """With locks, and where only the note counts."""
    if request.param == "note":
        request.getfixturevalue("unlockable")


def lock_file(index: Path) -> Path:
    index.parent.mkdir(exist_ok=True)
    return lock.beside(index, "watch")


def watcher_elsewhere(index: Path) -> list[str]:
    """A process that holds the lock until it may end."""
    code = (
        "import pathlib, sys\nfrom ocmem.core import watch_lock\n"
        f"with watch_lock.watching(pathlib.Path({str(index)!r})):\n"
        "    print('watching', flush=True)\n    sys.stdin.read()"
    )
    return [sys.executable, "-c", code]


def parent() -> Holder:
    """A process that is alive and not this one."""
    pid = os.getppid()
    return replace(holder.ourselves("watch"), pid=pid, born=holder.born_at(pid))


def at_once(seconds: float) -> None:
    """Instead of a pause."""


def dead_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


# --- as a rule ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("either")
def test_a_second_watcher_is_told_who_the_first_is(index: Path) -> None:
    with watching(index, sleep=at_once) as held:
        assert held.former is None
        with pytest.raises(IndexBusy, match=rf"watched by ocmem watch \(process {os.getpid()}"):
            watching(index, sleep=at_once).__enter__()
        held.keep()


@pytest.mark.usefixtures("either")
def test_a_watcher_that_ended_well_leaves_no_trace(index: Path) -> None:
    with watching(index, sleep=at_once):
        pass

    with watching(index, sleep=at_once) as held:
        assert held.former is None
    assert [path.name for path in index.parent.iterdir()] == ["main.sqlite.watch"]


@pytest.mark.usefixtures("either")
def test_a_lock_file_is_for_its_owner_only(index: Path) -> None:
    with watching(index, sleep=at_once):
        assert lock_file(index).stat().st_mode & 0o777 == 0o600


def test_the_lock_of_a_dead_watcher_is_taken_over(index: Path) -> None:
    with subprocess.Popen(watcher_elsewhere(index), stdin=PIPE, stdout=PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"watching\n"
        other.kill()

    with watching(index) as held:
        assert held.former is not None
        assert held.former.pid == other.pid
        now = watcher_of(index)
    assert now is not None
    assert now.pid == os.getpid()


@pytest.mark.usefixtures("either")
def test_who_watches_can_be_asked_and_nothing_is_created(index: Path) -> None:
    assert watcher_of(index) is None
    assert not index.parent.exists()
    with watching(index, sleep=at_once):
        found = watcher_of(index)

    assert found is not None
    assert found.shown(found.started_at_ms + 5000) == (
        f"ocmem watch (process {os.getpid()}, since 5 s)"
    )
    assert watcher_of(index) is None


def test_a_note_of_a_dead_watcher_is_no_watcher(index: Path) -> None:
    note = {"pid": os.getpid(), "command": "watch", "startedAt": time.time_ns() // 1_000_000}
    lock_file(index).write_text(json.dumps(note))

    assert watcher_of(index) is None


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("note", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1e999}', "\0"])
def test_whatever_stands_in_a_lock_file_it_can_be_taken(index: Path, note: str) -> None:
    lock_file(index).write_text(note)

    with watching(index, sleep=at_once) as held:
        assert held.former is None


def test_without_a_place_for_locks_nothing_is_watched(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(IndexReadOnly):
        watching(tmp_path / "file" / "main.sqlite").__enter__()


# --- somebody removes what it stands on -----------------------------------------------------------


@pytest.mark.usefixtures("either")
def test_a_lock_whose_folder_was_removed_is_taken_anew(index: Path) -> None:
    with watching(index, sleep=at_once) as held:
        shutil.rmtree(index.parent)

        held.keep()
        held.keep()

        with pytest.raises(IndexBusy):
            watching(index, sleep=at_once).__enter__()


@pytest.mark.usefixtures("either")
def test_a_lock_that_somebody_else_has_by_now_is_lost_and_stays_theirs(index: Path) -> None:
    with watching(index, sleep=at_once) as held:
        shutil.rmtree(index.parent)
        with subprocess.Popen(watcher_elsewhere(index), stdin=PIPE, stdout=PIPE) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == b"watching\n"
            with pytest.raises(IndexBusy, match=f"process {other.pid}"):
                held.keep()
            held.release()

            now = watcher_of(index)
            assert now is not None
            assert now.pid == other.pid


def test_while_a_lock_cannot_be_made_anew_the_watcher_goes_on(index: Path) -> None:
    with watching(index) as held:
        shutil.rmtree(index.parent)
        index.parent.write_text("in the way")
        held.keep()
        assert watcher_of(index) is None

        index.parent.unlink()
        held.keep()

        assert watcher_of(index) is not None


# --- without locks --------------------------------------------------------------------------------


def leave(index: Path, by: Holder, *, age_s: float = 0) -> None:
    """A note in the lock file, as somebody left or last renewed it."""
    lock_file(index).write_bytes(by.note)
    then = time.time() - age_s
    os.utime(lock_file(index), (then, then))


def is_free(index: Path) -> bool:
    is_watched = watcher_of(index) is not None
    try:
        with watching(index, sleep=at_once):
            assert not is_watched
            return True
    except IndexBusy:
        assert is_watched
        return False


@pytest.mark.usefixtures("unlockable")
def test_without_locks_a_watcher_that_lives_keeps_a_second_one_out(index: Path) -> None:
    leave(index, parent(), age_s=10**6)  # in the middle of a long sync, say

    assert not is_free(index)


@pytest.mark.usefixtures("unlockable")
def test_without_locks_a_dead_watcher_is_taken_over(index: Path) -> None:
    dead = replace(holder.ourselves("watch"), pid=dead_pid())
    leave(index, dead)

    with watching(index, sleep=at_once) as held:
        assert held.former == dead


@pytest.mark.usefixtures("unlockable")
def test_another_process_with_the_number_of_a_dead_watcher_is_none(index: Path) -> None:
    leave(index, replace(holder.ourselves("watch"), born=1))

    assert is_free(index)


@pytest.mark.usefixtures("unlockable")
@pytest.mark.parametrize(("age_s", "free"), [(0, False), (300, False), (1200, True)])
@pytest.mark.parametrize("where", [{"host": "elsewhere"}, {"born": None}])
def test_of_whom_nobody_can_tell_the_note_must_be_fresh(
    index: Path, where: dict[str, Any], age_s: float, free: bool
) -> None:
    leave(index, replace(holder.ourselves("watch"), **where), age_s=age_s)

    assert is_free(index) == free


@pytest.mark.usefixtures("unlockable")
def test_a_watcher_on_another_machine_is_named_with_it(index: Path) -> None:
    leave(index, replace(holder.ourselves("watch"), pid=7, host="elsewhere"))

    with pytest.raises(IndexBusy, match=r"by ocmem watch \(process 7 on elsewhere, since"):
        WatchLock(index, sleep=at_once).take()


@pytest.mark.usefixtures("unlockable")
def test_a_watcher_renews_its_note(index: Path) -> None:
    with watching(index, sleep=at_once) as held:
        os.utime(lock_file(index), (0, 0))

        held.keep()

        assert time.time() - lock_file(index).stat().st_mtime < 60


@pytest.mark.usefixtures("unlockable")
def test_of_two_that_start_at_the_same_moment_one_gets_in(index: Path) -> None:
    other = WatchLock(index, sleep=at_once)

    def meanwhile(seconds: float) -> None:
        lock_file(index).write_bytes(parent().note)

    with pytest.raises(IndexBusy, match=f"process {os.getppid()}"):
        WatchLock(index, sleep=meanwhile).take()
    with pytest.raises(IndexBusy):
        other.take()


@pytest.mark.usefixtures("unlockable")
def test_a_note_of_ours_that_could_not_be_read_once_is_still_ours(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watching(index, sleep=at_once) as held:
        read = holder.read
        answers = iter([None])
        monkeypatch.setattr(holder, "read", lambda path: next(answers, read(path)))

        held.keep()

        now = watcher_of(index)
        assert now is not None
        assert now.pid == os.getpid()


@pytest.mark.usefixtures("unlockable")
def test_another_machine_of_the_same_name_is_another_machine(index: Path) -> None:
    leave(index, replace(holder.ourselves("watch"), pid=2**22 + 1, boot="another"))

    with pytest.raises(IndexBusy):
        WatchLock(index, sleep=at_once).take()


@pytest.mark.usefixtures("unlockable")
def test_a_note_that_was_taken_over_is_noticed_by_who_wrote_the_former(index: Path) -> None:
    with watching(index, sleep=at_once) as held:
        leave(index, replace(holder.ourselves("watch"), pid=7, host="elsewhere"))

        with pytest.raises(IndexBusy, match="process 7 on elsewhere"):
            held.keep()


def test_the_note_of_an_older_version_names_its_holder_too(tmp_path: Path) -> None:
    (tmp_path / "note").write_text('{"pid": 7, "command": "watch", "startedAt": 1000}')

    found = holder.read(tmp_path / "note")

    assert found == Holder(7, "watch", 1000)
    assert found.shown(3000) == "ocmem watch (process 7, since 2 s)"


@pytest.mark.parametrize(
    "stat",
    ["7 (a (strange) name) S " + "0 " * 18 + "55 0", "7 (x) S " + "0 " * 18 + "55"],
)
def test_when_a_process_began_is_read_whatever_its_name(
    monkeypatch: pytest.MonkeyPatch, stat: str
) -> None:
    monkeypatch.setattr(Path, "read_text", lambda path: stat)

    assert holder.born_at(7) == 55


def test_a_process_that_ended_and_was_not_waited_for_is_gone() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    assert child.stdout is not None
    ended = replace(holder.ourselves("watch"), pid=child.pid, born=holder.born_at(child.pid))
    child.stdout.read()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    assert not ended.is_alive(note_age_s=0)
    child.communicate()
