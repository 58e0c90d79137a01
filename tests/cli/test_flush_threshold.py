"""`ocmem flush-threshold`: when a session's memory is flushed, and why not."""

import json
import os
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import Program, everything
from tests.unit.test_session_store import EXAMPLE
from tests.unit.test_usage import EXAMPLE as TRANSCRIPT

ID = "5d0c7b1e-3f6a-4c1b-9a50-0f5a3c2d7e11"
MAIN = "agent:main:main"
MOMENT = re.compile(r"^[A-Z][a-z]+, [A-Z][a-z]+ \d+(st|nd|rd|th), \d{4} — (.*)$")


def sessions_dir(ocmem: Program, agent: str = "main") -> Path:
    folder = ocmem.state / "agents" / agent / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def store(ocmem: Program, entries: object = EXAMPLE, *, agent: str = "main") -> None:
    (sessions_dir(ocmem, agent) / "sessions.json").write_text(json.dumps(entries))


def transcript(ocmem: Program, lines: list[str], name: str = f"{ID}.jsonl") -> Path:
    file = sessions_dir(ocmem) / name
    file.write_text("\n".join(lines) + "\n")
    return file


def example(**changes: object) -> dict[str, dict[str, Any]]:
    return {MAIN: {**EXAMPLE[MAIN], **changes}}


def answer(ocmem: Program, *args: str, **env: str) -> dict[str, Any]:
    done = ocmem("flush-threshold", "--json", *args, bound=False, **env)
    assert done.code == 0, done.err
    assert done.err == ""
    return dict(done.json)


def failure(ocmem: Program, *args: str) -> str:
    done = ocmem("flush-threshold", *args)
    assert (done.code, done.out) == (1, "")
    assert "Traceback" not in done.err
    return done.err


def today() -> str:
    return datetime.now(UTC).date().isoformat()


# One session


def test_the_example_session_flushes_at_its_next_turn(ocmem: Program) -> None:
    store(ocmem)
    before = today()

    found = answer(ocmem, TZ="UTC")

    assert found.pop("targetFile") in {f"memory/{day}.md" for day in (before, today())}
    assert list(found.items()) == [
        ("agentId", "main"),
        ("sessionKey", MAIN),
        ("sessionId", ID),
        ("contextWindow", 200_000),
        ("contextWindowSource", "session-entry"),
        ("reserveTokensFloor", 20_000),
        ("softThresholdTokens", 4000),
        ("threshold", 176_000),
        ("compactionPoint", 180_000),
        ("totalTokens", 178_000),
        ("tokensSource", "store"),
        ("tokensMethod", None),
        ("fresh", True),
        ("remaining", 0),
        ("usedPercent", 89),
        ("compactionCount", 1),
        ("memoryFlushCompactionCount", 0),
        ("memoryFlushAt", 1_771_480_000_000),
        ("updatedAt", 1_771_581_700_000),
        ("wouldFlush", True),
        ("reason", "would-flush"),
        ("reasons", ["would-flush"]),
        ("warnings", []),
    ]


def test_a_session_is_found_by_key_in_any_case_and_by_id(ocmem: Program) -> None:
    store(ocmem, {**EXAMPLE, "agent:main:telegram:direct:1": {"sessionId": "x", "updatedAt": 1}})

    asked = (MAIN, "AGENT:MAIN:MAIN", ID, "agent:main:telegram:direct:1", "x")
    found = [answer(ocmem, "--session", name)["sessionKey"] for name in asked]

    assert found == [MAIN] * 3 + ["agent:main:telegram:direct:1"] * 2


def test_an_unknown_session_is_answered_with_those_that_there_are(ocmem: Program) -> None:
    assert "there are none in ~/.openclaw/agents/main/sessions" in failure(ocmem, "--session", "x")
    store(ocmem, {f"agent:main:{at}": {"sessionId": "s", "updatedAt": at} for at in range(9)})

    told = failure(ocmem, "--session", "x")

    assert "--session: no such session: x\nhint: known: agent:main:8, agent:main:7" in told
    assert "agent:main:3" not in told
    assert "and 4 more" in told


