"""When a session's memory is flushed, and why not."""

import json
from typing import Any

from tests.golden.stage import Stage, scene
from tests.unit.test_session_store import EXAMPLE
from tests.unit.test_usage import EXAMPLE as TRANSCRIPT

_FUTURE_MS = 4_102_444_800_000  # from which on it always is `now`
_MAIN = EXAMPLE["agent:main:main"]


def _store(stage: Stage, entries: dict[str, Any]) -> None:
    folder = stage.ocmem.state / "agents" / "main" / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sessions.json").write_text(json.dumps(entries))


@scene
def flush_example(stage: Stage) -> None:
    """A session whose memory is flushed at the next turn."""
    _store(stage, EXAMPLE)

    stage.run("flush-threshold")
    stage.run("flush-threshold", "--json")
    stage.run("flush-threshold", "--check", "--session", "5d0c7b1e-3f6a-4c1b-9a50-0f5a3c2d7e11")
    stage.run("flush-threshold", "--heartbeat", "--provider", "claude-cli", "--verbose")
    stage.run("flush-threshold", "--workspace-access", "ro", "--check")


@scene
def flush_arithmetic(stage: Stage) -> None:
    """Nothing but numbers; settings that cannot work are told."""
    stage.run("flush-threshold")
    stage.run("flush-threshold", "--tokens", "90000", COLUMNS="40")
    stage.run("flush-threshold", "--tokens", "250000", COLUMNS="60")
    stage.run("flush-threshold", "--tokens", "5000", "--context-window", "8192")
    stage.run("flush-threshold", "--tokens", "181000", "--soft", "0", COLUMNS="60")
    stage.run("flush-threshold", "--tokens", "1", "--context-window", "1", COLUMNS="20")
    stage.run("flush-threshold", "--context-window", "9007199254740991", "--reserve", "0")


@scene
def flush_settings(stage: Stage) -> None:
    """From the config: reserves, window by model, sandbox; and values that are no numbers."""
    flush = {"softThresholdTokens": -5}
    compaction = {"reserveTokens": 50_000, "reserveTokensFloor": 10_000.7, "memoryFlush": flush}
    sandbox = {"mode": "non-main", "workspaceAccess": "ro"}
    model = {"id": "claude-opus-4-6", "name": "Opus", "contextWindow": 128_000}
    provider = {"baseUrl": "http://127.0.0.1:9/v1", "models": [model]}
    stage.ocmem.configure_all(
        {
            "agents": {"defaults": {"compaction": compaction, "sandbox": sandbox}},
            "models": {"providers": {"acme": provider}},
        }
    )
    group = {**_MAIN, "totalTokens": 120_000}
    _store(stage, {**EXAMPLE, "agent:main:telegram:group:7": group})

    stage.run("flush-threshold")
    stage.run("flush-threshold", "--session", "agent:main:telegram:group:7")


@scene
def flush_transcript(stage: Stage) -> None:
    """By the last usage of a transcript, and by a count where there is none."""
    folder = stage.ocmem.state / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    (folder / "monday.jsonl").write_text("\n".join(TRANSCRIPT[:5]) + "\n")
    (folder / "tuesday.jsonl").write_text("\n".join(TRANSCRIPT) + "\n{torn")

    stage.run("flush-threshold", "--transcript", "monday.jsonl")
    stage.run("flush-threshold", "--transcript", "sessions/tuesday.jsonl", TIKTOKEN_CACHE_DIR="")
    stage.run("flush-threshold", "--transcript", "wednesday")
    stage.run("flush-threshold", "--transcript", ".")


@scene
def flush_all(stage: Stage) -> None:
    """Every session of an agent."""
    stage.run("flush-threshold", "--all")
    stage.run("flush-threshold", "--all", "--json")

    latest = {**_MAIN, "updatedAt": _FUTURE_MS}
    _store(
        stage,
        {
            "agent:main:telegram:direct:7": {**latest, "totalTokens": 90_000},
            "agent:main:main": {**latest, "updatedAt": _FUTURE_MS + 1},
            "cron:weekly": {**latest, "totalTokensFresh": False, "updatedAt": _FUTURE_MS - 1},
            "agent:main:subagent:x\u001b[31m": {"sessionId": "x"},
        },
    )

    stage.run("flush-threshold", "--all", "--check")
    stage.run("flush-threshold", "--session", "nobody")
    stage.run("flush-threshold", "--all", "--json", "--context-window", "100000")


@scene
def flush_usage(stage: Stage) -> None:
    """What makes no sense, and a store that is none."""
    stage.run("flush-threshold", "--context-window", "0")
    stage.run("flush-threshold", "--reserve", "-1")
    stage.run("flush-threshold", "--soft", "many")
    stage.run("flush-threshold", "--tokens", "1", "--all")
    stage.run("flush-threshold", "--prompt", "--all")
    stage.run("flush-threshold", "--session")
    stage.run("flush-threshold", "--session", "x")

    _store(stage, {})
    stage.run("flush-threshold", "--session", "x")

    store = stage.ocmem.state / "agents" / "main" / "sessions" / "sessions.json"
    store.write_text("{ torn")
    stage.run("flush-threshold")
    stage.run("flush-threshold", "--tokens", "9", "--quiet")
