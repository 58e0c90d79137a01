"""What a search through QMD does about files that changed since QMD looked."""

import os
import shutil

import pytest

from tests.cli.qmd_program import QmdProgram


@pytest.fixture
def indexed(qmd: QmdProgram) -> QmdProgram:
    qmd.index()
    qmd.fake.forget()
    return qmd


def test_what_was_written_is_found_by_the_next_search(indexed: QmdProgram) -> None:
    indexed.note("memory/new.md", "An osprey.\n")

    answer = indexed.ask("osprey")
    indexed.ask("osprey")

    assert [result["path"] for result in answer["results"]] == ["memory/new.md"]
    assert "stale" not in answer
    assert indexed.fake.commands == ["update", "search", "search"]


def test_what_is_gone_is_not_found_any_more(indexed: QmdProgram) -> None:
    (indexed.workspace / "MEMORY.md").unlink()
    (indexed.workspace / "memory" / "day.md").rename(indexed.workspace / "memory" / "today.md")

    assert [result["path"] for result in indexed.ask("heron")["results"]] == ["memory/today.md"]


def test_what_is_said_is_found_by_the_next_search(indexed: QmdProgram) -> None:
    indexed.configure_qmd(sessions={"enabled": True})
    indexed.say("monday", "An osprey!")
    first = indexed.ask("osprey")
    indexed.say("monday", "An osprey!", "And a bittern.")

    second = indexed.ask("bittern")

    path = "qmd/sessions-main/monday.md"
    assert [each["results"][0]["path"] for each in (first, second)] == [path, path]
    assert (indexed.corner / "sessions" / "monday.md").exists()


def test_notes_of_a_folder_that_is_gone_stay_as_its_disk_may_be_unmounted(
    indexed: QmdProgram,
) -> None:
    shutil.rmtree(indexed.workspace / "memory")

    assert indexed.ask("router")["results"]
    assert "update" not in indexed.fake.commands


@pytest.mark.parametrize("is_configured", [False, True])
def test_an_index_that_is_left_as_it_is_is_called_stale(
    indexed: QmdProgram, is_configured: bool
) -> None:
    if is_configured:
        indexed.configure_own(provider="none", sync={"onSearch": False})
    indexed.note("memory/new.md", "Another heron.\n")

    done = indexed("search", "heron", "--json", *([] if is_configured else ["--no-sync"]))

    assert done.json["stale"] is True
    assert done.err == "[memory] files changed since QMD looked; run: ocmem index\n"
    assert indexed.fake.commands == ["search"]


def test_a_qmd_that_cannot_update_answers_and_is_not_made_to_try_again(
    indexed: QmdProgram,
) -> None:
    indexed.fake.on("update", code=1, stderr="boom")
    indexed.note("memory/new.md", "Another heron.\n")

    first = indexed("search", "heron", "--json")
    second = indexed("search", "heron", "--json")

    assert (first.json["backend"], first.json["stale"]) == ("qmd", True)
    assert first.err == (
        "[memory] QMD could not update its index: boom; answering from what is there\n"
    )
    assert (second.json["backend"], second.json["stale"]) == ("qmd", True)
    assert second.err == "[memory] QMD's index is out of date; run: ocmem index\n"
    assert indexed.fake.commands == ["update", "search", "search"]


def test_an_index_run_ends_the_waiting(indexed: QmdProgram) -> None:
    indexed.fake.on("update", code=1, stderr="boom")
    indexed.fake.on("update", does=True)
    indexed.note("memory/new.md", "An osprey.\n")
    indexed("search", "osprey")

    indexed.index()

    assert indexed.ask("osprey")["results"]


def test_a_note_from_the_future_is_no_reason_to_update_each_time(indexed: QmdProgram) -> None:
    os.utime(indexed.note("memory/day.md", "A heron.\n"), (4e9, 4e9))

    indexed.ask("heron")

    assert indexed.fake.commands == ["search"]