def test_without_a_session_there_is_the_arithmetic(ocmem: Program) -> None:
    found = answer(ocmem)

    assert (found["threshold"], found["contextWindowSource"]) == (176_000, "default")
    assert (found["totalTokens"], found["fresh"], found["remaining"]) == (None, None, None)
    assert (found["reason"], found["wouldFlush"]) == ("tokens-unknown", False)
    assert "sessionKey" not in found


def test_a_number_of_tokens_can_be_supposed(ocmem: Program) -> None:
    store(ocmem, "broken")

    found = answer(ocmem, "--tokens", "8768", "--context-window", "32768")

    assert (found["tokensSource"], found["wouldFlush"]) == ("argument", True)
    assert answer(ocmem, "--tokens", "175999")["remaining"] == 1


def test_options_beat_the_config_and_the_config_the_defaults(ocmem: Program) -> None:
    flush = {"softThresholdTokens": 1000.9}
    compaction = {"reserveTokensFloor": 30_000, "reserveTokens": 40_000, "memoryFlush": flush}
    ocmem.configure_all(
        {"agents": {"defaults": {"contextTokens": 100_000, "compaction": compaction}}}
    )

    configured = answer(ocmem)
    asked = answer(ocmem, "--reserve", "0", "--soft", "0", "--context-window", "1")

    assert (configured["threshold"], configured["compactionPoint"]) == (69_000, 60_000)
    assert configured["contextWindowSource"] == "config"
    assert "compaction comes first" in configured["warnings"][0]
    assert (asked["threshold"], asked["reserveTokensFloor"]) == (1, 0)


def test_the_window_of_the_sessions_model_is_looked_up(ocmem: Program) -> None:
    store(ocmem)
    model = {"id": "claude-opus-4-6", "name": "Opus", "contextWindow": 64_000}
    providers = {"acme": {"baseUrl": "http://127.0.0.1:9/v1", "models": [model]}}
    ocmem.configure_all({"models": {"providers": providers}})

    found = answer(ocmem)

    assert (found["contextWindow"], found["contextWindowSource"]) == (64_000, "model-catalogue")
    assert found["warnings"] == [
        "sessions.json says contextTokens 200000; the flush counts with 64000"
    ]


def test_another_agent_has_sessions_and_a_sandbox_of_its_own(ocmem: Program) -> None:
    sandbox = {"mode": "all", "workspaceAccess": "ro"}
    agents = [{"id": "main"}, {"id": "Work", "sandbox": sandbox}]
    ocmem.configure_all({"agents": {"list": agents}})
    store(ocmem, {"agent:work:main": EXAMPLE[MAIN]}, agent="work")

    found = answer(ocmem, "--agent", "work")

    assert (found["agentId"], found["sessionKey"]) == ("Work", "agent:work:main")
    assert found["reason"] == "workspace-not-writable"
    assert answer(ocmem, "--agent", "main")["reason"] == "tokens-unknown"
    assert "only one" in failure(ocmem, "--agent", "main", "--agent", "work")


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["--heartbeat"], "heartbeat"),
        (["--provider", " Claude-CLI"], "cli-provider"),
        (["--workspace-access", "ro"], "workspace-not-writable"),
        (["--workspace-access", "none"], "workspace-not-writable"),
        (["--workspace-access", "rw"], "would-flush"),
        (["--provider", "anthropic"], "would-flush"),
    ],
)
def test_a_turn_can_be_supposed(ocmem: Program, args: list[str], reason: str) -> None:
    store(ocmem)

    assert answer(ocmem, *args)["reason"] == reason


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"totalTokensFresh": False}, "tokens-stale"),
        ({"totalTokens": None}, "tokens-unknown"),
        ({"totalTokens": "178000"}, "tokens-unknown"),
        ({"totalTokens": -1}, "tokens-unknown"),
        ({"totalTokens": 0}, "tokens-unknown"),
        ({"totalTokens": 175_999}, "below-threshold"),
        ({"totalTokens": 1e299}, "would-flush"),
        ({"memoryFlushCompactionCount": 1}, "already-flushed"),
        ({"memoryFlushCompactionCount": 0, "compactionCount": None}, "already-flushed"),
        ({"modelProvider": "codex-cli"}, "cli-provider"),
        ({"contextTokens": 24_000}, "threshold-zero"),
    ],
)
def test_what_the_store_says_decides(
    ocmem: Program, changes: dict[str, object], reason: str
) -> None:
    store(ocmem, example(**changes))

    assert answer(ocmem)["reason"] == reason


