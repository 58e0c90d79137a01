"""What is exported for QMD, byte for byte, and when it is written again."""

import json
import os
import tracemalloc

import pytest

from ocmem.core.session_markdown import Exported, heading
from ocmem.core.transcript import MOST_LINE_BYTES
from tests.unit.chats import line
from tests.unit.qmd.exports import Exports, messages

ID = "5d0c7b1e-3f6a-4c1b-9a50-0f5a3c2d7e11"


def test_a_transcript_becomes_the_markdown_of_the_reference(exports: Exports) -> None:
    exports.say(ID, "Where did we\n\n put  the router?")
    blocks = [
        {"type": "thinking", "thinking": "check notes"},
        {"type": "text", "text": "Under the stairs;"},
        {"type": "text", "text": "the token is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789."},
    ]
    answer = {"type": "message", "message": {"role": "assistant", "content": blocks}}
    result = {"type": "message", "message": {"role": "toolResult", "content": "secret"}}
    with (exports.sessions / f"{ID}.jsonl").open("a") as file:
        file.write(f"{json.dumps(answer)}\n{json.dumps(result)}\n")

    done = exports.run()

    assert done == Exported(written=(f"{ID}.md",))
    assert exports.text(f"{ID}.md") == (
        f"# Session {ID}\n"
        "\n"
        "User: Where did we put the router?\n"
        "Assistant: Under the stairs; the token is sk-pro…6789.\n"
    )


def test_a_transcript_in_which_nothing_was_said_is_marked_as_empty(exports: Exports) -> None:
    exports.say("quiet")
    (exports.sessions / "void.jsonl").write_bytes(b"")

    exports.run()

    assert exports.text("quiet.md") == "# Session quiet\n\n(empty)\n"
    assert exports.text("void.md") == "# Session void\n\n(empty)\n"


def test_what_is_exported_is_for_its_owner_only(exports: Exports) -> None:
    exports.say("a", "hello")

    exports.run()

    files = [path for path in exports.folder.iterdir() if path.is_file()]
    assert len(files) == 3  # the export, the manifest and the lock
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    folders = (exports.folder, exports.folder.parent)
    assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700, 0o700]


def test_qmd_is_given_nothing_but_the_sessions(exports: Exports) -> None:
    exports.say("a", "hello")

    exports.run()

    assert [path.name for path in exports.folder.glob("**/*.md")] == ["a.md"]


def test_a_second_export_reads_no_transcript_and_writes_nothing(
    exports: Exports, read: list[int]
) -> None:
    exports.say("a", "hello")
    exports.say("b", "there")
    exports.run()
    before, first = exports.state(), len(read)

    done = exports.run()

    assert done == Exported(unchanged=("a.md", "b.md"))
    assert not done.has_changed
    assert exports.state() == before
    assert (first, len(read)) == (2, 2)


def test_only_what_grew_is_written_again(exports: Exports, read: list[int]) -> None:
    exports.say("a", "hello")
    exports.say("b", "there")
    exports.run()
    exports.say("a", "again")

    done = exports.run()

    assert done == Exported(written=("a.md",), unchanged=("b.md",))
    assert exports.text("a.md") == "# Session a\n\nUser: hello\nUser: again\n"
    assert len(read) == 3


def test_a_transcript_that_only_looks_newer_is_read_once_and_its_export_stays(
    exports: Exports, read: list[int]
) -> None:
    exports.say("a", "hello")
    exports.run()
    inode = (exports.folder / "a.md").stat().st_ino
    exports.age("a", 1)

    assert exports.run() == Exported(unchanged=("a.md",))
    assert (exports.folder / "a.md").stat().st_ino == inode
    exports.run()
    assert len(read) == 2


def test_an_export_that_vanished_is_written_again(exports: Exports) -> None:
    exports.say("a", "hello")
    exports.run()
    (exports.folder / "a.md").unlink()

    assert exports.run().written == ("a.md",)


def test_a_torn_last_line_is_left_out_until_it_is_whole(exports: Exports) -> None:
    path = exports.say("a", "hello")
    whole = line("the end")
    with path.open("a") as file:
        file.write(whole[:30])
    exports.run()
    torn = exports.text("a.md")
    with path.open("a") as file:
        file.write(whole[30:])

    assert exports.run().written == ("a.md",)
    assert torn == "# Session a\n\nUser: hello\n"
    assert exports.text("a.md") == torn + "User: the end\n"


