"""`ocmem ls`: every file that counts or was left out, and how the index stands to it."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from ocmem.cli import table
from tests.cli.program import Program, everything

DAY_S = 86_400
FIELDS = ["path", "source", "state", "chunks", "size", "mtimeMs"]


def listed(ocmem: Program, *args: str, bound: bool = False) -> list[dict[str, Any]]:
    """The files of the only agent."""
    done = ocmem("ls", "--json", *args, bound=bound)
    assert done.code == 0, done.err
    (agent,) = done.json
    return list(agent["files"])


def states(ocmem: Program, *args: str, bound: bool = False) -> dict[str, str]:
    files = listed(ocmem, *args, bound=bound)
    assert len({file["path"] for file in files}) == len(files)
    return {file["path"]: file["state"] for file in files}


# States


def test_a_file_is_new_then_indexed_then_changed_then_gone(ocmem: Program) -> None:
    note = ocmem.note("memory/a.md", "one\n")
    ocmem.configure_own(provider="none")

    seen = [states(ocmem)]
    ocmem.index()
    seen.append(states(ocmem))
    note.write_text("two\n")
    seen.append(states(ocmem))
    note.unlink()
    seen.append(states(ocmem))
    ocmem.index()
    seen.append(states(ocmem))

    path = "memory/a.md"
    assert seen == [{path: "new"}, {path: "indexed"}, {path: "changed"}, {path: "gone"}, {}]


def test_a_touched_file_is_still_indexed(ocmem: Program) -> None:
    note = ocmem.note("memory/a.md", "one\n")
    ocmem.configure_own(provider="none")
    ocmem.index()

    os.utime(note, (1, 1))

    assert states(ocmem) == {"memory/a.md": "indexed"}


def test_files_of_a_folder_that_went_away_are_kept(ocmem: Program) -> None:
    ocmem.note("memory/a.md", "one\n")
    outside = ocmem.home / "usb"
    outside.mkdir()
    (outside / "b.md").write_text("two\n")
    ocmem.configure_own(provider="none", extraPaths=["~/usb"])
    ocmem.index()

    outside.rename(ocmem.home / "unplugged")

    assert states(ocmem) == {
        "memory/a.md": "indexed",
        "../../usb/b.md": "kept",
        "../../usb": "missing",
    }
    assert "additional memory path missing (~/usb)" in ocmem("ls").err


def test_a_file_that_several_extra_paths_lead_to_is_listed_once(ocmem: Program) -> None:
    for name in ("a.md", "b.md", "c.txt"):
        (ocmem.home / "docs").mkdir(exist_ok=True)
        (ocmem.home / "docs" / name).write_text("one\n")
    search = {
        "provider": "none",
        "exclude": ["b.md"],
        "extraPaths": ["~/docs", "~/docs/a.md", "~/docs/b.md", "~/docs/../docs", "~/docs/."],
    }
    ocmem.overlay.write_text(json.dumps({"memory": {"search": search}}))

    assert states(ocmem) == {
        "../../docs/a.md": "new",
        "../../docs/b.md": "excluded",
        "../../docs/c.txt": "not Markdown",
    }


def test_an_extra_path_that_never_was_there_has_a_row(ocmem: Program) -> None:
    ocmem.configure_own(provider="none", extraPaths=["~/gone", "~/gone.md"])

    assert states(ocmem) == {"../../gone": "missing", "../../gone.md": "missing"}


def test_an_indexed_extra_file_that_is_missing_is_gone(ocmem: Program) -> None:
    note = ocmem.home / "gone.md"
    note.write_text("one\n")
    ocmem.configure_own(provider="none", extraPaths=["~/gone.md"])
    ocmem.index()
    note.unlink()

    assert states(ocmem) == {"../../gone.md": "gone"}


@pytest.mark.parametrize("glob", ["sessions/**", "*.jsonl", "mon*", "sessions/{monday,x}.jsonl"])
def test_excluded_transcripts_are_neither_indexed_nor_new(ocmem: Program, glob: str) -> None:
    sessions = ocmem.state / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "monday.jsonl").write_text(
        '{"type":"message","message":{"role":"user","content":"Where is the umbrella?"}}\n'
    )
    options: dict[str, Any] = {"experimental": {"sessionMemory": True}, "sources": ["sessions"]}
    ocmem.configure_own(provider="none", exclude=["nothing"], **options)
    ocmem.index()
    assert ocmem("search", "umbrella", "--json").paths == ["sessions/monday.jsonl"]

    ocmem.configure_own(provider="none", exclude=[glob], **options)

    (file,) = listed(ocmem)
    assert (file["path"], file["state"], file["chunks"]) == ("sessions/monday.jsonl", "excluded", 1)
    assert ocmem("search", "umbrella", "--json").paths == []


def test_what_does_not_count_is_listed_with_the_reason(ocmem: Program) -> None:
    memory = ocmem.note("memory/a.md", "one\n").parent
    ocmem.note("memory/private/diary.md", "secret\n")
    ocmem.note("memory/photo.jpg", b"\xff\xd8")
    ocmem.note("memory/NOTES.MD", "the suffix is case-sensitive\n")
    (memory / "link.md").symlink_to("a.md")
    (memory / "linked-folder").symlink_to(ocmem.home)
    os.mkfifo(memory / "pipe.md")
    Path(os.fsdecode(os.fsencode(memory) + b"/caf\xe9.md")).write_text("one\n")
    (ocmem.workspace / "memory.md").symlink_to("memory/a.md")
    ocmem.configure_own(
        provider="none", exclude=["memory/private/**"], extraPaths=["memory/./a.md", "../usb.md"]
    )
    (ocmem.state / "usb.md").symlink_to("workspace/memory/a.md")

    files = listed(ocmem)

    found = [(file["path"], file["state"]) for file in files]
    assert found[0] == ("memory/a.md", "new")
    assert sorted(found[1:]) == [
        ("../usb.md", "symlink"),
        ("memory.md", "symlink"),
        ("memory/NOTES.MD", "not Markdown"),
        ("memory/caf\ufffd.md", "name is not UTF-8"),
        ("memory/link.md", "symlink"),
        ("memory/linked-folder", "symlink"),
        ("memory/photo.jpg", "not Markdown"),
        ("memory/pipe.md", "not a file"),
        ("memory/private/diary.md", "excluded"),
    ]


def test_a_memory_folder_that_is_none_is_said_to_be(ocmem: Program) -> None:
    ocmem.note("memory", "a file in place of the folder\n")

    assert states(ocmem) == {"memory": "not a folder"}


def test_what_may_not_be_read_is_unreadable(ocmem: Program, permissions: None) -> None:
    notes = [ocmem.note(name, "one\n") for name in ("MEMORY.md", "memory/a.md", "memory/sub/b.md")]
    ocmem.configure_own(provider="none")
    ocmem.index()
    for path in notes:
        path.write_text("two\n")
    closed = [ocmem.workspace / "memory/sub", ocmem.workspace / "MEMORY.md"]
    for path in closed:
        path.chmod(0)

    found = states(ocmem, bound=True)

    closed[0].chmod(0o700)
    assert found == {
        "MEMORY.md": "unreadable",
        "memory/a.md": "changed",
        "memory/sub/b.md": "kept",
        "memory/sub": "unreadable",
    }


def test_an_indexed_file_that_is_now_excluded_is_listed_once(ocmem: Program) -> None:
    ocmem.note("memory/a.md", "one\n")
    ocmem.configure_own(provider="none")
    ocmem.index()
    # `exclude` has an index of its own; here it changes under the same one.
    ocmem.configure_own(provider="none", exclude=["nothing.md"])
    ocmem.index()

    ocmem.configure_own(provider="none", exclude=["memory/a.md"])

    (file,) = listed(ocmem)
    assert (file["state"], file["chunks"]) == ("excluded", 1)


def test_transcripts_are_listed_where_they_are_a_source(ocmem: Program) -> None:
    sessions = ocmem.state / "agents" / "main" / "sessions"
    (sessions / "folder.jsonl").mkdir(parents=True)
    (sessions / "monday.jsonl").write_text(
        '{"type":"message","message":{"role":"user","content":"Where is the umbrella?"}}\n'
    )
    (sessions / "link.jsonl").symlink_to("monday.jsonl")
    (sessions / "sessions.json").write_text("{}")
    ocmem.note("MEMORY.md", "one\n")
    options: dict[str, Any] = {"experimental": {"sessionMemory": True}, "sources": ["sessions"]}
    ocmem.configure_own(provider="none", **options)
    ocmem.index()

    files = listed(ocmem)

    assert {file["source"] for file in files} == {"sessions"}
    assert {file["path"]: file["state"] for file in files} == {
        "sessions/monday.jsonl": "indexed",
        "sessions/folder.jsonl": "not a file",
        "sessions/link.jsonl": "symlink",
        "sessions/sessions.json": "not a transcript",
    }


def test_a_folder_of_notes_has_hidden_folders(ocmem: Program) -> None:
    for name in ("a.md", ".obsidian/b.md", "node_modules/c.md", "deep/d.md"):
        path = ocmem.home / "vault" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("one\n")

    assert states(ocmem, "--workspace", "vault") == {
        "a.md": "new",
        "deep/d.md": "new",
        ".obsidian": "hidden folder",
        "node_modules": "hidden folder",
    }


# What is told of each


def test_json_has_chunks_size_and_time(ocmem: Program) -> None:
    note = ocmem.note("memory/a.md", "one\n")
    os.utime(note, ns=(0, 1_772_280_000_123_000_000))
    ocmem.configure_own(provider="none")
    ocmem.index()
    ocmem.note("memory/gone.md", "two\n")
    ocmem.index()
    (ocmem.workspace / "memory/gone.md").unlink()

    indexed, gone = listed(ocmem)

    assert list(indexed) == list(gone) == FIELDS
    assert indexed == {
        "path": "memory/a.md",
        "source": "memory",
        "state": "indexed",
        "chunks": 1,
        "size": 4,
        "mtimeMs": 1_772_280_000_123,
    }
    assert (gone["chunks"], gone["size"], gone["mtimeMs"]) == (1, None, None)


def test_the_table_has_a_row_for_each(ocmem: Program) -> None:
    now = time.time()
    for name, age_s, size in (
        ("MEMORY.md", 3.5 * DAY_S, 1500),
        ("memory/a.md", 90, 13),
        ("memory/b.md", -60, 2_500_000),
    ):
        os.utime(ocmem.note(name, "x" * size), (now - age_s, now - age_s))
    (ocmem.workspace / "memory/c.md").symlink_to("b.md")
    ocmem.configure_own(provider="none")

    done = ocmem("ls")

    assert (done.code, done.err) == (0, "")
    rows = [line.split() for line in done.out.splitlines()]
    assert rows == [
        ["STATE", "CHUNKS", "SIZE", "AGE", "SOURCE", "PATH"],
        ["new", "0", "1.5", "kB", "3", "d", "memory", "MEMORY.md"],
        ["new", "0", "13", "B", "1", "min", "memory", "memory/a.md"],
        ["new", "0", "2.5", "MB", "now", "memory", "memory/b.md"],
        ["symlink", "–", "–", "–", "memory", "memory/c.md"],
    ]


def test_columns_stand_below_each_other_whatever_the_script(ocmem: Program) -> None:
    for name in ("memory/日本語の名前.md", "memory/비밀.md", "memory/plain.md"):
        ocmem.note(name, "x\n")
    (ocmem.workspace / "memory/茶.txt").write_text("x")

    header, *rows = ocmem("ls").out.splitlines()

    column = header.index("SOURCE")
    assert len(rows) == 4
    for row in rows:
        before, source, _ = row.partition("memory  ")
        assert (table.width(before), source) == (column, "memory  ")


def test_a_name_cannot_drive_the_terminal_or_break_the_table(ocmem: Program) -> None:
    ocmem.note("memory/two\nlines\x1b[31m.md", "x\n")

    done = ocmem("ls")

    assert done.out.splitlines()[1:] == [
        line for line in done.out.splitlines() if line.endswith("memory/two␊lines␛[31m.md")
    ]
    assert listed(ocmem)[0]["path"] == "memory/two\nlines\x1b[31m.md"


def test_no_files_is_an_answer(ocmem: Program) -> None:
    (ocmem.workspace / "memory").mkdir(parents=True)

    text, as_json = ocmem("ls"), ocmem("ls", "--json")

    assert (text.code, text.out) == (0, "No files.\n")
    assert text.err == "[memory] no memory files found in ~/.openclaw/workspace\n"
    assert as_json.json == [{"agentId": "main", "files": []}]


# Agents


def two_agents(ocmem: Program) -> None:
    for name in ("one", "two"):
        (ocmem.home / name / "memory").mkdir(parents=True)
        (ocmem.home / name / "MEMORY.md").write_text(f"I am {name}.\n")
    entries: list[dict[str, Any]] = [
        {"id": "One", "workspace": "~/one"},
        {"id": "two", "workspace": "~/two"},
        {"id": "off", "memorySearch": {"enabled": False}},
    ]
    ocmem.configure_all({"agents": {"list": entries}})


def test_every_agent_has_its_own_list(ocmem: Program) -> None:
    two_agents(ocmem)
    ocmem.configure_own(provider="none")
    assert ocmem("index", "--agent", "two").code == 0

    text, as_json = ocmem("ls"), ocmem("ls", "--json")

    heads = [line for line in text.out.splitlines() if line.endswith(":")]
    assert heads == ["One:", "two:"]
    assert text.err == as_json.err == "Memory search disabled.\n"
    assert [(each["agentId"], each["files"][0]["state"]) for each in as_json.json] == [
        ("One", "new"),
        ("two", "indexed"),
    ]


def test_one_agent_has_no_heading(ocmem: Program) -> None:
    two_agents(ocmem)

    done = ocmem("ls", "--agent", "ONE")

    assert done.out.startswith("STATE ")
    assert done.out.count("MEMORY.md") == 1


def test_a_broken_index_does_not_hide_the_other_agents(ocmem: Program) -> None:
    two_agents(ocmem)
    broken = ocmem.state / "memory" / "One.ocmem.sqlite"
    broken.parent.mkdir()
    broken.write_bytes(b"noise " * 1000)

    done = ocmem("ls", "--json")

    assert done.code == 1
    assert f"{broken}: file is not a database\n" in done.err
    assert [each["agentId"] for each in done.json] == ["two"]


# Nothing is touched


@pytest.mark.parametrize("args", [[], ["--json"]])
@pytest.mark.parametrize("is_indexed", [False, True])
def test_nothing_is_created_or_written(ocmem: Program, args: list[str], is_indexed: bool) -> None:
    ocmem.note("memory/a.md", "one\n")
    ocmem.note("memory/b.md", "two\n")
    if is_indexed:
        ocmem.index()
        ocmem.note("memory/a.md", "changed\n")
        (ocmem.workspace / "memory/b.md").unlink()
    before = everything(ocmem.home)

    done = ocmem("ls", *args)

    assert done.code == 0
    assert everything(ocmem.home) == before
