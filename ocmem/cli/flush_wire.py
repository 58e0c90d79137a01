"""`ocmem flush-threshold` for programs. Keys are only ever added."""

from collections.abc import Sequence
from typing import Any

from ocmem.core.flush_prompt import FlushPrompts
from ocmem.core.standing import Standing


def standing(
    found: Standing, *, agent_id: str, target: str, warnings: Sequence[str]
) -> dict[str, Any]:
    fields = {"agentId": agent_id, **_fields(found, target=target)}
    return {**fields, "warnings": list(warnings)}


def standings(
    found: Sequence[Standing], *, agent_id: str, target: str, warnings: Sequence[str]
) -> dict[str, Any]:
    return {
        "agentId": agent_id,
        "due": sum(each.is_due for each in found),
        "targetFile": target,
        "warnings": list(warnings),
        "sessions": [_fields(each, target=target) for each in found],
    }


def prompts(texts: FlushPrompts) -> dict[str, Any]:
    return {"prompt": texts.user, "systemPrompt": texts.system}


def _fields(found: Standing, *, target: str) -> dict[str, Any]:
    session, limits = found.session, found.limits
    whose = {"sessionKey": session.key, "sessionId": session.id, "transcript": session.transcript}
    return {
        **{name: value for name, value in whose.items() if value is not None},
        "contextWindow": limits.window,
        "contextWindowSource": found.window.source,
        "reserveTokensFloor": limits.reserve_floor,
        "softThresholdTokens": limits.soft_threshold,
        "threshold": limits.threshold,
        "compactionPoint": limits.compaction_point,
        "totalTokens": session.tokens,
        "tokensSource": session.source,
        "tokensMethod": None if session.tokens is None else session.method,
        "fresh": None if session.tokens is None else session.is_fresh,
        "remaining": found.remaining,
        "usedPercent": found.used_percent,
        "compactionCount": session.compactions,
        "memoryFlushCompactionCount": session.flushed_in_cycle,
        "memoryFlushAt": session.flushed_at_ms,
        "updatedAt": session.updated_at_ms,
        "wouldFlush": found.is_due,
        "reason": found.reasons[0],
        "reasons": list(found.reasons),
        "warnings": list(found.warnings),
        "targetFile": target,
    }
