"""A provider that is down, refuses, talks nonsense or has no key."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.cli.both_ways import both_ways
from tests.cli.program import Outcome, Program, digest
from tests.fake_provider import FOREVER, FakeProvider, Kind

KEY = "sk-a-key-that-nobody-may-see"
NO_KEY = 'No API key found for provider "openai".'
SET_KEY = 'hint: set OPENAI_API_KEY or remote.apiKey, or use provider "builtin"'


@dataclass(frozen=True)
class Fault:
    """What the server does from now on, and what is said about it."""

    kind: Kind
    told: str
    options: dict[str, Any] = field(default_factory=dict)


# A trouble that may pass is tried again for seconds; a long `Retry-After` cuts that short.
FAULTS = {
    "401": Fault("status", "401 go away", {"code": 401, "body": "go away"}),
    "403": Fault("status", "403 go away", {"code": 403, "body": "go away"}),
    "429": Fault("rate_limit", "429", {"retry_after": 3600}),
    "503": Fault("status", "503", {"code": 503, "headers": [("Retry-After", "3600")]}),
    "key": Fault("echo_key", "401"),
    "escapes": Fault("status", "400 \u241b[31mred", {"code": 400, "body": "\x1b[31mred"}),
    "rubbish": Fault("status", "not JSON", {"code": 200, "body": "\x00\x1b[31m rubbish"}),
    "html": Fault("html", "not JSON"),
    "cut": Fault("truncated_json", "not JSON"),
    "empty": Fault("empty_body", "the answer is empty"),
    "fewer": Fault("fewer", "0 vectors for 1 texts"),
    "NaN": Fault("nan_token", "not JSON"),
    "dimension": Fault("wrong_dim", "dimensions"),
}


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider(dims=16, mode="words", keys={"openai": KEY}) as provider:
        yield provider


@pytest.fixture
def filled(ocmem: Program, fake: FakeProvider) -> Program:
    """An index made while all was well."""
    ocmem.note("MEMORY.md", "Prefers tea.\n")
    ocmem.note("memory/a.md", "The heron stood.\n")
    ocmem.use(fake)
    ocmem.index()
    return ocmem


def break_it(fake: FakeProvider, fault: Fault) -> None:
    fake.add_fault(fault.kind, times=FOREVER, **fault.options)


def assert_no_key(*outcomes: Outcome) -> None:
    for done in outcomes:
        assert KEY not in done.out + done.err
        assert "\x1b" not in done.err


# An index that was made before


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_search_is_answered_by_keyword_and_says_so(
    filled: Program, fake: FakeProvider, fault: Fault
) -> None:
    break_it(fake, fault)

    search, found = both_ways(filled, "search", "heron")

    assert search.code == 0
    assert "Source: memory/a.md#L1-L2\n" in search.out
    assert search.err.startswith("[memory] keyword results only: ")
    assert fault.told in search.err
    assert (found.json["mode"], found.paths) == ("fts-only", ["memory/a.md"])
    assert found.json["degraded"]
    assert "stale" not in found.json
    assert_no_key(search, found)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_an_index_run_fails_and_leaves_the_index_as_it_was(
    filled: Program, fake: FakeProvider, fault: Fault
) -> None:
    before = digest(filled.shared_index)
    filled.note("memory/new.md", "The heron flew.\n")
    break_it(fake, fault)

    index, as_json = both_ways(filled, "index")

    assert (index.code, index.out) == (1, "")
    assert index.err.startswith("Memory index failed (main): openai embeddings failed: ")
    assert fault.told in index.err
    assert list(as_json.json[0]) == ["agentId", "error"]
    assert_no_key(index, as_json)
    assert digest(filled.shared_index) == before


@pytest.mark.parametrize("name", ["429", "key", "html", "dimension"])
def test_a_probe_shows_what_is_wrong_and_is_no_failure(
    filled: Program, fake: FakeProvider, name: str
) -> None:
    break_it(fake, FAULTS[name])

    status, as_json = both_ways(filled, "status", "--deep")

    assert (status.code, status.err) == (0, "")
    assert "Embeddings: unavailable\nEmbeddings error: openai " in status.out
    assert FAULTS[name].told in status.out
    assert as_json.json[0]["embeddingProbe"]["ok"] is False
    assert_no_key(status, as_json)


@pytest.mark.parametrize("name", ["401", "403"])
def test_a_refused_key_is_a_hint_to_look_at_it(
    filled: Program, fake: FakeProvider, name: str
) -> None:
    filled.note("memory/new.md", "The heron flew.\n")
    break_it(fake, FAULTS[name])

    for args in (["search", "heron"], ["index"]):
        assert filled(*args).err.endswith("hint: check the key: OPENAI_API_KEY, or remote.apiKey\n")


def test_changed_notes_are_reported_while_the_provider_fails(
    filled: Program, fake: FakeProvider
) -> None:
    before = digest(filled.shared_index)
    filled.note("memory/new.md", "The heron flew.\n")
    break_it(fake, FAULTS["401"])

    search, found = both_ways(filled, "search", "heron")

    reason = "openai embeddings failed: 401 go away"
    assert (search.code, found.paths, found.json["stale"]) == (0, ["memory/a.md"], True)
    assert search.err.count(reason) == 1
    assert f"[memory] sync failed (search): {reason}\n" in search.err
    assert "[memory] keyword results only\n" in search.err
    assert found.json["degraded"] == reason
    assert digest(filled.shared_index) == before


def test_a_provider_that_is_well_again_needs_no_help(filled: Program, fake: FakeProvider) -> None:
    filled.note("memory/new.md", "The heron flew.\n")
    fake.add_fault("status", code=401, body="no", times=1)
    assert filled("index").code == 1

    found = filled("search", "flew", "--json")

    assert (found.code, found.err) == (0, "")
    assert found.paths[0] == "memory/new.md"
    assert found.json["mode"] == "hybrid"


# Nobody there


def test_a_server_that_is_down_leaves_keywords(filled: Program, fake: FakeProvider) -> None:
    before = digest(filled.shared_index)
    fake.stop()

    search, found = both_ways(filled, "search", "heron")
    status = filled("status", "--deep")
    filled.note("memory/new.md", "The heron flew.\n")
    index = filled("index")

    told = f"openai embeddings failed: cannot reach http://127.0.0.1:{fake.port}: "
    hint = "Connection refused\nhint: check remote.baseUrl, and that the server runs\n"
    assert (search.code, found.paths) == (0, ["memory/a.md"])
    assert found.json["degraded"].startswith(told)
    assert f"[memory] keyword results only: {told}" in search.err
    assert search.err.endswith(hint)
    assert (status.code, f"Embeddings error: {told}" in status.out) == (0, True)
    assert (index.code, told in index.err, index.err.endswith(hint)) == (1, True, True)
    assert digest(filled.shared_index) == before


# No index yet


@pytest.mark.parametrize("name", ["401", "429", "html"])
def test_without_an_index_there_is_nothing_to_find_but_the_reason(
    ocmem: Program, fake: FakeProvider, name: str
) -> None:
    ocmem.note("MEMORY.md", "Prefers tea.\n")
    ocmem.use(fake)
    break_it(fake, FAULTS[name])

    search, _ = both_ways(ocmem, "search", "tea")
    index, _ = both_ways(ocmem, "index")

    assert (search.code, search.out) == (1, "")
    assert "Memory search failed: " in search.err
    assert FAULTS[name].told in search.err
    assert (index.code, index.out) == (1, "")


def test_offline_is_a_reason_too(ocmem: Program, fake: FakeProvider) -> None:
    ocmem.note("MEMORY.md", "Prefers tea.\n")
    ocmem.use(fake)

    search, _ = both_ways(ocmem, "search", "tea", "--offline")
    index, _ = both_ways(ocmem, "index", "--offline")

    assert (search.code, search.out) == (1, "")
    assert search.err == "Memory search failed: --offline: openai was not asked\n"
    assert index.err == "Memory index failed (main): --offline: openai was not asked\n"
    assert fake.requests == []


# No key


def test_a_lost_key_leaves_a_populated_index_to_keywords(
    filled: Program, fake: FakeProvider
) -> None:
    filled.configure(provider="openai", remote={"baseUrl": fake.base_url("openai")})
    before = digest(filled.shared_index)

    in_step, _ = both_ways(filled, "search", "heron")
    filled.note("memory/new.md", "The heron flew.\n")
    (filled.workspace / "MEMORY.md").unlink()
    search, found = both_ways(filled, "search", "heron")
    failures = [both_ways(filled, *args)[0] for args in (["index"], ["index", "--force"])]
    _, status = both_ways(filled, "status", "--deep")

    assert in_step.err.startswith(f"[memory] keyword results only: {NO_KEY}")
    assert (search.code, found.paths, found.json["stale"]) == (0, ["memory/a.md"], True)
    assert found.json["degraded"].startswith(NO_KEY)
    assert search.err.startswith(f"[memory] sync failed (search): {NO_KEY}")
    assert (search.err.count(NO_KEY), SET_KEY in search.err) == (1, True)
    for done in failures:
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith(f"Memory index failed (main): {NO_KEY}")
        assert SET_KEY in done.err
    assert status.json[0]["status"]["dirty"] is True
    assert status.json[0]["embeddingProbe"]["error"].startswith(NO_KEY)
    # What is gone is forgotten all the same: that needs no key.
    assert digest(filled.shared_index) == [row for row in before if "MEMORY.md" not in row]


def test_a_missing_key_without_an_index_is_told_with_what_to_do(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "Prefers tea.\n")
    ocmem.configure(provider="openai")

    search, found = both_ways(ocmem, "search", "tea")
    index, _ = both_ways(ocmem, "index")

    assert (search.code, search.out, found.results) == (0, "No matches.\n", [])
    assert found.json["degraded"].startswith(NO_KEY)
    assert (SET_KEY in search.err, "run: ocmem index" in search.err) == (True, False)
    assert (index.code, NO_KEY in index.err, SET_KEY in index.err) == (1, True, True)
    assert not ocmem.shared_index.exists()


def test_the_hint_about_a_missing_key_can_be_followed(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "Prefers tea.\n")
    ocmem.configure(provider="openai")
    assert SET_KEY in ocmem("index").err

    ocmem.configure_own(provider="builtin")

    assert ocmem("search", "tea", "--json").paths == ["MEMORY.md"]
    assert not ocmem.shared_index.exists()


@pytest.mark.parametrize(
    ("remote", "told"),
    [
        ({"apiKey": "sk-€-secret"}, "the header 'Authorization' has characters that HTTP does not"),
        ({"baseUrl": "ftp://example.org"}, "Invalid URL: must be http or https\nhint: see remote"),
        ({"baseUrl": "http://"}, "Invalid URL: not a web address\nhint: see remote.baseUrl\n"),
        ({"baseUrl": "http://me:secret@x/v1"}, "Invalid URL: must not hold a user name or passwor"),
    ],
)
def test_an_endpoint_that_cannot_work_is_told_without_its_secrets(
    ocmem: Program, remote: dict[str, str], told: str
) -> None:
    ocmem.note("MEMORY.md", "Prefers tea.\n")
    ocmem.configure(provider="openai", remote={"apiKey": "sk-secret", **remote})

    index, as_json = both_ways(ocmem, "index")

    assert (index.code, told in index.err) == (1, True)
    assert "secret" not in index.err + as_json.out
