"""`ocmem index`: what it does, what it says, and whom it waits for."""

import os
import pty
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cli.program import Outcome, Program, digest, indexed
from tests.cli.test_index_turns import UPDATED, Held, ended, three_notes
from tests.fake_provider import FakeProvider

FIELDS: Final = ["agentId", "files", "chunks", "embedded", "cached", "seconds", "issues", "backend"]


def report(ocmem: Program, *options: str) -> dict[str, Any]:
    """What a run that goes well says of itself."""
    done = ocmem("index", "--json", *options)
    assert done.code == 0, done.err
    (entry,) = done.json
    return dict(entry)


# What it says


def test_a_run_ends_with_one_line_and_a_summary_beside_it(ocmem: Program) -> None:
    three_notes(ocmem)

    first, second = ocmem("index"), ocmem("index")

    assert (first.code, first.out) == (second.code, second.out) == (0, UPDATED)
    summary = r"{} 3 files: {} changed, 0 removed, 0 skipped · 3 chunks · {} embedded, "
    summary += r"0 from cache · \d+\.\d s\n"
    assert re.fullmatch(summary.format("rebuilt", 3, 3), first.err)
    assert re.fullmatch(summary.format("checked", 0, 0), second.err)


def test_quiet_says_nothing_so_that_cron_has_nothing_to_mail(ocmem: Program) -> None:
    three_notes(ocmem)

    done = ocmem("index", "--quiet")

    assert (done.code, done.out, done.err) == (0, "", "")


def test_verbose_first_says_what_will_be_indexed_and_how(ocmem: Program) -> None:
    three_notes(ocmem)
    ocmem.configure(sources=["memory", "sessions"], experimental={"sessionMemory": True})

    done = ocmem("index", "--verbose")

    assert done.code == 0
    assert done.out == (
        "Memory Index (main)\n"
        "Provider: builtin (requested: auto)\n"
        "Model: l2_supercat_256\n"
        "Sources: memory (MEMORY.md + ~/.openclaw/workspace/memory/*.md), "
        "sessions (~/.openclaw/agents/main/sessions/*.jsonl)\n"
        "\n[memory] sync: indexing memory files\n"
        "[memory] sync: indexing session files\n"
        f"[memory] embeddings: batch start\n{UPDATED}"
    )


@pytest.mark.parametrize("option", ["--json", "--verbose", "--quiet"])
def test_json_is_one_document_whatever_else_is_asked_for(ocmem: Program, option: str) -> None:
    three_notes(ocmem)

    done = ocmem("index", "--json", option)

    assert done.code == 0
    assert all(line.startswith("[memory] ") for line in done.err.splitlines())
    assert bool(done.err) == (option == "--verbose")
    (entry,) = done.json
    assert list(entry) == FIELDS
    assert entry.pop("seconds") >= 0
    assert entry == {
        "agentId": "main",
        "files": {"scanned": 3, "changed": 3, "removed": 0, "skipped": 0},
        "chunks": 3,
        "embedded": 3,
        "cached": 0,
        "issues": [],
        "backend": "builtin",
    }


def test_an_empty_workspace_is_no_failure_but_worth_a_word(ocmem: Program) -> None:
    done = ocmem("index")

    assert (done.code, done.out) == (0, UPDATED)
    assert "memory directory missing (~/.openclaw/workspace/memory)" in done.err


# What it does


def test_an_edit_costs_the_edited_note_alone(ocmem: Program, fake: FakeProvider) -> None:
    three_notes(ocmem)
    ocmem.use(fake)
    ocmem.index()
    fake.forget()
    ocmem.note("memory/heron.md", "The heron flew off.\n")

    done = report(ocmem)

    assert done["files"] == {"scanned": 3, "changed": 1, "removed": 0, "skipped": 0}
    assert (done["chunks"], done["embedded"], done["cached"]) == (3, 1, 0)
    assert fake.texts() == ["The heron flew off.\n"]
    assert ocmem("search", "pier", "--json", "--provider", "none").results == []


def test_a_deleted_note_is_forgotten(ocmem: Program) -> None:
    three_notes(ocmem)
    ocmem.index()
    (ocmem.workspace / "memory" / "heron.md").unlink()

    done = report(ocmem)

    assert done["files"] == {"scanned": 2, "changed": 0, "removed": 1, "skipped": 0}
    assert (done["chunks"], done["issues"]) == (2, [])
    assert indexed(ocmem.own_index) == {"MEMORY.md", "memory/garden.md"}


