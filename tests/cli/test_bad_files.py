"""Notes that are missing, unreadable, oddly named or full of rubbish."""

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.both_ways import both_ways, contents, run_bytes
from tests.cli.program import Outcome, Program, digest, indexed
from tests.fake_provider import FakeProvider

KEPT = "indexed files in it were kept. If it is gone for good, create it empty and run: ocmem index"


def three_notes(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "The heron stood on pier one.\n")
    ocmem.note("memory/a.md", "The heron stood on pier two.\n")
    ocmem.note("memory/deep/b.md", "The heron stood on pier three.\n")


def issues(status: Outcome) -> list[str]:
    (entry,) = status.json
    return [str(issue) for issue in entry["scan"]["issues"]]


# Missing


def test_a_missing_workspace_is_told_and_nothing_is_found_in_it(ocmem: Program) -> None:
    index, as_json = both_ways(ocmem, "index")
    search, _ = both_ways(ocmem, "search", "heron")
    _, status = both_ways(ocmem, "status")
    get, _ = both_ways(ocmem, "get", "MEMORY.md")

    missing = "memory directory missing (~/.openclaw/workspace/memory)"
    assert (index.code, as_json.json[0]["issues"]) == (0, [missing])
    assert missing in index.err
    assert (search.code, search.out) == (0, "No matches.\n")
    assert "no notes are indexed in ~/.openclaw/workspace; another folder" in search.err
    assert "--workspace" in search.err
    assert (status.code, issues(status)) == (0, [missing])
    assert (get.code, get.out, get.err) == (1, "", "no such file: MEMORY.md\n")


def test_an_empty_workspace_is_worth_a_word(ocmem: Program) -> None:
    (ocmem.workspace / "memory").mkdir(parents=True)

    index, as_json = both_ways(ocmem, "index")

    assert index.code == 0
    assert as_json.json[0]["issues"] == ["no memory files found in ~/.openclaw/workspace"]


@pytest.mark.parametrize(("folder", "count"), [("", 3), ("memory", 2)])
def test_an_unmounted_folder_keeps_its_rows_until_it_is_back(
    ocmem: Program, folder: str, count: int
) -> None:
    three_notes(ocmem)
    ocmem.index()
    before = digest(ocmem.own_index)
    mounted, elsewhere = ocmem.workspace / folder, ocmem.home / "elsewhere"
    mounted.rename(elsewhere)

    index, _ = both_ways(ocmem, "index")
    forced = ocmem("index", "--force")
    search, found = both_ways(ocmem, "search", "heron")
    _, status = both_ways(ocmem, "status")

    shown = f"~/.openclaw/workspace/{folder}".rstrip("/")
    told = f"{shown} is missing or unreadable; {count} {KEPT}"
    assert (index.code, forced.code, search.code, status.code) == (1, 1, 0, 0)
    assert index.err.count("is missing or unreadable") == 1
    assert told in index.err
    assert told in forced.err
    assert told in search.err
    assert told in issues(status)
    assert len(found.results) == 3
    assert digest(ocmem.own_index) == before

    elsewhere.rename(mounted)

    assert ocmem("index").err.startswith("checked 3 files: 0 changed, 0 removed, 0 skipped")
    assert ocmem("search", "heron").err == ""


def test_a_folder_given_by_hand_answers_after_it_was_unmounted(ocmem: Program) -> None:
    folder = ocmem.home / "diary"
    folder.mkdir()
    (folder / "monday.md").write_text("The heron stood on the pier.\n")
    assert ocmem("index", "--workspace", "diary").code == 0
    folder.rename(ocmem.home / "elsewhere")

    index, _ = both_ways(ocmem, "index", "--workspace", "diary")
    search, found = both_ways(ocmem, "search", "heron", "--workspace", "diary")

    assert (index.code, search.code, found.paths) == (1, 0, ["monday.md"])
    assert "~/diary is missing or unreadable; 1 indexed file in it was kept" in search.err


