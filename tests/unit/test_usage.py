"""How large a context is, by what its transcript says or holds."""

import json
import os
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ocmem.core import transcript, usage
from ocmem.core.tokens import ESTIMATE, TokenCounter
from ocmem.core.usage import ContextSize
from ocmem.errors import SessionsError

# The example of the documentation, line for line.
EXAMPLE = r"""
{"type":"session","version":3,"id":"5d0c7b1e-3f6a-4c1b-9a50-0f5a3c2d7e11","timestamp":"2026-02-20T10:00:00.000Z","cwd":"/home/me/.openclaw/workspace"}
{"type":"message","id":"a1","parentId":null,"timestamp":"2026-02-20T10:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"Where did we put the router?"}],"timestamp":1771581601000}}
{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-02-20T10:00:05.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"check notes"},{"type":"toolCall","id":"t1","name":"memory_search","arguments":{"query":"router"}}],"provider":"anthropic","model":"claude-opus-4-6","usage":{"input":300,"output":40,"cacheRead":9000,"cacheWrite":200,"totalTokens":9540},"stopReason":"toolUse","timestamp":1771581605000}}
{"type":"message","id":"a3","parentId":"a2","timestamp":"2026-02-20T10:00:06.000Z","message":{"role":"toolResult","toolCallId":"t1","toolName":"memory_search","content":[{"type":"text","text":"{...}"}],"isError":false,"timestamp":1771581606000}}
{"type":"message","id":"a4","parentId":"a3","timestamp":"2026-02-20T10:00:09.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Under the stairs."}],"provider":"anthropic","model":"claude-opus-4-6","usage":{"input":50,"output":12,"cacheRead":9500,"cacheWrite":150,"totalTokens":9712},"stopReason":"stop","timestamp":1771581609000}}
{"type":"compaction","id":"a5","parentId":"a4","timestamp":"2026-02-20T18:00:00.000Z","summary":"Router found.","firstKeptEntryId":"a4","tokensBefore":181000}
""".strip().split("\n")  # noqa: E501
WORDS = TokenCounter(lambda text: len(text.split()), "words")
GUESS = TokenCounter(lambda text: -1, ESTIMATE)


def sized(tmp_path: Path, lines: Iterable[object], *, counter: TokenCounter = GUESS) -> ContextSize:
    file = tmp_path / "x.jsonl"
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    file.write_text("".join(f"{text}\n" for text in texts))
    return usage.context_size(file, lambda model: counter)


def message(role: str, content: object = "", **more: object) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": content, **more}}


def answer(**spent: object) -> dict[str, Any]:
    return message("assistant", "Yes.", usage=spent)


def test_the_last_answer_tells_the_size_of_its_prompt(tmp_path: Path) -> None:
    found = sized(tmp_path, EXAMPLE[:5])

    assert (found.tokens, found.source, found.method) == (9700, "transcript-usage", None)
    assert found.about.compactions == 0
    assert found.about.session_id == "5d0c7b1e-3f6a-4c1b-9a50-0f5a3c2d7e11"
    assert (found.about.provider, found.about.model) == ("anthropic", "claude-opus-4-6")


def test_after_a_compaction_the_old_usage_does_not_count(tmp_path: Path) -> None:
    found = sized(tmp_path, EXAMPLE)

    # The summary (13 characters) and the message that was kept (17).
    assert (found.tokens, found.source, found.method) == (4 + 5, "transcript-estimate", ESTIMATE)
    assert found.about.compactions == 1


def test_an_answer_after_the_compaction_counts(tmp_path: Path) -> None:
    assert sized(tmp_path, [*EXAMPLE, answer(input=5, cacheRead=7)]).tokens == 12


@pytest.mark.parametrize(
    ("spent", "tokens"),
    [
        ({"input": 1, "cacheRead": 20, "cacheWrite": 300, "output": 4000}, 321),
        ({"input": 1}, 1),
        ({"totalTokens": 50}, 50),
        ({"input": 0, "totalTokens": 50}, 50),
        ({"input": 7.9}, 7),
        ({"input": True, "cacheRead": 3}, 3),
        ({"input": "9", "cacheRead": 3}, 3),
        ({"input": -9, "cacheRead": 3}, 3),
        ({"input": 1e308, "cacheRead": 3}, 3),
        ({"input": 10**40, "cacheRead": 3}, 3),
    ],
)
def test_what_was_sent_counts_and_not_what_came_back(
    tmp_path: Path, spent: dict[str, object], tokens: int
) -> None:
    assert sized(tmp_path, [answer(**spent)]).tokens == tokens


