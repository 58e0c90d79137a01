"""Which files count as memory, in which order, under which names."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ocmem.core.files import discover, extra_locations, is_plain_folder, opened
from ocmem.model import FoundFile, SourceFile, Stamp
from ocmem.settings import Overrides, Settings, resolve

MEASURED_ORDER = [
    "-d/x.md",
    ".dot.md",
    ".hid/x.md",
    "10.md",
    "9.md",
    "B.md",
    "Z.md",
    "_x.md",
    "a/z.md",
    "a-b.md",
    "a.md",
    "hard.md",
    "m.md",
    "é.md",
    "ﬀ.md",
    "𝒳.md",
]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / ".openclaw" / "workspace"
    folder.mkdir(parents=True)
    return folder


def settings_of(
    workspace: Path,
    *,
    extra_paths: Sequence[str] = (),
    exclude: Sequence[str] = (),
    option: Path | None = None,
) -> Settings:
    home = workspace.parents[1]
    env = {"HOME": str(home), "OCMEM_CONFIG": str(home / "ocmem.json5")}
    settings = resolve(Overrides(workspace=str(option) if option else None), env)
    search = replace(settings.search, extra_paths=tuple(extra_paths), exclude=tuple(exclude))
    return replace(settings, search=search)


def write(folder: Path, *names: str) -> None:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{name}\n")


def found_in(settings: Settings) -> list[str]:
    return [file.path for file in discover(settings).files]


def test_root_files_come_first_then_the_memory_folder_then_extra_paths(workspace: Path) -> None:
    write(workspace, "memory/b.md", "memory.md", "MEMORY.md", "notes/n.md", "memory/a.md")

    found = found_in(settings_of(workspace, extra_paths=["notes"]))

    assert found == ["MEMORY.md", "memory.md", "memory/a.md", "memory/b.md", "notes/n.md"]


def test_other_files_of_the_workspace_do_not_count(workspace: Path) -> None:
    write(workspace, "Memory.md", "MEMORY.MD", "README.md", "Memory/a.md", "memory/ok.md")

    assert found_in(settings_of(workspace)) == ["memory/ok.md"]


def test_entries_come_in_the_byte_order_of_their_names_depth_first(workspace: Path) -> None:
    write(workspace / "memory", *reversed(MEASURED_ORDER))

    assert found_in(settings_of(workspace)) == [f"memory/{name}" for name in MEASURED_ORDER]


def test_only_names_that_end_in_lower_case_md_count(workspace: Path) -> None:
    write(workspace / "memory", "UP.MD", "a.Md", "a.md.txt", "a.markdown", "md", ".md", "x.md")

    assert found_in(settings_of(workspace)) == ["memory/.md", "memory/x.md"]


def test_no_folder_under_memory_is_ignored(workspace: Path) -> None:
    write(workspace / "memory", ".git/a.md", "node_modules/b.md", ".venv/deep/c.md")

    found = found_in(settings_of(workspace))

    assert found == ["memory/.git/a.md", "memory/.venv/deep/c.md", "memory/node_modules/b.md"]


def test_a_directory_named_like_a_note_is_walked_not_read(workspace: Path) -> None:
    write(workspace, "memory/x.md/inner.md", "MEMORY.md/other.md")

    assert found_in(settings_of(workspace)) == ["memory/x.md/inner.md"]


def test_what_is_no_regular_file_is_skipped(workspace: Path) -> None:
    write(workspace, "memory/a.md")
    os.mkfifo(workspace / "memory" / "pipe.md")
    os.mkfifo(workspace / "MEMORY.md")

    assert found_in(settings_of(workspace)) == ["memory/a.md"]


def test_symlinks_to_files_and_folders_are_skipped(workspace: Path, tmp_path: Path) -> None:
    write(tmp_path, "elsewhere/e.md")
    write(workspace, "memory/real.md")
    (workspace / "MEMORY.md").symlink_to(workspace / "memory" / "real.md")
    (workspace / "memory" / "link.md").symlink_to("real.md")
    (workspace / "memory" / "folder").symlink_to(tmp_path / "elsewhere")

    assert found_in(settings_of(workspace)) == ["memory/real.md"]


def test_a_memory_folder_that_is_a_symlink_is_skipped(workspace: Path, tmp_path: Path) -> None:
    write(tmp_path, "elsewhere/e.md")
    write(workspace, "MEMORY.md")
    (workspace / "memory").symlink_to(tmp_path / "elsewhere")

    assert found_in(settings_of(workspace)) == ["MEMORY.md"]


def test_a_memory_folder_that_is_a_file_is_skipped(workspace: Path) -> None:
    write(workspace, "MEMORY.md", "memory")

    assert found_in(settings_of(workspace)) == ["MEMORY.md"]


def test_hard_links_are_two_files(workspace: Path) -> None:
    write(workspace, "memory/a.md")
    (workspace / "memory" / "b.md").hardlink_to(workspace / "memory" / "a.md")

    assert found_in(settings_of(workspace)) == ["memory/a.md", "memory/b.md"]


def test_extra_paths_keep_their_order_and_may_lie_outside(workspace: Path, tmp_path: Path) -> None:
    write(tmp_path, "z/o.md", "z/skip.txt", "y/deep/d.md")
    write(workspace, "memory/m.md", "one.md", "one.txt")
    extra = [str(tmp_path / "z"), "../../../y", "one.md", "one.txt", "./one.md", "missing.md"]

    found = found_in(settings_of(workspace, extra_paths=extra))

    outside = ["../../../z/o.md", "../../../y/deep/d.md"]
    assert found == ["memory/m.md", *outside, "one.md"]


def test_an_extra_path_that_is_a_symlink_is_skipped_but_one_through_it_counts(
    workspace: Path, tmp_path: Path
) -> None:
    write(tmp_path, "real/sub/s.md", "real/f.md")
    write(workspace, "memory/m.md")
    (workspace / "link").symlink_to(tmp_path / "real")
    (workspace / "f.md").symlink_to(tmp_path / "real" / "f.md")

    through = found_in(settings_of(workspace, extra_paths=["link", "f.md", "link/sub"]))

    assert through == ["memory/m.md", "link/sub/s.md"]


def test_a_file_reached_twice_counts_once_under_its_first_name(
    workspace: Path, tmp_path: Path
) -> None:
    write(tmp_path, "real/sub/s.md")
    write(workspace, "memory/m.md")
    (workspace / "link").symlink_to(tmp_path / "real")
    extra = ["link/sub", str(tmp_path / "real"), "memory", "memory/m.md"]

    assert found_in(settings_of(workspace, extra_paths=extra)) == ["memory/m.md", "link/sub/s.md"]


def test_extra_locations_are_absolute_and_each_there_once(workspace: Path) -> None:
    home = workspace.parents[1]
    extra = ["a", "./a/", "b/../a", "~/n", "~", "~user", str(home / "n")]

    found = extra_locations(settings_of(workspace, extra_paths=extra))

    expected = [workspace / "a", home / "n", home, workspace / "~user"]
    assert list(found) == [str(path) for path in expected]


def test_a_missing_extra_folder_is_reported_and_its_rows_must_stay(workspace: Path) -> None:
    write(workspace, "memory/m.md")

    found = discover(settings_of(workspace, extra_paths=["gone", "gone.md"]))

    assert found.unreachable == {str(workspace / "gone")}
    assert [(issue.message, issue.serious) for issue in found.issues] == [
        ("additional memory path missing (~/.openclaw/workspace/gone)", False),
        ("additional memory path missing (~/.openclaw/workspace/gone.md)", False),
    ]


def test_a_missing_memory_folder_is_reported_and_its_rows_must_stay(workspace: Path) -> None:
    write(workspace, "MEMORY.md")

    found = discover(settings_of(workspace))

    assert [file.path for file in found.files] == ["MEMORY.md"]
    assert found.unreachable == {str(workspace / "memory")}
    assert [issue.message for issue in found.issues] == [
        "memory directory missing (~/.openclaw/workspace/memory)"
    ]


def test_a_missing_workspace_is_unreachable(workspace: Path) -> None:
    workspace.rmdir()

    found = discover(settings_of(workspace))

    assert found.files == []
    assert str(workspace) in found.unreachable


def test_an_empty_memory_folder_is_no_loss_but_worth_a_word(workspace: Path) -> None:
    (workspace / "memory").mkdir()

    found = discover(settings_of(workspace))

    assert found.unreachable == set()
    assert [issue.message for issue in found.issues] == [
        "no memory files found in ~/.openclaw/workspace"
    ]


def test_a_file_whose_name_is_not_utf8_is_skipped_with_a_word(workspace: Path) -> None:
    write(workspace, "memory/a.md")
    bad = os.fsencode(workspace / "memory") + b"/b\xff.md"
    try:
        Path(os.fsdecode(bad)).write_text("x")
    except OSError:
        pytest.skip("this file system refuses such names")

    found = discover(settings_of(workspace))

    assert [file.path for file in found.files] == ["memory/a.md"]
    assert ["not valid UTF-8" in issue.message for issue in found.issues] == [True]
    assert found.issues[0].message.isprintable()


def test_excluded_files_are_not_discovered(workspace: Path) -> None:
    write(workspace, "MEMORY.md", "memory/a.md", "memory/private/b.md", "memory/c.md")

    found = found_in(settings_of(workspace, exclude=["private", "c.md"]))

    assert found == ["MEMORY.md", "memory/a.md"]


def test_every_note_below_a_plain_folder_counts(workspace: Path, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    write(folder, "z.md", "sub/a.md", ".dot.md", ".obsidian/x.md", "sub/node_modules/y.md", "n.txt")
    settings = settings_of(workspace, option=folder)

    assert is_plain_folder(settings)
    assert found_in(settings) == [".dot.md", "sub/a.md", "z.md"]


@pytest.mark.parametrize("layout", ["MEMORY.md", "memory.md", "memory/m.md"])
def test_a_folder_with_a_memory_layout_is_no_plain_folder(
    workspace: Path, tmp_path: Path, layout: str
) -> None:
    folder = tmp_path / "notes"
    write(folder, "z.md", layout)
    settings = settings_of(workspace, option=folder)

    assert not is_plain_folder(settings)
    assert found_in(settings) == [layout]


def test_an_agents_workspace_without_a_layout_is_no_plain_folder(workspace: Path) -> None:
    write(workspace, "README.md")

    assert found_in(settings_of(workspace)) == []
    assert found_in(settings_of(workspace, option=workspace)) == []


def test_transcripts_are_regular_jsonl_files_right_in_their_folder(workspace: Path) -> None:
    settings = settings_of(workspace)
    write(settings.sessions_dir, "b.jsonl", "a.jsonl", "a.jsonl.bak", "sub/c.jsonl")
    (settings.sessions_dir / "link.jsonl").symlink_to("a.jsonl")

    found = discover(settings, ["sessions"])

    assert [(file.path, file.source) for file in found.files] == [
        ("sessions/a.jsonl", "sessions"),
        ("sessions/b.jsonl", "sessions"),
    ]


def test_a_missing_sessions_folder_is_reported_and_its_rows_must_stay(workspace: Path) -> None:
    settings = settings_of(workspace)

    found = discover(settings, ["sessions"])

    assert found.files == []
    assert found.unreachable == {str(settings.sessions_dir)}
    assert "sessions directory missing" in found.issues[0].message


def read(found: FoundFile) -> SourceFile:
    """Everything that is to be had while the file is open."""
    with opened(found) as file:
        return file if file.turns is None else replace(file, turns=[*file.turns])


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", "é漢😀\n".encode(), b"\xef\xbb\xbf# T\r\nx\r\n", b"a\0b\n", b"no newline"],
)
def test_valid_text_is_read_whole_and_hashed_as_its_bytes(tmp_path: Path, data: bytes) -> None:
    location = tmp_path / "a.md"
    location.write_bytes(data)

    file = read(FoundFile("a.md", "memory", str(location), Stamp(0, 0, 0, 0)))

    assert file.text.encode() == data
    assert file.hash == hashlib.sha256(data).hexdigest()
    assert file.stamp.size == len(data)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a\xffb", "a\ufffdb"),
        (b"\xe2\x82", "\ufffd"),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
        (b"\xf0\x9f\x98x\xc0\xaf", "\ufffdx\ufffd\ufffd"),
    ],
)
def test_invalid_bytes_are_replaced_before_hashing(tmp_path: Path, data: bytes, text: str) -> None:
    location = tmp_path / "a.md"
    location.write_bytes(data)

    file = read(FoundFile("a.md", "memory", str(location), Stamp(0, 0, 0, 0)))

    assert file.text == text
    assert file.hash == hashlib.sha256(text.encode()).hexdigest()


def test_a_transcript_is_read_as_its_turns(tmp_path: Path) -> None:
    location = tmp_path / "s.jsonl"
    turn = '{"type":"message","message":{"role":"user","content":"hi\\u2028there"}}'
    location.write_text(f"\n{turn}\n")

    file = read(FoundFile("sessions/s.jsonl", "sessions", str(location), Stamp(0, 0, 0, 0)))

    assert file.turns == [(2, "User: hi there")]
    assert file.hash == hashlib.sha256(b"User: hi there\n2").hexdigest()


def test_a_transcript_without_turns_has_the_hash_of_a_newline(tmp_path: Path) -> None:
    location = tmp_path / "s.jsonl"
    location.write_text('{"type":"session"}\n')

    file = read(FoundFile("sessions/s.jsonl", "sessions", str(location), Stamp(0, 0, 0, 0)))

    assert file.turns == []
    assert file.hash.startswith("01ba4719")


def test_a_file_that_vanished_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(FoundFile("a.md", "memory", str(tmp_path / "a.md"), Stamp(0, 0, 0, 0)))


def test_a_time_is_kept_with_its_fraction_of_a_millisecond(workspace: Path) -> None:
    write(workspace, "MEMORY.md")
    os.utime(workspace / "MEMORY.md", ns=(0, 1_794_979_402_981_987_300))

    (file,) = discover(settings_of(workspace)).files

    assert file.stamp.mtime_ms == 1794979402981.9873
    assert file.stamp.size == len("MEMORY.md\n")
