"""What may be read by name, and which lines come back."""

import errno
import json
import os
from pathlib import Path

import pytest

from ocmem.core import reader
from ocmem.errors import NotReadable, SessionsError
from ocmem.settings import Overrides, Settings, resolve
from tests.unit.chats import header, line


@pytest.fixture
def home(tmp_path: Path) -> Path:
    workspace = tmp_path / "ws"
    (workspace / "memory" / "deep").mkdir(parents=True)
    (workspace / "MEMORY.md").write_text("l1\nl2\nl3\nl4\n")
    (workspace / "memory" / "a.md").write_text("note a\n")
    (workspace / "memory" / "deep" / "b.md").write_text("note b")
    (workspace / "memory" / "t.txt").write_text("text")
    (workspace / "memory" / "dir.md").mkdir()
    (workspace / "other.md").write_text("other")
    (workspace / ".memory").mkdir()
    (workspace / ".memory" / "h.md").write_text("hidden")
    (workspace / ".MEMORY.md").write_text("hidden")
    (workspace / "memory-old").mkdir()
    (workspace / "memory-old" / "x.md").write_text("old")
    (tmp_path / "extra" / "sub").mkdir(parents=True)
    (tmp_path / "extra" / "e.md").write_text("extra")
    (tmp_path / "extra" / "sub" / "f.md").write_text("deeper")
    (tmp_path / "single.md").write_text("single")
    (tmp_path / "x.md").write_text("outside")
    return tmp_path


def settings_of(home: Path, *extra_paths: str, workspace: str | None = None) -> Settings:
    search = {"extraPaths": list(extra_paths)}
    defaults = {"workspace": str(home / "ws"), "memorySearch": search}
    config = home / "openclaw.json"
    config.write_text(json.dumps({"agents": {"defaults": defaults}}))
    env = {"HOME": str(home), "OPENCLAW_CONFIG_PATH": str(config)}
    env["OCMEM_CONFIG"] = str(home / "none.json5")
    return resolve(Overrides(workspace=workspace), env)


@pytest.fixture
def settings(home: Path) -> Settings:
    return settings_of(home)


def refusal(settings: Settings, path: str) -> NotReadable:
    with pytest.raises(NotReadable) as caught:
        reader.read_lines(settings, path)
    assert caught.value.exit_code == 1
    return caught.value


@pytest.mark.parametrize(
    ("start", "count", "text", "lines"),
    [
        (None, None, "l1\nl2\nl3\nl4\n", (1, 5)),
        (2, None, "l2\nl3\nl4\n", (2, 5)),
        (2, 2, "l2\nl3", (2, 3)),
        (None, 2, "l1\nl2", (1, 2)),
        (4, 99, "l4\n", (4, 5)),
        (5, None, "", (5, 5)),  # the line that the last newline begins
        (99, None, "", (99, 98)),
        (99, 3, "", (99, 98)),
    ],
)
def test_the_lines_asked_for(
    settings: Settings, start: int | None, count: int | None, text: str, lines: tuple[int, int]
) -> None:
    found = reader.read_lines(settings, "MEMORY.md", start=start, count=count)

    assert found == reader.Excerpt(text, "MEMORY.md", *lines, total_lines=5)


@pytest.mark.parametrize(
    ("path", "stored"),
    [
        ("memory/a.md", "memory/a.md"),
        (" memory/a.md\n", "memory/a.md"),
        ("./memory//deep/../a.md", "memory/a.md"),
        ("other/../MEMORY.md", "MEMORY.md"),
        ("memory/deep/b.md", "memory/deep/b.md"),
        ("../ws/memory/a.md", "memory/a.md"),
        ("{home}/ws/MEMORY.md", "MEMORY.md"),
        ("/{home}/ws/memory/../MEMORY.md", "MEMORY.md"),
    ],
)
def test_a_path_that_lands_on_a_memory_file_is_read(
    settings: Settings, home: Path, path: str, stored: str
) -> None:
    assert reader.read_lines(settings, path.format(home=home)).path == stored


