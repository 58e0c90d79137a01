"""Transcripts at the shell: indexed, searched, read, listed and exported."""

import json
import os
from pathlib import Path

import pytest

from tests.cli.program import Program, digest, everything, indexed
from tests.fake_provider import FakeProvider
from tests.unit.chats import OPTED_IN, header, line

FUTURE_S = 4_102_444_800  # from which on it always is `now`


@pytest.fixture
def chats(ocmem: Program) -> Path:
    """A note and a transcript of the main agent."""
    ocmem.note("MEMORY.md", "The boat is red.\n")
    folder = ocmem.state / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    said = line("Where is the umbrella?") + line("At the harbour.", "assistant")
    (folder / "monday.jsonl").write_text(header("monday") + said)
    return folder


def test_transcripts_are_searched_without_the_opt_in_on_a_file_of_ocmems_own(
    ocmem: Program, fake: FakeProvider, chats: Path
) -> None:
    ocmem.use(fake)
    ocmem.index()
    before = digest(ocmem.shared_index)

    done = ocmem("index", "--source", "sessions")
    found = ocmem("search", "umbrella", "--source", "sessions", "--json")

    assert done.code == 0, done.err
    assert found.results[0]["citation"] == "sessions/monday.jsonl#L2-L3"
    assert {result["source"] for result in found.results} == {"sessions"}
    assert digest(ocmem.shared_index) == before
    assert indexed(ocmem.own_index) == {"MEMORY.md", "sessions/monday.jsonl"}


def test_after_the_opt_in_transcripts_are_in_the_shared_file(
    ocmem: Program, fake: FakeProvider, chats: Path
) -> None:
    ocmem.use(fake, **OPTED_IN)

    ocmem.index()
    found = ocmem("search", "umbrella", "--json", "--max-results", "1")

    assert found.paths == ["sessions/monday.jsonl"]
    assert indexed(ocmem.shared_index) == {"MEMORY.md", "sessions/monday.jsonl"}
    assert not ocmem.own_index.exists()


def test_one_source_can_be_caught_up_with_alone(ocmem: Program, chats: Path) -> None:
    ocmem("index", "--source", "sessions")
    ocmem.note("MEMORY.md", "The boat is green now.\n")
    (chats / "tuesday.jsonl").write_text(line("Did it rain?"))

    (entry,) = ocmem("index", "--source", "sessions", "--json").json

    assert entry["files"] == {"scanned": 2, "changed": 1, "removed": 0, "skipped": 0}
    assert "Dirty: yes" in ocmem("status").out
    (entry,) = ocmem("index", "--json").json
    assert entry["files"] == {"scanned": 3, "changed": 1, "removed": 0, "skipped": 0}


def test_a_new_index_of_named_sources_drops_the_others(ocmem: Program, chats: Path) -> None:
    ocmem("index", "--source", "sessions")
    ocmem("index", "--force")
    assert "sessions/monday.jsonl" in indexed(ocmem.own_index)

    ocmem("index", "--force", "--source", "memory")

    assert indexed(ocmem.own_index) == {"MEMORY.md"}


def test_a_search_of_notes_does_not_wait_for_transcripts(ocmem: Program, chats: Path) -> None:
    ocmem("index", "--source", "sessions")
    (chats / "tuesday.jsonl").write_text(line("Did it rain?"))

    found = ocmem("search", "boat", "--no-sync", "--json")
    ocmem("search", "boat")

    assert "stale" not in found.json
    assert "sessions/tuesday.jsonl" not in indexed(ocmem.own_index)


def test_a_hint_names_the_source_that_is_behind(
    ocmem: Program, fake: FakeProvider, chats: Path
) -> None:
    ocmem.use(fake)
    ocmem("index", "--source", "sessions")
    (chats / "tuesday.jsonl").write_text(line("Did it rain?"))

    done = ocmem("search", "rain", "--source", "sessions", "--no-sync")

    assert "run: ocmem index --source sessions" in done.err


def test_a_dry_run_counts_one_source_alone(ocmem: Program, chats: Path) -> None:
    ocmem("index", "--source", "sessions")
    ocmem.note("MEMORY.md", "The boat is green now.\n")

    done = ocmem("index", "--dry-run", "--source", "sessions")

    assert done.out.startswith("Would index 0 of 1 file")


def test_a_folder_of_notes_has_no_transcripts_to_index(ocmem: Program, chats: Path) -> None:
    folder = ocmem.workspace.rename(ocmem.home / "notes")

    done = ocmem("index", "--workspace", str(folder), "--source", "sessions")

    assert (done.code, done.out) == (1, "")
    assert done.err == "--source sessions: a folder of notes has no transcripts\n"


# --- get ----------------------------------------------------------------------------------------


def test_a_citation_of_a_transcript_is_read_as_its_turns(ocmem: Program, chats: Path) -> None:
    cited = ocmem("search", "umbrella", "--source", "sessions", "--json").results[0]["citation"]

    done = ocmem("get", cited)

    assert done.out == "User: Where is the umbrella?\nAssistant: At the harbour.\n"
    assert ocmem("get", cited, "--json").json == {
        "text": "User: Where is the umbrella?\nAssistant: At the harbour.",
        "path": "sessions/monday.jsonl",
        "startLine": 2,
        "endLine": 3,
    }


