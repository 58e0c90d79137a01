"""Chats and transcripts, matched; and the Markdown that the session-memory hook would write."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ocmem.core import session_files
from ocmem.core.session_export import Export, export, messages_in
from ocmem.core.session_files import Session
from ocmem.errors import SessionsError
from tests.unit.chats import header, line

NOW = datetime(2026, 2, 20, 18, 5, tzinfo=UTC)
ID = "5d0c7b1e-3f6a-4c1b-9a50-0f5a3c2d7e11"
# The example of the documentation.
EXAMPLE = f"""\
{{"type":"session","version":3,"id":"{ID}","timestamp":"2026-02-20T10:00:00.000Z"}}
{{"type":"message","id":"a1","message":{{"role":"user","content":[{{"type":"text","text":"Where did we put the router?"}}]}}}}
{{"type":"message","id":"a2","message":{{"role":"assistant","content":[{{"type":"thinking","thinking":"check notes"}},{{"type":"toolCall","id":"t1","name":"memory_search","arguments":{{"query":"router"}}}}]}}}}
{{"type":"message","id":"a3","message":{{"role":"toolResult","content":[{{"type":"text","text":"{{...}}"}}]}}}}
{{"type":"message","id":"a4","message":{{"role":"assistant","content":[{{"type":"text","text":"Under the stairs."}}]}}}}
{{"type":"compaction","id":"a5","summary":"Router found."}}
"""  # noqa: E501


class Folder:
    """A sessions folder with a store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store: dict[str, dict[str, object]] = {}

    def chat(self, key: str, **fields: object) -> None:
        self.store[key] = fields
        (self.path / "sessions.json").write_text(json.dumps(self.store))

    def transcript(self, name: str, text: str = "", *, at: int = 1_000_000) -> Path:
        path = self.path / name
        path.write_text(text)
        os.utime(path, (at, at))
        return path

    def sessions(self, *, archived: bool = False) -> list[Session]:
        return session_files.sessions(self.path, archived=archived)

    def pairs(self, *, archived: bool = False) -> list[tuple[str | None, str | None]]:
        return [
            (each.entry.key if each.entry else None, each.file.name if each.file else None)
            for each in self.sessions(archived=archived)
        ]

    def export(self, wanted: str, *, most: int = 15) -> Export:
        return export(self.path, wanted, most=most, now=NOW, home=self.path.parent)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    path = tmp_path / "sessions"
    path.mkdir()
    return Folder(path)


# --- which there are ----------------------------------------------------------------------------


def test_chats_and_transcripts_are_matched_and_the_latest_comes_first(folder: Folder) -> None:
    folder.chat("old", sessionId="1", updatedAt=1_000)
    folder.chat("new", sessionId="2", updatedAt=3_000_000_000_000)
    folder.chat("lost", sessionId="3", updatedAt=2_000)
    folder.transcript("1.jsonl")
    folder.transcript("2.jsonl")
    folder.transcript("stray.jsonl", at=5)
    folder.transcript("notes.txt")

    assert folder.pairs() == [
        ("new", "2.jsonl"),
        (None, "stray.jsonl"),
        ("lost", None),
        ("old", "1.jsonl"),
    ]


def test_a_transcript_belongs_to_a_chat_by_what_the_store_tells_then_by_its_id(
    folder: Folder,
) -> None:
    folder.chat("told", sessionId="1", sessionFile="/elsewhere/9.jsonl", updatedAt=3)
    folder.chat("archived", sessionId="2", sessionFile="2.jsonl.reset.2026-02-20T10-00-00.000Z")
    folder.chat("topic", sessionId="3", updatedAt=1)
    for name in ("1.jsonl", "9.jsonl", "2.jsonl"):
        folder.transcript(name)
    folder.transcript("3-topic-1.jsonl", at=1)
    folder.transcript("3-topic-2.jsonl", at=2)

    assert {key: name for key, name in folder.pairs() if key} == {
        "told": "9.jsonl",
        "archived": "2.jsonl",
        "topic": "3-topic-2.jsonl",
    }


def test_archived_transcripts_are_shown_to_those_who_ask(folder: Folder) -> None:
    folder.transcript("1.jsonl", at=2)
    folder.transcript("1.jsonl.reset.2026-02-20T10-00-00.000Z", at=1)

    assert folder.pairs() == [(None, "1.jsonl")]
    assert len(folder.pairs(archived=True)) == 2
    assert {each.session_id for each in folder.sessions(archived=True)} == {"1"}


def test_links_and_folders_are_no_transcripts(folder: Folder) -> None:
    real = folder.transcript("1.jsonl")
    (folder.path / "2.jsonl").symlink_to(real)
    (folder.path / "3.jsonl").mkdir()

    assert folder.pairs() == [(None, "1.jsonl")]


def test_without_a_folder_there_are_no_sessions(tmp_path: Path) -> None:
    assert session_files.sessions(tmp_path / "absent") == []


# --- what the hook would write ------------------------------------------------------------------


def test_the_markdown_is_the_hooks(folder: Folder) -> None:
    folder.chat("agent:main:main", sessionId=ID, lastChannel="telegram")
    folder.transcript(f"{ID}.jsonl", EXAMPLE)

    found = folder.export("agent:main:main")

    assert found.markdown == (
        "# Session: 2026-02-20 18:05:00 UTC\n"
        "\n"
        "- **Session Key**: agent:main:main\n"
        f"- **Session ID**: {ID}\n"
        "- **Source**: telegram\n"
        "\n"
        "## Conversation Summary\n"
        "\n"
        "user: Where did we put the router?\n"
        "assistant: Under the stairs.\n"
    )
    assert found.file_name == "2026-02-20-1805.md"