def test_a_renamed_note_is_found_under_its_new_name_and_costs_nothing(
    ocmem: Program, fake: FakeProvider
) -> None:
    three_notes(ocmem)
    ocmem.use(fake)
    ocmem.index()
    fake.forget()
    (ocmem.workspace / "memory" / "heron.md").rename(ocmem.workspace / "memory" / "birds.md")

    done = report(ocmem)

    assert done["files"] == {"scanned": 3, "changed": 1, "removed": 1, "skipped": 0}
    assert (done["embedded"], done["cached"], fake.count()) == (0, 1, 0)
    assert ocmem("search", "heron", "--json").paths[0] == "memory/birds.md"


def test_force_builds_anew_what_a_plain_run_trusts(ocmem: Program, fake: FakeProvider) -> None:
    three_notes(ocmem)
    ocmem.use(fake)
    ocmem.index()
    before = digest(ocmem.shared_index)
    fake.forget()
    with closing(sqlite3.connect(ocmem.shared_index)) as db, db:
        db.execute("DELETE FROM chunks WHERE path = 'memory/heron.md'")

    plain = report(ocmem)
    forced = ocmem("index", "--force")

    assert plain["chunks"] == 2
    assert "rebuilt 3 files: 3 changed" in forced.err
    assert "0 embedded, 3 from cache" in forced.err
    assert digest(ocmem.shared_index) == before
    assert fake.texts() == ["ping"]  # to learn the model's dimension, which may have changed


def test_a_path_with_spaces_quotes_and_other_scripts_is_a_path(tmp_path: Path) -> None:
    home = tmp_path / "it's 100% “Büro” & 메모; #1?x=y"
    home.mkdir()
    ocmem = Program(home)
    ocmem.note("memory/das große Heft 庭.md", "The heron stood on the pier.\n")

    first, forced = ocmem("index"), ocmem("index", "--force")
    named = ocmem("index", "--workspace", str(ocmem.workspace / "memory"))
    found = ocmem("search", "heron", "--json")
    got = ocmem("get", found.results[0]["citation"])

    assert [run.code for run in (first, forced, named)] == [0, 0, 0], first.err + named.err
    assert found.paths == ["memory/das große Heft 庭.md"]
    assert got.out == "The heron stood on the pier.\n"
    assert ocmem.own_index.exists()


# What it leaves alone, and keeps to itself


