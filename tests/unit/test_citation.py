"""Words that point at lines of a file, and when to show them."""

import pytest

from ocmem.core.citation import agent_of, chat_type, citation, parse, wanted
from ocmem.model import ChunkRow

CHATS = [
    (None, "direct"),
    ("", "direct"),
    ("main", "direct"),
    ("cron:x", "direct"),
    ("discord:channel:9", "direct"),
    ("agent:main:main", "direct"),
    ("agent:main:telegram:direct:1", "direct"),
    ("agent:main:subagent:x", "direct"),
    ("agent:main:telegram:group:-100", "group"),
    ("agent:main:group:x", "group"),
    ("agent:main:discord:channel:9", "channel"),
    ("agent:main:slack:group:1:channel:2", "channel"),
    ("agent:channel:main", "direct"),
    ("agent::telegram:group:1", "direct"),
    ("agent:main", "direct"),
    ("agent:main:mygroup:1", "direct"),
]


def chunk(path: str, start_line: int, end_line: int) -> ChunkRow:
    return ChunkRow(
        id="i",
        path=path,
        source="memory",
        start_line=start_line,
        end_line=end_line,
        hash="h",
        model="m",
        text="t",
    )


def test_a_citation_names_the_range_of_lines() -> None:
    assert citation(chunk("memory/a.md", 12, 34)) == "memory/a.md#L12-L34"


def test_a_single_line_is_named_once() -> None:
    assert citation(chunk("memory/a.md", 12, 12)) == "memory/a.md#L12"


@pytest.mark.parametrize(
    "path", ["a.md", "../x y.md", "a#L1.md", "memory/a#L1-L2", "line\nbreak.md"]
)
@pytest.mark.parametrize("lines", [(1, 1), (12, 34)])
def test_a_citation_is_understood_as_printed(path: str, lines: tuple[int, int]) -> None:
    assert parse(citation(chunk(path, *lines))) == (path, *lines)


@pytest.mark.parametrize(
    "text", ["", "a.md", "a.md#12", "a.md#L", "#L1", "a.md#L1-2", "a.md#L1-L2 ", "a.md#L1234567890"]
)
def test_what_is_no_citation_is_none(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(("session_key", "expected"), CHATS)
def test_a_session_key_tells_the_kind_of_chat(session_key: str | None, expected: str) -> None:
    assert chat_type(session_key) == expected


@pytest.mark.parametrize(("session_key", "kind"), CHATS)
def test_auto_cites_in_direct_chats_only(session_key: str | None, kind: str) -> None:
    assert wanted("auto", session_key=session_key) is (kind == "direct")
    assert wanted("on", session_key=session_key) is True
    assert wanted("off", session_key=session_key) is False


@pytest.mark.parametrize(
    ("session_key", "agent"),
    [
        (None, None),
        ("main", None),
        ("discord:channel:9", None),
        ("agent:main", None),
        ("agent::main", None),
        ("agent:main:main", "main"),
        (" Agent:Work:telegram:group:1\n", "work"),
    ],
)
def test_a_session_key_names_its_agent(session_key: str | None, agent: str | None) -> None:
    assert agent_of(session_key) == agent
