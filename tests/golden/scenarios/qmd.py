"""QMD as the backend, and what happens without it. The fake stands in for the real one."""

from typing import Any

from tests.fake_qmd import FakeQmd
from tests.golden.stage import Stage, scene

GROUP = "agent:main:discord:channel:99"


def use_qmd(stage: Stage, **qmd: Any) -> FakeQmd:  # noqa: ANN401
    """Three notes, and the fake as the backend; keywords alone where it cannot answer."""
    fake = FakeQmd(stage.ocmem.home / "fake")
    stage.ocmem.env["FAKE_QMD"] = str(fake.folder)
    stage.three_notes()
    stage.no_provider()
    chosen = {"command": str(fake.command), "limits": {"timeoutMs": 60_000}, **qmd}
    stage.ocmem.configure_all({"memory": {"backend": "qmd", "qmd": chosen}})
    return fake


@scene
def qmd_at_work(stage: Stage) -> None:
    """Notes and sessions in QMD, from the first run to a change."""
    use_qmd(stage, sessions={"enabled": True})
    stage.transcripts()

    stage.run("status")
    stage.run("index", "--dry-run")
    stage.run("index", "--verbose")
    stage.run("search", "gateway")
    stage.run("search", "umbrella", "--json")
    stage.run("search", "gateway office")
    stage.run("search", "tea", "--min-score", "0.9")
    stage.run("status")
    stage.run("status", "--deep", "--json")
    stage.say("a note is written to, another goes")
    stage.ocmem.note("MEMORY.md", "# Long-term memory\n\n- Prefers coffee now.\n")
    (stage.ocmem.workspace / "memory/2026-02-11.md").unlink()
    stage.run("search", "coffee", "--no-sync")
    stage.run("search", "coffee")
    stage.run("index", "--json")
    stage.run("get", "qmd/sessions-main/monday.md#L3-L4")


@scene
def qmd_warmup(stage: Stage) -> None:
    """Everything that a first search would wait for."""
    use_qmd(stage)

    stage.run("warmup")
    stage.say("a mode that needs models")
    use_qmd(stage, searchMode="query")
    stage.run("warmup", "--offline")


@scene
def qmd_missing(stage: Stage) -> None:
    """There is no such command: the built-in index answers."""
    use_qmd(stage, command="/nowhere/qmd")

    stage.run("search", "gateway", "--max-results", "1")
    stage.run("search", "gateway", "--max-results", "1", "--json")
    stage.run("index")
    stage.run("index", "--json")
    stage.run("index", "--dry-run")
    stage.run("status")
    stage.run("status", "--json")
    stage.run("warmup")
    stage.run("tool", "memory_search", '{"query": "gateway", "maxResults": 1}')


@scene
def qmd_failing(stage: Stage) -> None:
    """It crashes, and is left alone for a while; then only its update fails."""
    fake = use_qmd(stage)
    fake.on("update", does=True)
    fake.on("update", code=1, stderr="Error: disk I/O error\n    at update (file:///qmd.js:1:2)\n")
    fake.on("search", signal=11)
    fake.on("search", does=True)
    stage.ocmem.index()

    stage.run("search", "plants")
    stage.run("search", "plants", "--json")
    stage.run("status")
    stage.say("QMD searches again, but cannot update")
    stage.run("index")
    stage.run("status", "--index")


@scene
def qmd_scope(stage: Stage) -> None:
    """Who may search: the owner, direct chats, and nobody else by default."""
    use_qmd(stage)

    stage.run("search", "plants", "--session-key", GROUP)
    stage.run("search", "plants", "--session-key", GROUP, "--json")
    stage.run("tool", "memory_search", '{"query": "plants"}', "--session-key", GROUP)
    stage.run("tool", "memory_search", '{"query": "plants"}')