def test_it_can_be_switched_off(ocmem: Program) -> None:
    store(ocmem)
    off = {"compaction": {"memoryFlush": {"enabled": False}}}
    ocmem.configure_all({"agents": {"defaults": off}})

    found = answer(ocmem, "--heartbeat")

    assert found["reasons"] == ["disabled", "heartbeat"]
    assert "switched off" in found["warnings"][0]


def test_newer_settings_are_understood(ocmem: Program) -> None:
    agents = {
        "defaults": {"contextTokens": 50_000},
        "entries": {"main": {"sandbox": {"mode": "all"}}},
    }
    ocmem.configure_all({"agents": agents})
    store(ocmem)

    found = answer(ocmem)

    assert (found["contextWindow"], found["reason"]) == (50_000, "workspace-not-writable")


# Transcripts


def test_a_transcript_tells_its_last_usage(ocmem: Program) -> None:
    transcript(ocmem, TRANSCRIPT[:5])

    found = answer(ocmem, "--transcript", f"{ID}.jsonl")

    assert (found["totalTokens"], found["tokensSource"]) == (9700, "transcript-usage")
    assert found["sessionId"] == ID
    assert found["transcript"] == f"~/.openclaw/agents/main/sessions/{ID}.jsonl"
    assert "sessionKey" not in found


def test_a_transcript_without_usage_is_counted_and_it_says_how(ocmem: Program) -> None:
    transcript(ocmem, TRANSCRIPT)

    found = answer(ocmem, "--transcript", ID, TIKTOKEN_CACHE_DIR="")
    shown = ocmem("flush-threshold", "--transcript", ID, TIKTOKEN_CACHE_DIR="").out

    assert (found["totalTokens"], found["tokensSource"]) == (9, "transcript-estimate")
    assert (found["tokensMethod"], found["compactionCount"]) == ("characters / 4", 1)
    assert "9 (estimated, characters / 4)" in shown


def test_a_transcript_is_found_by_path_name_and_folder(ocmem: Program) -> None:
    file = transcript(ocmem, TRANSCRIPT[:5])
    elsewhere = ocmem.home / "copy.jsonl"
    elsewhere.write_bytes(file.read_bytes())

    odd = os.fsdecode(b"caf\xe9.jsonl")  # a name is bytes, and need not be UTF-8
    (ocmem.home / odd).write_bytes(file.read_bytes())
    names = (str(file), file.name, f"sessions/{file.name}", ID, "copy.jsonl", "~/copy.jsonl", odd)

    assert {answer(ocmem, "--transcript", name)["totalTokens"] for name in names} == {9700}


def test_the_store_tells_of_a_transcripts_last_flush(ocmem: Program) -> None:
    later = json.dumps(
        {"type": "message", "message": {"role": "assistant", "usage": {"input": 190_000}}}
    )
    transcript(ocmem, [*TRANSCRIPT, later])
    store(ocmem, example(memoryFlushCompactionCount=1))

    found = answer(ocmem, "--transcript", ID)

    assert (found["sessionKey"], found["totalTokens"]) == (MAIN, 190_000)
    assert found["reason"] == "already-flushed"


def test_a_transcript_of_another_name_belongs_to_the_entry_that_names_it(ocmem: Program) -> None:
    transcript(ocmem, TRANSCRIPT[1:5], "topic.jsonl")
    store(ocmem, {"agent:main:x": {"sessionId": "y", "sessionFile": "/elsewhere/topic.jsonl"}})

    assert answer(ocmem, "--transcript", "topic")["sessionKey"] == "agent:main:x"


def test_a_broken_store_does_not_keep_from_reading_a_transcript(ocmem: Program) -> None:
    transcript(ocmem, TRANSCRIPT[:5])
    (sessions_dir(ocmem) / "sessions.json").write_text("{")

    done = ocmem("flush-threshold", "--transcript", ID, "--json")

    assert (done.code, done.json["totalTokens"]) == (0, 9700)
    assert "not valid JSON" in done.err


