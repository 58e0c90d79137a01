"""Transcripts: indexed, searched, read, listed and exported."""

import json

from tests.golden.stage import Stage, scene


@scene
def sessions_without_opt_in(stage: Stage) -> None:
    """Transcripts for once, on ocmem's own file, beside OpenClaw's."""
    stage.three_notes()
    stage.transcripts()
    stage.ocmem.use(stage.fake)
    stage.run("index")

    stage.run("index", "--source", "sessions")
    stage.run("search", "umbrella", "--source", "sessions", "--max-results", "1")
    stage.run("search", "umbrella", "--source", "sessions", "--max-results", "1", "--json")
    stage.run("get", "sessions/monday.jsonl#L1-L2")
    stage.run("get", "sessions/monday.jsonl#L2", "--json")
    stage.run("get", "sessions/tuesday.jsonl")
    stage.run("search", "umbrella", "--max-results", "1")


@scene
def sessions_list(stage: Stage) -> None:
    """Chats and their transcripts; one is missing, one belongs to nobody."""
    stage.run("sessions", "list")
    stage.run("sessions", "list", "--json")
    stage.transcripts()
    store = {
        "agent:main:main": {
            "sessionId": "monday",
            "updatedAt": 4_102_444_802_000,
            "totalTokens": 178_000,
            "model": "m",
        },
        "agent:main:telegram:group:-100": {
            "sessionId": "lost",
            "updatedAt": 4_102_444_801_000,
            "totalTokens": 12,
            "totalTokensFresh": False,
        },
    }
    folder = stage.ocmem.state / "agents" / "main" / "sessions"
    (folder / "sessions.json").write_text(json.dumps(store))
    (folder / "stray.jsonl").write_text("")
    stage.rest()

    stage.run("sessions", "list")
    stage.run("sessions", "list", "--json")


@scene
def sessions_export(stage: Stage) -> None:
    """What the hook would write; archives carry their own time."""
    stage.transcripts()
    folder = stage.ocmem.state / "agents" / "main" / "sessions"
    archive = "monday.jsonl.reset.2026-02-20T18-05-00.000Z"
    (folder / "monday.jsonl").rename(folder / archive)

    stage.run("sessions", "export", archive)
    stage.run("sessions", "export", archive, "--messages", "1", "--json")
    stage.run("sessions", "export", "agent:main:main")
    stage.run("sessions", "export", archive, "--messages", "0")
