"""Pure: which chats may search through QMD. The first rule that matches decides."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ocmem.core import utf16

_OF_AGENT = re.compile(r"(?s)agent:[^:]+:")
_NAMED_KINDS = ("group", "channel", "direct", "dm")  # what the second part of a key may say


@dataclass(frozen=True, slots=True)
class Chat:
    """What a session key says about its chat; nothing at all for sub-agents."""

    channel: str | None = None
    chat_type: str | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """What a rule asks for; None asks for nothing."""

    channel: str | None = None
    chat_type: str | None = None
    key_prefix: str | None = None
    raw_key_prefix: str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    allows: bool
    match: Match = Match()


@dataclass(frozen=True, slots=True)
class Scope:
    """Rules in their order, and what holds where none of them matches."""

    allows: bool = True
    rules: tuple[Rule, ...] = ()


DEFAULT = Scope(allows=False, rules=(Rule(True, Match(chat_type="direct")),))


def parse(value: object) -> Scope:
    """`memory.qmd.scope` as it stands in the settings; it replaces the default as a whole."""
    if not isinstance(value, Mapping):
        return DEFAULT
    listed = value.get("rules")
    rules = map(_rule, listed) if isinstance(listed, list | tuple) else ()
    return Scope(
        allows=value.get("default") in (None, "allow"),
        rules=tuple(rule for rule in rules if rule is not None),
    )


def parse_key(session_key: str | None) -> Chat:
    """The channel and the kind of chat that a session key names."""
    key = _without_agent(_normalized(session_key))
    if not key or key.startswith("subagent:"):
        return Chat()
    parts = [part for part in key.split(":") if part]
    if len(parts) > 1 and parts[1] in _NAMED_KINDS:
        kinds = (kind for kind in ("group", "channel") if kind in parts)
        return Chat(channel=parts[0], chat_type=next(kinds, "direct"))
    kinds = (kind for kind in ("group", "channel") if f":{kind}:" in key)
    return Chat(chat_type=next(kinds, "direct"))


def is_allowed(scope: Scope, session_key: str | None) -> bool:
    """The reference's answer, which takes no key at all for a chat that it knows nothing about."""
    chat = parse_key(session_key)
    key = _normalized(session_key)
    for rule in scope.rules:
        if _matches(rule.match, chat, key):
            return rule.allows
    return scope.allows


def admits(scope: Scope, session_key: str | None, *, is_owner: bool) -> bool:
    """As `is_allowed`, but the owner at a shell, who is in no chat, is not refused.

    With a session key the rules decide for everybody: that is how an owner tries them out.
    """
    if is_owner and not _normalized(session_key):
        return True
    return is_allowed(scope, session_key)


def _matches(match: Match, chat: Chat, key: str) -> bool:
    if match.channel is not None and match.channel != chat.channel:
        return False
    if match.chat_type is not None and match.chat_type != chat.chat_type:
        return False
    if not key.startswith(match.raw_key_prefix or ""):
        return False
    prefix = match.key_prefix or ""
    # Older settings gave the whole key here.
    return (key if prefix.startswith("agent:") else _without_agent(key)).startswith(prefix)


def _rule(value: object) -> Rule | None:
    """None for what is no rule: it can neither admit nor refuse anybody."""
    if not isinstance(value, Mapping):
        return None
    asked = value.get("match")
    if not isinstance(asked, Mapping | None):
        return None
    match = _match(asked or {})
    return None if match is None else Rule(value.get("action") == "allow", match)


def _match(asked: Mapping[str, object]) -> Match | None:
    def text(name: str) -> str | None:
        value = asked.get(name)
        return value if isinstance(value, str) and value else None

    names = ("channel", "chatType", "keyPrefix", "rawKeyPrefix")
    if any(not isinstance(asked.get(name), str | None) for name in names):
        return None
    # The reference accepts `dm` here, but its keys never parse to that, so that such a rule would
    # stand there without effect: repaired, because whoever writes it means direct chats.
    chat_type = "direct" if text("chatType") == "dm" else text("chatType")
    return Match(
        channel=text("channel"),
        chat_type=chat_type,
        key_prefix=_normalized(text("keyPrefix")) or None,
        raw_key_prefix=_normalized(text("rawKeyPrefix")) or None,
    )


def _normalized(text: str | None) -> str:
    return utf16.trim(text or "").lower()


def _without_agent(key: str) -> str:
    prefix = _OF_AGENT.match(key)
    return key[prefix.end() :] if prefix else key
