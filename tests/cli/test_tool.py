"""`ocmem tool`: the agent's tools at the shell."""

import json
import os
import pty
import subprocess

import pytest

from tests.cli.both_ways import redirected, run_bytes
from tests.cli.program import Outcome, Program, everything
from tests.fake_provider import FOREVER, FakeProvider

KEY = "sk-a-key-that-nobody-may-see"
GROUP = "agent:main:telegram:group:-100"


def search(ocmem: Program, query: str, *options: str, **more: object) -> Outcome:
    return ocmem("tool", "memory_search", json.dumps({"query": query, **more}), *options)


def get(ocmem: Program, path: str, *options: str, **more: object) -> Outcome:
    return ocmem("tool", "memory_get", json.dumps({"path": path, **more}), *options)


@pytest.fixture
def indexed(ocmem: Program, fake: FakeProvider) -> Program:
    ocmem.note("MEMORY.md", "Prefers tea.\n")
    ocmem.note("memory/a.md", "The heron stood.\n")
    ocmem.use(fake)
    ocmem.index()
    return ocmem


def assert_unavailable(done: Outcome, reason: str) -> None:
    assert done.code == 1
    keys = ["results", "disabled", "unavailable", "error", "warning", "action"]
    assert list(done.json) == keys
    assert (done.json["results"], done.json["disabled"]) == ([], True)
    assert reason in done.json["error"]
    assert reason in done.err
    assert "Traceback" not in done.err


# --- the two tools --------------------------------------------------------------------------------


def test_the_argument_and_stdin_give_the_same_answer(indexed: Program) -> None:
    given = '{"query": "heron"}'

    argument = indexed("tool", "memory_search", given)
    piped = indexed("tool", "memory_search", stdin=f"  {given}\n")
    dash = indexed("tool", "memory_search", "-", stdin=given)

    assert (argument.code, argument.err) == (0, "")
    assert argument.results[0]["snippet"] == "The heron stood.\n\nSource: memory/a.md#L1-L2"
    assert argument == piped == dash


def test_the_answer_is_that_of_a_strict_search_in_the_references_form(indexed: Program) -> None:
    strict = indexed("search", "heron", "--strict", "--json", "--min-score", "0.1")

    found = search(indexed, "heron", "--session-key", GROUP, minScore=0.1)

    six = ("path", "startLine", "endLine", "score", "snippet", "source")
    assert found.results == [{name: each[name] for name in six} for each in strict.results]


def test_free_places_are_not_filled_up(ocmem: Program) -> None:
    ocmem.example()
    query = "when is the dentist"

    assert ocmem("search", query, "--ranker", "openclaw", "--json").results
    assert search(ocmem, query).results == []


def test_the_envelope_holds_the_same_bytes(indexed: Program) -> None:
    plain = search(indexed, "heron")

    wrapped = search(indexed, "heron", "--envelope")

    (content,) = wrapped.json["content"]
    assert content == {"type": "text", "text": plain.out.removesuffix("\n")}
    assert wrapped.json["details"] == plain.json
    assert list(wrapped.json) == ["content", "details"]


def test_no_match_is_an_answer(indexed: Program) -> None:
    done = search(indexed, "xylophone")

    assert (done.code, done.results) == (0, [])
    assert "disabled" not in done.json
    assert "below the floor of 0.35" in done.err


def test_new_notes_are_found_at_once(indexed: Program) -> None:
    indexed.note("memory/b.md", "A zeppelin passed.\n")

    assert search(indexed, "zeppelin passed").paths[0] == "memory/b.md"


