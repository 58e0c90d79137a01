"""Questions to QMD, and who answers them."""

from dataclasses import replace
from typing import Any

import pytest

from ocmem.backends.answer import Answer
from ocmem.backends.qmd.front import Front, Question
from ocmem.errors import EmbedderError, OcmemError
from ocmem.settings import Fallback
from tests.unit.qmd.driven import Driven

BUILTIN = Answer(hits=[], ranker="fused", mode="fts-only", warnings=("its own",))
GROUP = "agent:main:discord:channel:99"


class Asked:
    """The built-in index, and how often it was asked."""

    def __init__(self, error: OcmemError | None = None) -> None:
        self.times = 0
        self.error = error

    def __call__(self) -> Answer:
        self.times += 1
        if self.error is not None:
            raise self.error
        return BUILTIN


def owner(query: str, **options: Any) -> Question:  # noqa: ANN401
    return Question(query, is_owner=True, **options)


def test_qmd_answers_and_nobody_else_is_asked(driven: Driven) -> None:
    builtin = Asked()

    answer = Front(driven.backend).answer(owner("heron"), builtin)

    assert [hit.chunk.path for hit in answer.hits] == ["MEMORY.md", "memory/day.md"]
    assert (answer.backend, answer.ranker, answer.mode) == ("qmd", "qmd", "fts-only")
    assert (answer.instead_of, builtin.times) == (None, 0)


def test_a_failure_is_met_once_and_its_reason_kept(driven: Driven) -> None:
    driven.fake.on("search", code=1, stderr="boom")
    front, builtin = Front(driven.backend), Asked()

    first = front.answer(owner("heron"), builtin)
    second = front.answer(owner("heron"), builtin)

    reason = "QMD could not search: boom"
    assert first == second
    assert first.instead_of == Fallback("qmd", reason)
    assert first.warnings == (f"{reason}; the built-in index answers instead", "its own")
    assert front.failure == first.instead_of
    assert driven.fake.commands.count("search") == 1


def test_the_built_in_indexs_own_advice_comes_first(driven: Driven) -> None:
    driven.configure(command="no-such-qmd")
    front = Front(driven.backend)

    ours = front.answer(owner("heron"), lambda: replace(BUILTIN, hint="theirs"))
    theirs = front.answer(owner("heron"), Asked())

    assert ours.hint == "theirs"
    assert (theirs.hint or "").startswith("npm install")


def test_what_the_built_in_index_raises_is_raised_and_the_reason_stays(driven: Driven) -> None:
    driven.configure(command="no-such-qmd")
    front = Front(driven.backend)

    with pytest.raises(EmbedderError):
        front.answer(owner("heron"), Asked(EmbedderError("no key")))

    assert front.failure is not None
    assert "not installed" in front.failure.reason


@pytest.mark.parametrize(
    ("key", "is_owner", "is_allowed"),
    [
        (None, True, True),
        (None, False, False),
        (GROUP, True, False),
        (GROUP, False, False),
        ("agent:main:main", False, True),
    ],
)
def test_only_who_may_search_is_answered(
    driven: Driven, key: str | None, is_owner: bool, is_allowed: bool
) -> None:
    builtin = Asked()
    question = Question("heron", session_key=key, is_owner=is_owner)

    answer = Front(driven.backend).answer(question, builtin)

    assert bool(answer.hits) == is_allowed
    assert is_allowed or "memory.qmd.scope does not let" in (answer.why_empty or "")
    assert (answer.instead_of, builtin.times) == (None, 0)
    assert bool(driven.fake.runs) == is_allowed


def test_a_blank_query_starts_nothing_not_even_an_update(driven: Driven) -> None:
    driven.backend.index()
    driven.fake.forget()
    driven.now_ms = 4_000_000_000_000  # every file is younger than the index was then

    answer = Front(driven.backend).answer(owner(" \n"), Asked())

    assert (answer.why_empty, answer.stale) == ("the query is blank", False)
    assert driven.fake.runs == []


@pytest.mark.parametrize("syncs", [False, True])
def test_an_index_that_stays_behind_is_stale(driven: Driven, syncs: bool) -> None:
    driven.backend.index()
    driven.now_ms = 4_000_000_000_000
    driven.fake.on("update", code=1)

    answer = Front(driven.backend).answer(owner("heron", syncs=syncs), Asked())

    assert answer.stale
    assert len(answer.hits) == 2
    assert len(answer.warnings) == 1


def test_models_that_are_missing_are_noticed_before_an_update(driven: Driven) -> None:
    driven.backend.index()
    driven.configure(searchMode="query")
    driven.fake.forget()
    driven.now_ms = 4_000_000_000_000

    answer = Front(driven.backend).answer(owner("heron"), Asked())

    assert answer.instead_of == Fallback("qmd", "QMD's models are not on this machine")
    assert driven.fake.runs == []


@pytest.mark.parametrize(("asked", "is_told"), [(None, False), (6, False), (7, True)])
def test_an_owner_who_asks_for_too_many_is_told(
    driven: Driven, asked: int | None, is_told: bool
) -> None:
    answer = Front(driven.backend).answer(owner("heron", max_results=asked), Asked())

    assert answer.warnings == (("memory.qmd.limits.maxResults allows only 6",) if is_told else ())