def test_the_export_of_a_transcript_that_is_gone_goes_too(exports: Exports) -> None:
    exports.say("a", "hello")
    exports.say("b", "there")
    exports.run()
    (exports.sessions / "a.jsonl").rename(exports.sessions / "a.jsonl.reset.2026-02-20")

    assert exports.run() == Exported(unchanged=("b.md",), removed=("a.md",))
    assert exports.names() == ["b.md"]
    assert exports.run() == Exported(unchanged=("b.md",))


def test_transcripts_older_than_the_retention_are_not_exported(exports: Exports) -> None:
    for base, days in (("new", 1.0), ("edge", 30.0), ("old", 30.001)):
        exports.say(base, "hello")
        exports.age(base, days)

    done = exports.run(retention_days=30)

    assert done.written == ("edge.md", "new.md")
    assert exports.run(retention_days=0).written == ("old.md",)
    assert exports.run(retention_days=7).removed == ("edge.md", "old.md")
    assert exports.names() == ["new.md"]


@pytest.mark.parametrize(
    ("base", "first"),
    [
        ("two words", "# Session two words"),
        ("日記 – naïve 🦊", "# Session 日記 – naïve 🦊"),
        ("-n", "# Session -n"),
        (".hidden", "# Session .hidden"),
        ("a.md", "# Session a.md"),
        ("one\n# two", "# Session one # two"),
        ("x" * 249, f"# Session {'x' * 249}"),
    ],
)
def test_names_may_be_odd(exports: Exports, base: str, first: str) -> None:
    exports.say(base, "hello")

    assert exports.run() == Exported(written=(f"{base}.md",))
    assert exports.text(f"{base}.md") == f"{first}\n\nUser: hello\n"
    assert heading(base) == first
    assert exports.run() == Exported(unchanged=(f"{base}.md",))
    exports.drop(base)
    assert exports.run() == Exported(removed=(f"{base}.md",))


def test_a_name_that_is_not_utf_8_is_pointed_out(exports: Exports) -> None:
    exports.say("fine", "hello")
    location = os.fsencode(exports.sessions) + b"/caf\xe9.jsonl"
    with open(location, "wb") as file:  # noqa: PTH123 - a name in bytes
        file.write(line("hello").encode())

    done = exports.run()

    assert done.written == ("fine.md",)
    (message,) = messages(done)
    assert message.startswith("file name is not valid UTF-8, file skipped (")
    assert message.isprintable()


def test_what_is_no_transcript_is_passed_over(exports: Exports) -> None:
    real = exports.say("real", "hello")
    (exports.sessions / "link.jsonl").symlink_to(real)
    (exports.sessions / "folder.jsonl").mkdir()
    (exports.sessions / ".jsonl").write_text(line("hello"))
    (exports.sessions / "sessions.json").write_text("{}")
    (exports.sessions / "real.jsonl.deleted.2026").write_text(line("hello"))
    os.mkfifo(exports.sessions / "pipe.jsonl")

    assert exports.run() == Exported(written=("real.md",))


def test_a_line_too_long_to_be_a_turn_is_counted(exports: Exports) -> None:
    path = exports.say("a", "hello")
    with path.open("a") as file:
        file.write("x" * (MOST_LINE_BYTES + 1) + "\n" + line("still here"))

    done = exports.run()

    assert exports.text("a.md") == "# Session a\n\nUser: hello\nUser: still here\n"
    assert [(issue.message, issue.serious) for issue in done.issues] == [
        ("lines of a.jsonl too long to be turns: 1", False)
    ]


def test_half_a_surrogate_pair_is_replaced(exports: Exports) -> None:
    path = exports.say("a")
    with path.open("a") as file:
        file.write(line("x").replace('"x"', r'"cut \ud83e"'))

    exports.run()

    assert exports.text("a.md") == "# Session a\n\nUser: cut \ufffd\n"


def test_a_long_transcript_is_not_held_in_memory(exports: Exports) -> None:
    path = exports.say("a")
    turn = line("lorem ipsum " * 80)
    with path.open("a") as file:
        file.writelines(turn for _ in range(8000))
    assert path.stat().st_size > 8_000_000

    tracemalloc.start()
    done = exports.run()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert done.written == ("a.md",)
    assert peak < 2_000_000