def test_a_file_that_vanishes_between_listing_and_reading_is_no_failure(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "heron " * 700_000)  # enough to be embedded before the next is read
    doomed = ocmem.note("memory/doomed.md", "The zeppelin landed.\n")

    with FakeProvider(vector=lambda _: doomed.unlink(missing_ok=True)) as fake:
        ocmem.use(fake)
        done = ocmem("index", "--json")

    assert (done.code, done.err) == (0, "")
    assert (done.json[0]["files"]["scanned"], done.json[0]["issues"]) == (1, [])
    assert indexed(ocmem.shared_index) == {"MEMORY.md"}


# Unreadable


@pytest.mark.parametrize("path", ["MEMORY.md", "memory/a.md"])
def test_an_unreadable_note_is_reported_and_the_rest_is_indexed(
    ocmem: Program, permissions: None, path: str
) -> None:
    three_notes(ocmem)
    (ocmem.workspace / path).chmod(0)

    index, _ = both_ways(ocmem, "index", bound=True)
    search, found = both_ways(ocmem, "search", "heron", bound=True)
    _, status = both_ways(ocmem, "status", bound=True)
    get, _ = both_ways(ocmem, "get", path, bound=True)

    told = f"~/.openclaw/workspace/{path} not readable (EACCES)"
    assert (index.code, search.code, status.code, get.code) == (1, 0, 0, 1)
    assert told in index.err
    assert told in search.err
    assert issues(status) == [told]
    assert get.err == f"{path} cannot be read: Permission denied\n"
    assert path not in found.paths
    assert len(found.results) == 2


@pytest.mark.parametrize("options", [[], ["--force"]])
def test_a_note_that_became_unreadable_keeps_its_rows(
    ocmem: Program, permissions: None, options: list[str]
) -> None:
    three_notes(ocmem)
    ocmem.index()
    before = digest(ocmem.own_index)
    ocmem.note("memory/a.md", "The text that nobody may read.\n").chmod(0)

    done = ocmem("index", *options, bound=True)

    assert done.code == 1
    assert "1 skipped" in done.err
    assert digest(ocmem.own_index) == before


@pytest.mark.parametrize(
    ("folder", "mode", "told"),
    [
        ("memory/deep", 0, "folder not accessible (~/.openclaw/workspace/memory/deep): EACCES"),
        ("memory", 0o400, "memory directory scan failed (~/.openclaw/workspace/memory): EACCES"),
        ("", 0, "workspace not accessible (~/.openclaw/workspace): EACCES"),
    ],
)
def test_an_unreadable_folder_is_reported_and_keeps_its_rows(
    ocmem: Program, permissions: None, folder: str, mode: int, told: str
) -> None:
    three_notes(ocmem)
    ocmem.index()
    before = digest(ocmem.own_index)
    (ocmem.workspace / folder).chmod(mode)

    index, _ = both_ways(ocmem, "index", bound=True)
    forced = ocmem("index", "--force", bound=True)
    search, found = both_ways(ocmem, "search", "heron", bound=True)
    text, status = both_ways(ocmem, "status", bound=True)
    get, _ = both_ways(ocmem, "get", "memory/deep/b.md", bound=True)

    (ocmem.workspace / folder).chmod(0o700)
    assert (index.code, forced.code, search.code, text.code, get.code) == (1, 1, 0, 0, 1)
    assert told in index.err
    assert told in search.err
    assert told in issues(status)
    assert "missing (" not in index.err  # it is there
    assert "Indexed: 3/? files" in text.out
    assert get.err == "memory/deep/b.md cannot be read: Permission denied\n"
    assert len(found.results) == 3
    assert digest(ocmem.own_index) == before


# What is in them


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"The heron \xff\xfe stood, caf\xe9.\n", "The heron �� stood, caf�.\n"),
        (b"The\0heron\0stood on the pier.\n", "The\0heron\0stood on the pier.\n"),
        (b"\xef\xbb\xbfThe heron\r\nstood.\r\n", "\ufeffThe heron\r\nstood.\r\n"),
        (b"\x1b[31mThe heron\x07\x7f stood.\n", "\x1b[31mThe heron\x07\x7f stood.\n"),
    ],
    ids=["not UTF-8", "NUL", "byte order mark", "control characters"],
)
def test_odd_bytes_are_indexed_found_and_read(ocmem: Program, data: bytes, shown: str) -> None:
    ocmem.note("memory/odd.md", data)
    ocmem.index()

    search, found = both_ways(ocmem, "search", "heron")
    get, read = both_ways(ocmem, "get", "memory/odd.md")

    assert (search.code, search.err) == (0, "")
    assert found.results[0]["snippet"] == shown
    assert (get.code, get.out, read.json["text"]) == (0, shown, shown)
    assert ocmem("index").err.startswith("checked 1 files: 0 changed")