def test_transcripts_are_found_where_they_are_indexed_and_not_read(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "Prefers tea.\n")
    message = {"role": "user", "content": "Where is the umbrella?"}
    folder = ocmem.state / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    (folder / "monday.jsonl").write_text(json.dumps({"type": "message", "message": message}) + "\n")

    without = search(ocmem, "umbrella", minScore=0)
    ocmem.configure(experimental={"sessionMemory": True}, sources=["memory", "sessions"])
    ocmem.index()
    found = search(ocmem, "umbrella", minScore=0)
    (path,) = (each["path"] for each in found.results if each["source"] == "sessions")
    read = get(ocmem, path)

    assert "sessions" not in {each["source"] for each in without.results}
    assert path == "sessions/monday.jsonl"
    assert (read.code, read.json["error"]) == (1, "path required")


def test_a_note_is_read_and_a_missing_one_is_empty(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "one\r\ntwo\r\nthree\r\n")

    some = get(ocmem, "MEMORY.md", **{"from": 2, "lines": 1})
    missing = get(ocmem, "memory/none.md")

    assert (some.code, some.err) == (missing.code, missing.err) == (0, "")
    assert some.json == {"text": "two\r", "path": "MEMORY.md"}
    assert missing.json == {"text": "", "path": "memory/none.md"}


def test_reading_makes_nothing(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "Prefers tea.\n")
    before = everything(ocmem.home)

    get(ocmem, "MEMORY.md")

    assert everything(ocmem.home) == before


def test_a_refused_path_is_an_answer_and_people_are_told_why(ocmem: Program) -> None:
    ocmem.note("other.md", "secret")

    done = get(ocmem, "other.md")

    assert done.code == 1
    answer = {"path": "other.md", "text": "", "disabled": True, "error": "path required"}
    assert list(done.json.items()) == list(answer.items())
    assert done.err.startswith("other.md is not one of the memory files\nhint: ")


# --- whose chat it is -----------------------------------------------------------------------------


def test_the_session_key_chooses_the_agent_unless_one_is_named(ocmem: Program) -> None:
    agents = [{"id": name, "workspace": f"~/{name}"} for name in ("one", "Two")]
    agents.append({"id": "three", "memorySearch": {"enabled": False}})  # type: ignore[dict-item]
    ocmem.configure_all({"agents": {"list": agents}})
    for name in ("one", "Two"):
        (ocmem.home / name).mkdir()
        (ocmem.home / name / "MEMORY.md").write_text(f"I am {name}.")

    def said(*options: str) -> str:
        return str(get(ocmem, "MEMORY.md", *options).json["text"])

    assert said() == said("--session-key", "main") == "I am one."
    assert said("--session-key", "agent:two:main") == "I am Two."
    assert said("--session-key", "agent:two:main", "--agent", "one") == "I am one."
    off = get(ocmem, "MEMORY.md", "--session-key", "agent:three:main")
    assert (off.code, off.json["disabled"]) == (1, True)


@pytest.mark.parametrize(
    ("mode", "options", "cites"),
    [
        ("auto", [], True),
        ("auto", ["--session-key", "agent:main:main"], True),
        ("auto", ["--session-key", GROUP], False),
        ("on", ["--session-key", GROUP], True),
        ("off", [], False),
    ],
)
def test_citations_go_by_the_setting_and_the_chat(
    ocmem: Program, mode: str, options: list[str], cites: bool
) -> None:
    ocmem.note("MEMORY.md", "Prefers tea.\n")
    ocmem.configure_all({"memory": {"citations": mode}})

    found = search(ocmem, "tea", *options, minScore=0)

    assert found.json["citations"] == mode
    assert ("citation" in found.results[0]) is cites
    assert ("Source: MEMORY.md#L1-L2" in found.out) is cites


# --- when it cannot be had ------------------------------------------------------------------------


def test_what_the_provider_refuses_is_told_without_its_key(ocmem: Program) -> None:
    with FakeProvider(dims=16, mode="words", keys={"openai": KEY}) as fake:
        ocmem.note("MEMORY.md", "Prefers tea.\n")
        ocmem.use(fake)
        first = search(ocmem, "tea")
        fake.add_fault("echo_key", times=FOREVER)

        later = search(ocmem, "tea", "--envelope")
        ocmem.shared_index.unlink()
        without_index = search(ocmem, "tea")

    assert first.code == 0
    assert later.code == 1
    assert later.json["details"]["unavailable"] is True
    assert_unavailable(without_index, "401")
    assert "configuration" in without_index.json["action"]
    for done in (later, without_index):
        assert KEY not in done.out + done.err


