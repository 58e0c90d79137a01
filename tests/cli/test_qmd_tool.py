"""`ocmem tool` where QMD is the backend: what an agent gets."""

import json
from typing import Any

import pytest

from tests.cli.qmd_program import GROUP, QmdProgram

DIRECT = "agent:main:telegram:direct:123"


def search(qmd: QmdProgram, *args: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401
    done = qmd("tool", "memory_search", json.dumps(parameters), *args)
    assert done.code == 0, done.err
    answer: dict[str, Any] = done.json
    return answer


def test_the_answer_is_that_of_the_reference_with_the_backend(qmd: QmdProgram) -> None:
    answer = search(qmd, query="router")

    assert answer == {
        "results": [
            {
                "path": "memory/day.md",
                "startLine": 2,
                "endLine": 5,
                "score": 0.71,
                "snippet": "@@ -2,4 @@ (1 before, 0 after)\n\nRouter model: ER605.\n"
                "Saw a heron.\n\nSource: memory/day.md#L2-L5",
                "source": "memory",
                "citation": "memory/day.md#L2-L5",
            }
        ],
        "provider": "qmd",
        "model": "qmd",
        "citations": "auto",
        "backend": "qmd",
    }


def test_a_chat_that_may_not_search_sees_no_more_than_no_match(qmd: QmdProgram) -> None:
    done = qmd("tool", "memory_search", '{"query": "heron"}', "--session-key", GROUP)
    nothing = search(qmd, "--session-key", DIRECT, query="zebra")

    assert done.code == 0
    assert done.json == nothing
    assert done.err == f"[memory] memory.qmd.scope does not let {GROUP} search\n"


@pytest.mark.parametrize("args", [(), ("--session-key", DIRECT)])
def test_the_owner_and_a_direct_chat_may_search(qmd: QmdProgram, args: tuple[str, ...]) -> None:
    assert len(search(qmd, *args, query="heron")["results"]) == 2


def test_limits_and_floors_are_those_of_qmd(qmd: QmdProgram) -> None:
    qmd.configure_qmd(limits={"maxResults": 1})

    assert len(search(qmd, query="heron", maxResults=20)["results"]) == 1
    assert search(qmd, query="heron", minScore=0.95)["results"] == []


def test_what_is_handed_over_is_bounded_with_the_footers_counted(qmd: QmdProgram) -> None:
    qmd.note("MEMORY.md", "heron " * 200)
    qmd.configure_qmd(limits={"maxInjectedChars": 300})

    snippets = [result["snippet"] for result in search(qmd, query="heron")["results"]]

    assert sum(map(len, snippets)) == 300


def test_a_failure_is_part_of_the_answer(qmd: QmdProgram) -> None:
    qmd.configure_qmd(command="/nowhere/qmd")

    done = qmd("tool", "memory_search", '{"query": "heron"}')

    reason = "QMD is not installed: there is no command /nowhere/qmd"
    assert done.code == 0
    assert len(done.json["results"]) == 2
    assert done.json["fallback"] == {"from": "qmd", "reason": reason}
    assert done.json["backend"] == "builtin"
    assert f"[memory] {reason}; the built-in index answers instead\n" in done.err


def test_where_nothing_can_answer_the_reason_is_qmds(qmd: QmdProgram) -> None:
    qmd.configure_qmd(command="/nowhere/qmd")
    qmd.own_index.parent.mkdir()
    qmd.own_index.write_bytes(b"no database " * 100)

    done = qmd("tool", "memory_search", '{"query": "heron"}')

    assert done.code == 1
    assert (done.json["results"], done.json["disabled"]) == ([], True)
    assert done.json["error"] == "QMD is not installed: there is no command /nowhere/qmd"


def test_a_nul_in_the_query_does_no_harm(qmd: QmdProgram) -> None:
    assert search(qmd, query="her\0on")["results"] == []
    assert qmd.fake.runs[-1]["argv"][-1] == "her on"


def test_without_qmd_nobody_is_told_of_backends(qmd: QmdProgram) -> None:
    qmd.configure_all({})

    assert "backend" not in search(qmd, query="heron")


def test_what_a_search_names_can_be_read_and_nothing_else(qmd: QmdProgram) -> None:
    qmd.configure_qmd(sessions={"enabled": True})
    qmd.say("monday", "I saw a heron")
    qmd.ask("heron")

    def read(path: str) -> dict[str, Any]:
        done = qmd("tool", "memory_get", json.dumps({"path": path, "from": 2, "lines": 2}))
        assert done.code == int("error" in done.json)
        return {"path": path, **done.json}

    for path, text in {
        "memory/day.md": "\nRouter model: ER605.",
        "qmd/memory-dir-main/day.md": "\nRouter model: ER605.",
        "qmd/sessions-main/monday.md": "\nUser: I saw a heron",
        "qmd/memory-dir-main/gone.md": "",
    }.items():
        assert read(path) == {"text": text, "path": path}
    for path in ("qmd/other-main/day.md", "qmd/memory-dir-main/../../../openclaw.json"):
        assert read(path)["disabled"]
