"""`ocmem status` and `ocmem warmup` where QMD is the backend."""

import re
from typing import Any

import pytest

from tests.cli.program import everything
from tests.cli.qmd_program import QmdProgram

NAMES = "memory-root-main, memory-alt-main, memory-dir-main"
NOT_INSTALLED = "QMD is not installed: there is no command /nowhere/qmd"


def status(qmd: QmdProgram, *args: str, code: int = 0) -> dict[str, Any]:
    done = qmd("status", "--json", *args)
    assert done.code == code, done.err
    (entry,) = done.json
    fields: dict[str, Any] = entry
    return fields


def warmed(qmd: QmdProgram, *args: str, code: int = 0) -> dict[str, Any]:
    done = qmd("warmup", "--json", *args)
    assert done.code == code, done.err
    (entry,) = done.json
    fields: dict[str, Any] = entry
    return fields


def steps(entry: dict[str, Any]) -> dict[str, str]:
    return {step["step"]: step.get("detail") or step["error"] for step in entry["steps"]}


def test_before_anything_is_done_status_says_so_and_leaves_no_trace(qmd: QmdProgram) -> None:
    before = everything(qmd.state)

    done = qmd("status")

    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "Memory Search (main)\n"
        "Provider: qmd (requested: qmd)\n"
        "Model: qmd\n"
        "Sources: memory\n"
        "Indexed: 0/2 files · 0 chunks\n"
        "Dirty: yes\n"
        "Store: ~/.openclaw/agents/main/qmd/xdg-cache/qmd/index.sqlite\n"
        "Workspace: ~/.openclaw/workspace\n"
        f"QMD: {qmd.fake.command} (search)\n"
        "By source:\n"
        "  memory · 0/2 files · 0 chunks\n"
        f"Collections: {NAMES}\n"
        f"Not yet made: {NAMES}\n"
        "Vector: not used (searchMode: search)\n"
        "Updated: never by ocmem\n"
        "\n"
    )
    assert everything(qmd.state) == before
    assert qmd.fake.runs == []


def test_afterwards_it_has_everything(qmd: QmdProgram) -> None:
    qmd.configure_qmd(sessions={"enabled": True})
    qmd.say("monday", "I saw a heron")
    qmd.index()

    told = qmd("status").out
    found = status(qmd)["status"]

    assert "Indexed: 3/3 files · 3 chunks\nDirty: no\n" in told
    assert "  memory · 2/2 files · 2 chunks\n  sessions · 1/1 files · 1 chunks\n" in told
    assert re.search(r"^Updated: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$", told, re.MULTILINE)
    assert (found["backend"], found["files"], found["dirty"]) == ("qmd", 3, False)
    assert found["custom"]["qmd"]["collections"] == 4
    assert found["custom"]["qmd"]["absent"] == []
    assert "fallback" not in found


def test_what_changed_since_shows(qmd: QmdProgram) -> None:
    qmd.configure_qmd(sessions={"enabled": True})
    qmd.index()

    qmd.say("monday", "I saw a heron")

    told = qmd("status").out
    assert "Dirty: yes\n" in told
    assert "  sessions · 0/1 files · 0 chunks\n" in told


def test_a_search_that_made_the_index_counts_as_an_update(qmd: QmdProgram) -> None:
    qmd.ask("heron")

    found = status(qmd)["status"]

    assert found["dirty"] is False
    assert found["custom"]["qmd"]["lastUpdateAt"] is not None


def test_deep_asks_qmd(qmd: QmdProgram) -> None:
    before = qmd("status", "--deep").out
    qmd.ask("heron")

    told = qmd("status", "--deep").out

    assert f"QMD: {qmd.fake.command} 2.8.3 (search)\n" in before
    assert "Probe: " not in before  # there is nothing to search yet
    assert "Probe: ready\n" in told


def test_deep_finds_out_what_a_search_would_meet(qmd: QmdProgram) -> None:
    qmd("search", "x")
    qmd.fake.on("search", stdout="[{broken")

    done = qmd("status", "--deep")

    reason = "QMD's answer is no list of results: [{broken"
    assert done.code == 0
    assert done.err == f"{reason}; the built-in index answers instead\n"
    assert "Fallback: qmd\n" in done.out
    assert f"\n{reason}\n" in done.out


@pytest.mark.parametrize(
    ("settings", "reason", "hint"),
    [
        ({"command": "/nowhere/qmd"}, NOT_INSTALLED, "npm install"),
        ({"searchMode": "query"}, "QMD's models are not on this machine", "ocmem warmup"),
    ],
)
def test_a_qmd_that_cannot_answer_shows_without_being_started(
    qmd: QmdProgram, settings: dict[str, str], reason: str, hint: str
) -> None:
    qmd.configure_qmd(**settings)

    done = qmd("status")
    found = status(qmd)["status"]

    complaint, advice = done.err.splitlines()
    assert complaint == f"{reason}; the built-in index answers instead"
    assert advice.startswith(f"hint: {hint}")
    assert "Fallback: qmd\n" in done.out
    assert found["backend"] == "builtin"
    assert found["fallback"] == {"from": "qmd", "reason": reason}
    assert found["custom"]["fallback"] == {"disabled": True, "reason": reason}
    assert qmd.fake.runs == []


