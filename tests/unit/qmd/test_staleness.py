"""Whether QMD's index is behind the files, and what is done about it before a search."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from ocmem.backends.qmd import staleness
from ocmem.backends.qmd.backend import SLOW_REST_MS
from ocmem.backends.qmd.staleness import Standing, caught_up, is_stale
from ocmem.core import lock
from tests.unit.chats import line
from tests.unit.qmd.driven import Driven

TOLD = "QMD's index is out of date; run: ocmem index"


def age(path: Path, at_ms: float) -> None:
    os.utime(path, ns=(int(at_ms * 1e6), int(at_ms * 1e6)))


@pytest.fixture
def resting(driven: Driven) -> Driven:
    """Indexed; every file and folder is an hour older than that."""
    driven.configure(sessions={"enabled": True})
    driven.backend.index()
    still(driven)
    driven.now_ms += 1000
    driven.fake.forget()
    return driven


def still(driven: Driven) -> None:
    for path in (driven.workspace, *driven.workspace.rglob("*"), *driven.home.rglob("*")):
        age(path, driven.now_ms - 3_600_000)


def say(driven: Driven, base: str, *turns: str) -> Path:
    path = driven.state / "agents" / "main" / "sessions" / f"{base}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(map(line, turns)))
    age(path, driven.now_ms)
    age(path.parent, driven.now_ms)
    return path


def test_nothing_has_happened(resting: Driven) -> None:
    assert not is_stale(resting.backend)
    assert caught_up(resting.backend, syncs=True) == Standing()
    assert resting.fake.runs == []


def test_without_an_index_there_is_nothing_to_be_behind(driven: Driven) -> None:
    assert not is_stale(driven.backend)


@pytest.mark.parametrize("name", ["MEMORY.md", "memory", "memory/day.md"])
def test_a_younger_note_or_folder_makes_it_stale(resting: Driven, name: str) -> None:
    age(resting.workspace / name, resting.now_ms)

    assert is_stale(resting.backend)
    assert caught_up(resting.backend, syncs=True) == Standing()
    assert resting.fake.commands == ["update"]
    assert not is_stale(resting.backend)


@pytest.mark.parametrize(
    "name", ["AGENTS.md", "memory/.hidden.md", "memory/node_modules/a.md", "memory/a.txt"]
)
def test_what_qmd_does_not_look_at_does_not(resting: Driven, name: str) -> None:
    path = resting.workspace / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("x")
    for folder in (resting.memory, resting.workspace):
        age(folder, resting.now_ms - 3_600_000)

    assert not is_stale(resting.backend)


def test_a_note_of_the_same_moment_was_looked_at_and_one_from_the_future_is_left(
    resting: Driven,
) -> None:
    age(resting.workspace / "MEMORY.md", resting.now_ms - 1000 + 0.9)
    age(resting.memory / "day.md", resting.now_ms + 60_000)

    assert not is_stale(resting.backend)


def test_a_note_that_is_gone_makes_it_stale_once(resting: Driven) -> None:
    (resting.workspace / "MEMORY.md").unlink()

    assert is_stale(resting.backend)
    caught_up(resting.backend, syncs=True)
    assert not is_stale(resting.backend)
    assert resting.found("boat") == []


def test_a_folder_that_is_gone_does_not_but_one_that_came_back_does(resting: Driven) -> None:
    kept = resting.root / "kept"
    resting.memory.rename(kept)
    assert not is_stale(resting.backend)
    resting.backend.index()
    resting.now_ms += 1000

    kept.rename(resting.memory)

    assert is_stale(resting.backend)
    caught_up(resting.backend, syncs=True)
    assert resting.found("router") == ["memory/day.md"]


def test_a_link_and_an_empty_file_are_nothing_to_wait_for(resting: Driven) -> None:
    for name in ("MEMORY.md", "memory/day.md"):
        (resting.workspace / name).unlink()
    (resting.root / "elsewhere.md").write_text("A heron.\n")
    (resting.workspace / "MEMORY.md").symlink_to(resting.root / "elsewhere.md")
    (resting.memory / "day.md").touch()
    resting.backend.index()
    still(resting)

    assert not is_stale(resting.backend)


def test_an_index_that_others_made_is_as_old_as_its_file(resting: Driven) -> None:
    (resting.home / "ocmem-state.json").unlink()
    age(resting.database, resting.now_ms)
    assert not is_stale(resting.backend)
    resting.now_ms += 1000

    age(resting.memory / "day.md", resting.now_ms)

    assert is_stale(resting.backend)


def test_what_qmd_writes_while_it_searches_is_no_look_at_the_files(resting: Driven) -> None:
    age(resting.memory / "day.md", resting.now_ms)
    resting.now_ms += 1000
    age(resting.database, resting.now_ms)

    assert is_stale(resting.backend)


def test_who_wants_no_update_is_told(resting: Driven) -> None:
    age(resting.memory / "day.md", resting.now_ms)

    standing = caught_up(resting.backend, syncs=False)

    assert standing == Standing(True, ("files changed since QMD looked; run: ocmem index",))
    assert resting.fake.runs == []


# --- talks ---------------------------------------------------------------------------------------


def test_what_was_said_is_exported_and_then_looked_at(resting: Driven) -> None:
    say(resting, "monday", "An osprey!")
    resting.now_ms += 10**12  # the export is written by the real clock

    assert is_stale(resting.backend)
    assert caught_up(resting.backend, syncs=True).warnings == ()
    assert (resting.home / "sessions" / "monday.md").read_text().endswith("User: An osprey!\n")


def test_talks_that_are_too_long_for_now_are_left_to_an_index_run(
    resting: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staleness, "MOST_BYTES", 10)
    say(resting, "monday", "An osprey!")

    standing = caught_up(resting.backend, syncs=True)

    assert standing == Standing(True, ("QMD lacks some sessions; run: ocmem index",))
    assert not (resting.home / "sessions" / "monday.md").exists()


def test_a_talk_that_is_gone_makes_it_stale(resting: Driven) -> None:
    talk = say(resting, "monday", "An osprey!")
    resting.backend.index()
    resting.now_ms += 1000
    still(resting)
    assert not is_stale(resting.backend)

    talk.unlink()
    age(talk.parent, resting.now_ms)

    assert is_stale(resting.backend)


def test_talks_that_are_not_exported_do_not_count(resting: Driven) -> None:
    resting.configure()
    say(resting, "monday", "An osprey!")

    assert not is_stale(resting.backend)


def test_talks_beyond_the_days_that_are_kept_do_not_count(resting: Driven) -> None:
    resting.configure(sessions={"enabled": True, "retentionDays": 1})
    age(say(resting, "monday", "An osprey!"), resting.now_ms - 2 * 86_400_000)
    age(resting.state / "agents" / "main" / "sessions", 0)

    assert not is_stale(resting.backend)


# --- a QMD that cannot ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"delay": 60}, TOLD),
        (
            {"code": 1, "stderr": "boom"},
            "QMD could not update its index: boom; answering from what is there",
        ),
    ],
)
def test_an_update_that_fails_is_left_alone_for_ten_minutes(
    resting: Driven, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any], told: str
) -> None:
    monkeypatch.setattr(staleness, "PATIENCE_MS", 300)
    resting.fake.on("update", **answer)
    resting.fake.on("update", does=True)
    age(resting.memory / "day.md", resting.now_ms)

    assert caught_up(resting.backend, syncs=True) == Standing(True, (told,))
    resting.now_ms += SLOW_REST_MS - 1
    assert caught_up(resting.backend, syncs=True) == Standing(True, (TOLD,))
    assert resting.fake.commands == ["update"]
    resting.now_ms += 1
    monkeypatch.setattr(staleness, "PATIENCE_MS", 60_000)
    assert caught_up(resting.backend, syncs=True) == Standing()


def test_an_index_run_ends_the_rest(resting: Driven) -> None:
    resting.fake.on("update", code=1)
    resting.fake.on("update", does=True)
    age(resting.memory / "day.md", resting.now_ms)
    caught_up(resting.backend, syncs=True)

    resting.backend.index()
    resting.now_ms += 1000
    age(resting.memory / "day.md", resting.now_ms)

    assert caught_up(resting.backend, syncs=True) == Standing()


def test_a_run_under_way_is_not_waited_for_long(resting: Driven) -> None:
    age(resting.memory / "day.md", resting.now_ms)

    with lock.writing(resting.database, wait_s=0, command="index"):
        standing = caught_up(resting.backend, syncs=True)

    assert standing.is_behind
    assert standing.warnings[0].endswith("; answering from what is there")
    assert "is being indexed by ocmem index" in standing.warnings[0]


def test_an_index_that_cannot_be_read_is_not_this_ones_business(resting: Driven) -> None:
    shutil.rmtree(resting.memory)
    resting.database.write_bytes(b"no database " * 100)

    assert not is_stale(resting.backend)
