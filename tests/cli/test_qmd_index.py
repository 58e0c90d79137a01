"""`ocmem index` where QMD is the backend."""

import json
import re

import pytest

from ocmem.core import lock
from tests.cli.program import everything
from tests.cli.qmd_program import QmdProgram

NAMES = ["memory-root-main", "memory-alt-main", "memory-dir-main"]


def test_it_says_where_the_index_is_and_how_large(qmd: QmdProgram) -> None:
    done = qmd("index")

    size = qmd.database.stat().st_size
    place = "~/.openclaw/agents/main/qmd/xdg-cache/qmd/index.sqlite"
    assert done.code == 0
    assert done.out == f"QMD index: {place} ({size} bytes)\nMemory index updated (main).\n"
    assert re.fullmatch(r"checked 2 files: 2 changed, 0 removed · \d\.\d s\n", done.err)
    assert qmd.fake.commands == [*["collection add"] * 3, "update"]


def test_quiet_says_nothing_and_verbose_what_it_is_about(qmd: QmdProgram) -> None:
    verbose = qmd("index", "--verbose")
    quiet = qmd("index", "--quiet")

    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    assert verbose.out.startswith(
        "Memory Index (main)\nProvider: qmd (requested: qmd)\nModel: qmd\nSources: memory\n"
    )


def test_programs_get_the_counts(qmd: QmdProgram) -> None:
    qmd.index()
    qmd.note("memory/new.md", "new")

    done = qmd("index", "--json")

    [entry] = done.json
    assert (done.code, done.err) == (0, "")
    assert entry["files"] == {"scanned": 3, "changed": 1, "removed": 0, "skipped": 0}
    assert (entry["agentId"], entry["backend"], entry["issues"]) == ("main", "qmd", [])
    assert entry["qmd"]["bytes"] == qmd.database.stat().st_size
    assert "fallback" not in entry


def test_vectors_are_made_where_the_mode_has_a_use_for_them(qmd: QmdProgram) -> None:
    qmd.configure_qmd(searchMode="query")
    qmd.with_models()

    done = qmd("index", "--json")

    [entry] = done.json
    assert qmd.fake.commands[-1] == "embed"
    assert (entry["qmd"]["embedded"], entry["qmd"]["pendingEmbeddings"]) == (True, 0)


def test_without_models_nothing_is_fetched_unasked(qmd: QmdProgram) -> None:
    qmd.configure_qmd(searchMode="query")

    done = qmd("index")

    assert done.code == 0
    assert "embed" not in qmd.fake.commands
    assert "QMD's models are not on this machine, so nothing is embedded" in done.err
    assert "run: ocmem warmup" in done.err


def test_sessions_are_exported_and_only_what_was_exported_is_removed(qmd: QmdProgram) -> None:
    qmd.configure_qmd(sessions={"enabled": True})
    monday = qmd.say("monday", "I saw a heron")
    qmd.index()
    own = qmd.corner / "sessions" / "own.md"
    own.write_text("My own.\n")
    monday.unlink()
    qmd.say("tuesday", "No heron")

    done = qmd("index")

    assert done.code == 0
    exported = {path.name for path in own.parent.glob("*.md")}
    assert exported == {"own.md", "tuesday.md"}
    assert (own.parent / "tuesday.md").read_text() == "# Session tuesday\n\nUser: No heron\n"


def test_sessions_are_not_exported_over_notes(qmd: QmdProgram) -> None:
    qmd.configure_qmd(sessions={"enabled": True, "exportDir": "memory"})
    qmd.say("monday", "I saw a heron")

    done = qmd("index")

    assert done.code == 1
    folder = qmd.workspace / "memory"
    assert f"sessions cannot be exported into {folder}: it is the memory folder" in done.err
    assert "sessions-main" not in qmd.fake.collections(qmd.database)
    assert "Memory index updated" not in done.out
    assert [path.name for path in (qmd.workspace / "memory").iterdir()] == ["day.md"]