def test_a_spent_quota_is_told_as_such(indexed: Program, fake: FakeProvider) -> None:
    fake.add_fault("rate_limit", retry_after=3600, times=FOREVER)

    done = search(indexed, "heron")

    assert_unavailable(done, "429")
    assert "quota" in done.json["warning"]
    assert done.json["action"].startswith("Top up")


def test_nobody_listens_at_the_providers_address(indexed: Program, fake: FakeProvider) -> None:
    fake.stop()

    done = search(indexed, "heron", "--quiet")

    assert_unavailable(done, "openai embeddings failed")


def test_without_a_key_keywords_answer(indexed: Program, fake: FakeProvider) -> None:
    indexed.configure(provider="openai", remote={"baseUrl": fake.base_url("openai")})

    done = search(indexed, "heron")

    assert done.code == 0
    assert (done.json["provider"], done.json["mode"]) == ("none", "fts-only")
    assert (done.paths, done.results[0]["textScore"]) == (["memory/a.md"], 1)
    assert "keyword results only: No API key found" in done.err


def test_a_fallback_that_was_indexed_answers_a_query_that_its_first_cannot(
    indexed: Program, fake: FakeProvider
) -> None:
    remote = {"baseUrl": fake.base_url("openai"), "apiKey": fake.key("openai")}
    indexed.configure(provider="openai", remote=remote)
    indexed.configure_own(fallback="builtin")
    fake.add_fault("status", code=401, body="no", times=FOREVER)

    before = search(indexed, "heron")
    indexed.note("memory/b.md", "Another heron.\n")
    indexed.index()
    after = search(indexed, "heron", minScore=0)

    assert_unavailable(before, "401 no")
    assert after.code == 0
    assert (after.json["provider"], after.json["fallback"]["from"]) == ("builtin", "openai")
    assert "401 no" in after.json["fallback"]["reason"]
    assert "[memory] using builtin in place of openai" in after.err


def test_a_damaged_index_is_told(indexed: Program) -> None:
    indexed.shared_index.write_bytes(b"rubbish" * 1000)

    assert_unavailable(search(indexed, "heron"), "not a database")


def test_broken_settings_are_no_answer(ocmem: Program) -> None:
    ocmem.state.mkdir()
    ocmem.config.write_text("{ broken")

    for done in (search(ocmem, "tea"), get(ocmem, "MEMORY.md")):
        assert (done.code, done.out) == (1, "")
        assert "Config invalid" in done.err


# --- what cannot be understood --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "no parameters: give a JSON object as an argument or on stdin"),
        (b" \n", "no parameters: give a JSON object as an argument or on stdin"),
        (b"heron", "the parameters are not JSON: "),
        (b'{"query": "a\0b"}', "the parameters are not JSON: "),
        (b'{"query": "\xff\xfe"}', "the parameters are not UTF-8"),
        (b'{"query": "\xed\xa0\x80"}', "the parameters are not UTF-8"),
        (b"[" * 900_000, "the parameters are nested too deeply"),
        (b"[]", "the parameters must be a JSON object"),
        (b'{"query": "%s"}' % (b"x" * 1_000_000), "the parameters are longer than 1000000 bytes"),
        (b'{"query": " "}', "query required"),
    ],
)
def test_bad_parameters_are_one_line(ocmem: Program, data: bytes, told: str) -> None:
    done = ocmem("tool", "memory_search", stdin=data)

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(told)
    assert done.err.count("\n") == 1


