"""The tool `memory_search`: the reference's own list, whatever ranker people use."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn, Protocol

from ocmem.backends import fallback
from ocmem.backends.answer import Answer
from ocmem.backends.builtin import BuiltinBackend
from ocmem.backends.fallback import Second
from ocmem.core import citation, embedder, utf16
from ocmem.core.search import Wanted
from ocmem.errors import EmbedderError, OcmemError, ToolInputError
from ocmem.model import Hit
from ocmem.settings import ProviderChoice, Settings
from ocmem.settings.address import shown_url
from ocmem.tools import parameters, reply
from ocmem.tools.parameters import Parameters
from ocmem.tools.reply import Json, Reply

# The settings whose index answers where the configured backend cannot.
StandIn = Callable[[Settings], Settings]

_NO_KEY = "No API key found for provider"
_SPENT = ("quota", "429")


class Ask(Protocol):
    """Puts a question to a backend."""

    def __call__(self, settings: Settings, wanted: Wanted, *, sync: bool) -> Answer: ...


def ask_builtin(settings: Settings, wanted: Wanted, *, sync: bool) -> Answer:
    return BuiltinBackend(settings).search(wanted, sync=sync)


def no_fallback(settings: Settings, error: EmbedderError) -> NoReturn:
    raise error


def nobody_else(settings: Settings) -> Settings:
    return settings


def memory_search(
    given: Parameters,
    settings: Settings,
    *,
    now_ms: float,
    session_key: str | None = None,
    ask: Ask = ask_builtin,
    second: Second = no_fallback,
    stand_in: StandIn = nobody_else,
) -> Reply:
    """Raises ToolInputError for parameters without sense; every other failure is an answer."""
    wanted = _wanted(given, settings, now_ms)
    disabled = reply.why_disabled(settings)
    if disabled is not None:
        return _switched_off(disabled)
    trouble: OcmemError | None = None
    if settings.uses_qmd:
        from ocmem.tools import qmd_search

        found, trouble = qmd_search.search(given, settings, wanted, session_key)
        if found is not None:
            return found
        settings = stand_in(settings)
    try:
        _check(settings.provider)
        settings, answer = fallback.answered(
            settings, partial(_answer, wanted=wanted, ask=ask), second
        )
        # Keywords could answer, but the reference asks them alone only where no key is known.
        if answer.failure is not None and settings.provider.missing is None:
            raise answer.failure
    except OcmemError as error:
        return _unavailable(trouble or error)
    if trouble is not None:
        answer = qmd_search.stood_in(answer, trouble)
    fields = _fields(settings, answer, session_key)
    if trouble is not None:  # else nobody asks, and the reference's answer has no such key
        fields["backend"] = answer.backend
    return Reply(
        fields,
        remarks=tuple(filter(None, (*fallback.remarks(answer, settings), answer.why_empty))),
        hint=answer.hint,
    )


def _wanted(given: Parameters, settings: Settings, now_ms: float) -> Wanted:
    configured = settings.search.query
    query = utf16.well_formed(parameters.required_text(given, "query"))
    max_results = parameters.number(given, "maxResults")
    if max_results is not None and max_results < 1:
        raise ToolInputError("maxResults must be 1 or more")
    min_score = parameters.number(given, "minScore")
    return Wanted(
        query=query,
        max_results=configured.max_results if max_results is None else math.floor(max_results),
        min_score=configured.min_score if min_score is None else min_score,
        fused_min_score=None,
        ranker="openclaw",
        strict=True,
        half_life_days=configured.half_life_days if configured.decay else None,
        mmr_lambda=configured.mmr_lambda if configured.mmr else None,
        sources=settings.search.sources,
        snippet="head",
        now_ms=now_ms,
    )


def _check(choice: ProviderChoice) -> None:
    """A named provider without a key leaves keywords, in the reference; any other lack, nothing."""
    if choice.missing is None or choice.requested == "auto":
        return
    if not all(_NO_KEY in cause for cause in choice.missing.split("\n\nFallback to ")):
        raise embedder.unavailable(choice, choice.missing)


def _answer(settings: Settings, *, wanted: Wanted, ask: Ask) -> Answer:
    answer = ask(settings, wanted, sync=settings.search.syncs_on_search)
    if answer.failure is None or answer.failure.is_outage:
        return answer
    # It may be about a note that was sent, which is no reason not to answer from the others.
    again = ask(settings, wanted, sync=False)
    return replace(again, warnings=tuple(dict.fromkeys((*answer.warnings, *again.warnings))))


# --- what goes over the wire ----------------------------------------------------------------------


def _fields(settings: Settings, answer: Answer, session_key: str | None) -> Json:
    choice = settings.provider
    provider = embedder.provider_in_use(choice)
    mode = reply.citation_mode(settings)
    cites = citation.wanted(mode, session_key=session_key)
    fields: Json = {
        "results": [dict(_result(hit, answer, cites=cites)) for hit in answer.hits],
        "provider": provider,
    }
    if provider != "none":
        fields["model"] = shown_url(choice.model)
    used = answer.instead_of or choice.fallback
    if used is not None:
        fields["fallback"] = {"from": used.origin, "reason": used.reason}
    fields["citations"] = mode
    fields["mode"] = "fts-only" if provider == "none" or answer.degraded else "hybrid"
    return fields


def _result(hit: Hit, answer: Answer, *, cites: bool) -> Iterator[tuple[str, Any]]:
    """The reference's record, which has more fields where it is not blended from two lists."""
    chunk, snippet = hit.chunk, hit.snippet.text
    cited = citation.citation(chunk)
    if answer.mode != "hybrid":
        yield "id", chunk.id
    yield "path", chunk.path
    yield "startLine", chunk.start_line
    yield "endLine", chunk.end_line
    yield "score", hit.score
    if answer.mode == "fts-only":
        yield "textScore", hit.text_score
    yield "snippet", reply.with_source(snippet, cited) if cites else snippet
    yield "source", chunk.source
    if cites:
        yield "citation", cited


def _unavailable(error: OcmemError) -> Reply:
    reason = str(error) or "memory search unavailable"
    if any(sign in reason.lower() for sign in _SPENT):
        warning = "Memory search is unavailable: the embedding provider's quota is used up."
        action = "Top up the quota or switch to another provider, then retry memory_search."
    else:
        warning = "Memory search is unavailable: the embedding provider or the index failed."
        action = (
            "Check the embedding provider's configuration and the index (ocmem status --deep), "
            "then retry memory_search."
        )
    return _failed(error, reason, warning, action)


def _switched_off(error: OcmemError) -> Reply:
    warning = "Memory search is switched off for this agent."
    action = "Switch it on (memorySearch.enabled, plugins.slots.memory), then retry memory_search."
    return _failed(error, str(error), warning, action)


def _failed(error: OcmemError, reason: str, warning: str, action: str) -> Reply:
    fields = {
        "results": [],
        "disabled": True,
        "unavailable": True,
        "error": reason,
        "warning": warning,
        "action": action,
    }
    return Reply(fields, error=error)
