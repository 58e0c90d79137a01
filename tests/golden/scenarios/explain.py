"""`ocmem config` and `ocmem ls`: what is set and why, and which files count."""

import json

from tests.golden.stage import Stage, scene


@scene
def explain_defaults(stage: Stage) -> None:
    """Nothing is configured."""
    stage.run("config")
    stage.run("config", "--json")
    stage.run("config", "--changed")
    stage.run("config", "paths")
    stage.run("config", "paths", "--json")
    stage.run("config", "paths", "--export")


@scene
def explain_sources(stage: Stage) -> None:
    """Values from both files, an included one, variables, options; clamped and joined."""
    stage.ocmem.configure_all(
        {
            "$include": "more.json",
            "agents": {
                "defaults": {"memorySearch": {"provider": "openai", "extraPaths": ["~/one"]}},
                "list": [{"id": "Work", "memorySearch": {"extraPaths": ["two"]}}],
            },
            "memory": {"citations": "off"},
        }
    )
    remote = {"baseUrl": "http://me:secret@127.0.0.1:1/v1?key=secret", "apiKey": "${KEY}"}
    search = {"remote": remote, "chunking": {"tokens": 50, "overlap": 80}, "model": "${MODEL}"}
    included = {"agents": {"defaults": {"memorySearch": search}}}
    (stage.ocmem.state / "more.json").write_text(json.dumps(included))
    (stage.ocmem.state / ".env").write_text("MODEL=text-embedding-3-large\n")
    stage.ocmem.configure_own(exclude=["private/**"], query={"ranker": "fused"})

    stage.run("config", "--changed", KEY="k")
    stage.run("config", "--changed", "--json", KEY="k")
    stage.run("config", "paths", "--profile", "work", "--agent", "x")
    stage.run("config", "paths", "--export", "--profile", "work")


@scene
def explain_files(stage: Stage) -> None:
    """Every file that counts or was left out, with its state."""
    stage.three_notes()
    stage.transcripts()
    stage.ocmem.note("memory/private/diary.md", "Nobody reads this.\n")
    stage.ocmem.note("memory/photo.jpg", b"\xff\xd8")
    (stage.ocmem.workspace / "memory" / "link.md").symlink_to("2026-02-10.md")
    folder = stage.ocmem.state / "agents" / "main" / "sessions"
    (folder / "sessions.json").write_text("{}")
    (folder / "secret.jsonl").write_text("{}\n")
    stage.ocmem.configure_own(
        provider="none",
        exclude=["private", "sessions/{secret,hidden}.jsonl"],
        extraPaths=["~/gone", "memory/2026-02-10.md"],
        sources=["memory", "sessions"],
        experimental={"sessionMemory": True},
    )
    stage.rest()

    stage.run("ls")
    stage.run("index")
    stage.say("a note changes, another goes away")
    stage.ocmem.note("MEMORY.md", "Something else.\n")
    (stage.ocmem.workspace / "memory" / "2026-02-11.md").unlink()
    stage.rest()
    stage.run("ls")
    stage.run("ls", "--json")
