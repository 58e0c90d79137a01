"""What happens where QMD cannot answer: the built-in index does, and says why."""

import json
import shutil
import signal
from typing import Any

import pytest

from tests.cli.both_ways import both_ways
from tests.cli.qmd_program import QmdProgram
from tests.fake_provider import FOREVER, FakeProvider

NOT_INSTALLED = "QMD is not installed: there is no command /nowhere/qmd"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"signal": int(signal.SIGSEGV)}, "QMD was ended by SIGSEGV when it was to search"),
        ({"delay": 60}, "QMD took longer than 0.3 s to search"),
        ({"stdout": '[{"docid": '}, 'QMD\'s answer is no list of results: [{"docid":'),
        ({"code": 3, "stderr": "boom\n"}, "QMD could not search: boom"),
        (
            {"code": 127, "stderr": "env: node: No such file or directory"},
            "QMD needs Node.js, which is not in PATH",
        ),
    ],
)
def test_a_failure_is_named_and_not_met_again_at_once(
    qmd: QmdProgram, answer: dict[str, Any], reason: str
) -> None:
    qmd.fake.on("search", **answer)
    if "delay" in answer:
        qmd.configure_qmd(limits={"timeoutMs": 300})

    first = qmd("search", "heron", "--json")
    second = qmd("search", "heron", "--json")

    assert (first.code, second.code) == (0, 0)
    assert first.paths == second.paths == ["MEMORY.md", "memory/day.md"]
    assert first.json["backend"] == "builtin"
    assert first.json["fallback"] == {"from": "qmd", "reason": reason}
    assert second.json["fallback"]["reason"].startswith(f"{reason} (not asked again for ")
    told = [line for line in first.err.splitlines() if not line.startswith("hint: ")]
    assert told == [f"[memory] {reason}; the built-in index answers instead"]
    assert qmd.fake.commands.count("search") == 1


def test_a_command_that_is_not_there_needs_no_rest(qmd: QmdProgram) -> None:
    qmd.configure_qmd(command="/nowhere/qmd")
    text, as_json = both_ways(qmd, "search", "heron")
    qmd.configure_qmd()

    answer = qmd.ask("heron")

    assert as_json.json["fallback"]["reason"] == NOT_INSTALLED
    assert text.err.splitlines() == [
        f"[memory] {NOT_INSTALLED}; the built-in index answers instead",
        "hint: npm install -g @tobilu/qmd, or set memory.qmd.command to where it is",
    ]
    assert answer["backend"] == "qmd"


def test_models_that_are_missing_are_no_reason_to_start_anything(qmd: QmdProgram) -> None:
    qmd.configure_qmd(searchMode="vsearch")

    done = qmd("search", "heron", "--json")

    assert done.json["fallback"]["reason"] == "QMD's models are not on this machine"
    assert "hint: ocmem warmup fetches them; searchMode: search needs none\n" in done.err
    assert qmd.fake.runs == []


def test_indexing_ends_a_rest(qmd: QmdProgram) -> None:
    qmd.fake.on("search", code=1, stderr="boom")
    qmd.fake.on("search", does=True)
    assert qmd.ask("heron")["backend"] == "builtin"

    qmd.index()

    assert qmd.ask("heron")["backend"] == "qmd"


def test_the_built_in_index_is_fresh_when_it_has_to_answer(qmd: QmdProgram) -> None:
    qmd.index()
    qmd.note("memory/new.md", "An osprey.\n")
    qmd.configure_qmd(command="/nowhere/qmd")

    assert [each["path"] for each in qmd.ask("osprey")["results"]] == ["memory/new.md"]


@pytest.mark.parametrize("is_made", [False, True])
def test_a_home_that_may_not_be_entered_is_named(
    qmd: QmdProgram, permissions: None, *, is_made: bool
) -> None:
    closed = qmd.state / "agents"
    closed.mkdir()
    if is_made:
        qmd.index()
        closed = qmd.corner
    closed.chmod(0)

    done = [
        qmd(*args, bound=True)
        for args in (["search", "heron", "--json"], ["status"], ["index"], ["get", "MEMORY.md"])
    ]
    tool = qmd("tool", "memory_search", '{"query": "heron"}', bound=True)

    closed.chmod(0o700)
    search, status, index, got = done
    assert [each.code for each in done] == [0, 0, 1, 0]
    assert "Permission denied" in search.json["fallback"]["reason"]
    assert len(search.paths) == len(json.loads(tool.out)["results"]) == 2
    assert "Fallback: qmd" in status.out
    assert "Permission denied" in index.err
    assert got.out == "The boat is called Heron.\n"


def test_an_index_that_may_not_be_read_is_asked_again_once_it_may(
    qmd: QmdProgram, permissions: None
) -> None:
    qmd.index()
    qmd.database.chmod(0)

    refused = qmd("search", "heron", "--json", bound=True)
    qmd.database.chmod(0o600)
    answered = qmd("search", "heron", "--json", bound=True)

    assert refused.json["fallback"]["reason"].startswith("cannot read ")
    assert answered.json["backend"] == "qmd"


