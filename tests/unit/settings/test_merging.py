"""Two files, agents and their defaults make one set of values."""

import json

import pytest

from ocmem.settings.document import merge
from tests.unit.settings.home import Home, Json, agent


def test_an_agents_value_beats_the_defaults_leaf_by_leaf(home: Home) -> None:
    home.write(
        {
            "agents": {
                "defaults": {
                    "memorySearch": {
                        "chunking": {"tokens": 100, "overlap": 10},
                        "query": {"maxResults": 3, "minScore": 0.1},
                        "model": "shared",
                    }
                },
                "list": [
                    agent("main", chunking={"tokens": 50}, query={"maxResults": None}, model=""),
                ],
            }
        }
    )

    search = home.resolve().search

    assert (search.chunk_tokens, search.chunk_overlap) == (50, 10)
    assert (search.query.max_results, search.query.min_score) == (3, 0.1)
    assert search.model == ""


def test_extra_paths_add_up_and_other_lists_and_headers_do_not(home: Home) -> None:
    home.write(
        {
            "agents": {
                "defaults": {
                    "memorySearch": {
                        "extraPaths": ["a", " b ", ""],
                        "experimental": {"sessionMemory": True},
                        "sources": ["memory", "sessions"],
                        "remote": {"headers": {"A": "1"}},
                    }
                },
                "list": [
                    agent(
                        "main",
                        extraPaths=["b", "c", "  "],
                        sources=["sessions"],
                        remote={"headers": {"B": "2"}},
                    )
                ],
            }
        }
    )

    search = home.resolve().search

    assert search.extra_paths == ("a", "b", "c")
    assert search.sources == ("sessions",)
    assert search.remote.headers == {"B": "2"}


def test_the_own_file_lies_over_openclaws_and_an_agent_over_the_defaults(home: Home) -> None:
    def both(origin: int, **limits: int) -> Json:
        return {"query": {"maxResults": origin}, "chunking": limits}

    layers = [both(4), both(3, tokens=33), both(2, tokens=22, overlap=2), both(1, overlap=1)]
    own_agent, shared_agent, own_defaults, shared_defaults = layers
    defaults = {"defaults": {"memorySearch": shared_defaults}}
    home.write({"agents": defaults | {"list": [agent("Main", **shared_agent)]}})
    own_agents = {
        "defaults": {"memorySearch": own_defaults},
        "list": [agent("main", **own_agent)],
    }
    home.own({"agents": own_agents})

    settings = home.resolve()

    assert settings.agent_id == "Main"
    assert settings.search.query.max_results == 4
    assert (settings.search.chunk_tokens, settings.search.chunk_overlap) == (33, 2)


def test_an_agents_entry_in_openclaws_file_beats_the_own_files_defaults(home: Home) -> None:
    home.write({"agents": {"list": [agent("main", query={"maxResults": 3})]}})
    home.own_defaults(query={"maxResults": 5, "minScore": 0.2})

    query = home.resolve().search.query

    assert (query.max_results, query.min_score, query.own_min_score) == (3, 0.2, 0.2)


def test_the_own_files_extra_paths_replace_those_of_the_same_level(home: Home) -> None:
    defaults = {"memorySearch": {"extraPaths": ["d"]}}
    home.write({"agents": {"defaults": defaults, "list": [agent("main", extraPaths=["a"])]}})
    home.own({"agents": {"list": [agent("main", extraPaths=["own"])]}})

    assert home.resolve().search.extra_paths == ("d", "own")


def test_merging_goes_leaf_by_leaf_and_changes_neither_side() -> None:
    base = {"a": {"x": 1, "y": [1, 2]}, "agents": {"list": [{"id": "Alpha One", "k": 1}]}}
    over = {
        "a": {"y": [3], "x": None},
        "agents": {"list": [{"id": "alpha-one", "m": 2}, {"id": "b"}]},
    }
    before = json.dumps([base, over])

    merged = merge(base, over)

    assert merged == {
        "a": {"x": 1, "y": [3]},
        "agents": {"list": [{"id": "Alpha One", "k": 1, "m": 2}, {"id": "b"}]},
    }
    assert json.dumps([base, over]) == before


def test_a_keyless_provider_leaves_model_and_endpoint_of_the_layers_below(home: Home) -> None:
    home.defaults(provider="openai", model="m", remote={"apiKey": "secret", "baseUrl": "http://x"})
    home.own_defaults(provider="builtin")

    settings = home.resolve()

    assert settings.provider.id == "builtin"
    assert settings.provider.model == "l2_supercat_256"
    assert settings.provider.endpoint is None
    assert (settings.search.model, settings.search.remote.api_key) == ("", None)


# Clamps


@pytest.mark.parametrize(
    ("tokens", "overlap", "expected"),
    [(400, 80, (400, 80)), (10, 80, (10, 9)), (1, 5, (1, 0)), (10, 10, (10, 9)), (5, 0, (5, 0))],
)
def test_the_overlap_stays_below_the_chunk(
    home: Home, tokens: int, overlap: int, expected: tuple[int, int]
) -> None:
    home.defaults(chunking={"tokens": tokens, "overlap": overlap})

    search = home.resolve().search

    assert (search.chunk_tokens, search.chunk_overlap) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [((1, 1), (0.5, 0.5)), ((0, 0), (0.7, 0.3)), ((1, 0), (1, 0)), ((0.2, 0.6), (0.25, 0.75))],
)
def test_weights_are_shares_of_their_sum(
    home: Home, given: tuple[float, float], expected: tuple[float, float]
) -> None:
    home.defaults(query={"hybrid": {"vectorWeight": given[0], "textWeight": given[1]}})

    query = home.resolve().search.query

    assert (query.vector_weight, query.text_weight) == pytest.approx(expected)
    assert query.weights_are_set


@pytest.mark.parametrize(("given", "expected"), [(1, 1), (20, 20), (21, 20), (999, 20)])
def test_the_candidate_multiplier_ends_at_twenty(home: Home, given: int, expected: int) -> None:
    home.defaults(query={"hybrid": {"candidateMultiplier": given}})

    assert home.resolve().search.query.candidate_multiplier == expected


@pytest.mark.parametrize(
    ("sources", "with_sessions", "expected"),
    [
        (["memory", "sessions"], True, ("memory", "sessions")),
        (["sessions", "memory", "sessions"], True, ("sessions", "memory")),
        (["memory", "sessions"], False, ("memory",)),
        (["sessions"], False, ("memory",)),
        ([], True, ("memory",)),
    ],
)
def test_sessions_need_their_experiment(
    home: Home, sources: list[str], with_sessions: bool, expected: tuple[str, ...]
) -> None:
    home.defaults(sources=sources, experimental={"sessionMemory": with_sessions})

    assert home.resolve().search.sources == expected