def test_an_argument_that_is_not_utf8_is_one_line(ocmem: Program) -> None:
    code, out, err = run_bytes(ocmem, b"tool", b"memory_get", b'{"path": "\xff"}')

    assert (code, out) == (1, b"")
    assert err == b"the parameters are not UTF-8\n"


def test_an_argument_is_utf8_in_any_locale(ocmem: Program) -> None:
    ocmem.note("memory/é.md", "tea")

    done = ocmem("tool", "memory_get", '{"path": "memory/é.md"}', LC_ALL="C")

    assert done.json == {"text": "tea", "path": "memory/é.md"}


def test_half_a_character_and_nul_are_no_crash(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "Prefers tea.\n")

    half = search(ocmem, "tea \ud83d")
    nul = search(ocmem, "tea \0")
    path = get(ocmem, "memory/\ud83d.md")
    nul_path = get(ocmem, "memory/\0.md")

    assert [half.code, nul.code, path.code, nul_path.code] == [0, 0, 0, 1]
    assert path.json["path"] == "memory/\ud83d.md"
    assert nul_path.json["error"] == "path required"


def test_a_long_query_is_answered(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "Prefers tea.\n")

    done = ocmem("tool", "memory_search", stdin=json.dumps({"query": "tea " * 5000}))

    assert (done.code, "Traceback" in done.err) == (0, False)


def at_terminal(ocmem: Program, *args: str, typed: bytes = b"") -> Outcome:
    """The program with a terminal as its stdin."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, typed)
        done = subprocess.run(
            ocmem.command(*args),
            env=ocmem.env,
            stdin=theirs,
            capture_output=True,
            timeout=20,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_a_terminal_is_not_waited_for_unless_asked_to(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "Prefers tea.\n")

    unasked = at_terminal(ocmem, "tool", "memory_get")
    closed = redirected(ocmem, "<&-", "tool", "memory_get")
    asked = at_terminal(ocmem, "tool", "memory_get", "-", typed=b'{"path": "MEMORY.md"}\n\x04')

    told = "no parameters: give a JSON object as an argument or on stdin\n"
    assert unasked == closed == Outcome(1, "", told)
    assert asked.json["text"] == "Prefers tea.\n"


def test_an_unknown_tool_is_told_the_two_names(ocmem: Program) -> None:
    unknown, none = ocmem("tool", "memory_write", "{}"), ocmem("tool")

    for done in (unknown, none):
        assert (done.code, done.out) == (1, "")
        assert "memory_search" in done.err
        assert "memory_get" in done.err


def test_unknown_parameters_are_ignored(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "Prefers tea.\n")

    done = get(ocmem, "MEMORY.md", colour="blue", FROM=2)

    assert (done.code, done.json["text"]) == (0, "Prefers tea.\n")


@pytest.mark.parametrize("slot", ["none", "memory-lancedb"])
def test_an_agent_whose_memory_belongs_to_another_plugin_has_no_such_tools(
    ocmem: Program, slot: str
) -> None:
    ocmem.note("MEMORY.md", "Prefers tea.\n")
    ocmem.configure_all({"plugins": {"slots": {"memory": slot}}})

    assert_unavailable(ocmem("tool", "memory_search", '{"query": "tea"}'), slot)
    refused = get(ocmem, "MEMORY.md")
    assert (refused.code, refused.json["text"], refused.json["disabled"]) == (1, "", True)


def test_the_plugin_that_the_tools_come_with_is_no_obstacle(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "Prefers tea.\n")
    ocmem.configure_all({"plugins": {"slots": {"memory": "memory-core"}}})

    assert get(ocmem, "MEMORY.md").json["text"] == "Prefers tea.\n"


def test_control_characters_of_a_note_do_not_reach_a_terminal(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "a\x9bb\n")

    shown = ocmem.on_terminal("tool", "memory_get", '{"path": "MEMORY.md"}', columns=80)

    assert "\x9b" not in shown
    assert "a\ufffdb" in shown