def test_a_rest_after_a_failure_shows(qmd: QmdProgram) -> None:
    qmd.fake.on("search", code=1, stderr="boom")
    qmd("search", "heron")
    qmd.fake.forget()

    reason = status(qmd)["status"]["fallback"]["reason"]

    assert re.fullmatch(r"QMD could not search: boom \(not asked again for \d+ s\)", reason)
    assert qmd.fake.runs == []


def test_a_home_that_cannot_be_made_shows(qmd: QmdProgram) -> None:
    (qmd.state / "agents").write_text("in the way")

    reason = status(qmd)["status"]["fallback"]["reason"]

    assert reason == "cannot write in ~/.openclaw/agents/main/qmd"


def test_an_index_that_is_none_shows(qmd: QmdProgram) -> None:
    qmd.database.parent.mkdir(parents=True)
    qmd.database.write_bytes(b"no database " * 100)

    done = qmd("status")

    assert done.err == (
        "QMD could not search: its index is damaged; the built-in index answers instead\n"
        "hint: ocmem index --force builds it anew\n"
    )


def test_index_first_then_look(qmd: QmdProgram) -> None:
    done = qmd("status", "--index")

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Memory index complete.\nMemory Search (main)\n")
    assert "Indexed: 2/2 files" in done.out


def test_an_index_run_that_failed_is_told_beside_a_qmd_that_still_answers(
    qmd: QmdProgram,
) -> None:
    qmd.index()
    qmd.fake.on("update", code=1, stderr="boom")

    done = qmd("status", "--index")

    reason = "QMD could not update its index: boom"
    assert done.code == 1
    assert done.err == f"Memory index failed: {reason}\n"
    assert done.out.startswith(f"Memory index failed: {reason}\nMemory Search (main)\n")
    assert "Provider: qmd" in done.out
    assert f"Index error: {reason}\n" in done.out


def test_the_list_of_files_says_whose_it_is(qmd: QmdProgram) -> None:
    done = qmd("ls")

    assert (done.code, done.err.count("\n")) == (0, 1)
    assert done.err.startswith("[memory] these are the files of the built-in index; ")


# --- warmup --------------------------------------------------------------------------------------


def test_warming_up_makes_the_index_and_searches_once(qmd: QmdProgram) -> None:
    entry = warmed(qmd)

    assert (entry["ready"], entry["backend"], entry["provider"]) == (True, "qmd", "qmd")
    assert steps(entry) == {
        "qmd": f"2.8.3 ({qmd.fake.command})",
        "update": "2 documents",
        "search": "0 results",
    }
    assert qmd.fake.commands == ["--version", *["collection add"] * 3, "update", "search"]


def test_warming_up_fetches_models_and_makes_vectors(qmd: QmdProgram) -> None:
    qmd.configure_qmd(searchMode="query")
    qmd.with_models()

    entry = warmed(qmd)

    assert list(steps(entry)) == ["qmd", "models", "update", "search", "again"]
    assert "embed" in qmd.fake.commands


def test_models_that_did_not_come_are_told(qmd: QmdProgram) -> None:
    qmd.configure_qmd(searchMode="query")

    online = warmed(qmd, code=1)
    offline = warmed(qmd, "--offline", code=1)

    assert steps(online)["models"].startswith("QMD fetched its models, but there are none in ~/")
    assert steps(offline)["models"] == (
        "QMD's models are not on this machine, and --offline fetches none"
    )
    assert qmd.fake.commands.count("pull") == 1


def test_without_qmd_it_is_not_ready_and_says_who_answers(qmd: QmdProgram) -> None:
    qmd.configure_qmd(command="/nowhere/qmd")

    told = qmd("warmup")
    entry = warmed(qmd, code=1)

    assert told.code == 1
    assert told.out.splitlines()[-1] == "Not ready."
    assert told.err.startswith(f"{NOT_INSTALLED}; the built-in index answers meanwhile\nhint: npm")
    assert (entry["ready"], entry["backend"]) == (False, "qmd")
    assert entry["fallback"] == {"from": "qmd", "reason": NOT_INSTALLED}


def test_a_warm_up_does_not_wait_for_a_rest_to_end_and_leaves_none(qmd: QmdProgram) -> None:
    qmd.fake.on("search", code=1, stderr="boom")
    qmd.fake.on("search", code=1, stderr="boom")
    qmd.fake.on("search", does=True)
    qmd.ask("heron")

    assert steps(warmed(qmd, code=1))["search"] == "QMD could not search: boom"
    assert qmd.ask("heron")["backend"] == "qmd"