@pytest.mark.parametrize("provider", ["builtin", "none", "openai"])
def test_an_emoji_that_is_cut_in_two_does_no_harm(
    ocmem: Program, fake: FakeProvider, provider: str
) -> None:
    ocmem.note("memory/smile.md", "x" + "😀" * 3000 + " heron\n")
    if provider == "openai":
        ocmem.use(fake)
    else:
        ocmem.configure_own(provider=provider)
    ocmem.index()

    _, word = both_ways(ocmem, "search", "heron", "--ranker", "fused")
    emoji, _ = both_ways(ocmem, "search", "😀")
    invalid = run_bytes(ocmem, b"search", b"heron \xed\xa0\xbd \xff")

    assert "heron" in word.results[0]["snippet"]
    assert emoji.code == 0
    assert (invalid[0], b"Source: memory/smile.md#" in invalid[1]) == (0, True)
    assert ocmem("index").err.startswith("checked 1 files: 0 changed")


def test_a_line_of_five_megabytes_is_found_to_its_last_word(ocmem: Program) -> None:
    text = "heron " * 870_000 + "zeppelin"
    ocmem.note("memory/long.md", text)
    ocmem.index()

    _, found = both_ways(ocmem, "search", "zeppelin")
    get = ocmem("get", found.results[0]["citation"])

    assert found.results[0]["snippet"].endswith("zeppelin")
    assert get.out == text


# What they are called


@pytest.mark.parametrize(
    "name",
    [
        "two words .md",
        " leading.md",
        "new\nline.md",
        "tab\there.md",
        "quo\"te's.md",
        "hash#L3.md",
        "note.md#L3.md",
        "colon:1-2.md",
        "per%cent$HOME`id`.md",
        "star*[?].md",
        ".md",
        "-dash.md",
        "\x1b[31mred.md",
        "e\u0301한글.md",
    ],
)
def test_a_note_of_any_name_is_found_and_its_citation_read(ocmem: Program, name: str) -> None:
    ocmem.note(f"memory/{name}", "The heron stood.\n")

    search, found = both_ways(ocmem, "search", "heron")

    (hit,) = found.results
    assert (search.code, search.err) == (0, "")
    assert hit["path"] == f"memory/{name}"
    assert f"Source: {hit['citation']}\n" in search.out
    assert ocmem("get", hit["citation"]).out == "The heron stood.\n"
    assert ocmem("get", hit["path"]).out == "The heron stood.\n"


def test_control_characters_in_a_name_do_not_reach_the_terminal(ocmem: Program) -> None:
    ocmem.note("memory/\x1b]0;owned\x07.md", "The heron stood.\n")

    done = ocmem("search", "heron", "--color", "always")

    assert "owned" in done.out
    assert "\x1b]" not in done.out


def test_a_name_that_is_not_utf_8_is_skipped_with_a_word(ocmem: Program) -> None:
    ocmem.note("memory/good.md", "The heron stood.\n")
    odd = os.fsencode(ocmem.workspace) + b"/memory/b\xffd.md"
    Path(os.fsdecode(odd)).write_text("The heron flew.\n")

    index, _ = both_ways(ocmem, "index")
    search, found = both_ways(ocmem, "search", "heron")
    get = run_bytes(ocmem, b"get", b"memory/b\xffd.md")

    told = "file name is not valid UTF-8, file skipped (~/.openclaw/workspace/memory/b�d.md)"
    assert (index.code, told in index.err) == (1, True)
    assert (search.code, told in search.err) == (0, True)
    assert found.paths == ["memory/good.md"]
    assert get == (0, b"The heron flew.\n", b"")