@pytest.mark.parametrize(
    "path",
    [
        "other.md",
        "Memory.md",
        "MEMORY.MD",
        "/etc/passwd",
        "memory/../other.md",
        "memory/../../x.md",
        "../x.md",
        "../ws2/MEMORY.md",
        ".memory/h.md",
        ".MEMORY.md",
        "memory-old/x.md",
        "memory.md.md",
        "~/x.md",
        ".",
        "..",
        "/",
        "../extra/e.md",
    ],
)
def test_anything_else_is_refused_with_what_may_be_read(settings: Settings, path: str) -> None:
    error = refusal(settings, path)

    assert str(error) == f"{path} is not one of the memory files"
    assert error.hint == "in ~/ws, MEMORY.md and the .md files below memory/ can be read"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "no path given"),
        (" \t\ufeff", "no path given"),
        ("memory/a\0.md", "a path cannot hold a NUL character"),
        ("memory", "memory is a folder; name a file in it"),
        ("memory/deep", "memory/deep is a folder; name a file in it"),
        ("memory/dir.md", "memory/dir.md is a folder; name a file in it"),
        ("memory/t.txt", "memory/t.txt is not a Markdown file: its name does not end in .md"),
        ("memory/none.md", "no such file: memory/none.md"),
        ("memory.md", "no such file: memory.md"),
        ("memory/a.md/b.md", "no such file: memory/a.md/b.md"),
        ("memory/\ud83d.md", "no such file: memory/\ufffd.md"),
        (f"memory/{'x' * 300}.md", f"memory/{'x' * 300}.md cannot be read: File name too long"),
    ],
)
def test_a_refusal_says_what_is_the_matter(settings: Settings, path: str, message: str) -> None:
    assert str(refusal(settings, path)) == message


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("other.md", None),
        ("memory/dir.md", None),
        ("memory/t.txt", None),
        ("memory/a\0.md", None),
        ("memory/none.md", errno.ENOENT),
        ("memory/\ud83d.md", errno.ENOENT),
        ("memory/a.md/b.md", errno.ENOTDIR),
        (f"memory/{'x' * 300}.md", errno.ENAMETOOLONG),
    ],
)
def test_a_refusal_is_told_from_what_the_system_said(
    settings: Settings, path: str, said: int | None
) -> None:
    assert refusal(settings, path).errno == said


@pytest.fixture
def transcript(home: Path) -> Path:
    folder = home / ".openclaw" / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    path = folder / "s 1.jsonl"
    said = line("Where is\nthe router?") + "torn{\n" + line("API_KEY=hush", "assistant")
    path.write_text(header("s 1") + said)
    return path


@pytest.mark.parametrize(
    ("start", "count", "text", "lines"),
    [
        (None, None, "User: Where is the router?\nAssistant: API_KEY=***", (1, 4)),
        (1, 2, "User: Where is the router?", (1, 2)),
        (3, None, "Assistant: API_KEY=***", (3, 4)),
        (3, 1, "", (3, 3)),
        (2, 99, "User: Where is the router?\nAssistant: API_KEY=***", (2, 4)),
        (9, 1, "", (9, 8)),
    ],
)
def test_a_transcript_is_read_as_the_redacted_turns_of_its_lines(
    settings: Settings,
    transcript: Path,
    start: int | None,
    count: int | None,
    text: str,
    lines: tuple[int, int],
) -> None:
    for path in ("sessions/s 1.jsonl", str(transcript)):
        found = reader.read_lines(settings, path, start=start, count=count)

        assert (found.text, found.path) == (text, "sessions/s 1.jsonl")
        assert (found.start_line, found.end_line) == lines
        assert found.is_transcript


@pytest.mark.parametrize(
    "name",
    [
        "sessions/absent.jsonl",
        "sessions/../sessions/s 1.jsonl",
        "sessions/sessions.json",
        "sessions/link.jsonl",
        "sessions/folder.jsonl",
        "sessions/pipe.jsonl",
        "sessions/.jsonl/x",
        "Sessions/s 1.jsonl",
    ],
)
def test_nothing_but_a_transcript_is_read_from_the_sessions_folder(
    settings: Settings, transcript: Path, name: str
) -> None:
    (transcript.parent / "sessions.json").write_text("{}")
    (transcript.parent / "link.jsonl").symlink_to(transcript)
    (transcript.parent / "folder.jsonl").mkdir()
    os.mkfifo(transcript.parent / "pipe.jsonl")

    with pytest.raises((NotReadable, SessionsError)):
        reader.read_lines(settings, name)


def test_a_folder_of_notes_has_no_transcripts_to_read(home: Path, transcript: Path) -> None:
    settings = settings_of(home, workspace=str(home / "extra"))

    assert "no transcripts" in str(refusal(settings, "sessions/s 1.jsonl"))
    assert "not one of" in str(refusal(settings, str(transcript)))


def test_a_symbolic_link_is_not_followed(settings: Settings, home: Path) -> None:
    (home / "ws" / "memory" / "link.md").symlink_to(home / "x.md")
    (home / "ws" / "memory" / "near.md").symlink_to("a.md")
    (home / "ws" / "memory.md").symlink_to(home / "x.md")

    for path in ("memory/link.md", "memory/near.md", "memory.md"):
        assert str(refusal(settings, path)) == f"{path} is a symbolic link, which is not followed"