def test_what_get_prints_of_a_transcript_has_no_secrets(ocmem: Program, chats: Path) -> None:
    (chats / "secret.jsonl").write_text(line("My OPENAI_API_KEY=sk-abcdefghijklmnop1234"))

    done = ocmem("get", "sessions/secret.jsonl")

    assert done.out == "User: My OPENAI_API_KEY=sk-abc…1234\n"


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("sessions/absent.jsonl", "no such transcript"),
        ("sessions/monday.jsonl#L1", "nothing is said in these lines"),
        ("sessions/monday.jsonl#L7", "has only 3 lines"),
    ],
)
def test_what_is_not_said_in_a_transcript_is_told(
    ocmem: Program, chats: Path, path: str, told: str
) -> None:
    done = ocmem("get", path)

    assert (done.out, told in done.err) == ("", True), done.err
    assert done.code == (1 if "absent" in path else 0)


# --- list and export ----------------------------------------------------------------------------


def test_chats_are_listed_with_their_transcripts(ocmem: Program, chats: Path) -> None:
    store = {
        "agent:main:main": {"sessionId": "monday", "updatedAt": FUTURE_S * 1000, "totalTokens": 12}
    }
    (chats / "sessions.json").write_text(json.dumps(store))
    (chats / "stray \x1b[31m.jsonl").write_text("")
    os.utime(chats / "stray \x1b[31m.jsonl", (FUTURE_S + 1, FUTURE_S + 1))

    done = ocmem("sessions", "list")

    assert [row.split() for row in done.out.splitlines()] == [
        ["UPDATED", "TOKENS", "SIZE", "KEY", "TRANSCRIPT"],
        ["now", "–", "0", "B", "–", "sessions/stray", "␛[31m.jsonl"],
        ["now", "12", "276", "B", "agent:main:main", "sessions/monday.jsonl"],
    ]
    (found,) = ocmem("sessions", "list", "--json").json
    assert found["sessions"][1]["key"] == "agent:main:main"


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_a_list_fits_the_terminal(ocmem: Program, chats: Path, columns: int) -> None:
    id = "5d0c7b1e-3f6a-4c1b-9a50-0f5a3c2d7e11"
    store = {"agent:main:main": {"sessionId": id, "updatedAt": 1000, "totalTokens": 178_000}}
    (chats / "sessions.json").write_text(json.dumps(store))
    (chats / "monday.jsonl").rename(chats / f"{id}.jsonl")

    shown = ocmem.on_terminal("sessions", "list", columns=columns).splitlines()

    assert f"sessions/{id}.jsonl" in shown[-1]
    assert len(shown) == (2 if columns == 120 else 4)
    assert max(map(len, shown)) <= max(columns, 53)


def test_no_sessions_is_an_answer(ocmem: Program) -> None:
    assert ocmem("sessions", "list").out == "No sessions.\n"
    assert ocmem("sessions", "list", "--json").json == [{"agentId": "main", "sessions": []}]


def test_a_broken_store_is_one_line_and_exit_1(ocmem: Program, chats: Path) -> None:
    (chats / "sessions.json").write_text("{")

    for args in (("list",), ("export", "agent:main:main")):
        done = ocmem("sessions", *args)

        assert (done.code, done.out) == (1, "")
        assert done.err.startswith(f"{chats}/sessions.json is not valid JSON\n")


def test_an_export_goes_to_stdout_and_nothing_is_written(ocmem: Program, chats: Path) -> None:
    before = everything(ocmem.home)

    done = ocmem("sessions", "export", "monday.jsonl", "--messages", "1")

    assert done.out.endswith("## Conversation Summary\n\nassistant: At the harbour.\n")
    assert (done.code, done.err) == (0, "")
    assert everything(ocmem.home) == before


def test_the_number_of_messages_is_the_hooks(ocmem: Program, chats: Path) -> None:
    entries = {"session-memory": {"messages": 1}}
    ocmem.configure_all({"hooks": {"internal": {"entries": entries}}})

    assert "umbrella" not in ocmem("sessions", "export", "monday.jsonl").out
    assert "umbrella" in ocmem("sessions", "export", "monday.jsonl", "--messages", "2").out


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("export",), "missing argument"),
        (("export", "nobody"), "no session and no transcript is called nobody"),
        (("export", "monday.jsonl", "--messages", "0"), "--messages must be 1 or more"),
        (("list", "--workspace", "."), "a folder of notes has no sessions"),
        (("lits",), "unknown command 'lits'"),
    ],
)
def test_bad_words_are_told_in_one_line(
    ocmem: Program, chats: Path, args: tuple[str, ...], told: str
) -> None:
    done = ocmem("sessions", *args)

    assert (done.code, done.out) == (1, "")
    assert told in done.err.splitlines()[0]


def test_a_session_that_is_written_while_it_is_exported_is_not_waited_for(
    ocmem: Program, chats: Path
) -> None:
    with (chats / "monday.jsonl").open("a") as file:
        file.write(line("half")[:20])
        file.flush()

        done = ocmem("sessions", "export", "monday.jsonl")

    assert done.code == 0
    assert done.out.endswith("assistant: At the harbour.\n")
