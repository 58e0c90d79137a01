"""`memory_get`: the reference's own examples, and nothing that is not a memory file."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as profile
from hypothesis import strategies as st

from ocmem.core import reader
from ocmem.errors import ToolInputError
from ocmem.settings import Overrides, Settings, resolve
from ocmem.tools.memory_get import memory_get
from tests.unit.odd_json import OBJECTS, TEXTS

LINES = "l1\nl2\nl3\nl4\n"
READABLE = ("", LINES, "note a", "one\r\ntwo\r\n", "extra")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    notes = {
        "ws/MEMORY.md": LINES,
        "ws/other.md": "other",
        "ws/.memory/h.md": "hidden",
        "ws/memory/a.md": "note a",
        "ws/memory/crlf.md": "one\r\ntwo\r\n",
        "ws/memory/t.txt": "text",
        "ws/sessions/s.jsonl": "{}",
        "state/agents/main/sessions/s.jsonl": "{}",
        "extra/e.md": "extra",
        "extra2/e.md": "not listed",
        "x.md": "outside",
    }
    for name, text in notes.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(text.encode())
    (home / "ws/memory/dir.md").mkdir()
    (home / "ws/memory/link.md").symlink_to(home / "x.md")
    (home / "ws/memory/out").symlink_to(home / "extra2")
    return home


@pytest.fixture(scope="module")
def settings(home: Path) -> Settings:
    defaults = {"workspace": str(home / "ws"), "memorySearch": {"extraPaths": ["../extra"]}}
    config = home / "openclaw.json"
    config.write_text(json.dumps({"agents": {"defaults": defaults}}))
    env = {"HOME": str(home), "OCMEM_CONFIG": str(home / "none.json5")}
    return resolve(Overrides(state_dir=str(home / "state"), config=str(config)), env)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, LINES),
        ({"from": 2}, "l2\nl3\nl4\n"),
        ({"from": 2, "lines": 2}, "l2\nl3"),
        ({"lines": 2}, "l1\nl2"),
        ({"from": 0, "lines": 0}, LINES),
        ({"from": -3, "lines": 2}, "l1\nl2"),
        ({"from": 2, "lines": 0}, "l2"),
        ({"from": 2, "lines": -1}, "l2"),
        ({"from": 99}, ""),
        # and what follows from the same rules
        ({"from": 0}, LINES),
        ({"from": -3}, LINES),
        ({"lines": -1}, "l1"),
        ({"from": 0, "lines": 1}, "l1"),
        ({"from": "2", "lines": "2.9 lines"}, "l2\nl3"),
        ({"from": 0.9, "lines": -0.9}, LINES),
        ({"from": None, "lines": "many"}, LINES),
        ({"from": 1e300}, ""),
        ({"from": 4, "lines": 1e300}, "l4\n"),
        ({"from": 5}, ""),
    ],
)
def test_the_lines_asked_for(settings: Settings, given: dict[str, object], text: str) -> None:
    reply = memory_get({"path": "MEMORY.md", **given}, settings)

    assert reply.answer == {"text": text, "path": "MEMORY.md"}
    assert reply.error is None


@pytest.mark.parametrize(
    ("path", "stored", "text"),
    [
        ("{home}/ws/memory/a.md", "memory/a.md", "note a"),
        ("../extra/e.md", "../extra/e.md", "extra"),
        ("{home}/extra/e.md", "../extra/e.md", "extra"),
        (" memory//a.md\n", "memory/a.md", "note a"),
        ("memory/crlf.md", "memory/crlf.md", "one\r\ntwo\r\n"),
        # missing files in allowed places
        ("memory/none.md", "memory/none.md", ""),
        ("memory.md", "memory.md", ""),
        ("{home}/ws/memory//none.md", "memory/none.md", ""),
        ("memory/no/such/folder.md", "memory/no/such/folder.md", ""),
        ("../extra/none.md", "../extra/none.md", ""),
        ("memory/\ud83d.md", "memory/\ud83d.md", ""),
    ],
)
def test_an_allowed_path_has_text_even_if_there_is_no_file(
    settings: Settings, home: Path, path: str, stored: str, text: str
) -> None:
    reply = memory_get({"path": path.format(home=home)}, settings)

    assert list(reply.answer.items()) == [("text", text), ("path", stored)]
    assert reply.error is None


@pytest.mark.parametrize(
    "path",
    [
        *("other.md", "Memory.md", "MEMORY.MD", "memory/t.txt", "memory", "/etc/passwd"),
        *("memory/../other.md", "memory/../../x.md", "memory/link.md", "memory/dir.md"),
        *("sessions/s.jsonl", "{home}/state/agents/main/sessions/s.jsonl", "sessions/none.jsonl"),
        *("../extra2/e.md", "MEMORY.md#L1-L2", "memory/none.md#L1", "memory/a\0.md", "."),
        *(".memory/h.md", "memory/out/e.md"),  # which the reference reads
    ],
)
def test_every_other_path_is_refused_in_the_same_two_words(
    settings: Settings, home: Path, path: str
) -> None:
    path = path.format(home=home)

    reply = memory_get({"path": f" {path} "}, settings)

    fields = {"path": path, "text": "", "disabled": True, "error": "path required"}
    assert list(reply.answer.items()) == list(fields.items())
    assert str(reply.error) != "path required"  # people are told more


def test_only_markdown_is_read_whatever_else_people_may_read(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    excerpt = reader.Excerpt("text", "sessions/s.jsonl", 1, 1, total_lines=1)
    monkeypatch.setattr(reader, "read_lines", lambda *args, **options: excerpt)

    answer = memory_get({"path": "sessions/s.jsonl"}, settings).answer

    assert (answer["text"], answer["error"]) == ("", "path required")


def test_what_the_system_refuses_is_told_as_it_is(settings: Settings) -> None:
    below_a_file = memory_get({"path": "memory/a.md/b.md"}, settings)
    too_long = memory_get({"path": f"memory/{'x' * 300}.md"}, settings)

    assert below_a_file.answer["disabled"] is too_long.answer["disabled"] is True
    assert below_a_file.answer["error"] == "no such file: memory/a.md/b.md"
    assert too_long.answer["error"].endswith(".md cannot be read: File name too long")


@pytest.mark.parametrize("given", [{}, {"path": ""}, {"path": " "}, {"path": 5}, {"Path": "x"}])
def test_a_path_is_needed(settings: Settings, given: dict[str, object]) -> None:
    with pytest.raises(ToolInputError, match=r"^path required$"):
        memory_get(given, settings)


def test_an_agent_without_memory_search_reads_nothing(settings: Settings) -> None:
    off = replace(settings, search=replace(settings.search, enabled=False))

    reply = memory_get({"path": "MEMORY.md"}, off)

    error = "memory search is disabled for agent main"
    fields = {"path": "MEMORY.md", "text": "", "disabled": True, "error": error}
    assert reply.answer == fields
    assert str(reply.error) == error


def test_the_envelope_has_the_answer_twice(settings: Settings) -> None:
    reply = memory_get({"path": "MEMORY.md", "lines": 1}, settings)

    text = '{\n  "text": "l1",\n  "path": "MEMORY.md"\n}'
    assert reply.text == text
    assert reply.envelope == {
        "content": [{"type": "text", "text": text}],
        "details": {"text": "l1", "path": "MEMORY.md"},
    }


@given(OBJECTS)
@profile(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_whatever_is_given_there_is_an_answer_or_a_named_error(
    settings: Settings, given: dict[str, object]
) -> None:
    try:
        reply = memory_get(given, settings)
    except ToolInputError as error:
        assert str(error) == "path required"
        return
    assert json.loads(reply.text) == reply.answer
    assert ("disabled" in reply.answer) is (reply.error is not None)


_PARTS = st.sampled_from(["..", ".", "memory", "MEMORY.md", "out", "link.md", "a.md", "ws", "x.md"])


@given(st.lists(_PARTS | TEXTS.filter(lambda text: "{" not in text), min_size=1, max_size=6))
@profile(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_spelling_leads_out(settings: Settings, home: Path, parts: list[str]) -> None:
    for path in (os.path.join(*parts), f"{home}/{'/'.join(parts)}"):  # noqa: PTH118
        text = memory_get({"path": f"{path}/."}, settings).answer["text"]

        assert text in READABLE