def test_a_transcript_that_cannot_be_read_is_one_line(ocmem: Program, permissions: None) -> None:
    os.mkfifo(ocmem.home / "pipe")
    closed = ocmem.home / "closed"
    closed.write_text("x")
    closed.chmod(0)

    told = "--transcript: no such transcript: absent\n"
    assert failure(ocmem, "--transcript", "absent").startswith(told)
    assert "no such transcript" in failure(ocmem, "--transcript", "x" * 300)
    assert "Is a directory" in failure(ocmem, "--transcript", str(ocmem.home))
    assert "not a regular file" in failure(ocmem, "--transcript", "pipe")
    assert "needs a path" in failure(ocmem, "--transcript", " ")
    done = ocmem("flush-threshold", "--transcript", "closed", bound=True)
    assert (done.code, done.out) == (1, "")
    assert done.err == f"{closed} cannot be read: Permission denied\n"


def test_no_word_of_a_transcript_is_shown(ocmem: Program) -> None:
    transcript(ocmem, TRANSCRIPT)

    shown = ocmem("flush-threshold", "--transcript", ID, "--verbose")

    assert "stairs" not in shown.out + shown.err
    assert "Router" not in shown.out + shown.err


# All sessions


def test_all_sessions_come_latest_first(ocmem: Program) -> None:
    now_ms = time.time() * 1000
    entry = EXAMPLE[MAIN]
    store(
        ocmem,
        {
            "old": {**entry, "updatedAt": now_ms - 3 * 86_400_000, "totalTokens": 100_000},
            "new": {**entry, "updatedAt": now_ms + 9e9},
            "odd": {"sessionId": "x"},
        },
    )

    done = ocmem("flush-threshold", "--all")
    found = answer(ocmem, "--all")

    assert [line.split() for line in done.out.split("\n\n")[0].splitlines()] == [
        ["KEY", "TOKENS", "LEFT", "%", "FLUSH", "UPDATED"],
        ["new", "178000", "0", "89", "due", "now"],
        ["old", "100000", "76000", "50", "below-threshold", "3", "d"],
        ["odd", "–", "–", "–", "tokens-unknown", "–"],
    ]
    assert "Warning" not in done.out
    assert "no token count" in found["sessions"][2]["warnings"][0]
    assert (found["agentId"], found["due"]) == ("main", 1)
    assert [each["sessionKey"] for each in found["sessions"]] == ["new", "old", "odd"]


def test_there_may_be_no_sessions(ocmem: Program) -> None:
    assert ocmem("flush-threshold", "--all").out == "No sessions.\n"
    assert answer(ocmem, "--all")["sessions"] == []
    assert ocmem("flush-threshold", "--all", "--check").code == 0


def test_control_characters_do_not_reach_the_terminal(ocmem: Program) -> None:
    store(ocmem, {"agent:main:\x1b[31m\n\t\x07": {**EXAMPLE[MAIN], "sessionId": "\x1b[2J"}})

    for args in (["--all"], ["--session", "\x1b[2J"], ["--session", "nope\x1b[2J\t"]):
        done = ocmem("flush-threshold", *args)
        assert not {"\x1b", "\x07", "\t"} & {*done.out, *done.err}


# Exit codes and bad input


def test_a_check_exits_with_3_if_a_flush_is_due(ocmem: Program) -> None:
    store(ocmem, {**EXAMPLE, "other": {"sessionId": "x", "totalTokens": 5}})

    def code(*args: str) -> int:
        return ocmem("flush-threshold", *args).code

    assert (code("--check"), code()) == (3, 0)
    assert code("--check", "--session", "other") == 0
    assert code("--check", "--all") == 3
    assert code("--check", "--heartbeat") == 0
    assert code("--check", "--all", "--heartbeat") == 0
    assert code("--check", "--json") == 3
    assert code("--check", "--prompt") == 3
    assert code("--check", "--session", "nobody") == 1


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--context-window", "0"], "--context-window must be 1 or more"),
        (["--context-window", "x"], "--context-window"),
        (["--context-window", "1.5"], "--context-window"),
        (["--reserve", "-1"], "--reserve must be 0 or more"),
        (["--soft", "-1"], "--soft must be 0 or more"),
        (["--tokens", "-1"], "--tokens must be 0 or more"),
        (["--tokens", "9" * 400], "--tokens must be 9007199254740991 or less"),
        (["--tokens", "9" * 9000], "--tokens"),
        (["--workspace-access", "all"], "--workspace-access"),
        (["--tokens", "1", "--session", "x"], "only one of --tokens and --session"),
        (["--transcript", "x", "--all"], "only one of --transcript and --all"),
        (["--tokens", "1", "--session", "x", "--all"], "--tokens and --session and --all"),
        (["--prompt", "--all"], "leave out --all"),
        (["extra"], "too many arguments"),
        (["--bogus"], "unknown option '--bogus'"),
    ],
)
def test_a_senseless_command_line_is_refused(ocmem: Program, args: list[str], told: str) -> None:
    assert told in failure(ocmem, *args)


