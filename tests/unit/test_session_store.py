"""`sessions.json` as OpenClaw writes it, and as it should not be."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ocmem.core import session_store
from ocmem.core.session_store import SessionEntry
from ocmem.errors import SessionsError

# The example of the documentation, word for word.
EXAMPLE = {
    "agent:main:main": {
        "sessionId": "5d0c7b1e-3f6a-4c1b-9a50-0f5a3c2d7e11",
        "updatedAt": 1771581700000,
        "chatType": "direct",
        "modelProvider": "anthropic",
        "model": "claude-opus-4-6",
        "contextTokens": 200000,
        "inputTokens": 1200,
        "outputTokens": 640,
        "cacheRead": 175900,
        "cacheWrite": 900,
        "totalTokens": 178000,
        "totalTokensFresh": True,
        "compactionCount": 1,
        "memoryFlushAt": 1771480000000,
        "memoryFlushCompactionCount": 0,
    }
}


def store(folder: Path, value: object) -> Path:
    (folder / "sessions.json").write_text(json.dumps(value))
    return folder


def only(folder: Path, **fields: object) -> SessionEntry:
    return session_store.read(store(folder, {"agent:main:main": fields}))["agent:main:main"]


def test_an_entry_is_read_field_by_field(tmp_path: Path) -> None:
    (entry,) = session_store.read(store(tmp_path, EXAMPLE)).values()

    assert entry == SessionEntry(
        key="agent:main:main",
        session_id="5d0c7b1e-3f6a-4c1b-9a50-0f5a3c2d7e11",
        updated_at_ms=1771581700000.0,
        session_file=None,
        chat_type="direct",
        channel=None,
        provider="anthropic",
        model="claude-opus-4-6",
        context_tokens=200_000,
        total_tokens=178_000,
        is_fresh=True,
        compaction_count=1,
        flushed_at_ms=1771480000000.0,
        flushed_in_cycle=0,
    )


def test_there_may_be_no_store_yet(tmp_path: Path) -> None:
    assert session_store.read(tmp_path) == {}
    assert session_store.read(tmp_path / "absent") == {}


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", '"x"', "[" * 100_000, "\0"])
def test_a_broken_store_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "sessions.json").write_text(text)

    with pytest.raises(SessionsError, match=r"sessions\.json"):
        session_store.read(tmp_path)


def test_a_folder_in_the_place_of_the_store_is_named(tmp_path: Path) -> None:
    (tmp_path / "sessions.json").mkdir()

    with pytest.raises(SessionsError, match="Is a directory"):
        session_store.read(tmp_path)


def test_entries_that_are_no_objects_are_passed_over(tmp_path: Path) -> None:
    found = session_store.read(store(tmp_path, {"a": None, "b": [], "c": {}, "d": "x"}))

    assert list(found) == ["c"]


@pytest.mark.parametrize("value", [-1, None, "12", True, math.inf, math.nan, [], 10**400])
def test_an_unusable_count_is_none_at_all(tmp_path: Path, value: object) -> None:
    entry = only(tmp_path, totalTokens=value, compactionCount=value)

    assert entry.total_tokens is None
    assert entry.compaction_count == 0


def test_a_count_beyond_all_measure_is_cut(tmp_path: Path) -> None:
    assert only(tmp_path, totalTokens=1e250).total_tokens == 2**53


def test_only_false_makes_a_count_stale(tmp_path: Path) -> None:
    for value, is_fresh in ((False, False), (True, True), (None, True), (0, True)):
        assert only(tmp_path, totalTokens=1, totalTokensFresh=value).is_fresh is is_fresh
    assert only(tmp_path, totalTokens=1).is_fresh is True


@pytest.mark.parametrize(
    ("key", "fields", "channel"),
    [
        ("agent:main:main", {}, None),
        ("agent:main:telegram:direct:1", {}, "telegram"),
        ("agent:main:telegram:group:-100", {"channel": "discord"}, "discord"),
        ("agent:main:main", {"channel": "a", "lastChannel": "b"}, "b"),
        ("agent:main:main", {"deliveryContext": {"channel": "slack"}}, "slack"),
        ("agent:main:main", {"deliveryContext": "slack", "channel": " "}, None),
        ("agent:main:subagent:5:x", {}, None),
    ],
)
def test_the_channel_is_where_it_was_last_heard_from(
    tmp_path: Path, key: str, fields: dict[str, object], channel: str | None
) -> None:
    assert session_store.read(store(tmp_path, {key: fields}))[key].channel == channel


def test_the_model_that_was_chosen_counts_before_the_last_one_used(tmp_path: Path) -> None:
    used = {"modelProvider": "openai", "model": "used"}

    entry = only(tmp_path, **used, providerOverride="claude-cli", modelOverride="chosen")

    assert (entry.provider, entry.model) == ("claude-cli", "chosen")
    assert (only(tmp_path, **used).provider, only(tmp_path, **used).model) == ("openai", "used")


def test_a_chat_is_found_by_key_in_any_case_or_by_its_id(tmp_path: Path) -> None:
    entries = session_store.read(
        store(tmp_path, {"agent:main:Main": {"sessionId": "s1"}, "s1": {"sessionId": "s2"}})
    )

    assert session_store.find(entries, " agent:main:main ") is entries["agent:main:Main"]
    assert session_store.find(entries, "s1") is entries["s1"]
    assert session_store.find(entries, "s2") is entries["s1"]
    assert session_store.find(entries, "S2") is None
    assert session_store.find(entries, "") is None


odd = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
values = odd | st.lists(odd, max_size=2) | st.dictionaries(st.text(max_size=3), odd, max_size=2)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    fields=st.dictionaries(
        st.sampled_from(
            "sessionId updatedAt sessionFile chatType channel lastChannel totalTokens "
            "totalTokensFresh compactionCount memoryFlushAt deliveryContext model".split()
        ),
        values,
    )
)
def test_whatever_the_fields_hold_an_entry_comes_out(
    tmp_path_factory: pytest.TempPathFactory, fields: dict[str, object]
) -> None:
    entry = only(tmp_path_factory.mktemp("store"), **fields)

    assert entry.total_tokens is None or entry.total_tokens >= 0
    assert entry.compaction_count >= 0