def test_a_blank_line_before_the_header_hides_no_session(tmp_path: Path) -> None:
    assert (
        sized(tmp_path, ["", *EXAMPLE]).about.session_id
        == sized(tmp_path, EXAMPLE).about.session_id
    )


@pytest.mark.parametrize(("number", "tokens"), [("1e400", 3), ("9" * 5000, 3), ("NaN", 30)])
def test_numbers_are_those_of_json(tmp_path: Path, number: str, tokens: int) -> None:
    odd = json.dumps(answer(input="here", cacheRead=3)).replace('"here"', number)

    assert sized(tmp_path, [answer(input=30), odd]).tokens == tokens


@pytest.mark.parametrize(
    "later",
    [
        message("assistant", provider="openclaw", model="delivery-mirror", usage={"input": 9}),
        answer(input=0, output=0, cacheRead=0, cacheWrite=0, totalTokens=0),
        message("assistant", "No.", usage={"input": 9}, stopReason="aborted"),
        message("assistant", "No.", usage={"input": 9}, stopReason="error"),
        message("assistant", "No.", usage=[9]),
        message("user", "No.", usage={"input": 9}),
        {"type": "custom", "message": {"role": "assistant", "usage": {"input": 9}}},
        {"type": "message", "message": "usage"},
        '{"type":"message","message":{"role":"assistant","usage":{"input":9}}',
        '[{"type":"compaction"}]',
        "null",
        "7",
        "\0\ufffe",
        "[" * 100_000,
        '{"type":"message","message":{"role":"assistant","usage":{"input":' + "9" * 5000 + "}}}",
    ],
)  # fmt: skip
def test_what_is_no_answer_of_a_model_is_passed_over(tmp_path: Path, later: object) -> None:
    found = sized(tmp_path, [answer(input=500), later])

    assert (found.tokens, found.about.compactions) == (500, 0)


def test_a_torn_last_line_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(json.dumps(answer(input=5)).encode() + b'\n{"type":"mess\xc3')

    assert usage.context_size(file, lambda model: GUESS).tokens == 5


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        (message("user", "x" * 8), 2),
        (message("user", "x" * 9), 3),
        (message("user", [{"type": "text", "text": "12345"}, {"type": "text", "text": "678"}]), 2),
        (message("user", [{"type": "image", "data": "x" * 999}]), 0),
        (message("toolResult", [{"type": "image"}, {"type": "text", "text": "a"}]), 1201),
        (message("assistant", [{"type": "thinking", "thinking": "check notes"}]), 3),
        (message("assistant", [{"type": "toolCall", "name": "get", "arguments": {"a": "é"}}]), 3),
        (message("user", "😀😀"), 1),
        (message("user", "😀😀x"), 2),
        ({"type": "custom_message", "content": "12345678"}, 2),
        ({"type": "branch_summary", "summary": "12345678"}, 2),
        ({"type": "custom", "content": "12345678"}, None),
        ({"type": "label", "label": "12345678"}, None),
        (message("user", None), None),
        (message("user", [7, {"type": "text", "text": 7}, {"type": "text"}]), None),
    ],
)  # fmt: skip
def test_characters_are_counted_message_by_message(
    tmp_path: Path, line: object, tokens: int | None
) -> None:
    assert sized(tmp_path, [line]).tokens == (tokens or None)


def test_each_message_is_rounded_up_by_itself(tmp_path: Path) -> None:
    assert sized(tmp_path, [message("user", "a"), message("user", "b")]).tokens == 2


def test_a_vocabulary_is_used_where_there_is_one(tmp_path: Path) -> None:
    lines = [
        message("user", "one two three"),
        message("toolResult", [{"type": "image"}, {"type": "text", "text": "four"}]),
    ]

    found = sized(tmp_path, lines, counter=WORDS)

    assert (found.tokens, found.source, found.method) == (1204, "transcript-tiktoken", "words")


