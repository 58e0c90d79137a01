"""Questions to QMD as the commands ask them; where it cannot answer, the built-in index does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ocmem.backends.answer import Answer
from ocmem.backends.qmd import queries, staleness
from ocmem.backends.qmd.backend import Found, QmdBackend
from ocmem.backends.qmd.staleness import Standing
from ocmem.core import scope
from ocmem.core.search import Mode
from ocmem.errors import IndexUnavailable, OcmemError, QmdError
from ocmem.model import Source
from ocmem.settings import Fallback, Settings

NAME = "qmd"
_MODES: dict[str, Mode] = {"search": "fts-only", "vsearch": "vector", "query": "hybrid"}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked; None leaves a thing to QMD's own settings.

    `is_owner`: somebody at a shell, whom no rule about chats is meant for. `keeps_header`: the
    snippets as the reference shows them.
    """

    query: str
    max_results: int | None = None
    min_score: float | None = None
    sources: tuple[Source, ...] = ()
    session_key: str | None = None
    is_owner: bool = False
    keeps_header: bool = False
    syncs: bool = True


@dataclass(slots=True)
class Front:
    """One run's dealings with an agent's QMD: what failed once is not asked again."""

    backend: QmdBackend
    trouble: OcmemError | None = field(default=None, init=False)

    @property
    def failure(self) -> Fallback | None:
        """Why it is not QMD that answers, if it could not."""
        return None if self.trouble is None else Fallback(NAME, str(self.trouble))

    def answer(self, question: Question, ask_builtin: Callable[[], Answer]) -> Answer:
        """QMD's answer, or the built-in index's with the reason for it."""
        answer = self.own_answer(question)
        return stood_in(ask_builtin(), self.trouble) if answer is None else answer

    def own_answer(self, question: Question) -> Answer | None:
        """QMD's answer; None where it has none, for the reason in `trouble`."""
        refused = self._refusal(question)
        if refused is not None:
            return refused
        if self.trouble is None:
            try:
                return self._ask(question)
            except (QmdError, IndexUnavailable) as error:
                self.trouble = error
        return None

    def _ask(self, question: Question) -> Answer:
        standing = Standing()
        if queries.text_for(question.query, self.backend.qmd.mode):
            self.backend.check(question.query)
            standing = staleness.caught_up(self.backend, syncs=question.syncs)
        found = self.backend.search(
            question.query,
            max_results=question.max_results,
            min_score=question.min_score or 0.0,
            sources=question.sources or None,
            keeps_header=question.keeps_header,
        )
        most = self.backend.qmd.limits.max_results
        told = list(standing.warnings)
        if question.is_owner and (question.max_results or 0) > most:
            told.append(f"memory.qmd.limits.maxResults allows only {most}")
        return self._answer(found, stale=standing.is_behind, warnings=(*told, *found.warnings))

    def _answer(self, found: Found, *, stale: bool, warnings: tuple[str, ...]) -> Answer:
        return Answer(
            hits=found.hits,
            ranker=NAME,
            mode=_MODES[self.backend.qmd.mode],
            stale=stale,
            warnings=warnings,
            why_empty=found.why_empty,
            advice=found.advice,
            backend=NAME,
        )

    def _refusal(self, question: Question) -> Answer | None:
        """The empty answer for a chat that may not search; QMD is not even asked."""
        rules = scope.parse(self.backend.qmd.scope)
        if scope.admits(rules, question.session_key, is_owner=question.is_owner):
            return None
        chat = question.session_key or "a call without a session key"
        told = f"memory.qmd.scope does not let {chat} search"
        return self._answer(Found([], why_empty=told), stale=False, warnings=())


def stood_in(answer: Answer, trouble: OcmemError | None) -> Answer:
    """The answer of the built-in index, and why it is not QMD's."""
    if trouble is None:
        return answer
    return replace(
        answer,
        instead_of=Fallback(NAME, str(trouble)),
        warnings=(f"{trouble}; the built-in index answers instead", *answer.warnings),
        hint=answer.hint or trouble.hint,
    )


def front(settings: Settings, env: Mapping[str, str] | None = None) -> Front:
    return Front(QmdBackend(settings, env=env))
