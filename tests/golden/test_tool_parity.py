"""The agent's tool returns the records that OpenClaw found, with a footer under each snippet."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ocmem.backends.answer import Answer
from ocmem.backends.builtin import BuiltinBackend
from ocmem.core.search import Wanted
from ocmem.settings import Settings
from ocmem.tools.memory_search import memory_search
from tests.golden.cases import CASES, Case, Json, Variant, expected_of
from tests.golden.world import NOW_MS, World, given

SEARCHED = [case for case in CASES if case.name in ("basic", "extra_paths", "sessions", "ranking")]
SCORE_DIGITS = 9


@pytest.fixture(scope="module")
def world_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Case], World]:
    worlds: dict[str, World] = {}

    def indexed(case: Case) -> World:
        if case.name not in worlds:
            worlds[case.name] = World(case, tmp_path_factory.mktemp(case.name))
            worlds[case.name].write()
            worlds[case.name].backend().index(force=True, wait_s=0)
        return worlds[case.name]

    return indexed


@pytest.mark.parametrize("session_key", [None, "agent:main:slack:channel:c"])
@pytest.mark.parametrize(
    ("case", "name"),
    [
        pytest.param(case, name, id=f"{case.name}-{name}")
        for case in SEARCHED
        for name in case.variants
    ],
)
def test_the_tool_returns_what_openclaw_found(
    case: Case, name: str, session_key: str | None, world_of: Callable[[Case], World]
) -> None:
    world = world_of(case)
    variant = case.variants[name]
    found = expected_of(case)["search"][name]["results"]
    compared = 0

    for query, records in found.items():
        answer = called(world, variant, query, session_key)

        expected = [decorated(record) if session_key is None else record for record in records]
        assert [list(record) for record in answer["results"]] == [list(each) for each in expected]
        ours, theirs = (list(map(comparable, each)) for each in (answer["results"], expected))
        assert [each["score"] for each in ours] == [each["score"] for each in theirs]
        last = ours[-1]["score"] if len(ours) == given(variant.max_results, 6) else None
        # The cut may go through a tie, and the order within one is nobody's promise.
        ours, theirs = (
            sorted((each for each in some if each["score"] != last), key=place)
            for some in (ours, theirs)
        )
        assert ours == theirs
        compared += len(ours)
        about = {key: value for key, value in answer.items() if key != "results"}
        assert about == {
            "provider": "openai",
            "model": "text-embedding-3-small",
            "citations": "auto",
            "mode": "hybrid",
        }
    assert compared


def called(world: World, variant: Variant, query: str, session_key: str | None) -> Json:
    def ask(settings: Settings, wanted: Wanted, *, sync: bool) -> Answer:
        return BuiltinBackend(settings, embedder=world.embedder).search(wanted, sync=False)

    limits = {"maxResults": variant.max_results, "minScore": variant.min_score}
    return memory_search(
        {"query": query, **limits},
        world.settings(variant),
        now_ms=NOW_MS,
        session_key=session_key,
        ask=ask,
    ).answer


def decorated(record: Json) -> Json:
    start, end = record["startLine"], record["endLine"]
    lines = f"L{start}" if start == end else f"L{start}-L{end}"
    citation = f"{record['path']}#{lines}"
    snippet = f"{record['snippet'].strip()}\n\nSource: {citation}"
    return {**record, "snippet": snippet, "citation": citation}


def comparable(record: Mapping[str, Any]) -> Json:
    return {**record, "score": round(record["score"], SCORE_DIGITS)}


def place(record: Json) -> tuple[object, ...]:
    return -record["score"], record["path"], record["startLine"], record["endLine"]
