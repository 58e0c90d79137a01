"""A watcher at work, with real files and real events."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.program import Program, digest, everything, indexed
from tests.cli.watching import wait_until, watching
from tests.fake_provider import FakeProvider
from tests.fake_provider.faults import FOREVER
from tests.unit.chats import header, line

QUICK = ("--json", "--debounce", "50")


@pytest.fixture
def notes(ocmem: Program) -> Path:
    """Two notes of an agent with the built-in model, on its own index."""
    ocmem.note("MEMORY.md", "The boat is red.\n")
    ocmem.note("memory/a.md", "alpha\n")
    return ocmem.workspace


def fresh_digest(ocmem: Program) -> list[tuple[object, ...]]:
    """What an index from scratch would hold."""
    ocmem.own_index.unlink()
    ocmem.index()
    return digest(ocmem.own_index)


def test_whatever_happens_to_the_notes_the_index_follows(ocmem: Program, notes: Path) -> None:
    with watching(ocmem, *QUICK) as watcher:
        first = watcher.sync()
        ocmem.note("memory/a.md", "alpha and beta\n")
        changed = watcher.change("memory/a.md")
        (notes / "memory" / "draft").write_text("saved by rename\n")
        (notes / "memory" / "draft").replace(notes / "memory" / "a.md")
        watcher.change("memory/a.md")
        ocmem.note("memory/deep/er/b.md", "gamma\n")
        watcher.change("memory/deep/er/b.md")
        (notes / "memory" / "deep").rename(notes / "memory" / "moved")
        watcher.change("memory/moved/er/b.md")
        ocmem.note("memory/moved/er/c.md", "delta\n")
        watcher.change("memory/moved/er/c.md")
        (notes / "MEMORY.md").unlink()
        removed = watcher.change("MEMORY.md")
        code, _, err = watcher.stop()

    assert (first["event"], first["reason"]) == ("sync", "start")
    assert first["changed"] == ["MEMORY.md", "memory/a.md"]
    assert changed["reason"] == "change"
    assert changed["files"]["changed"] == 1
    assert "MEMORY.md" in removed["removed"]
    assert (code, err) == (0, "")
    assert digest(ocmem.own_index) == fresh_digest(ocmem)


def test_folders_may_appear_after_the_watcher(ocmem: Program) -> None:
    ocmem.workspace.mkdir(parents=True)
    with watching(ocmem, *QUICK) as watcher:
        watcher.sync()
        ocmem.note("memory/a.md", "alpha\n")
        watcher.change("memory/a.md")
        ocmem.save("memory/b.md", "beta\n")
        watcher.change("memory/b.md")


def test_one_line_a_sync_for_people(ocmem: Program, notes: Path) -> None:
    for name in "bcde":
        ocmem.note(f"memory/{name}.md", f"{name}\n")

    with watching(ocmem, "--debounce", "50") as watcher:
        first = watcher.line()
        ocmem.save("memory/a\x1b[31m.md", "alpha\n")
        second = watcher.line()

    assert first[9:].startswith("changed MEMORY.md, memory/a.md, memory/b.md and 3 more · 6 chunks")
    assert second[9:].startswith("changed memory/a␛[31m.md · 1 chunk embedded, 0 from cache · ")
    assert second.endswith(" s")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0), (signal.SIGHUP, 0)]
)
def test_a_watcher_ends_cleanly_in_the_middle_of_a_sync(
    ocmem: Program, fake: FakeProvider, notes: Path, number: int, code: int
) -> None:
    ocmem.use(fake)
    ocmem.index()
    before = digest(ocmem.shared_index)
    files = {path: state for path, state in everything(notes).items() if path.endswith(".md")}
    with watching(ocmem, *QUICK) as watcher:
        watcher.sync()
        fake.forget()
        fake.add_fault("hang", times=FOREVER)
        note = ocmem.save("memory/b.md", "beta\n")
        wait_until(lambda: fake.texts() == ["beta\n"])

        ended, out, err = watcher.stop(number)

    fake.faults.clear()
    assert (ended, out, err) == (code, "", "")
    assert digest(ocmem.shared_index) == before
    after = {path: state for path, state in everything(notes).items() if path.endswith(".md")}
    assert {**files, str(note): after[str(note)]} == after
    ocmem.index()
    assert "memory/b.md" in indexed(ocmem.shared_index)
    assert "Watched by" not in ocmem("status").out


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_what_nohup_or_a_shell_made_it_ignore_does_not_end_a_watcher(
    ocmem: Program, notes: Path, number: int
) -> None:
    with watching(ocmem, *QUICK, ignoring=[number]) as watcher:
        watcher.sync()
        watcher.child.send_signal(number)

        ocmem.save("memory/b.md", "beta\n")
        watcher.change("memory/b.md")

        assert watcher.stop() == (0, "", "")


def test_an_index_has_one_watcher_and_status_names_it(ocmem: Program, notes: Path) -> None:
    with watching(ocmem, *QUICK) as watcher:
        watcher.sync()

        second = ocmem("watch")
        status = ocmem("status").out

        who = f"ocmem watch (process {watcher.child.pid}, since "
        assert (second.code, second.out) == (1, "")
        assert f"{ocmem.own_index} is watched by {who}" in second.err
        assert f"Watched by: {who}" in status
        (found,) = ocmem("status", "--json").json
        assert found["status"]["watcher"]["pid"] == watcher.child.pid
    assert "Watched by" not in ocmem("status").out


def test_the_lock_of_a_killed_watcher_is_taken_over(ocmem: Program, notes: Path) -> None:
    with watching(ocmem, *QUICK) as watcher:
        watcher.sync()
        killed = watcher.child.pid
        watcher.stop(signal.SIGKILL)

    with watching(ocmem, *QUICK) as watcher:
        watcher.sync()
        _, _, err = watcher.stop()

    assert f"taking over from ocmem watch (process {killed}, since " in err


def test_a_watcher_whose_lock_was_removed_ends_if_another_has_it_by_then(
    ocmem: Program, notes: Path
) -> None:
    with watching(ocmem, *QUICK) as first:
        first.sync()
        first.child.send_signal(signal.SIGSTOP)
        shutil.rmtree(ocmem.own_index.parent)
        with watching(ocmem, *QUICK) as second:
            second.sync()
            first.child.send_signal(signal.SIGCONT)

            event = first.sync(lambda event: event["event"] == "error")
            code, _, err = first.ended()

            who = f"is watched by ocmem watch (process {second.child.pid}, since "
            assert event["reason"] == "lost"
            assert who in event["error"]
            assert code == 1
            assert f"Memory index failed (main): {ocmem.own_index} {who}" in err
            assert "; no longer watched" in err
            assert second.stop() == (0, "", "")


def test_a_watcher_whose_index_was_removed_makes_it_again_and_stays_the_only_one(
    ocmem: Program, notes: Path
) -> None:
    with watching(ocmem, *QUICK) as watcher:
        watcher.sync()
        shutil.rmtree(ocmem.own_index.parent)

        again = watcher.sync()
        second = ocmem("watch")

        assert (again["reason"], again["changed"]) == ("start", ["MEMORY.md", "memory/a.md"])
        assert (second.code, second.out) == (1, "")
        assert f"is watched by ocmem watch (process {watcher.child.pid}" in second.err
        assert watcher.stop() == (0, "", "")


def test_searching_beside_a_watcher_works_always(ocmem: Program, notes: Path) -> None:
    with watching(ocmem, *QUICK) as watcher:
        watcher.sync()
        for number in range(6):
            ocmem.note(f"memory/n{number}.md", f"number{number} " * 3000)
            found = ocmem("search", "alpha", "--json", "--no-sync")
            synced = ocmem("search", f"number{number}", "--json")

            assert (found.code, synced.code) == (0, 0), found.err + synced.err
            assert "memory/a.md" in found.paths
        code, _, err = watcher.stop()

    assert (code, err) == (0, "")


def test_transcripts_are_followed_by_their_thresholds(ocmem: Program, notes: Path) -> None:
    folder = ocmem.state / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    chat = folder / "monday.jsonl"
    chat.write_text(header("monday") + line("hello"))
    ocmem.configure(sync={"sessions": {"deltaMessages": 3}})
    with watching(ocmem, *QUICK, "--source", "sessions") as watcher:
        assert "sessions/monday.jsonl" in watcher.sync()["changed"]
        with chat.open("a") as file:
            file.write(line("one") + line("two") + line("three"))
        grown = watcher.change("sessions/monday.jsonl")
        chat.unlink()
        gone = watcher.change("sessions/monday.jsonl")

    assert grown["reason"] == "sessions"
    assert gone["removed"] == ["sessions/monday.jsonl"]


def test_several_agents_are_watched_at_once(ocmem: Program) -> None:
    for name in ("home", "office"):
        (ocmem.home / name / "memory").mkdir(parents=True)
        (ocmem.home / name / "MEMORY.md").write_text(f"{name}\n")
    agents = [{"id": name, "workspace": str(ocmem.home / name)} for name in ("home", "office")]
    ocmem.configure_all({"agents": {"list": agents}})

    with watching(ocmem, *QUICK) as watcher:
        begun = {watcher.sync()["agentId"], watcher.sync()["agentId"]}
        (ocmem.home / "office" / "memory" / "a.md").write_text("alpha\n")
        changed = watcher.change("memory/a.md")

    assert begun == {"home", "office"}
    assert changed["agentId"] == "office"


def test_an_index_that_cannot_be_written_is_told_and_the_others_are_watched(ocmem: Program) -> None:
    (ocmem.home / "file").write_text("in the way")
    agents: list[dict[str, object]] = []
    for name in ("home", "office"):
        (ocmem.home / name / "memory").mkdir(parents=True)
        (ocmem.home / name / "MEMORY.md").write_text(f"{name}\n")
        agents.append({"id": name, "workspace": str(ocmem.home / name)})
    agents[0]["memorySearch"] = {"store": {"path": str(ocmem.home / "file" / "index.sqlite")}}
    ocmem.configure_all({"agents": {"list": agents}})

    with watching(ocmem, *QUICK) as watcher:
        told = watcher.talk("is not a folder")
        begun = watcher.sync()
        (ocmem.home / "office" / "memory" / "a.md").write_text("alpha\n")
        changed = watcher.change("memory/a.md")

    assert str(ocmem.home / "file") in told
    assert begun["agentId"] == changed["agentId"] == "office"


def test_it_runs_although_openclaw_is_not_to_watch_and_says_so(ocmem: Program, notes: Path) -> None:
    ocmem.configure(sync={"watch": False})

    with watching(ocmem, *QUICK) as watcher:
        watcher.sync()
        _, _, err = watcher.stop()

    assert "sync.watch is false" in err


def test_a_provider_that_is_down_is_told_and_tried_again_with_the_next_change(
    ocmem: Program, fake: FakeProvider, notes: Path
) -> None:
    ocmem.use(fake)
    ocmem.index()
    with watching(ocmem, *QUICK) as watcher:
        watcher.sync()
        fake.add_fault("echo_key", times=FOREVER)
        ocmem.save("memory/b.md", "beta\n")
        failed = watcher.sync()
        fake.faults.clear()
        ocmem.save("memory/c.md", "gamma\n")
        mended = watcher.change("memory/b.md", "memory/c.md")
        _, _, err = watcher.stop()

    assert failed["event"] == "error"
    assert failed["error"] in err
    assert fake.key("openai") not in err + json.dumps(failed)
    assert mended["reason"] == "retry"


def test_a_reader_who_leaves_ends_the_watcher(ocmem: Program, notes: Path) -> None:
    with watching(ocmem, *QUICK) as watcher:
        watcher.sync()
        assert watcher.child.stdout is not None
        watcher.child.stdout.close()

        ocmem.save("memory/b.md", "beta\n")

        assert watcher.child.wait(40) == 0


def test_a_reader_who_wanted_one_line_need_not_wait_for_the_next(
    ocmem: Program, notes: Path
) -> None:
    with watching(ocmem) as watcher:
        out = watcher.child.stdout
        assert out is not None
        head = subprocess.run(["head", "-1"], stdin=out, capture_output=True, check=True)
        out.close()

        code, err = watcher.child.wait(40), watcher.err()

    assert b"changed MEMORY.md, memory/a.md" in head.stdout
    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--debounce", "-1"), "--debounce must be 0 or more"),
        (("--debounce", "soon"), "'soon' is not a valid int"),
        (("--workspace", "absent"), "no such folder"),
        (("--workspace", ".", "--source", "sessions"), "a folder of notes has no transcripts"),
    ],
)
def test_bad_words_are_told_in_one_line(ocmem: Program, args: tuple[str, ...], told: str) -> None:
    done = ocmem("watch", *args)

    assert (done.code, done.out) == (1, "")
    assert told in done.err


def test_memory_search_that_is_off_is_not_watched(ocmem: Program) -> None:
    ocmem.configure(enabled=False)

    done = ocmem("watch")

    assert (done.code, done.out, done.err) == (1, "", "Memory search disabled.\n")


def test_an_index_that_cannot_be_written_is_told(ocmem: Program, notes: Path) -> None:
    (ocmem.state / "memory").write_text("in the way")

    done = ocmem("watch")

    assert (done.code, done.out) == (1, "")
    assert "is not a folder" in done.err


def test_a_plain_folder_is_watched_too(ocmem: Program) -> None:
    folder = ocmem.home / "notes with spaces"
    (folder / "sub").mkdir(parents=True)
    with watching(ocmem, *QUICK, "--workspace", str(folder)) as watcher:
        watcher.sync()
        (folder / "sub" / "é.md").write_text("alpha\n")
        watcher.change("sub/é.md")
        os.replace(folder / "sub", folder / "renamed")  # noqa: PTH105
        watcher.change("renamed/é.md")