def test_what_cannot_be_handed_over_is_asked_of_the_built_in_index(qmd: QmdProgram) -> None:
    done = qmd("tool", "memory_search", stdin=json.dumps({"query": "heron " * 50_000}))

    assert done.json["fallback"]["reason"] == "the query is too long to be handed to QMD"
    assert done.json["backend"] == "builtin"
    assert len(done.json["results"]) == 2
    assert qmd.ask("heron")["backend"] == "qmd"


def test_where_neither_can_answer_both_reasons_are_told(qmd: QmdProgram) -> None:
    qmd.configure_qmd(command="/nowhere/qmd")
    qmd.own_index.parent.mkdir()
    qmd.own_index.write_bytes(b"no database " * 100)

    done = qmd("search", "heron")

    assert (done.code, done.out) == (1, "")
    lines = done.err.splitlines()
    assert lines[0] == f"[memory] {NOT_INSTALLED}"
    assert lines[1].startswith("Memory search failed: ")


def test_the_embedding_fallback_stands_in_behind_qmd(qmd: QmdProgram) -> None:
    with FakeProvider(dims=16) as provider:
        provider.add_fault("status", code=401, body="no", times=FOREVER)
        remote = {"baseUrl": provider.base_url("openai"), "apiKey": provider.key("openai")}
        qmd.configure_own(provider="openai", fallback="builtin", remote=remote)
        qmd.configure_qmd(command="/nowhere/qmd")

        done = qmd("search", "heron", "--json")

    assert done.code == 0
    assert (done.json["backend"], done.json["provider"]) == ("builtin", "builtin")
    assert done.json["fallback"] == {"from": "qmd", "reason": NOT_INSTALLED}
    assert done.err.count(NOT_INSTALLED) == 1


# --- several agents ------------------------------------------------------------------------------


@pytest.fixture
def mixed(qmd: QmdProgram) -> QmdProgram:
    """Three agents who share a folder; QMD cannot write for the second, the third is off."""
    for name in ("beta", "docs"):
        (qmd.home / name).mkdir()
        (qmd.home / name / "MEMORY.md").write_text(f"A heron of {name}.\n")
    off = {"id": "gamma", "memorySearch": {"enabled": False}}
    agents = [{"id": "main"}, {"id": "beta", "workspace": "~/beta"}, off]
    qmd.configure_qmd(agents={"list": agents}, paths=[{"path": "~/docs", "name": "docs"}])
    (qmd.state / "agents" / "beta").mkdir(parents=True)
    (qmd.state / "agents" / "beta" / "qmd").write_text("in the way")
    return qmd


def test_one_list_of_several_backends_says_which_answered_whom(mixed: QmdProgram) -> None:
    answer = mixed.ask("heron", "--all-agents")

    assert answer["backend"] == "mixed"
    main, beta, gamma = answer["agents"]
    assert (main["backend"], beta["backend"]) == ("qmd", "builtin")
    assert beta["fallback"]["from"] == "qmd"
    assert beta["fallback"]["reason"].startswith("cannot write in ")
    assert "fallback" not in main
    assert gamma["disabled"] is True
    scores = [result["score"] for result in answer["results"]]
    assert scores == sorted(scores, reverse=True)
    assert {result["agentId"] for result in answer["results"]} == {"main", "beta"}


def test_a_folder_that_agents_share_is_found_once(mixed: QmdProgram) -> None:
    shutil.rmtree(mixed.state / "agents")

    answer = mixed.ask("docs", "--all-agents")

    assert answer["backend"] == "qmd"
    assert [result["path"] for result in answer["results"]] == ["qmd/docs-main/MEMORY.md"]


def test_each_agent_is_indexed_and_looked_at_by_what_it_has(mixed: QmdProgram) -> None:
    index = mixed("index", "--json")
    status = mixed("status", "--json")

    assert (index.code, status.code) == (1, 0)
    assert [entry["backend"] for entry in index.json] == ["qmd", "builtin"]
    assert [entry["status"]["backend"] for entry in status.json] == ["qmd", "builtin"]
    assert "Memory index failed (beta): cannot write in " in index.err


def test_what_stands_in_is_not_paid_for_unasked(qmd: QmdProgram, fake: FakeProvider) -> None:
    remote = {"baseUrl": fake.base_url("openai")}
    qmd.configure_own()
    qmd.configure_qmd(
        command="/nowhere/qmd", agents={"defaults": {"memorySearch": {"remote": remote}}}
    )
    qmd.env["OPENAI_API_KEY"] = fake.key("openai")

    free = [qmd.ask("heron"), qmd("tool", "memory_search", '{"query": "heron"}').json]
    indexed = qmd("index", "--json")
    status = qmd("status", "--json")
    assert [answer["provider"] for answer in free] == ["builtin", "builtin"]
    assert [result["path"] for result in free[0]["results"]] != []
    assert indexed.json[0]["fallback"]["reason"] == NOT_INSTALLED
    assert status.json[0]["status"]["provider"] == "builtin"
    assert fake.count() == 0

    assert qmd("index", "--backend", "builtin").code == 0
    paid = qmd.ask("heron")

    assert (paid["provider"], paid["fallback"]["from"]) == ("openai", "qmd")
    assert fake.count() > 0
