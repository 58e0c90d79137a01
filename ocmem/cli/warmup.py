"""`ocmem warmup`."""

import sys
import time
from collections.abc import Iterator
from typing import Any

from ocmem.backends.builtin import BuiltinBackend
from ocmem.cli import common, wire
from ocmem.cli.common import Given
from ocmem.core import embedder
from ocmem.core.search import Wanted
from ocmem.core.warmup import PROBE, Warmup
from ocmem.errors import EmbedderError, IndexUnavailable, OcmemError
from ocmem.settings import Settings
from ocmem.settings.address import shown_url


def run(*, as_json: bool, given: Given) -> int:
    code = 0
    entries: list[object] = []
    for settings in common.each_agent(given):
        if not settings.search.enabled:
            print("Memory search disabled.", file=sys.stderr)
            continue
        done = _by_qmd(settings, given) if settings.uses_qmd else _warmed(settings, given)
        if isinstance(done.failure, EmbedderError):
            try:
                second = common.fallback(settings, given, done.failure)
            except EmbedderError as error:
                common.complain(error)
            else:
                common.tell_switch(second, done.failure)
                done = _warmed(second, given)
        elif done.failure is not None:
            told = str(done.failure)
            if _stands_back(done):
                told += "; the built-in index answers meanwhile"
            common.complain(OcmemError(told, hint=done.failure.hint))
        code = 1 if done.failure is not None else code
        entries.append(_fields(done))
        if not as_json:
            print(*_lines(done), sep="\n")
    if as_json:
        print(wire.document(entries))
    return code


def _stands_back(done: Warmup) -> bool:
    """Whether QMD will not be able to answer: for lack of vectors alone it still does."""
    return done.settings.uses_qmd and done.steps[-1].name != "update"


def _by_qmd(settings: Settings, given: Given) -> Warmup:
    from ocmem.cli import qmd_warmup

    return qmd_warmup.warmed(settings, given)


def _warmed(settings: Settings, given: Given) -> Warmup:
    progress = common.ProgressLine(is_quiet=bool(given.get("quiet")))
    warmup = Warmup(settings, progress.notice, progress)
    try:
        if embedder.identity_of(settings.provider).has_vectors:
            warmup.load()
        warmup.step("search", lambda: _search(warmup))
    finally:
        progress.clear()
    return warmup


def _search(warmup: Warmup) -> str:
    chunks = warmup.chunks
    if chunks is None:
        return "no index yet; run: ocmem index"
    backend = BuiltinBackend(warmup.settings, embedder=warmup.embedder)
    answer = backend.search(_probe(warmup.settings), sync=False)
    if answer.degraded:
        raise IndexUnavailable(answer.degraded)
    return f"{chunks} chunks{', out of date; run: ocmem index' if answer.stale else ''}"


def _probe(settings: Settings) -> Wanted:
    query = settings.search.query
    return Wanted(
        query=PROBE,
        max_results=query.max_results,
        min_score=query.min_score,
        fused_min_score=query.own_min_score,
        ranker="openclaw" if settings.shares_index else "fused",
        strict=False,
        half_life_days=None,
        mmr_lambda=None,
        sources=settings.search.sources,
        snippet=query.snippet,
        now_ms=time.time() * 1000,
    )


def _lines(done: Warmup) -> Iterator[str]:
    provider, requested, model = _who(done.settings)
    yield f"Memory Warm-up ({done.settings.agent_id})"
    yield f"Provider: {provider} (requested: {requested})"
    yield f"Model: {model if provider != 'none' else 'none'}"
    for step in done.steps:
        said = "failed" if step.error is not None else "ready"
        yield f"  {step.name:<8}  {said:<6}  {step.seconds:6.2f} s · {step.detail}"
    yield "Not ready." if done.failure is not None else "Ready."


def _who(settings: Settings) -> tuple[str, str, str]:
    """Provider, what was asked for, and the model."""
    if settings.uses_qmd:
        return "qmd", "qmd", "qmd"
    choice = settings.provider
    return choice.id, choice.requested, shown_url(choice.model)


def _fields(done: Warmup) -> dict[str, Any]:
    provider, requested, model = _who(done.settings)
    fields: dict[str, Any] = {
        "agentId": done.settings.agent_id,
        "ready": done.failure is None,
        "backend": done.settings.backend,
        "provider": provider,
        "model": model,
        "requestedProvider": requested,
        "steps": [
            {
                "step": step.name,
                "ok": step.error is None,
                "seconds": round(step.seconds, 3),
                "error" if step.error is not None else "detail": step.detail,
            }
            for step in done.steps
        ],
    }
    if done.failure is not None and _stands_back(done):
        fields["fallback"] = {"from": "qmd", "reason": str(done.failure)}
    used = done.settings.provider.fallback
    if used is not None and not done.settings.uses_qmd:
        fields["fallback"] = wire.fallback(used)
    return fields