def test_long_texts_reach_the_vocabulary_in_pieces(tmp_path: Path) -> None:
    lengths: list[int] = []
    counter = TokenCounter(lambda text: lengths.append(len(text)) or 1, "words")  # type: ignore[func-returns-value]

    sized(tmp_path, [message("user", "x" * 10_000)], counter=counter)

    assert (sum(lengths), max(lengths)) == (10_000, 4096)


def test_the_counter_is_chosen_by_the_model_in_use(tmp_path: Path) -> None:
    asked: list[str | None] = []
    file = tmp_path / "x.jsonl"
    file.write_text(json.dumps(message("assistant", "Hi", model="gpt-5")) + "\n")

    usage.context_size(file, lambda model: asked.append(model) or GUESS)  # type: ignore[func-returns-value]

    assert asked == ["gpt-5"]


def test_only_the_last_compaction_decides_what_was_kept(tmp_path: Path) -> None:
    def said(id: str) -> dict[str, Any]:
        return {**message("user", "x" * 40), "id": id}

    def compaction(kept: str) -> dict[str, Any]:
        return {"type": "compaction", "summary": "y" * 4, "firstKeptEntryId": kept}

    lines = [said("a"), said("b"), compaction("b"), said("c"), said("d"), compaction("d")]

    assert sized(tmp_path, lines).tokens == 1 + 10
    assert sized(tmp_path, [*lines, said("e")]).tokens == 1 + 10 + 10
    assert sized(tmp_path, lines).about.compactions == 2
    assert sized(tmp_path, [*lines[:-1], compaction("gone")]).tokens == 1
    assert sized(tmp_path, [*lines[:-1], compaction("b")]).tokens == 1 + 30


@pytest.mark.parametrize("lines", [[], [""], ["{}"], [EXAMPLE[0]]])
def test_an_empty_transcript_has_no_size(tmp_path: Path, lines: list[str]) -> None:
    assert sized(tmp_path, lines).tokens is None


def test_a_line_beyond_measure_is_skipped_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript, "MOST_LINE_BYTES", 200)
    long = message("user", "x" * 1000)

    found = sized(tmp_path, [message("user", "x" * 40), long, message("user", "x" * 40)])

    assert (found.tokens, found.about.skipped) == (20, 1)
    assert sized(tmp_path, [long, answer(input=7)]).tokens == 7
    assert sized(tmp_path, ["x" * 200, answer(input=7)]).about.skipped == 1
    just_fits = sized(tmp_path, ["x" * 199, answer(input=7)])
    assert (just_fits.tokens, just_fits.about.skipped) == (7, 0)


def test_a_long_transcript_takes_little_memory(tmp_path: Path) -> None:
    line = json.dumps(message("user", "x" * 10_000)) + "\n"
    file = tmp_path / "x.jsonl"
    file.write_text(line * 1000)
    tracemalloc.start()

    found = usage.context_size(file, lambda model: GUESS)

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.tokens == 2_500_000
    assert peak < 1_000_000


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(SessionsError, match="not a regular file"):
        usage.context_size(tmp_path / "pipe", lambda model: GUESS)


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SessionsError, match="no such transcript"):
        usage.context_size(tmp_path / "absent", lambda model: GUESS)
    with pytest.raises(SessionsError, match="Is a directory"):
        usage.context_size(tmp_path, lambda model: GUESS)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "type message role content usage input cacheRead totalTokens summary id text "
                "firstKeptEntryId name arguments thinking".split()
            ),
            inner,
        )
    ),
    max_leaves=10,
)
KINDS = st.sampled_from("session message compaction custom_message branch_summary".split())
RECORDS = st.builds(
    lambda kind, fields: {**fields, "type": kind},
    KINDS,
    st.fixed_dictionaries({"message": JSON, "content": JSON, "summary": JSON, "id": JSON}),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(RECORDS | JSON, max_size=8), counter=st.sampled_from([GUESS, WORDS]))
def test_no_transcript_makes_it_fail(
    tmp_path: Path, lines: list[object], counter: TokenCounter
) -> None:
    found = sized(tmp_path, map(json.dumps, lines), counter=counter)

    assert found.tokens is None or found.tokens > 0
    assert found.about.compactions == sum(
        isinstance(line, dict) and line.get("type") == "compaction" for line in lines
    )