@pytest.mark.parametrize("text", ["", "{", "[]", "\0", "[" * 100_000])
@pytest.mark.parametrize("args", [[], ["--all"], ["--session", "x"]])
def test_a_broken_store_is_named(ocmem: Program, text: str, args: list[str]) -> None:
    (sessions_dir(ocmem) / "sessions.json").write_text(text)

    assert "sessions.json" in failure(ocmem, *args)


def test_odd_settings_are_told_and_not_refused(ocmem: Program) -> None:
    odd = {"reserveTokensFloor": "lots", "memoryFlush": {"prompt": 7}}
    ocmem.configure_all({"agents": {"defaults": {"compaction": odd, "userTimezone": "Mars/Base"}}})

    found = answer(ocmem, TZ="UTC")

    assert found["threshold"] == 176_000
    assert [text.partition(": ")[0] for text in found["warnings"]] == [
        "agents.defaults.compaction.reserveTokensFloor",
        "agents.defaults.compaction.memoryFlush.prompt",
        "userTimezone",
    ]


# Text


def test_the_rows_say_what_the_json_says(ocmem: Program) -> None:
    store(ocmem)

    done = ocmem("flush-threshold", TZ="UTC")

    rows, drawing = done.out.split("\n\n")
    assert rows.splitlines()[:-1] == [
        "Session         agent:main:main (5d0c7b1e)",
        "Context window  200000 (session entry; the flush may know another)",
        "Threshold       176000 = 200000 - 20000 - 4000",
        "Compaction at   180000",
        "Tokens          178000 (sessions.json, fresh)",
        "Remaining       0",
        "Cycle           compactions 1, last flush in cycle 0",
    ]
    assert rows.splitlines()[-1].startswith("Would flush     yes, at the next turn -> memory/20")
    assert [len(line) for line in drawing.splitlines()] == [80, 70]
    assert done.err == ""


@pytest.mark.parametrize("columns", [40, 60, 250])
def test_nothing_is_wider_than_the_terminal(ocmem: Program, columns: int) -> None:
    store(ocmem, {"agent:main:telegram:group:" + "7" * 30: EXAMPLE[MAIN]})

    drawing = ocmem.on_terminal("flush-threshold", "--tokens", "178000", columns=columns)
    listed = ocmem.on_terminal("flush-threshold", "--all", columns=columns)

    plain = re.sub("\x1b\\[\\d+m", "", drawing.split("\n\n")[1])
    assert max(map(len, plain.splitlines())) <= columns
    assert max(len(line) for line in plain.splitlines()) == min(columns, 100)
    if columns >= 50:  # each key has a line of its own, however long
        listed = listed.replace("agent:main:telegram:group:" + "7" * 30 + "\n", "")
        assert max(len(line) for line in listed.splitlines()) <= columns


def test_colour_only_on_a_terminal_or_when_asked_for(ocmem: Program) -> None:
    args = ("flush-threshold", "--tokens", "178000")

    assert "\x1b[33m█" in ocmem.on_terminal(*args, columns=80)
    assert "\x1b[33m█" in ocmem(*args, "--color", "always").out
    assert "\x1b" not in ocmem(*args).out
    assert "\x1b" not in ocmem.on_terminal(*args, "--no-color", columns=80)


def test_verbose_lists_every_reason(ocmem: Program) -> None:
    done = ocmem("flush-threshold", "--tokens", "5", "--heartbeat", "--verbose")

    assert "Would flush     no, the turn is a heartbeat (heartbeat)\n" in done.out
    assert "Reasons         heartbeat: the turn is a heartbeat\n" in done.out
    assert "                below-threshold: below the threshold\n" in done.out