def test_a_linked_folder_may_not_lead_away_from_the_memory_files(
    settings: Settings, home: Path
) -> None:
    memory = home / "ws" / "memory"
    (memory / "out").symlink_to(home / "extra")
    (memory / "up").symlink_to("..")
    (memory / "deep" / "again").symlink_to(memory / "out")
    (memory / "near").symlink_to("deep")

    for path in ("memory/out/e.md", "memory/up/other.md", "memory/deep/again/e.md"):
        message = f"{path} leads out of the memory files through a symbolic link"
        assert str(refusal(settings, path)) == message
    assert reader.read_lines(settings, "memory/near/b.md").text == "note b"


def test_a_memory_folder_that_is_a_link_to_elsewhere_is_refused(home: Path) -> None:
    (home / "ws" / "memory").rename(home / "moved")
    (home / "ws" / "memory").symlink_to(home / "moved")

    assert "symbolic link" in str(refusal(settings_of(home), "memory/a.md"))


def test_a_workspace_that_is_a_link_works_under_both_names(home: Path) -> None:
    (home / "ws").rename(home / "real")
    (home / "ws").symlink_to(home / "real")
    settings = settings_of(home)

    for path in ("memory/a.md", f"{home}/ws/memory/a.md", f"{home}/real/memory/a.md"):
        assert reader.read_lines(settings, path).path == "memory/a.md"


def test_a_pipe_is_refused_without_waiting_for_it(settings: Settings, home: Path) -> None:
    os.mkfifo(home / "ws" / "memory" / "pipe.md")

    assert str(refusal(settings, "memory/pipe.md")) == "memory/pipe.md is not a regular file"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_a_message(settings: Settings, home: Path) -> None:
    (home / "ws" / "memory" / "a.md").chmod(0)

    message = "memory/a.md cannot be read: Permission denied"
    assert str(refusal(settings, "memory/a.md")) == message


def test_extra_paths_are_readable_in_every_spelling(home: Path) -> None:
    settings = settings_of(home, "../extra", "~/single.md")

    assert reader.read_lines(settings, "../extra/e.md").path == "../extra/e.md"
    assert reader.read_lines(settings, f"{home}/extra/sub/f.md").path == "../extra/sub/f.md"
    assert reader.read_lines(settings, "../single.md").text == "single"
    assert "extraPaths" in str(refusal(settings, "../x.md").hint)
    assert str(refusal(settings, "../extra/none.md")) == "no such file: ../extra/none.md"


def test_an_extra_path_that_is_a_link_or_not_markdown_opens_nothing(home: Path) -> None:
    (home / "linked").symlink_to(home / "extra")
    (home / "plain.txt").write_text("text")
    settings = settings_of(home, "../linked", "../plain.txt", "../missing")

    for path in ("../linked/e.md", "../missing/e.md"):
        assert str(refusal(settings, path)) == f"{path} is not one of the memory files"
    assert "not a Markdown file" in str(refusal(settings, "../plain.txt"))


def test_a_link_inside_an_extra_folder_may_not_lead_out(home: Path) -> None:
    (home / "extra" / "out").symlink_to(home / "ws")

    error = refusal(settings_of(home, "../extra"), "../extra/out/other.md")

    assert "leads out of the memory files" in str(error)


def test_a_plain_folder_opens_every_note_but_hidden_ones(home: Path) -> None:
    folder = home / "notes"
    for name in ("a.md", "sub/b.md", ".git/c.md", "sub/node_modules/d.md", ".dot.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    settings = settings_of(home, workspace=str(folder))

    for name in ("a.md", "sub/b.md", ".dot.md"):
        assert reader.read_lines(settings, name).text == name
    for name in (".git/c.md", "sub/node_modules/d.md", "../x.md"):
        hint = "any .md file below ~/notes can be read, but not in hidden folders"
        assert refusal(settings, name).hint == hint


def test_bytes_that_are_not_utf8_are_replaced_and_only_newlines_end_lines(
    settings: Settings, home: Path
) -> None:
    (home / "ws" / "memory" / "a.md").write_bytes("é\r\n\x0c\u2028x\n".encode() + b"\xff\xfe")

    found = reader.read_lines(settings, "memory/a.md")

    assert found.text == "é\r\n\x0c\u2028x\n\ufffd\ufffd"
    assert found.total_lines == 3


def test_an_empty_file_has_one_empty_line(settings: Settings, home: Path) -> None:
    (home / "ws" / "memory" / "a.md").write_bytes(b"")

    found = reader.read_lines(settings, "memory/a.md")

    assert found == reader.Excerpt("", "memory/a.md", 1, 1, total_lines=1)