def test_without_qmd_the_built_in_index_is_made(qmd: QmdProgram) -> None:
    qmd.configure_qmd(command="/nowhere/qmd")

    done = qmd("index")
    [entry] = qmd("index", "--json").json

    reason = "QMD is not installed: there is no command /nowhere/qmd"
    assert (done.code, done.out) == (1, "Memory index updated (main).\n")
    assert done.err.splitlines()[:3] == [
        f"Memory index failed (main): {reason}",
        "hint: npm install -g @tobilu/qmd, or set memory.qmd.command to where it is",
        "[memory] the built-in index is brought up to date, to answer where QMD cannot",
    ]
    assert entry["backend"] == "builtin"
    assert entry["fallback"] == {"from": "qmd", "reason": reason}
    assert qmd.ask("heron")["results"]


def test_a_damaged_index_is_made_anew_by_force(qmd: QmdProgram) -> None:
    qmd.index()
    qmd.database.write_bytes(b"no database " * 100)
    qmd.fake.on("collection list", code=1, stderr="SqliteError: file is not a database")

    refused = qmd("index")
    forced = qmd("index", "--force")

    assert refused.code == 1
    assert "hint: ocmem index --force builds it anew" in refused.err
    assert forced.code == 0
    assert "QMD's damaged index is kept as ~/.openclaw/agents/main/qmd/" in forced.err
    assert qmd.ask("heron")["backend"] == "qmd"


def test_a_run_that_may_not_wait_leaves_the_other_alone(qmd: QmdProgram) -> None:
    with lock.writing(qmd.database, wait_s=0, command="index"):
        done = qmd("index", "--no-wait", "--json")

    assert (done.code, done.json) == (0, [])
    assert "is being indexed by ocmem index (process " in done.err
    assert done.err.endswith("; nothing done\n")
    assert qmd.fake.runs == []


def test_folders_that_are_not_there_are_told_and_no_failure(qmd: QmdProgram) -> None:
    qmd.configure_qmd(paths=[{"path": "~/nowhere"}])

    done = qmd("index")
    [entry] = qmd("status", "--json").json

    assert done.code == 0
    assert "[memory] additional memory path missing (~/nowhere)\n" in done.err
    assert entry["status"]["dirty"] is False
    assert entry["scan"]["issues"] == ["additional memory path missing (~/nowhere)"]


def test_each_agent_has_a_qmd_of_its_own(qmd: QmdProgram) -> None:
    (qmd.home / "beta").mkdir()
    (qmd.home / "beta" / "MEMORY.md").write_text("A grey heron.\n")
    agents = {"list": [{"id": "main"}, {"id": "Beta", "workspace": "~/beta"}]}
    qmd.configure_qmd(agents=agents)

    done = qmd("index")

    assert done.code == 0
    assert done.out.count("QMD index: ") == 2
    assert qmd.ask("grey", "--agent", "beta")["results"][0]["path"] == "MEMORY.md"
    homes = {run["env"]["XDG_CACHE_HOME"] for run in qmd.fake.runs}
    assert {home.rpartition("/agents/")[2] for home in homes} == {
        "main/qmd/xdg-cache",
        "beta/qmd/xdg-cache",
    }


# --- a dry run -----------------------------------------------------------------------------------


def test_a_dry_run_says_what_qmd_would_look_at_and_does_nothing(qmd: QmdProgram) -> None:
    qmd.configure_qmd(sessions={"enabled": True})
    qmd.say("monday", "I saw a heron")
    before = everything(qmd.state)

    done = qmd("index", "--dry-run")
    [entry] = qmd("index", "--dry-run", "--json").json

    names = ", ".join([*NAMES, "sessions-main"])
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "Would have QMD look at 3 files (main).\n"
        f"Collections: {names}\nTo be made: {names}\n"
        "Cost: none; no text leaves this machine\n"
    )
    assert (entry["backend"], entry["files"], entry["issues"]) == ("qmd", {"scanned": 3}, [])
    assert "unavailable" not in entry
    assert everything(qmd.state) == before
    assert qmd.fake.runs == []


@pytest.mark.parametrize("args", [[], ["--json"]])
def test_a_dry_run_says_that_it_could_not_be_done(qmd: QmdProgram, args: list[str]) -> None:
    qmd.configure_qmd(command="/nowhere/qmd")

    done = qmd("index", "--dry-run", *args)

    reason = "QMD is not installed: there is no command /nowhere/qmd"
    assert (done.code, done.err) == (0, f"[memory] it could not be done now: {reason}\n")
    assert not args or json.loads(done.out)[0]["unavailable"] == reason