# Prompts


def test_the_prompts_are_printed_as_they_would_be_sent(ocmem: Program) -> None:
    flush = {"prompt": "Save to memory/YYYY-MM-DD.md now. NO_REPLY"}
    defaults = {
        "userTimezone": "Asia/Seoul",
        "timeFormat": "12",
        "compaction": {"memoryFlush": flush},
    }
    ocmem.configure_all({"agents": {"defaults": defaults}})
    (sessions_dir(ocmem) / "sessions.json").write_text("{")

    done = ocmem("flush-threshold", "--prompt")
    found = answer(ocmem, "--prompt")

    system, user = done.out.removeprefix("System prompt\n\n").split("\n\nUser prompt\n\n")
    assert list(found) == ["prompt", "systemPrompt"]
    assert found["systemPrompt"] == system
    first, last = user.splitlines()
    assert re.fullmatch(r"Save to memory/\d{4}-\d\d-\d\d\.md now\. NO_REPLY", first)
    moment = MOMENT.match(last.removeprefix("Current time: ").removesuffix(" (Asia/Seoul)"))
    assert moment is not None
    assert moment[2].endswith(("AM", "PM"))


def test_a_zone_that_is_not_known_is_told_beside_the_prompts(ocmem: Program) -> None:
    ocmem.configure_all({"agents": {"defaults": {"userTimezone": "Mars/Base"}}})

    done = ocmem("flush-threshold", "--prompt", TZ="Asia/Seoul")

    assert "(Asia/Seoul)" in done.out
    assert "Mars/Base" in done.err


# Manners


def test_nothing_is_written_anywhere(ocmem: Program) -> None:
    store(ocmem)
    transcript(ocmem, TRANSCRIPT)
    before = everything(ocmem.home)

    for args in ([], ["--all"], ["--transcript", ID], ["--prompt"]):
        ocmem("flush-threshold", *args)

    assert everything(ocmem.home) == before


def test_a_reader_that_leaves_early_is_no_reason_to_complain(ocmem: Program) -> None:
    store(ocmem, {f"agent:main:{at}": EXAMPLE[MAIN] for at in range(5000)})

    with ocmem.start("flush-threshold", "--all") as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        err = child.stderr.read()

    assert (child.returncode, err) == (0, b"")


def test_a_session_key_names_its_agent(ocmem: Program) -> None:
    folder = ocmem.state / "agents" / "office" / "sessions"
    folder.mkdir(parents=True)
    store = {"agent:office:main": {"sessionId": "x", "totalTokens": 5}}
    (folder / "sessions.json").write_text(json.dumps(store))
    ocmem.configure_all({"agents": {"list": [{"id": "main"}, {"id": "office"}]}})

    done = ocmem("flush-threshold", "--session", "agent:office:main", "--json")

    assert (done.json["agentId"], done.json["totalTokens"]) == ("office", 5)


@pytest.mark.parametrize("columns", [40, 60])
def test_rows_fold_in_a_narrow_window(ocmem: Program, columns: int) -> None:
    store(ocmem, example())

    for args in ((), ("--all",), ("--context-window", "8192")):
        shown = ocmem.on_terminal("flush-threshold", *args, columns=columns)
        plain = re.sub(r"\x1b\[\d+m", "", shown)

        assert max(map(len, plain.splitlines())) <= columns, plain


def test_prompts_for_a_session_that_is_not_there_are_refused(ocmem: Program) -> None:
    done = ocmem("flush-threshold", "--prompt", "--session", "nobody")

    assert (done.code, done.out) == (1, "")
    assert "no such session: nobody" in done.err


def test_control_characters_of_a_prompt_do_not_reach_a_terminal(ocmem: Program) -> None:
    flush = {"memoryFlush": {"prompt": "red \x1b[31m NO_REPLY"}}
    ocmem.configure_all({"agents": {"defaults": {"compaction": flush}}})

    shown = ocmem.on_terminal("flush-threshold", "--prompt", columns=80)

    assert "\x1b[31m" not in shown
    assert "red ␛[31m NO_REPLY" in shown
