"""Who may search: the reference's rules, and the one that it forgot to make work."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocmem.core.scope import DEFAULT, Chat, Match, Rule, Scope, admits, is_allowed, parse, parse_key
from tests.unit.odd_json import TEXTS, VALUES

Json = dict[str, Any]

# What the reference was seen to answer under its default scope.
MEASURED = [
    (None, False, Chat()),
    ("", False, Chat()),
    ("main", True, Chat(None, "direct")),
    ("agent:main:main", True, Chat(None, "direct")),
    ("agent:main:telegram:direct:123", True, Chat("telegram", "direct")),
    ("agent:main:telegram:dm:123", True, Chat("telegram", "direct")),
    ("agent:main:discord:channel:99", False, Chat("discord", "channel")),
    ("agent:main:telegram:group:-100:topic:5", False, Chat("telegram", "group")),
    ("agent:main:discord:acct:group:9", False, Chat(None, "group")),
    ("agent:main:subagent:abc", False, Chat()),
    ("cron:job1", True, Chat(None, "direct")),
    ("hook:uuid", True, Chat(None, "direct")),
    ("agent:main:group:x", True, Chat(None, "direct")),
]


@pytest.mark.parametrize(("key", "allowed", "chat"), MEASURED)
def test_the_default_scope_admits_direct_chats(key: str | None, allowed: bool, chat: Chat) -> None:
    assert parse_key(key) == chat
    assert is_allowed(DEFAULT, key) is allowed


@pytest.mark.parametrize(
    ("key", "chat"),
    [
        ("  Agent:Main:Telegram:DM:7\n", Chat("telegram", "direct")),
        ("telegram:group:-100", Chat("telegram", "group")),
        ("slack:group:1:channel:2", Chat("slack", "group")),
        ("slack:channel:2:group:1", Chat("slack", "group")),
        ("slack:direct:1:channel:2", Chat("slack", "channel")),
        ("discord:acct:channel:9", Chat(None, "channel")),
        ("subagent:abc", Chat()),
        ("subagent", Chat(None, "direct")),
        ("agent:main:", Chat()),
        ("agent:main", Chat(None, "direct")),
        (" \t", Chat()),
    ],
)
def test_a_key_says_where_its_chat_is(key: str, chat: Chat) -> None:
    assert parse_key(key) == chat


def verdict(scope: Json, key: str | None = "agent:main:telegram:group:5") -> bool:
    return is_allowed(parse(scope), key)


def rule(action: str, **match: str) -> Json:
    return {"action": action, "match": match}


def test_the_first_rule_that_matches_decides() -> None:
    allow, deny = rule("allow", channel="telegram"), rule("deny", chatType="group")

    assert verdict({"default": "deny", "rules": [allow, deny]}) is True
    assert verdict({"default": "allow", "rules": [deny, allow]}) is False


def test_a_scope_without_default_allows_what_no_rule_matches() -> None:
    assert verdict({}) is True
    assert verdict({}, None) is True
    assert verdict({"rules": [rule("deny", chatType="channel")]}) is True
    assert verdict({"default": "deny", "rules": [rule("allow", chatType="channel")]}) is False


def test_a_rule_without_match_matches_everything() -> None:
    assert verdict({"default": "allow", "rules": [{"action": "deny"}]}, None) is False
    assert verdict({"default": "deny", "rules": [{"action": "allow"}]}, None) is True


def test_every_condition_of_a_rule_must_hold() -> None:
    both = rule("allow", channel="telegram", chatType="group")
    scope = {"default": "deny", "rules": [both]}

    assert verdict(scope) is True
    assert verdict(scope, "agent:main:telegram:direct:5") is False
    assert verdict(scope, "agent:main:discord:group:5") is False


def test_channels_are_compared_letter_by_letter() -> None:
    assert verdict({"default": "deny", "rules": [rule("allow", channel="Telegram")]}) is False


@pytest.mark.parametrize(
    ("match", "holds"),
    [
        ({"keyPrefix": "telegram:"}, True),
        ({"keyPrefix": " TELEGRAM:group "}, True),
        ({"keyPrefix": "agent:main:tele"}, True),
        ({"keyPrefix": "agent:work:"}, False),
        ({"keyPrefix": "discord:"}, False),
        ({"rawKeyPrefix": "agent:MAIN:telegram:"}, True),
        ({"rawKeyPrefix": "telegram:"}, False),
        ({"keyPrefix": "telegram:", "rawKeyPrefix": "agent:work:"}, False),
        ({"keyPrefix": " "}, True),
    ],
)
def test_prefixes_are_of_the_key_with_or_without_its_agent(match: Json, holds: bool) -> None:
    assert verdict({"default": "deny", "rules": [rule("allow", **match)]}) is holds


def test_a_sub_agent_can_be_named_by_a_prefix() -> None:
    scope = {"default": "deny", "rules": [rule("allow", keyPrefix="subagent:")]}

    assert verdict(scope, "agent:main:subagent:abc") is True


def test_a_rule_about_dm_is_one_about_direct_chats() -> None:
    scope = {"default": "deny", "rules": [rule("allow", chatType="dm")]}

    assert verdict(scope, "agent:main:telegram:dm:5") is True
    assert verdict(scope, "agent:main:telegram:direct:5") is True
    assert verdict(scope) is False


def test_the_default_is_replaced_as_a_whole() -> None:
    assert parse(None) == DEFAULT
    assert parse({"default": "deny"}) == Scope(allows=False, rules=())


def test_what_is_no_rule_neither_admits_nor_refuses() -> None:
    odd = [5, None, {"action": "allow", "match": 5}, {"action": "allow", "match": {"channel": 5}}]

    assert parse({"default": "maybe", "rules": odd}) == Scope(allows=False)
    assert parse({"rules": "all"}) == Scope()
    nulls = {"action": "odd", "match": {"channel": None, "chatType": ""}}
    assert parse({"rules": [nulls]}).rules == (Rule(False, Match()),)


def test_the_owner_at_a_shell_is_in_no_chat_and_not_refused() -> None:
    nobody = Scope(allows=False)

    for key in (None, "", " \n"):
        assert admits(nobody, key, is_owner=True) is True
        assert admits(nobody, key, is_owner=False) is False
        assert admits(DEFAULT, key, is_owner=False) is False


@pytest.mark.parametrize(("key", "allowed", "chat"), [row for row in MEASURED if row[0]])
def test_with_a_key_the_rules_hold_for_the_owner_too(key: str, allowed: bool, chat: Chat) -> None:
    assert admits(DEFAULT, key, is_owner=True) is admits(DEFAULT, key, is_owner=False) is allowed


_KEYS = TEXTS | st.lists(
    st.sampled_from(["agent", "main", "", "telegram", "group", "channel", "direct", "dm"])
    | st.sampled_from(["subagent", "-100"]),
    max_size=6,
).map(":".join)
_CONDITIONS = st.dictionaries(
    st.sampled_from(["channel", "chatType", "keyPrefix", "rawKeyPrefix"]), _KEYS | VALUES
)
_SCOPES = VALUES | st.fixed_dictionaries(
    {},
    optional={
        "default": st.sampled_from(["allow", "deny"]) | VALUES,
        "rules": st.lists(
            st.fixed_dictionaries({"action": VALUES}, optional={"match": _CONDITIONS})
        ),
    },
)


@given(_SCOPES, st.none() | _KEYS)
def test_there_is_a_verdict_on_any_key_under_any_scope(scope: object, key: str | None) -> None:
    assert is_allowed(parse(scope), key) in (True, False)


@given(_KEYS, st.sampled_from(["group", "channel"]), st.integers())
def test_a_chat_of_many_is_refused_by_default(channel: str, kind: str, id: int) -> None:
    assert not is_allowed(DEFAULT, f"agent:main:x{channel}:{kind}:{id}")