def test_the_users_files_are_only_read(ocmem: Program) -> None:
    ocmem.example()
    ocmem.configure(provider="auto")

    def state() -> dict[Path, tuple[int, int, int, int]]:
        paths = [ocmem.config, ocmem.workspace, *ocmem.workspace.rglob("*")]
        stats = {path: path.stat() for path in paths}
        return {p: (s.st_mode, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for p, s in stats.items()}

    before = state()

    for args in (["index"], ["index", "--force"], ["index", "--workspace", str(ocmem.workspace)]):
        assert ocmem(*args).code == 0

    assert state() == before


@pytest.fixture
def generous() -> Iterator[None]:
    """A umask that forbids nothing."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("generous")
def test_whatever_it_creates_is_for_the_owner_alone(ocmem: Program) -> None:
    three_notes(ocmem)
    (ocmem.home / "notes").mkdir()
    (ocmem.home / "notes" / "one.md").write_text("Sow the beans in May.\n")
    ocmem.configure()
    given = set(ocmem.home.rglob("*"))

    def modes() -> dict[str, set[str]]:
        made = set(ocmem.home.rglob("*")) - given
        return {
            "folders": {oct(path.stat().st_mode & 0o777) for path in made if path.is_dir()},
            "files": {oct(path.stat().st_mode & 0o777) for path in made if path.is_file()},
        }

    with Held() as held:
        ocmem.use(held)
        with ocmem.start("index") as child:
            held.wait_for_a_request()
            assert list(ocmem.shared_index.parent.glob("main.sqlite.tmp-*"))
            assert modes() == {"folders": {"0o700"}, "files": {"0o600"}}
            held.may_answer.set()
            assert ended(child).code == 0
        assert ocmem("index", "--workspace", "notes").code == 0

    assert modes() == {"folders": {"0o700"}, "files": {"0o600"}}


# On a terminal


def on_a_terminal(ocmem: Program, *args: str) -> Outcome:
    """As when a person runs it, with stdout redirected."""
    here, there = pty.openpty()
    with subprocess.Popen(
        ocmem.command(*args),
        cwd=ocmem.home,
        env=ocmem.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=there,
    ) as child:
        os.close(there)
        seen = b""
        with suppress(OSError):  # which is how Linux says that nobody is left at the other end
            while data := os.read(here, 4096):
                seen += data
        assert child.stdout is not None
        out = child.stdout.read()
    os.close(here)
    return Outcome(child.returncode, out.decode(), seen.decode().replace("\r\n", "\n"))


@pytest.fixture
def slow() -> Iterator[FakeProvider]:
    """Slow enough for a person to wonder."""
    with FakeProvider(dims=16, latency_s=0.6) as provider:
        yield provider


def test_a_long_run_shows_its_progress_on_a_terminal_and_wipes_it(
    ocmem: Program, slow: FakeProvider
) -> None:
    three_notes(ocmem)
    ocmem.use(slow)

    done = on_a_terminal(ocmem, "index", "--json")

    assert done.code == 0
    assert done.json[0]["embedded"] == 3
    assert "\rEmbedding chunks… 3/3" in done.err
    assert re.search(r"\r +\r$", done.err)


def test_quiet_and_pipes_see_no_progress(ocmem: Program, slow: FakeProvider) -> None:
    three_notes(ocmem)
    ocmem.use(slow, cache={"enabled": False})

    quiet = on_a_terminal(ocmem, "index", "--quiet")
    piped = ocmem("index", "--force")

    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    assert piped.code == 0
    assert "\r" not in piped.err
    assert piped.err.startswith("rebuilt 3 files")


# When something is in the way


def test_offline_asks_nobody_and_makes_no_index(ocmem: Program, fake: FakeProvider) -> None:
    three_notes(ocmem)
    ocmem.use(fake)

    done = ocmem("index", "--offline")
    as_json = ocmem("index", "--offline", "--json")

    assert (done.code, done.out) == (1, "")
    assert done.err == "Memory index failed (main): --offline: openai was not asked\n"
    assert as_json.code == 1
    assert as_json.json == [{"agentId": "main", "error": "--offline: openai was not asked"}]
    assert fake.count() == 0
    assert not ocmem.shared_index.exists()


def test_offline_does_what_needs_no_network(ocmem: Program, fake: FakeProvider) -> None:
    three_notes(ocmem)
    ocmem.use(fake)
    ocmem.index()
    fake.forget()
    (ocmem.workspace / "memory" / "heron.md").rename(ocmem.workspace / "memory" / "birds.md")
    (ocmem.workspace / "memory" / "garden.md").unlink()

    done = report(ocmem, "--offline")
    ocmem.note("memory/new.md", "Nobody has seen this.\n")
    failed = ocmem("index", "--offline")

    assert done["files"] == {"scanned": 2, "changed": 1, "removed": 2, "skipped": 0}
    assert failed.code == 1
    assert indexed(ocmem.shared_index) == {"MEMORY.md", "memory/birds.md"}
    assert fake.count() == 0


@pytest.mark.usefixtures("permissions")
def test_a_note_that_cannot_be_read_is_named_and_the_rest_is_done(ocmem: Program) -> None:
    three_notes(ocmem)
    secret = ocmem.note("memory/secret.md", "The heron has a secret.\n")
    ocmem.index()
    secret.chmod(0)
    ocmem.note("memory/locked.md", "Never read.\n").chmod(0)
    ocmem.note("memory/new.md", "The heron is back.\n")

    done = ocmem("index", bound=True)
    as_json = ocmem("index", "--json", bound=True)

    assert (done.code, done.out) == (1, "")
    named = [
        f"~/.openclaw/workspace/memory/{n}.md not readable (EACCES)" for n in ("locked", "secret")
    ]
    assert [f"[memory] {text}" for text in named] == done.err.splitlines()[:-1]
    assert "checked 6 files: 1 changed, 0 removed, 2 skipped" in done.err
    assert (as_json.code, as_json.json[0]["issues"]) == (1, named)
    known = {"MEMORY.md", "memory/garden.md", "memory/heron.md"}
    assert indexed(ocmem.own_index) == known | {"memory/secret.md", "memory/new.md"}


@pytest.mark.usefixtures("permissions")
def test_a_folder_that_cannot_be_read_keeps_its_rows(ocmem: Program) -> None:
    three_notes(ocmem)
    ocmem.note("memory/deep/secret.md", "The heron has a secret.\n")
    ocmem.index()
    (ocmem.workspace / "memory" / "deep").chmod(0)
    ocmem.note("memory/new.md", "The heron is back.\n")

    done = ocmem("index", bound=True)
    (ocmem.workspace / "memory" / "deep").chmod(0o700)

    assert (done.code, done.out) == (1, "")
    assert "folder not accessible (~/.openclaw/workspace/memory/deep): EACCES" in done.err
    assert {"memory/deep/secret.md", "memory/new.md"} <= indexed(ocmem.own_index)
    assert report(ocmem)["issues"] == []
