"""One search over several agents: one list, one scale."""

import json
from typing import Any

import pytest

from tests.cli.program import Program
from tests.fake_provider import FakeProvider

NOTES = {
    "a": {"MEMORY.md": "We booked the tea ceremony in Kyoto for Friday at ten.\n"},
    "b": {"MEMORY.md": "Out of tea.\n"},
    "c": {"MEMORY.md": "Friday is a holiday.\n"}
    | {f"memory/{at}.md": f"The garden and the weather on day {at}.\n" for at in range(30)},
}


def found(ocmem: Program, *args: str) -> dict[str, Any]:
    done = ocmem("search", *args, "--json")
    assert done.code == 0, done.err
    answer: dict[str, Any] = json.loads(done.out)
    return answer


@pytest.fixture
def agents(ocmem: Program) -> list[dict[str, Any]]:
    """The notes of three agents, and their entries for the config."""
    entries = []
    for id, notes in NOTES.items():
        workspace = ocmem.home / id
        for name, text in notes.items():
            path = workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        entries.append({"id": id, "workspace": str(workspace)})
    return entries


@pytest.mark.parametrize("provider", ["builtin", "none"])
def test_the_agent_that_knows_comes_before_one_that_has_a_word(
    ocmem: Program, agents: list[dict[str, Any]], provider: str
) -> None:
    ocmem.configure_all({"agents": {"list": agents}})
    ocmem.configure_own(provider=provider)

    results = found(ocmem, "tea ceremony Kyoto Friday", "--all-agents")["results"]

    assert [each["agentId"] for each in results[:3]] == ["a", "b", "c"]
    scores = [each["score"] for each in results]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == pytest.approx(1)
    assert scores[1] < 0.6


def test_agents_with_different_indexes_are_ranked_by_one_ranker(
    ocmem: Program, agents: list[dict[str, Any]]
) -> None:
    with FakeProvider(dims=16) as fake:
        agents[0]["memorySearch"] = {
            "provider": "openai",
            "remote": {"baseUrl": fake.base_url("openai"), "apiKey": fake.key("openai")},
        }
        ocmem.configure_all({"agents": {"list": agents}})

        answer = found(ocmem, "tea ceremony Kyoto Friday", "--all-agents")

    assert answer["ranker"] == "fused"
    assert answer["results"][0]["agentId"] == "a"


def test_explain_shows_the_common_scale(ocmem: Program, agents: list[dict[str, Any]]) -> None:
    ocmem.configure_all({"agents": {"list": agents}})
    ocmem.configure_own(provider="builtin")

    results = found(ocmem, "tea Kyoto", "--agent", "a", "--agent", "b", "--explain")["results"]

    for each in results:
        told = each["explain"]
        parts = told["vectorWeight"] * told["vectorNormalized"]
        parts += told["textWeight"] * told["textNormalized"]
        assert each["score"] == pytest.approx(parts * told["decay"])
