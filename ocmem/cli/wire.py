"""Renderers for programs: `--json`. Keys are only ever added."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ocmem.core import jsjson
from ocmem.core.citation import citation
from ocmem.model import Explanation, Hit, Pending, SyncReport
from ocmem.settings import Fallback, Settings
from ocmem.settings.address import shown_url

if TYPE_CHECKING:  # no command has a use for what all the others are made of
    from ocmem.cli.answers import AgentHit, Answered
    from ocmem.core.listing import Listed
    from ocmem.core.reader import Excerpt
    from ocmem.core.session_export import Export
    from ocmem.core.session_files import Session
    from ocmem.watch.watcher import Outcome

document = jsjson.pretty


def answer(
    results: Sequence["AgentHit"], answered: Sequence["Answered"], *, cites: bool, explains: bool
) -> str:
    """One agent's answer, or those of several: then every hit and every answer names its agent."""
    hits = [_hit(found.hit, cites=cites, explains=explains) for found in results]
    if len(answered) == 1:
        return document({"results": hits, **_how(answered[0])})
    for fields, found in zip(hits, results, strict=True):
        fields["agentId"] = found.agent_id
    each = [_how(one) for one in answered]
    agents = [
        {"agentId": one.settings.agent_id, **how} for one, how in zip(answered, each, strict=True)
    ]
    return document({"results": hits, **_common(each), "agents": agents})


def _how(answered: "Answered") -> dict[str, Any]:
    """How an answer came about."""
    settings, found = answered.settings, answered.answer
    if answered.error is not None:
        failed: dict[str, Any] = {"error": answered.error}
        if answered.instead_of is not None:
            failed |= {"backend": "builtin", "fallback": fallback(answered.instead_of)}
        return failed
    backend = settings.backend if found is None else found.backend
    fields: dict[str, Any] = {
        "provider": settings.provider.id if backend == "builtin" else backend,
        "model": shown_url(settings.provider.model) if backend == "builtin" else backend,
        "backend": backend,
    }
    if found is None:
        return {**fields, "disabled": True}
    fields |= {"ranker": found.ranker, "mode": found.mode}
    used = settings.provider.fallback if backend == "builtin" else None
    if found.instead_of is not None:
        fields["fallback"] = fallback(found.instead_of)
    elif used is not None:
        fields["fallback"] = fallback(used)
    if found.degraded:
        fields["degraded"] = found.degraded
    if found.stale:
        fields["stale"] = True
    return fields


def _common(each: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What holds for all agents; `mixed` where they differ."""
    names = ("provider", "model", "backend", "ranker", "mode")
    values = {name: {how[name] for how in each if name in how} for name in names}
    return {name: next(iter(v)) if len(v) == 1 else "mixed" for name, v in values.items() if v}


def fallback(used: Fallback) -> dict[str, str]:
    return {"from": used.origin, "reason": used.reason}


def listing(agent_id: str, files: Sequence["Listed"]) -> dict[str, Any]:
    return {
        "agentId": agent_id,
        "files": [
            {
                "path": file.path,
                "source": file.source,
                "state": file.state,
                "chunks": file.chunks,
                "size": file.size,
                "mtimeMs": file.mtime_ms,
            }
            for file in files
        ],
    }


def sessions(agent_id: str, found: Sequence["Session"]) -> dict[str, Any]:
    return {"agentId": agent_id, "sessions": [_session(each) for each in found]}


def _session(session: "Session") -> dict[str, Any]:
    entry, file = session.entry, session.file
    fields: dict[str, Any] = {
        "key": entry.key if entry else None,
        "sessionId": session.session_id,
        "updatedAt": session.updated_at_ms,
        "transcript": file.path if file else None,
        "size": file.size if file else None,
    }
    if entry is not None:
        fields |= {
            "chatType": entry.chat_type,
            "channel": entry.channel,
            "modelProvider": entry.provider,
            "model": entry.model,
            "contextTokens": entry.context_tokens,
            "totalTokens": entry.total_tokens,
            "totalTokensFresh": entry.is_fresh,
            "compactionCount": entry.compaction_count,
        }
    return {name: value for name, value in fields.items() if value is not None}


def session_export(found: "Export") -> str:
    fields = {
        "text": found.markdown,
        "fileName": found.file_name,
        "key": found.key,
        "sessionId": found.session_id,
        "source": found.channel,
        "messages": len(found.messages),
        "transcript": str(found.location),
    }
    return document({name: value for name, value in fields.items() if value is not None})


def report(settings: Settings, done: SyncReport) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "agentId": settings.agent_id,
        "files": {
            "scanned": done.scanned,
            "changed": done.changed,
            "removed": done.removed,
            "skipped": done.skipped,
        },
        "chunks": done.chunks,
        "embedded": done.embedded,
        "cached": done.cached,
        "seconds": round(done.seconds, 3),
        "issues": [issue.message for issue in done.issues],
        "backend": "builtin",
    }
    if done.pending is not None:
        fields["pending"] = pending(done.pending)
    if settings.provider.fallback is not None:
        fields["fallback"] = fallback(settings.provider.fallback)
    return fields


def watch_sync(outcome: "Outcome", fields: dict[str, Any], *, at: str) -> str:
    """One line: what `index --json` says of a run, and the files that it was about."""
    event = {"event": "sync", "at": at, "reason": outcome.due.reason}
    return jsjson.compact(event | fields)


def watch_error(outcome: "Outcome", *, at: str) -> str:
    return jsjson.compact(
        {
            "event": "error",
            "at": at,
            "reason": outcome.due.reason,
            "agentId": outcome.settings.agent_id,
            "error": str(outcome.error),
        }
    )


def pending(left: Pending) -> dict[str, int]:
    fields = {"jobs": left.jobs, "chunks": left.chunks}
    return {**fields, "waiting": left.waiting} if left.waiting else fields


def excerpt(read: "Excerpt") -> str:
    return document(
        {
            "text": read.text,
            "path": read.path,
            "startLine": read.start_line,
            "endLine": read.end_line,
        }
    )


def _hit(hit: Hit, *, cites: bool, explains: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "path": hit.chunk.path,
        "startLine": hit.chunk.start_line,
        "endLine": hit.chunk.end_line,
        "score": hit.score,
        "snippet": hit.snippet.text,
        "source": hit.chunk.source,
    }
    if cites:
        fields["citation"] = citation(hit.chunk)
    fields["snippetStartLine"] = hit.snippet.start_line
    fields["snippetEndLine"] = hit.snippet.end_line
    fields["id"] = hit.chunk.id
    if hit.text_score is not None:
        fields["textScore"] = hit.text_score
    if hit.relaxed:
        fields["relaxed"] = True
    if explains:
        fields["explain"] = _explain(hit.explanation)
    return fields


def _explain(parts: Explanation) -> dict[str, Any]:
    return {
        "vectorScore": parts.vector_score,
        "vectorRank": parts.vector_rank,
        "vectorNormalized": parts.vector_normalized,
        "vectorWeight": parts.vector_weight,
        "textScore": parts.text_score,
        "textRank": parts.text_rank,
        "textNormalized": parts.text_normalized,
        "textWeight": parts.text_weight,
        "decay": parts.decay,
        "score": parts.final,
    }
