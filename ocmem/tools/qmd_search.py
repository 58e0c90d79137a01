"""`memory_search` where QMD is the agent's memory."""

from ocmem.backends.qmd.front import NAME, Question, front, stood_in
from ocmem.core import citation, utf16
from ocmem.core.search import Wanted
from ocmem.errors import OcmemError
from ocmem.model import Hit
from ocmem.settings import Settings
from ocmem.tools import parameters, reply
from ocmem.tools.parameters import Parameters
from ocmem.tools.reply import Json, Reply

__all__ = ["search", "stood_in"]


def search(
    given: Parameters,
    settings: Settings,
    wanted: Wanted,
    session_key: str | None,
) -> tuple[Reply | None, OcmemError | None]:
    """QMD's reply; or none, and why: then the built-in index has to answer."""
    asked = front(settings)
    has_limit = parameters.number(given, "maxResults") is not None
    answer = asked.own_answer(
        Question(
            query=wanted.query,
            max_results=wanted.max_results if has_limit else None,
            min_score=parameters.number(given, "minScore"),
            session_key=session_key,
            keeps_header=True,
            syncs=settings.search.syncs_on_search,
        )
    )
    if answer is None:
        return None, asked.trouble
    mode = reply.citation_mode(settings)
    cites = citation.wanted(mode, session_key=session_key)
    results = [_result(hit, cites=cites) for hit in answer.hits]
    _clamp(results, settings.qmd.limits.max_injected_chars)
    fields = {
        "results": results,
        "provider": NAME,
        "model": NAME,
        "citations": mode,
        "backend": NAME,
    }
    remarks = tuple(filter(None, (*answer.warnings, answer.why_empty)))
    return Reply(fields, remarks=remarks, hint=answer.hint), None


def _result(hit: Hit, *, cites: bool) -> Json:
    chunk, snippet = hit.chunk, hit.snippet.text
    cited = citation.citation(chunk)
    fields: Json = {
        "path": chunk.path,
        "startLine": chunk.start_line,
        "endLine": chunk.end_line,
        "score": hit.score,
        "snippet": reply.with_source(snippet, cited) if cites else snippet,
        "source": chunk.source,
    }
    return {**fields, "citation": cited} if cites else fields


def _clamp(results: list[Json], max_chars: int) -> None:
    """Once more, now that the snippets name their sources: the last such line may be cut."""
    left = max_chars
    for at, result in enumerate(results):
        if left <= 0:
            del results[at:]
            return
        result["snippet"] = utf16.prefix(result["snippet"], left)
        left -= utf16.length(result["snippet"])
