"""OpenClaw 2026.8 and later: the same commands over the newer dialect."""

from tests.golden.stage import Stage, scene


@scene
def newer_several(stage: Stage) -> None:
    """`memory.search`, `agents.entries`, `USER.md`, and an extra path with a pattern."""
    stage.three_notes()
    stage.ocmem.note("USER.md", "Likes to be called Kim.\n")
    stage.ocmem.note("memory.md", "Not a memory file in this dialect.\n")
    for name in ("plan.md", "draft.md", "deep/plan.md"):
        path = stage.ocmem.home / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("The plan is to plant trees.\n")
    search = {**stage.openai, "extraPaths": [{"path": "~/docs", "pattern": "**/plan.md"}]}
    other = {"workspace": "~/other", "memory": {"search": {"enabled": False}}}
    stage.ocmem.configure_all(
        {"memory": {"search": search}, "agents": {"entries": {"main": {}, "Other One": other}}}
    )
    stage.rest()

    stage.run("index")
    stage.run("status")
    stage.run("status", "--json", "--agent", "main")
    stage.run("search", "Kim", "--max-results", "1")
    stage.run("search", "plan trees", "--max-results", "1", "--json")
    stage.run("get", "USER.md")
    stage.run("ls")
    stage.run("config", "--changed")


@scene
def newer_unknown_provider(stage: Stage) -> None:
    """A service that ocmem does not have: builtin steps in, and every answer says so."""
    stage.three_notes()
    stage.ocmem.configure_all({"memory": {"search": {"provider": "bedrock", "multimodal": {}}}})

    stage.run("status")
    stage.run("index")
    stage.run("search", "gateway", "--max-results", "1")
    stage.run("config", "--changed")


@scene
def newer_key_for_another_address(stage: Stage) -> None:
    """A key from the environment is not sent to an address that is not the service's own."""
    stage.three_notes()
    remote = {"baseUrl": stage.fake.base_url("openai")}
    stage.ocmem.configure_all({"memory": {"search": {"provider": "openai", "remote": remote}}})

    stage.run("status", OPENAI_API_KEY="k")
    stage.run("search", "gateway", OPENAI_API_KEY="k")


@scene
def newer_invalid(stage: Stage) -> None:
    """Keys of the older dialect beside those of the newer one."""
    stage.ocmem.configure_all(
        {
            "memory": {"search": {"query": {"maxResults": 0}}, "backend": "qmd"},
            "agents": {"defaults": {"memorySearch": {}}, "list": [], "entries": {"a": 5}},
        }
    )

    stage.run("status")
