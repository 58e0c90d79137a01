"""`ocmem index --dry-run`: what a run would do, before it costs anything."""

import sys
from collections.abc import Iterator
from typing import Any

from ocmem.cli import common, wire
from ocmem.cli.common import Given
from ocmem.core import tokens
from ocmem.core.estimate import Estimate, estimate
from ocmem.errors import IndexUnavailable, OcmemError
from ocmem.model import Source
from ocmem.settings import Settings
from ocmem.settings.address import shown_url


def run(
    *,
    force: bool,
    backend: str | None,
    provider: str | None,
    sources: tuple[Source, ...],
    batch: bool | None,
    as_json: bool,
    given: Given,
) -> int:
    code = 0
    entries: list[object] = []
    chosen = {"backend": backend, "provider": provider, "sources": sources}
    for settings in common.each_agent(given, **chosen):
        if not settings.search.enabled:
            print("Memory search disabled.", file=sys.stderr)
            continue
        if settings.uses_qmd:
            from ocmem.cli import qmd_index

            entries.append(qmd_index.preview(settings, as_json=as_json))
            continue
        try:
            found = estimate(settings, force=force, batch=batch, only=sources)
        except IndexUnavailable as error:
            failure = f"Memory index failed ({settings.agent_id}): {error}"
            common.complain(OcmemError(failure, hint=error.hint))
            entries.append({"agentId": settings.agent_id, "error": str(error)})
            code = 1
            continue
        entries.append(_fields(settings, found))
        if not as_json:
            print(*_lines(settings, found), sep="\n")
        for issue in found.issues:
            common.warn(issue.message)
            code = 1 if issue.serious else code
        if settings.provider.missing is not None:
            common.warn(f"it could not be done now: {settings.provider.missing}")
    if as_json:
        print(wire.document(entries))
    return code


def _lines(settings: Settings, found: Estimate) -> Iterator[str]:
    choice = settings.provider
    files = "file" if found.changed == 1 else "files"
    yield f"Would index {found.changed} of {found.scanned} {files} ({settings.agent_id})."
    if found.why_full is not None:
        yield f"Full rebuild: {found.why_full}"
    if found.removed:
        yield f"Removed: {found.removed} from the index, as their files are gone"
    yield f"Chunks: {found.chunks} · {found.to_embed} to embed, {found.cached} from the cache"
    if choice.endpoint is None:
        yield "Cost: none; no text leaves this machine"
        return
    if found.token_method == tokens.ESTIMATE:
        why = "characters / 4, as the model's vocabulary is not at hand"
        yield f"Tokens: about {found.tokens} ({why})"
    else:
        yield f"Tokens: {found.tokens} (counted with {found.token_method})"
    if found.jobs is None:
        yield f"Requests: {found.requests}"
    else:
        yield f"Batch jobs: {found.jobs}"
    if found.pending is not None:
        yield f"Under way: {found.pending.chunks} chunks in {found.pending.jobs} batch jobs"
    yield f"Sent to: {shown_url(choice.endpoint.base_url)} ({choice.id}, {shown_url(choice.model)})"


def _fields(settings: Settings, found: Estimate) -> dict[str, Any]:
    choice = settings.provider
    fields: dict[str, Any] = {
        "agentId": settings.agent_id,
        "dryRun": True,
        "backend": "builtin",
        "fullRebuild": found.why_full is not None,
        "files": {
            "scanned": found.scanned,
            "changed": found.changed,
            "removed": found.removed,
        },
        "chunks": found.chunks,
        "toEmbed": found.to_embed,
        "cached": found.cached,
        "provider": choice.id,
        "model": shown_url(choice.model),
    }
    if found.why_full is not None:
        fields["reason"] = found.why_full
    if choice.endpoint is not None:
        fields["tokens"] = found.tokens
        fields["tokenMethod"] = found.token_method
        fields["requests"] = found.requests
        if found.jobs is not None:
            fields["batchJobs"] = found.jobs
        if found.pending is not None:
            fields["pending"] = {"jobs": found.pending.jobs, "chunks": found.pending.chunks}
        fields["endpoint"] = shown_url(choice.endpoint.base_url)
    if choice.missing is not None:
        fields["unavailable"] = choice.missing
    fields["issues"] = [issue.message for issue in found.issues]
    return fields