def test_a_chat_without_words_has_no_summary(folder: Folder) -> None:
    path = folder.transcript("x.jsonl", header("x"))

    found = export(folder.path, str(path), most=15, now=NOW, home=folder.path)

    assert found.markdown == (
        "# Session: 2026-02-20 18:05:00 UTC\n\n- **Session Key**: unknown\n"
        "- **Session ID**: x\n- **Source**: unknown\n"
    )


@pytest.mark.parametrize(
    "wanted", ["agent:main:main", "AGENT:main:main", "s1", "s1.jsonl", "sessions/s1.jsonl"]
)
def test_a_chat_is_named_by_its_key_its_id_or_its_transcript(folder: Folder, wanted: str) -> None:
    folder.chat("agent:main:main", sessionId="s1")
    folder.transcript("s1.jsonl", line("hello"))

    found = folder.export(wanted)

    assert (found.key, found.session_id, found.messages) == (
        "agent:main:main",
        "s1",
        ("user: hello",),
    )


def test_a_transcript_anywhere_can_be_named_by_its_path(folder: Folder) -> None:
    (folder.path.parent / "far away.jsonl").write_text(line("hello"))

    assert folder.export("~/far away.jsonl").messages == ("user: hello",)
    assert folder.export(str(folder.path.parent / "far away.jsonl")).key is None


@pytest.mark.parametrize("wanted", ["", " ", "nobody", "../nobody.jsonl", "a\0b"])
def test_what_is_neither_a_chat_nor_a_transcript_is_said_to_be_none(
    folder: Folder, wanted: str
) -> None:
    with pytest.raises(SessionsError, match="no session and no transcript"):
        folder.export(wanted)


def test_a_pipe_in_the_place_of_a_transcript_is_not_waited_for(folder: Folder) -> None:
    os.mkfifo(folder.path / "pipe.jsonl")

    with pytest.raises(SessionsError, match="not a regular file"):
        folder.export("pipe.jsonl")


def test_the_last_messages_count_after_those_left_out(folder: Folder) -> None:
    said = [line(f"m{number}") + line("/status") for number in range(20)]
    folder.transcript("x.jsonl", "".join(said))

    assert folder.export("x.jsonl", most=2).messages == ("user: m18", "user: m19")
    assert len(folder.export("x.jsonl").messages) == 15


def test_only_the_first_text_of_a_message_counts_and_its_lines_stay() -> None:
    blocks = [
        {"type": "image", "text": "no"},
        {"type": "text", "text": "one\n\ntwo "},
        {"type": "text", "text": "three"},
    ]
    told = {"type": "message", "message": {"role": "assistant", "content": blocks}}

    assert [*messages_in([json.dumps(told).encode()])] == ["assistant: one\n\ntwo "]


def test_what_other_sessions_sent_is_left_out() -> None:
    def sent(role: str, kind: str) -> bytes:
        message = {"role": role, "content": f"by {role}", "provenance": {"kind": kind}}
        return json.dumps({"type": "message", "message": message}).encode()

    lines = [sent("user", "inter_session"), sent("user", "x"), sent("assistant", "inter_session")]

    assert [*messages_in(lines)] == ["user: by user", "assistant: by assistant"]


def test_secrets_are_masked(folder: Folder) -> None:
    folder.transcript("x.jsonl", line("my token: abcdefghijklmnopqrstuvwxyz"))

    assert folder.export("x.jsonl").messages == ("user: my token: abcdef…wxyz",)


def test_where_nothing_is_left_the_newest_reset_copy_is_taken_with_its_time(
    folder: Folder,
) -> None:
    folder.chat("k", sessionId="s1")
    folder.transcript("s1.jsonl", header("s1"))
    folder.transcript("s1.jsonl.reset.2026-01-01T10-00-00.000Z", line("older"))
    folder.transcript("s1.jsonl.reset.2026-01-02T11-22-33.000Z", line("newer"))
    folder.transcript("s1.jsonl.deleted.2026-01-03T10-00-00.000Z", line("deleted"))

    found = folder.export("k")

    assert found.messages == ("user: newer",)
    assert found.moment == datetime(2026, 1, 2, 11, 22, 33, tzinfo=UTC)
    (folder.path / "s1.jsonl").unlink()
    assert folder.export("k").messages == ("user: newer",)


def test_a_chat_whose_transcript_is_gone_gets_the_last_one_by_name_as_from_the_hook(
    folder: Folder,
) -> None:
    folder.chat("k", sessionId="gone")
    folder.transcript("a.jsonl", line("a"))
    folder.transcript("b.jsonl", line("b"))

    found = folder.export("k")

    assert (found.messages, found.is_borrowed) == (("user: b",), True)
    assert not folder.export("b.jsonl").is_borrowed


def test_a_chat_without_any_transcript_says_so(folder: Folder) -> None:
    folder.chat("k", sessionId="gone")

    with pytest.raises(SessionsError, match="k has no transcript"):
        folder.export("k")


@pytest.mark.parametrize("time", ["", "x", "2026-13-01T10-00-00.000Z", "2026-02-30T10-00-00Z"])
def test_an_archive_with_an_odd_time_is_taken_for_todays(folder: Folder, time: str) -> None:
    folder.transcript(f"x.jsonl.reset.{time}", line("hello"))

    assert folder.export(f"x.jsonl.reset.{time}").moment == NOW