def test_a_workspace_whose_own_name_is_not_utf_8_works(ocmem: Program) -> None:
    folder = os.fsencode(ocmem.home) + b"/n\xfftes"
    Path(os.fsdecode(folder)).mkdir()
    Path(os.fsdecode(folder + b"/monday.md")).write_text("The heron stood.\n")

    code, out, err = run_bytes(ocmem, b"search", b"heron", b"--workspace", folder)

    assert (code, err) == (0, b"")
    assert b"Source: monday.md#L1-L2\n" in out


def test_two_files_that_the_index_cannot_tell_apart_are_not_mixed_up(ocmem: Program) -> None:
    ocmem.note("memory/a/b.md", "The heron stood.\n")
    ocmem.note("memory/a\\b.md", "The heron flew.\n")

    index, _ = both_ways(ocmem, "index")
    again = ocmem("index")

    assert index.code == 1
    assert "another file is known as memory/a/b.md, file skipped" in index.err
    assert "checked 1 files: 0 changed" in again.err
    assert "stood" in ocmem("search", "heron").out


# What they are


def test_loops_links_and_folders_named_like_notes_are_walked_once(ocmem: Program) -> None:
    ocmem.note("memory/real.md", "The heron stood.\n")
    ocmem.note("memory/folder.md/inner.md", "The heron flew.\n")
    memory = ocmem.workspace / "memory"
    (memory / "loop").symlink_to(".")
    (memory / "up").symlink_to("..")
    (memory / "self.md").symlink_to("self.md")
    (memory / "link.md").symlink_to("real.md")
    os.mkfifo(memory / "pipe.md")

    index, _ = both_ways(ocmem, "index")
    _, found = both_ways(ocmem, "search", "heron")
    refused = {name: ocmem("get", f"memory/{name}") for name in ("self.md", "folder.md", "pipe.md")}

    assert (index.code, index.err.startswith("rebuilt 2 files")) == (0, True)
    assert sorted(found.paths) == ["memory/folder.md/inner.md", "memory/real.md"]
    assert {name: (done.code, done.err) for name, done in refused.items()} == {
        "self.md": (1, "memory/self.md is a symbolic link, which is not followed\n"),
        "folder.md": (1, "memory/folder.md is a folder; name a file in it\n"),
        "pipe.md": (1, "memory/pipe.md is not a regular file\n"),
    }


def test_a_memory_folder_that_is_a_link_is_not_passed_over_in_silence(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "The heron stood.\n")
    (ocmem.home / "synced").mkdir()
    (ocmem.workspace / "memory").symlink_to(ocmem.home / "synced")

    index, _ = both_ways(ocmem, "index")
    _, status = both_ways(ocmem, "status")

    told = "not a folder, or a link to one, so skipped (~/.openclaw/workspace/memory)"
    assert (index.code, told in index.err) == (0, True)
    assert issues(status) == [told]


# When they were written


@pytest.mark.parametrize("seconds", [-(10**9), 0, 2**33, 253_402_300_799])
def test_a_clock_far_off_does_no_harm(ocmem: Program, seconds: int) -> None:
    for name in ("MEMORY.md", "memory/2026-01-01.md", "memory/2026-13-01.md"):
        os.utime(ocmem.note(name, "The heron stood.\n"), (seconds, seconds))

    index, _ = both_ways(ocmem, "index")
    search, found = both_ways(ocmem, "search", "heron", "--decay", "30")

    assert (index.code, search.code, search.err) == (0, 0, "")
    assert len(found.results) >= 2
    assert all(0 <= result["score"] <= 1 for result in found.results)
    assert ocmem("index").err.startswith("checked 3 files: 0 changed")


def test_no_command_changes_a_note_however_bad_it_is(ocmem: Program) -> None:
    three_notes(ocmem)
    ocmem.note("memory/odd.md", b"\xff\0\r\n" * 100)
    (ocmem.workspace / "memory" / "loop").symlink_to(".")
    before = contents(ocmem.workspace)

    for args in (["index"], ["index", "--force"], ["search", "heron"], ["status", "--index"]):
        ocmem(*args)
    shutil.rmtree(ocmem.state / "memory")
    ocmem("search", "heron")

    assert contents(ocmem.workspace) == before
