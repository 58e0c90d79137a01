"""Transcripts on disks that give up, in runs that are cut short, in folders that went missing."""

from pathlib import Path
from typing import Any

import pytest

from ocmem.backends.builtin import BuiltinBackend
from ocmem.core import estimate, files
from ocmem.core.store import open_existing, rows
from ocmem.errors import EmbedderError, IndexMoved
from ocmem.model import Source
from ocmem.settings import Settings
from tests.unit.bad_disk import BadDisk
from tests.unit.chats import MANY, Chats, line, long_turns
from tests.unit.place import Words, ids_in_step
from tests.unit.test_transcripts_as_source import (
    Failing,
    expected_ids,
    is_dirty,
    stored_ids,
)


@pytest.fixture
def chats(tmp_path: Path, small_transactions: None) -> Chats:
    return Chats(tmp_path)


def messages(report: Any) -> list[str]:  # noqa: ANN401
    return [issue.message for issue in report.issues if issue.serious]


# What cannot be read to its end


def test_a_transcript_that_breaks_off_while_it_is_read_is_named_and_passed_over(
    chats: Chats, monkeypatch: pytest.MonkeyPatch
) -> None:
    chats.say("a", "alpha")
    chats.say("b", "beta")
    chats.say("c", "gamma")
    chats.index()
    before = stored_ids(chats, "b")
    for name in "abc":
        chats.say(name, "and more")
    BadDisk(monkeypatch, "b", lines=1)

    report = chats.index()

    assert report.changed_paths == ["sessions/a.jsonl", "sessions/c.jsonl"]
    assert messages(report) == ["~/.openclaw/agents/main/sessions/b.jsonl not readable (EIO)"]
    assert report.skipped == 1
    assert stored_ids(chats, "b") == before


def test_a_large_transcript_that_breaks_off_goes_on_when_the_disk_is_well(
    chats: Chats, monkeypatch: pytest.MonkeyPatch
) -> None:
    chats.index()
    chats.say("large", *long_turns(MANY))
    chats.say("zoo", "zebra")
    disk = BadDisk(monkeypatch, "large", lines=MANY - 10)

    broken = chats.index()
    begun = stored_ids(chats, "large")
    disk.is_bad = False
    whole = chats.index()

    assert broken.changed_paths == ["sessions/zoo.jsonl"]
    assert len(messages(broken)) == 1
    assert 100 < len(begun) < len(stored_ids(chats, "large"))
    assert whole.changed_paths == ["sessions/large.jsonl"]
    assert stored_ids(chats, "large") == expected_ids(chats, "large")
    assert ids_in_step(chats.rows())


