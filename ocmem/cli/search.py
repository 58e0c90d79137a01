"""`ocmem search`."""

import math
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ocmem.backends import fallback
from ocmem.backends.answer import Answer
from ocmem.backends.builtin import BuiltinBackend
from ocmem.cli import answers, common, wire
from ocmem.cli.answers import AgentHit, Answered
from ocmem.cli.common import Given
from ocmem.core import citation
from ocmem.core.search import Wanted
from ocmem.errors import OcmemError, UsageError
from ocmem.model import Source
from ocmem.settings import Settings

if TYPE_CHECKING:  # QMD is for those who have set it up
    from ocmem.backends.qmd.front import Front, Question


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed; `_wanted` turns it into what was meant."""

    query: str | None
    max_results: int | None
    min_score: float | None
    as_json: bool
    ranker: str | None
    strict: bool
    explain: bool
    decay: str | None
    mmr: str | None
    provider: str | None
    backend: str | None
    sources: tuple[Source, ...]
    syncs: bool
    citations: str | None
    session_key: str | None
    all_agents: bool
    compares: bool = False  # with what other agents answer

    @property
    def asks_builtin(self) -> bool:
        """Whether an option speaks of what only the built-in index has."""
        of_ranking = (self.ranker, self.decay, self.mmr, self.provider)
        return self.strict or self.explain or any(each is not None for each in of_ranking)


def run(typed: Typed, given: Given) -> int:
    if not typed.query:
        raise UsageError("Missing search query. Provide a positional query or use --query <text>.")
    options = _options(typed)
    agents = list(_agents(typed, given, options))
    alone = len(agents) == 1
    if len({_wanted(typed, settings).ranker for settings in agents}) > 1:
        typed = replace(typed, ranker="fused")  # scores of two rankers have no common order
    typed = replace(typed, compares=not alone)
    answered = [_answered(typed, given, settings, options, alone=alone) for settings in agents]
    enabled = [each.settings for each in answered if each.answer is not None]
    has_failed = any(each.error is not None for each in answered)
    most = max((_most(typed, each.settings) for each in answered if each.answer), default=0)
    results = answers.merged(answered)[:most]
    if not results:
        for each in answered:
            if each.answer is not None and each.answer.why_empty:
                why = "; ".join(filter(None, (each.answer.why_empty, each.answer.advice)))
                common.warn(_named(each.settings, why, alone))
    mode = typed.citations or agents[0].citations
    cites = citation.wanted(mode, session_key=typed.session_key)
    if typed.as_json and (enabled or not has_failed):
        print(wire.answer(results, answered, cites=cites, explains=typed.explain))
    elif enabled:
        _show(results, given, names=not alone, cites=cites, explains=typed.explain)
    return 1 if has_failed else 0


def _agents(typed: Typed, given: Given, options: dict[str, Any]) -> Iterator[Settings]:
    """The agents to ask: those named, all of them, or the default one."""
    if typed.all_agents and (given.get("agent") or given.get("workspace")):
        raise UsageError("--all-agents goes without --agent and --workspace")
    if typed.all_agents or len(given.get("agent") or ()) > 1:
        yield from common.each_agent(given, **options)
    else:
        yield common.one_agent(given, **options)


def _options(typed: Typed) -> dict[str, Any]:
    # Keywords can be asked of any index: `none` needs none of its own.
    provider = None if typed.provider == "none" else typed.provider
    backend = typed.backend
    if typed.asks_builtin:
        if backend == "qmd":
            raise UsageError("--backend qmd goes without the options of the built-in index")
        backend = "builtin"
    return {"provider": provider, "sources": typed.sources, "backend": backend}


def _answered(
    typed: Typed, given: Given, settings: Settings, options: dict[str, Any], *, alone: bool
) -> Answered:
    if not settings.search.enabled:
        print("Memory search disabled.", file=sys.stderr)
        return Answered(settings, None)
    front = _front(settings)

    def ask_builtin() -> Answer:
        nonlocal settings
        if front is not None:
            settings = common.stand_in(settings, given, sources=typed.sources)
        settings, answer = fallback.answered(
            settings,
            partial(_ask_builtin, typed, given),
            lambda first, error: common.fallback(first, given, error, **options),
        )
        return answer

    try:
        if front is None:
            answer = ask_builtin()
        else:
            answer = front.answer(_question(typed, settings), ask_builtin)
    except OcmemError as error:
        instead_of = front.failure if front is not None else None
        if instead_of is not None:
            common.warn(_named(settings, instead_of.reason, alone))
        whose = "" if alone else f" ({settings.agent_id})"
        failure = f"Memory search failed{whose}: {error}"
        common.complain(OcmemError(failure, hint=error.hint))
        return Answered(settings, None, str(error), instead_of)
    for text in fallback.remarks(answer, settings):
        common.warn(_named(settings, text, alone))
    if answer.hint:
        print(f"hint: {answer.hint}", file=sys.stderr)
    return Answered(settings, answer)


def _front(settings: Settings) -> "Front | None":
    if not settings.uses_qmd:
        return None
    from ocmem.backends.qmd.front import front

    return front(settings)


def _question(typed: Typed, settings: Settings) -> "Question":
    from ocmem.backends.qmd.front import Question

    _check(typed)
    return Question(
        query=common.typed(typed.query or ""),
        max_results=typed.max_results,
        min_score=settings.search.query.own_min_score
        if typed.min_score is None
        else typed.min_score,
        sources=typed.sources,
        session_key=typed.session_key,
        is_owner=True,
        syncs=typed.syncs and settings.search.syncs_on_search,
    )


def _ask_builtin(typed: Typed, given: Given, settings: Settings) -> Answer:
    wanted = _wanted(typed, settings)
    progress = common.ProgressLine(is_quiet=bool(given.get("quiet")))
    try:
        backend = BuiltinBackend(settings, progress, notice=progress.notice)
        return backend.search(wanted, sync=typed.syncs and settings.search.syncs_on_search)
    finally:
        progress.clear()


def _named(settings: Settings, text: str, alone: bool) -> str:
    return text if alone else f"{settings.agent_id}: {text}"


def _show(
    results: Sequence[AgentHit], given: Given, *, names: bool, cites: bool, explains: bool
) -> None:
    from ocmem.cli import text

    is_tty = sys.stdout.isatty()
    if common.wants_color(os.environ, is_tty=is_tty, option=given.get("color")) and results:
        text.draw_hits(results, names=names, cites=cites, explains=explains)
        return
    written = text.hits(results, names=names, cites=cites, explains=explains)
    print((common.harmless(written) if is_tty else written) or "No matches.")


def _most(typed: Typed, settings: Settings) -> int:
    """How many results there may be."""
    if not settings.uses_qmd:
        return _wanted(typed, settings).max_results
    return typed.max_results or max(
        settings.qmd.limits.max_results, settings.search.query.max_results
    )


def _check(typed: Typed) -> None:
    if typed.max_results is not None and typed.max_results < 1:
        raise UsageError("--max-results must be 1 or more")
    if typed.min_score is not None and not math.isfinite(typed.min_score):
        raise UsageError("--min-score must be a number")


def _wanted(typed: Typed, settings: Settings) -> Wanted:
    _check(typed)
    query = settings.search.query
    chosen = typed.ranker or query.ranker
    ranker: Literal["openclaw", "fused"] = "fused"
    if chosen == "openclaw" or typed.strict or (chosen == "auto" and settings.shares_index):
        if chosen == "fused" and typed.strict:
            raise UsageError("--strict is the openclaw ranker's list; leave out --ranker fused")
        ranker = "openclaw"
    return Wanted(
        query=common.typed(typed.query or ""),
        max_results=typed.max_results or query.max_results,
        min_score=query.min_score if typed.min_score is None else typed.min_score,
        fused_min_score=query.own_min_score if typed.min_score is None else typed.min_score,
        ranker=ranker,
        strict=typed.strict,
        half_life_days=_switch(
            typed.decay,
            "--decay",
            low=0.0,
            high=math.inf,
            default=query.half_life_days if query.decay else None,
        ),
        mmr_lambda=_switch(
            typed.mmr,
            "--mmr",
            low=None,
            high=1.0,
            default=query.mmr_lambda if query.mmr else None,
        ),
        sources=typed.sources or settings.search.sources,
        snippet=query.snippet,
        now_ms=time.time() * 1000,
        fills=typed.min_score is None,
        keywords_only=typed.provider == "none",
        compares=typed.compares and ranker == "fused",
    )


def _switch(
    typed: str | None, option: str, *, low: float | None, high: float, default: float | None
) -> float | None:
    """A number or `off`; `low` is excluded, None means that 0 is allowed."""
    if typed is None:
        return default
    if typed.strip().lower() == "off":
        return None
    try:
        value = float(typed)
    except ValueError:
        value = math.nan
    if (
        not (value > low if low is not None else value >= 0)
        or not value <= high
        or value == math.inf
    ):
        limits = "above 0" if low is not None else "from 0 to 1"
        raise UsageError(f"{option} takes a number {limits}, or off")
    return value
