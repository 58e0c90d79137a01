"""Nobody else's file is touched, whoever shares the folder."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from ocmem.core.export_manifest import NAME
from ocmem.core.session_markdown import Exported
from tests.unit.qmd.exports import Exports, messages


def test_other_files_in_the_folder_stay_and_are_named(exports: Exports) -> None:
    exports.put("my notes.md", "mine")
    exports.put("# Session x.md", "# Session x\n")
    exports.put("list.txt", "not Markdown")
    exports.say("a", "hello")
    exports.run()
    exports.drop("a")

    done = exports.run()

    assert done == Exported(removed=("a.md",), foreign=("# Session x.md", "my notes.md"))
    assert exports.text("my notes.md") == "mine"


def test_a_note_with_the_name_of_an_export_stays(exports: Exports) -> None:
    exports.put("a.md", "# Session about a\n")
    exports.say("a", "hello")

    done = exports.run()

    assert (done.written, done.foreign) == ((), ("a.md",))
    assert messages(done) == [
        f"{exports.folder}/a.md is no export of it, or was changed since, so it is left as it is, "
        "and a.jsonl is not exported"
    ]
    assert exports.text("a.md") == "# Session about a\n"
    exports.drop("a")
    assert exports.run() == Exported(foreign=("a.md",))


def test_what_the_reference_exported_is_taken_over(exports: Exports) -> None:
    exports.put("same.md", "# Session same\n\nUser: hello\n")
    exports.put("older.md", "# Session older\n\nUser: hel")
    exports.put("torn.md", "")
    inode = (exports.folder / "same.md").stat().st_ino
    for base in ("same", "older", "torn"):
        exports.say(base, "hello")

    done = exports.run()

    assert done == Exported(written=("older.md", "torn.md"), unchanged=("same.md",))
    assert (exports.folder / "same.md").stat().st_ino == inode
    assert exports.text("older.md") == "# Session older\n\nUser: hello\n"
    for base in ("same", "older", "torn"):
        exports.drop(base)
    assert exports.run().removed == ("older.md", "same.md", "torn.md")


def test_what_the_reference_exported_of_a_chat_that_is_gone_is_not_ours_to_remove(
    exports: Exports,
) -> None:
    exports.put("gone.md", "# Session gone\n\nUser: hello\n")

    assert exports.run() == Exported(foreign=("gone.md",))
    assert exports.names() == ["gone.md"]


def test_an_export_that_the_reference_wrote_again_is_looked_at_and_kept(exports: Exports) -> None:
    exports.say("a", "hello")
    exports.run()
    exports.put("a.md", exports.text("a.md"))

    assert exports.run() == Exported(unchanged=("a.md",))
    exports.drop("a")
    assert exports.run() == Exported(removed=("a.md",))


@pytest.mark.parametrize("was_exported", [True, False])
def test_what_somebody_added_to_an_export_is_not_written_over(
    exports: Exports, was_exported: bool
) -> None:
    exports.say("a", "hello")
    if was_exported:
        exports.run()
    edited = "# Session a\n\nUser: hello\nadded by hand\n"
    exports.put("a.md", edited)

    done = exports.run()

    assert (done.written, done.foreign) == ((), ("a.md",))
    assert "is no export of it, or was changed since, so it is left as it is" in messages(done)[0]
    assert exports.text("a.md") == edited


def test_an_export_that_was_edited_outlives_its_transcript(exports: Exports) -> None:
    exports.say("a", "hello")
    exports.run()
    exports.put("a.md", "my own words")
    exports.drop("a")

    done = exports.run()

    assert done.removed == ()
    assert messages(done) == [
        f"{exports.folder}/a.md has no transcript any more, but was changed since it was "
        "exported, so it is left as it is"
    ]
    assert exports.text("a.md") == "my own words"


def make_link(path: Path) -> None:
    path.symlink_to(path.with_name("elsewhere"))


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, make_link])
@pytest.mark.parametrize("was_exported", [False, True])
def test_what_is_no_file_is_neither_replaced_nor_removed(
    exports: Exports, make: object, was_exported: bool
) -> None:
    assert callable(make)
    exports.say("a", "hello")
    target = exports.folder / "a.md"
    if was_exported:
        exports.run()
        target.rename(exports.folder / "elsewhere")
    else:
        exports.put("elsewhere", "# Session a\n")
    make(target)
    kind = target.lstat().st_mode

    done = exports.run()
    exports.drop("a")
    exports.run()

    assert (done.written, done.foreign) == ((), ("a.md",))
    assert "is no file, so it is left as it is" in messages(done)[0]
    assert target.lstat().st_mode == kind
    assert exports.text("elsewhere").startswith("# Session a\n")


def test_a_hard_link_to_an_export_keeps_what_it_had(exports: Exports) -> None:
    exports.say("a", "hello")
    exports.run()
    other = exports.root / "copy.md"
    other.hardlink_to(exports.folder / "a.md")
    exports.say("a", "again")

    assert exports.run().written == ("a.md",)
    assert other.read_text() == "# Session a\n\nUser: hello\n"


@pytest.mark.parametrize(
    ("into", "why"),
    [
        ("workspace", "is the workspace"),
        ("workspace/memory", "is the memory folder"),
        ("workspace/memory/../", "is the workspace"),
        ("agents/main/sessions", "is the folder of the transcripts"),
        ("agents/main", "holds the folder of the transcripts"),
        ("agents/main/qmd/..", "holds the folder of the transcripts"),
        (".", "holds the workspace"),
        ("/", "holds the workspace"),
        ("to-workspace", "is the workspace"),
        ("to-agents/main/sessions", "is the folder of the transcripts"),
        ("to-agents", "holds the folder of the transcripts"),
    ],
)
def test_a_folder_that_has_other_work_to_do_is_refused(
    exports: Exports, into: str, why: str
) -> None:
    (exports.root / "to-workspace").symlink_to(exports.workspace)
    (exports.root / "to-agents").symlink_to("agents")
    (exports.root / "agents" / "main" / "qmd").mkdir()
    exports.say("a", "hello")
    before = sorted(exports.root.rglob("*"))

    done = exports.run(exports.root / into)

    assert done.refused is not None
    assert done.refused.startswith("sessions cannot be exported into ")
    assert done.refused.endswith(f": it {why}")
    assert done == Exported(refused=done.refused)
    assert sorted(exports.root.rglob("*")) == before


def test_a_workspace_that_is_a_link_is_recognized_behind_it(exports: Exports) -> None:
    exports.workspace.rename(exports.root / "real")
    exports.workspace.symlink_to("real")

    assert exports.run(exports.root / "real").refused is not None
    assert exports.run(exports.root / "real" / "memory").refused is not None


@pytest.mark.parametrize("into", ["workspace/sessions", "workspace/memory/chats", "link"])
def test_any_other_folder_will_do(exports: Exports, into: str) -> None:
    (exports.root / "target").mkdir()
    (exports.root / "link").symlink_to("target")
    exports.say("a", "hello")

    done = exports.run(exports.root / into)

    assert done == Exported(written=("a.md",))
    assert (exports.root / into / "a.md").exists()


def test_a_folder_that_is_a_file_is_an_issue(exports: Exports) -> None:
    exports.say("a", "hello")
    exports.folder.parent.mkdir()
    exports.folder.write_text("file")

    assert messages(exports.run()) == [f"cannot write in {exports.folder}: it is not a folder"]


@pytest.mark.parametrize("sessions", ["missing", "file"])
def test_nothing_is_removed_where_the_transcripts_cannot_be_seen(
    exports: Exports, sessions: str
) -> None:
    exports.say("a", "hello")
    exports.run()
    exports.sessions.rename(exports.root / "unmounted")
    if sessions == "file":
        exports.sessions.write_text("file")

    done = exports.run()

    assert done.removed == done.foreign == ()
    assert [issue.serious for issue in done.issues] == [sessions == "file"]
    assert exports.names() == ["a.md"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_transcript_that_cannot_be_read_keeps_its_export(exports: Exports) -> None:
    exports.say("a", "hello")
    exports.say("b", "there")
    exports.run()
    exports.say("a", "more").chmod(0)
    exports.say("b", "more")

    done = exports.run()

    assert done.written == ("b.md",)
    location = exports.sessions / "a.jsonl"
    assert messages(done) == [f"{location} cannot be read: Permission denied"]
    assert exports.text("a.md") == "# Session a\n\nUser: hello\n"


_BASES = st.sampled_from(["a", "b", "naïve x"])
_STEPS = st.lists(
    st.tuples(st.sampled_from(["say", "drop", "age"]), _BASES)
    | st.tuples(st.just("edit"), _BASES)
    | st.tuples(st.just("note"), st.sampled_from(["a", "b", "c", "diary"]))
    | st.tuples(st.sampled_from(["export", "export", "lose manifest"]), st.just("")),
    max_size=20,
)


@given(_STEPS)
@profile(deadline=None, max_examples=60)
def test_no_story_ends_with_a_lost_note_or_with_work_left_to_do(
    steps: list[tuple[str, str]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        exports = Exports(Path(folder))
        notes: dict[str, str] = {}
        for number, (step, base) in enumerate([*steps, ("export", "")]):
            transcript = exports.sessions / f"{base}.jsonl"
            target = exports.folder / f"{base}.md"
            if step == "say":
                exports.say(base, f"turn {number}")
                if notes.get(base, "").startswith("#"):
                    del notes[base]  # an edited export of a chat that goes on is an export again
            elif step == "drop":
                transcript.unlink(missing_ok=True)
            elif step == "age" and transcript.exists():
                exports.age(base, 90)
            elif step == "edit" and target.exists() and not transcript.exists():
                notes[base] = target.read_text() + "mine\n"
                target.write_text(notes[base])
            elif step == "note":
                notes[base] = f"note {number}"
                exports.put(f"{base}.md", notes[base])
            elif step == "lose manifest":
                (exports.folder / NAME).unlink(missing_ok=True)
            elif step == "export":
                exports.run(retention_days=30)
                assert {base: exports.text(f"{base}.md") for base in notes} == notes
        state = exports.state()
        again = exports.run(retention_days=30)

        assert (again.written, again.removed) == ((), ())
        assert exports.state() == state
