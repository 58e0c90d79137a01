"""A run over everything: collections, exported sessions, the update, and the vectors."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from ocmem.backends.qmd.commands import Counts
from ocmem.core import lock
from ocmem.errors import IndexBusy, IndexReadOnly, QmdError
from tests.unit.qmd.driven import Driven

EMBED_FAILS = {"stderr": "boom", "code": 1}


def failure(driven: Driven, **options: Any) -> QmdError:  # noqa: ANN401
    with pytest.raises(QmdError) as caught:
        driven.backend.index(**options)
    return caught.value


@pytest.fixture
def by_meaning(driven: Driven) -> Driven:
    """With a mode that needs vectors, and models for them."""
    driven.configure(searchMode="vsearch")
    driven.with_models()
    return driven


def test_the_first_run_makes_the_collections_and_later_ones_leave_them_alone(
    driven: Driven,
) -> None:
    first = driven.backend.index()
    second = driven.backend.index()

    assert first.added == ("memory-root-main", "memory-alt-main", "memory-dir-main")
    assert first.counts == Counts(new=2)
    assert second.added == second.removed == ()
    assert second.counts == Counts(unchanged=2)
    assert driven.fake.commands == [*["collection add"] * 3, "update", "update"]


def test_a_run_tells_what_changed_and_how_large_the_index_is(driven: Driven) -> None:
    driven.backend.index()
    (driven.memory / "day.md").write_text("changed")
    (driven.memory / "new.md").write_text("new")
    (driven.workspace / "MEMORY.md").unlink()

    report = driven.backend.index()

    assert report.counts == Counts(new=1, updated=1, unchanged=0, removed=1)
    assert report.size == driven.database.stat().st_size
    assert not report.embedded


def test_sessions_are_exported_before_the_update_and_can_be_searched(driven: Driven) -> None:
    driven.configure(sessions={"enabled": True})
    folder = driven.home / "sessions"

    def export() -> list[str]:
        assert driven.fake.commands == []
        (folder / "5d0c.md").write_text("# Session 5d0c\n\nUser: an osprey\n")
        return ["one was skipped"]

    report = driven.backend.index(export=export)

    assert report.warnings == ("one was skipped",)
    [hit] = driven.backend.search("osprey").hits
    assert (hit.chunk.path, hit.chunk.source) == ("qmd/sessions-main/5d0c.md", "sessions")


def test_a_folder_that_vanished_is_told_before_qmd_forgets_it(driven: Driven) -> None:
    driven.backend.index()
    shutil.rmtree(driven.memory)

    report = driven.backend.index()

    assert report.counts.removed == 1
    assert report.warnings == (
        "~/.openclaw/workspace/memory is not there: QMD forgets its 1 documents meanwhile",
    )


def test_a_folder_that_never_was_is_no_reason_to_stop(driven: Driven) -> None:
    driven.configure(paths=[{"path": "~/nowhere"}])
    shutil.rmtree(driven.memory)

    report = driven.backend.index()

    assert report.added == ("memory-root-main", "memory-alt-main")
    assert report.warnings == (
        "memory directory missing (~/.openclaw/workspace/memory)",
        "additional memory path missing (~/nowhere)",
    )
    facts = driven.backend.status()
    assert facts.absent == ()
    assert [each.name for each in facts.missing] == ["memory-dir-main", "custom-1-main"]


def test_a_damaged_index_is_put_aside_by_force_alone(driven: Driven) -> None:
    driven.backend.index()
    driven.database.write_bytes(b"no database " * 100)
    driven.fake.on("collection list", code=1, stderr="SqliteError: file is not a database")

    assert failure(driven).cause == "damaged"
    assert driven.database.read_bytes().startswith(b"no database")
    report = driven.backend.index(force=True)

    assert report.counts == Counts(new=2)
    [aside] = driven.database.parent.glob("index.sqlite.broken-*")
    assert aside.read_bytes().startswith(b"no database")
    assert aside.name in report.warnings[0]


def test_a_folder_that_the_settings_drop_is_dropped_by_qmd_and_others_stay(
    driven: Driven, tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("alpha\n")
    driven.configure(paths=[{"path": str(tmp_path / "docs"), "name": "docs"}])
    driven.backend.index()
    assert "docs-main" in driven.fake.collections(driven.database)

    driven.configure()
    report = driven.backend.index()

    assert report.removed == ("docs-main",)
    assert set(driven.fake.collections(driven.database)) == {
        "memory-root-main",
        "memory-alt-main",
        "memory-dir-main",
    }
    assert driven.backend.index().removed == ()


def test_two_runs_do_not_update_at_once(driven: Driven) -> None:
    with lock.writing(driven.database, wait_s=0, command="index"), pytest.raises(IndexBusy):
        driven.backend.index()

    assert driven.fake.runs == []


def test_where_nothing_can_be_written_that_is_said(driven: Driven) -> None:
    (driven.state / "agents").write_text("a file")

    with pytest.raises(IndexReadOnly):
        driven.backend.index()


# --- failures ------------------------------------------------------------------------------------


def test_what_may_pass_is_tried_three_times(driven: Driven) -> None:
    driven.fake.on("update", stderr="SQLITE_BUSY: database is locked", code=1)
    driven.fake.on("update", stderr="SqliteError: database is locked", code=1)
    driven.fake.on("update", does=True)

    report = driven.backend.index()

    assert report.counts.new == 2
    assert driven.pauses == [0.5, 1.0]


def test_so_is_what_took_too_long(driven: Driven) -> None:
    driven.configure(update={"updateTimeoutMs": 3000})
    driven.fake.on("update", delay=60)
    driven.fake.on("update", does=True)

    assert driven.backend.index().counts.new == 2
    assert driven.pauses == [0.5]


def test_and_no_more_often(driven: Driven) -> None:
    driven.fake.on("update", stderr="database is locked", code=1)

    assert failure(driven).cause == "locked"
    assert driven.fake.commands.count("update") == 3


def test_another_failure_is_told_at_once(driven: Driven) -> None:
    driven.fake.on("update", stderr="boom", code=1)

    error = failure(driven)

    assert (error.cause, driven.pauses) == ("failed", [])
    assert driven.fake.commands.count("update") == 1


def test_a_failed_run_does_not_keep_a_search_from_asking(driven: Driven) -> None:
    driven.fake.on("update", stderr="boom", code=1)
    failure(driven)

    assert driven.found("router") == ["memory/day.md"]


def test_a_damaged_path_makes_all_collections_anew_once(driven: Driven) -> None:
    driven.backend.index()
    driven.fake.forget()
    damaged = {"stderr": "ENOTDIR: not a directory, open '/w/a\\u0000b'", "code": 1}
    driven.fake.on("update", **damaged)
    driven.fake.on("update", does=True)

    report = driven.backend.index()

    assert report.counts.total == 2
    assert driven.fake.commands == [
        "update",
        *["collection remove"] * 3,
        *["collection add"] * 3,
        "update",
    ]


def test_but_not_twice(driven: Driven) -> None:
    driven.fake.on("update", stderr="ENOTDIR: not a directory, open 'a\0b'", code=1)

    assert failure(driven).cause == "failed"
    assert driven.fake.commands.count("update") == 2


def test_a_qmd_that_makes_no_index_is_none(driven: Driven) -> None:
    driven.configure(command=shutil.which("true") or "true")

    error = failure(driven)

    assert "no index" in str(error)


def test_a_missing_command_is_an_error(driven: Driven) -> None:
    driven.configure(command="no-such-qmd")

    assert failure(driven).cause == "missing"


def test_collections_that_qmd_forgets_during_the_run_are_made_again(driven: Driven) -> None:
    driven.backend.index()
    driven.fake.forget()
    driven.fake.on("update", forgets=True)

    report = driven.backend.index()

    assert report.counts.total == 2
    assert driven.fake.commands == ["update", *["collection add"] * 3]
    assert driven.found("router") == ["memory/day.md"]


# --- vectors -------------------------------------------------------------------------------------


def test_words_need_no_vectors(driven: Driven) -> None:
    driven.with_models()

    driven.backend.index(force=True)

    assert "embed" not in driven.fake.commands


def test_meaning_does(by_meaning: Driven) -> None:
    report = by_meaning.backend.index()

    assert (report.embedded, report.pending) == (True, 0)
    assert by_meaning.fake.commands[-2:] == ["update", "embed"]


def test_each_process_embeds_once_and_again_when_it_is_time(by_meaning: Driven) -> None:
    backend = by_meaning.backend

    done = []
    for minutes in (0, 59, 1, 0):
        by_meaning.now_ms += minutes * 60_000
        done.append(backend.index().embedded)

    assert done == [True, False, True, False]
    assert backend.index(force=True).embedded
    assert by_meaning.backend.index().embedded  # another process


def test_without_an_interval_once_is_enough(by_meaning: Driven) -> None:
    by_meaning.configure(searchMode="query", update={"embedInterval": "0"})
    backend = by_meaning.backend
    backend.index()
    by_meaning.now_ms += 10**9

    assert not backend.index().embedded


def test_without_models_nothing_is_embedded_and_none_are_fetched(driven: Driven) -> None:
    driven.configure(searchMode="vsearch")

    report = driven.backend.index()

    assert not report.embedded
    assert report.pending == 2
    assert "models" in report.warnings[0]
    assert "embed" not in driven.fake.commands
    driven.with_models()
    assert driven.backend.index().embedded


def test_an_embed_that_failed_is_tried_again_after_its_rest_in_the_same_process(
    driven: Driven,
) -> None:
    driven.configure(searchMode="vsearch", update={"embedInterval": "0"})
    driven.with_models()
    driven.fake.on("embed", code=1, stderr="out of memory")
    driven.fake.on("embed", does=True)
    backend = driven.backend

    assert not backend.index().embedded
    driven.now_ms += 59_000
    assert not backend.index().embedded
    driven.now_ms += 1_000
    assert backend.index().embedded
    assert driven.fake.commands.count("embed") == 2


def test_vectors_that_fail_are_a_warning_and_wait_longer_each_time(by_meaning: Driven) -> None:
    by_meaning.fake.on("embed", **EMBED_FAILS)

    warned = []
    for seconds in (0, 59, 1, 119, 1):
        by_meaning.now_ms += seconds * 1000
        report = by_meaning.backend.index()
        assert report.counts.total == 2
        warned.append(report.warnings[0])

    assert by_meaning.fake.commands.count("embed") == 3
    assert "tried again in 1 s" in warned[1]
    assert "boom" in warned[4]
    assert by_meaning.backend.status().embed_failure is not None


def test_force_does_not_wait_and_success_ends_the_waiting(by_meaning: Driven) -> None:
    by_meaning.fake.on("embed", **EMBED_FAILS)
    by_meaning.fake.on("embed", does=True)
    by_meaning.backend.index()

    assert by_meaning.backend.index(force=True).embedded
    assert by_meaning.backend.status().embed_failure is None


def test_vectors_that_fail_in_part_are_told(by_meaning: Driven) -> None:
    by_meaning.fake.on("embed", stdout="Done!\n1,204 chunks still failed after retries\n")

    assert "1,204" in by_meaning.backend.index().warnings[0]


def test_vectors_that_take_too_long_go_on_next_time(by_meaning: Driven) -> None:
    by_meaning.configure(searchMode="vsearch", update={"embedTimeoutMs": 500})
    by_meaning.fake.on("embed", delay=60)

    report = by_meaning.backend.index()

    assert "embedTimeoutMs" in report.warnings[0]
    assert not report.embedded


def test_models_are_fetched_when_asked_for(driven: Driven) -> None:
    driven.backend.fetch_models()

    assert driven.fake.commands == ["pull"]


def test_models_that_cannot_be_fetched_are_a_cause(driven: Driven) -> None:
    driven.fake.on("pull", stderr="TypeError: fetch failed", code=1)

    with pytest.raises(QmdError) as caught:
        driven.backend.fetch_models()

    assert caught.value.cause == "models"