@pytest.mark.parametrize("turns", [3, MANY])
def test_a_rebuild_keeps_what_was_known_of_a_transcript_that_breaks_off(
    chats: Chats, monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    chats.say("long", *long_turns(turns))
    chats.say("zoo", "zebra")
    chats.index()
    before = chats.rows()
    BadDisk(monkeypatch, "long", lines=turns - 2)

    report = chats.index(force=True)

    assert len(messages(report)) == 1
    assert chats.rows() == before
    assert ids_in_step(chats.rows())


def test_a_search_answers_beside_a_transcript_that_breaks_off(
    chats: Chats, monkeypatch: pytest.MonkeyPatch
) -> None:
    chats.say("a", "alpha")
    chats.say("b", "beta")
    chats.index()
    chats.say("a", "zebra")
    chats.say("b", "yak")
    BadDisk(monkeypatch, "b", lines=1)

    answer = chats.search("zebra", sync=True)

    assert [hit.chunk.path for hit in answer.hits][:1] == ["sessions/a.jsonl"]
    assert any("b.jsonl not readable" in text for text in answer.warnings)


def test_an_estimate_counts_what_can_be_read(chats: Chats, monkeypatch: pytest.MonkeyPatch) -> None:
    chats.say("a", "alpha")
    chats.say("b", "beta")
    BadDisk(monkeypatch, "b", lines=1)

    found = estimate.estimate(chats.settings, force=False)

    assert found.to_embed == 1
    assert [issue.message for issue in found.issues if issue.serious] != []


def test_what_is_said_while_a_transcript_is_read_waits_for_the_next_time(chats: Chats) -> None:
    path = chats.say("a", "alpha")
    (found,) = (
        each for each in files.discover(chats.settings).files if each.path.endswith("jsonl")
    )

    with files.opened(found) as file:
        with path.open("a") as growing:
            growing.write(line("beta"))
        spoken = list(file.turns or ())

    assert spoken == [(2, "User: alpha")]
    assert file.stamp.size < path.stat().st_size


# What is out of reach


def test_a_large_transcript_out_of_reach_is_carried_over_whole(chats: Chats) -> None:
    chats.say("large", *long_turns(MANY))
    chats.write(note="alpha")
    chats.index()
    before = chats.rows()
    chats.folder.rename(chats.root / "unmounted")

    chats.index(force=True)

    assert chats.rows() == before
    (chats.root / "unmounted").rename(chats.folder)
    assert not is_dirty(chats)


def test_rows_that_vanish_while_they_are_carried_over_are_missed(chats: Chats) -> None:
    chats.say("large", *long_turns(MANY))
    chats.index()
    db = open_existing(chats.index_path, "read")
    assert db is not None
    with db:
        carried = rows.chunks_of_file(db, "sessions/large.jsonl", "sessions")
        next(carried)
        chats.sql("DELETE FROM chunks WHERE path = 'sessions/large.jsonl'")

        with pytest.raises(IndexMoved):
            list(carried)


# One line, many pieces


def test_equal_pieces_of_an_endless_line_are_one_row(chats: Chats) -> None:
    chats.index()
    chats.write(endless="x" * 900_000)

    report = chats.index()

    assert 1 <= len(chats.sql("SELECT id FROM chunks")) <= 4
    assert (report.embedded, report.cached) == (report.chunks, 0)
    assert ids_in_step(chats.rows())
    assert not is_dirty(chats)


# Runs over one source, cut short or not


def own_index(chats: Chats, *sources: Source) -> Settings:
    """An index of ocmem's own, which keeps what was once asked for."""
    chats.configure(own={"exclude": ["nothing"]}, sources=["memory"])
    return chats.asking_for(*sources)


def test_a_first_run_over_transcripts_that_was_cut_short_is_remembered(chats: Chats) -> None:
    chats.write(note="alpha")
    chats.say("large", *long_turns(MANY))
    chats.index(settings=own_index(chats))
    chats.embedder = Failing(400)
    with pytest.raises(EmbedderError, match="no more"):
        chats.index(settings=chats.asking_for("sessions"), only=("sessions",))
    assert is_dirty(chats)
    chats.embedder = Words()

    report = chats.index()

    assert report.changed_paths == ["sessions/large.jsonl"]
    assert stored_ids(chats, "large") != set()
    assert not is_dirty(chats)


def test_the_very_first_run_that_was_cut_short_is_remembered_too(chats: Chats) -> None:
    chats.write(note="alpha")
    chats.say("a", *long_turns(20))
    own_index(chats)
    chats.embedder = Failing(4)
    with pytest.raises(EmbedderError, match="no more"):
        chats.index(settings=chats.asking_for("sessions"), only=("sessions",))
    chats.embedder = Words()

    report = chats.index()

    assert report.changed_paths == ["memory/note.md", "sessions/a.jsonl"]
    assert chats.meta()["sources"] == ["memory", "sessions"]


@pytest.mark.parametrize(
    ("force", "sources"), [(True, ["memory"]), (False, ["memory", "sessions"])]
)
def test_a_source_goes_only_when_an_index_is_made_anew_without_it(
    chats: Chats, force: bool, sources: list[str]
) -> None:
    chats.write(note="alpha")
    chats.say("a", "hello")
    chats.index(settings=own_index(chats, "sessions"), only=("sessions",))
    chats.index()

    chats.index(force=force, only=("memory",))

    assert chats.meta()["sources"] == sources
    assert bool(stored_ids(chats, "a")) == ("sessions" in sources)


def test_a_rebuild_for_another_reason_keeps_the_sources_that_were_not_named(chats: Chats) -> None:
    chats.write(note="alpha")
    chats.say("a", "hello")
    chats.index(settings=own_index(chats, "sessions"), only=("sessions",))
    own: dict[str, Any] = {"exclude": ["nothing"], "chunking": {"tokens": 300}}
    chats.configure(own=own, sources=["memory"])

    report = chats.index(only=("memory",))

    assert report.full
    assert chats.meta()["sources"] == ["memory", "sessions"]
    assert stored_ids(chats, "a") != set()


# An index that may only be read


def test_a_touched_note_is_no_reason_to_write_where_one_may_not(
    chats: Chats, monkeypatch: pytest.MonkeyPatch
) -> None:
    chats.configure(provider="openai", own={"provider": "none"})
    chats.write(note="alpha")
    chats.index()
    (chats.memory / "note.md").touch()
    before = chats.index_path.read_bytes()
    monkeypatch.setattr(BuiltinBackend, "_may_write", lambda self: False)

    answer = chats.search("alpha", sync=True)

    assert [hit.chunk.path for hit in answer.hits] == ["memory/note.md"]
    assert answer.warnings == ()
    assert chats.index_path.read_bytes() == before
