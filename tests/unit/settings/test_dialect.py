"""OpenClaw moved its settings in 2026.8: the newer shape is recognised, and means the same."""

from typing import Any

import pytest

from ocmem.settings import Overrides
from ocmem.settings.dialect import recognised
from tests.unit.settings.home import Home, Json, agent_ids

# Which dialect


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, "older"),
        ({"memory": {"search": {}}}, "newer"),
        ({"memory": {"search": None}}, "newer"),
        ({"agents": {"entries": {}}}, "newer"),
        ({"agents": {"list": []}}, "older"),
        ({"agents": {"defaults": {"memorySearch": {}}}}, "older"),
        ({"memory": {"backend": "builtin"}}, "older"),
        ({"memory": {"qmd": {}}}, "older"),
        ({"memory": {"citations": "on"}}, "older"),
        ({"meta": {"lastTouchedVersion": "2026.2.26"}}, "older"),
        ({"meta": {"lastTouchedVersion": "2026.7.31"}}, "older"),
        ({"meta": {"lastTouchedVersion": "2026.8.0"}}, "newer"),
        ({"meta": {"lastTouchedVersion": "v2026.9.6-beta.1"}}, "newer"),
        ({"meta": {"lastTouchedVersion": "2026.10.1"}}, "newer"),
        ({"meta": {"lastTouchedVersion": "2027.1.1"}}, "newer"),
        ({"meta": {"lastTouchedVersion": "next"}}, "older"),
        ({"meta": {"lastTouchedVersion": 2026.9}}, "newer"),
        ({"meta": {"lastTouchedVersion": None}}, "older"),
        ({"meta": []}, "older"),
        # What a file says beats who wrote it.
        ({"meta": {"lastTouchedVersion": "2026.9.6"}, "agents": {"list": []}}, "older"),
        ({"meta": {"lastTouchedVersion": "2026.2.26"}, "memory": {"search": {}}}, "newer"),
        ({"agents": [], "memory": "odd"}, "older"),
    ],
)
def test_the_keys_tell_the_dialect_and_then_the_version(config: Json, expected: str) -> None:
    assert recognised(config) == expected


# What is translated

MOVED: list[tuple[Json, str, object]] = [
    ({"enabled": False}, "enabled", False),
    ({"provider": "none"}, "provider", "none"),
    ({"fallback": "ollama"}, "fallback", "ollama"),
    ({"model": "m"}, "model", "m"),
    ({"remote": {"baseUrl": "http://x"}}, "remote.base_url", "http://x"),
    ({"remote": {"apiKey": "k"}}, "remote.api_key", "k"),
    ({"remote": {"apiKey": {"source": "exec", "id": "x"}}}, "remote.api_key", None),
    ({"remote": {"headers": {"A": "1", "B": {"source": "env"}}}}, "remote.headers", {"A": "1"}),
    ({"remote": {"batch": {"enabled": True}}}, "remote.batch.enabled", True),
    ({"outputDimensionality": 256}, "remote.dimensions", 256),
    ({"local": {"modelPath": "/m.gguf"}}, "local.model_path", "/m.gguf"),
    ({"store": {"vector": {"enabled": False}}}, "vector_enabled", False),
    ({"store": {"vector": {"extensionPath": "/v"}}}, "vector_extension_path", "/v"),
    ({"query": {"maxResults": 9}}, "query.max_results", 9),
    ({"query": {"minScore": 0.5}}, "query.min_score", 0.5),
    ({"cache": {"enabled": False}}, "cache_enabled", False),
    (
        {"sources": ["memory", "sessions"], "experimental": {"sessionMemory": True}},
        "sources",
        ("memory", "sessions"),
    ),
    ({"extraPaths": ["a", {"path": "b", "pattern": "*.txt"}]}, "extra_paths", ("a", "b")),
    ({"extraPaths": [{"path": " b ", "pattern": "*.txt"}]}, "extra_patterns", {"b": "*.txt"}),
    ({"extraPaths": [{"path": "b"}, {"path": "c", "pattern": None}]}, "extra_patterns", {}),
]
# Removed, so that a value left behind has no effect.
REMOVED: list[tuple[Json, str, object]] = [
    ({"chunking": {"tokens": 9, "overlap": 1}}, "chunk_tokens", 400),
    ({"store": {"path": "/x.sqlite"}}, "store_path", None),
    ({"sync": {"onSearch": False}}, "syncs_on_search", True),
    ({"query": {"hybrid": {"enabled": False}}}, "query.hybrid", True),
    ({"query": {"hybrid": {"mmr": {"enabled": True}}}}, "query.mmr", False),
    ({"cache": {"maxEntries": 5}}, "cache_max_entries", None),
    ({"remote": {"batch": {"concurrency": 9}}}, "remote.batch.concurrency", 2),
    ({"local": {"modelCacheDir": "/c"}}, "local.model_cache_dir", None),
    ({"exclude": ["x"]}, "exclude", ()),
    ({"remote": {"dimensions": 5}}, "remote.dimensions", None),
]


def found(search: object, path: str) -> Any:  # noqa: ANN401
    for name in path.split("."):
        search = getattr(search, name)
    return search


@pytest.mark.parametrize(("search", "path", "expected"), MOVED + REMOVED)
def test_a_moved_setting_means_the_same_for_all_agents_and_for_one(
    home: Home, search: Json, path: str, expected: object
) -> None:
    home.newer(**search)
    for_all = home.resolve().search
    home.write({"agents": {"entries": {"main": {"memory": {"search": search}}}}})
    for_one = home.resolve().search

    assert found(for_all, path) == expected
    assert found(for_one, path) == expected


@pytest.mark.parametrize(("search", "path", "expected"), REMOVED)
def test_what_newer_releases_removed_is_noted(
    home: Home, search: Json, path: str, expected: object
) -> None:
    home.newer(**search)

    (note,) = home.resolve().notes

    assert note.startswith("memory.search: not used here: ")
    assert next(iter(search)) in note


@pytest.mark.parametrize(
    "search",
    [
        {"store": {"fts": {"tokenizer": "trigram"}}},
        {"rememberAcrossConversations": True},
        {"inputType": "x", "queryInputType": "y", "documentInputType": "z"},
        {"multimodal": {"enabled": True, "modalities": ["image"]}},
        {"whatever": {"comes": "next"}},
    ],
)
def test_what_has_no_effect_here_is_noted_too(home: Home, search: Json) -> None:
    home.newer(**search)

    settings = home.resolve()

    assert len(settings.notes) == 1
    assert settings.search.enabled


def test_agents_are_a_map_of_ids(home: Home) -> None:
    home.write(
        {
            "memory": {"search": {"model": "shared", "extraPaths": ["a"]}, "citations": "off"},
            "agents": {
                "defaults": {"workspace": "~/w"},
                "entries": {
                    "Alpha One": {"memory": {"search": {"extraPaths": ["b"]}}},
                    "beta": {"default": True, "workspace": "~/b", "agentDir": "~/d"},
                    "gamma": {"memory": {"search": {"enabled": False}}},
                },
            },
        }
    )

    alpha, beta, gamma = (
        home.resolve(Overrides(agents=(id,))) for id in ("alpha-one", "beta", "gamma")
    )

    assert agent_ids(Overrides(), home.env) == ["Alpha One", "beta", "gamma"]
    assert home.resolve().agent_id == "beta"
    assert alpha.search.extra_paths == ("a", "b")
    assert (alpha.search.model, alpha.citations) == ("shared", "off")
    assert alpha.workspace == home.state / "workspace-alpha-one"
    assert alpha.index_path == home.state / "memory" / "Alpha One.ocmem.sqlite"
    assert (beta.workspace, beta.agent_dir) == (home.root / "b", home.root / "d")
    assert not gamma.search.enabled


def test_user_md_is_a_root_note_there(home: Home) -> None:
    older = home.resolve().root_files
    home.newer()

    assert older == ("MEMORY.md", "memory.md")
    assert home.resolve().root_files == ("MEMORY.md", "USER.md")


# Which file is used


@pytest.mark.parametrize(
    "search",
    [
        {},
        {"provider": "openai"},
        {"provider": "openai", "remote": {"apiKey": "k"}},
        {"provider": "none"},
        {"store": {"path": "{state}/agents/main/agent/openclaw-agent.sqlite"}},
    ],
)
@pytest.mark.parametrize("entry", [False, True])
def test_the_index_is_always_ocmems_own(home: Home, search: Json, entry: bool) -> None:
    if "store" in search:
        search = {"store": {"path": search["store"]["path"].replace("{state}", str(home.state))}}
    if entry:
        home.write({"agents": {"entries": {"main": {"memory": {"search": search}}}}})
    else:
        home.newer(**search)

    settings = home.resolve(None, OPENAI_API_KEY="k")

    assert settings.index_path == home.state / "memory" / "main.ocmem.sqlite"
    assert not settings.shares_index


@pytest.mark.parametrize("path", ["agents/main/agent/openclaw-agent.sqlite", "x.db"])
def test_even_ocmems_own_settings_do_not_lead_into_openclaws_database(
    home: Home, path: str
) -> None:
    home.newer(provider="openai")
    home.own_defaults(store={"path": str(home.state / path)})

    settings = home.resolve(None, OPENAI_API_KEY="k")

    stem, _, suffix = path.rpartition(".")
    assert settings.index_path == home.state / f"{stem}.ocmem.{suffix}"


# What is refused


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            {"memory": {"search": {}}, "agents": {"defaults": {"memorySearch": {}}}},
            ['agents.defaults: Unrecognized key: "memorySearch"'],
        ),
        ({"memory": {"search": {}}, "agents": {"list": []}}, ['agents: Unrecognized key: "list"']),
        (
            {"agents": {"entries": {"a": {"memorySearch": {}}}}},
            ['agents.entries.a: Unrecognized key: "memorySearch"'],
        ),
        (
            {"memory": {"search": {}, "backend": "qmd", "qmd": {}}},
            ['memory: Unrecognized keys: "backend", "qmd"'],
        ),
        (
            {"agents": {"entries": {}}, "memory": {"backend": "builtin"}},
            ['memory: Unrecognized key: "backend"'],
        ),
        (
            {"memory": {"search": {}}, "memorySearch": {}},
            ["memorySearch: top-level memorySearch was moved; use memory.search instead."],
        ),
    ],
)
def test_a_mixture_is_refused(home: Home, config: Json, expected: list[str]) -> None:
    home.write(config)

    assert home.problems() == expected


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            {"memory": {"search": []}},
            "memory.search: Invalid input: expected object, received array",
        ),
        (
            {"memory": {"search": {"query": {"maxResults": 0}}}},
            "memory.search.query.maxResults: Too small: expected number to be >0",
        ),
        (
            {"memory": {"search": {"provider": 5}}},
            "memory.search.provider: Invalid input: expected string, received number",
        ),
        (
            {"memory": {"search": {"extraPaths": [{"pattern": "x"}]}}},
            "memory.search.extraPaths.0.path: Invalid input: expected string, received undefined",
        ),
        (
            {"memory": {"search": {"extraPaths": [5]}}},
            "memory.search.extraPaths.0: Invalid input: expected string, received number",
        ),
        (
            {"memory": {"search": {"store": {"fts": {"tokenizer": "x"}}}}},
            "memory.search.store.fts.tokenizer: Invalid input",
        ),
        ({"memory": {"search": {}, "citations": "x"}}, "memory.citations: Invalid input"),
        (
            {"agents": {"entries": []}},
            "agents.entries: Invalid input: expected object, received array",
        ),
        (
            {"agents": {"entries": {"a": 5}}},
            "agents.entries.a: Invalid input: expected object, received number",
        ),
        (
            {"agents": {"entries": {"a": {"memory": []}}}},
            "agents.entries.a.memory: Invalid input: expected object, received array",
        ),
        (
            {"agents": {"entries": {"a": {"memory": {"search": {"enabled": 1}}}}}},
            "agents.entries.a.memory.search.enabled: "
            "Invalid input: expected boolean, received number",
        ),
        (
            {"agents": {"entries": {"a": {"workspace": 5}}}},
            "agents.entries.a.workspace: Invalid input: expected string, received number",
        ),
    ],
)
def test_a_bad_value_is_named_in_its_own_dialect(home: Home, config: Json, expected: str) -> None:
    home.write(config)

    assert home.problems() == [expected]


def test_services_need_less_there(home: Home) -> None:
    secret = {"source": "env", "id": "X"}
    home.write(
        {
            "memory": {"search": {}},
            "models": {"providers": {"openai": {"apiKey": secret, "headers": {"A": secret}}}},
        }
    )

    assert home.resolve().provider.endpoint is None


# Both files


def test_each_file_may_have_its_own_dialect(home: Home) -> None:
    home.newer(model="theirs", query={"maxResults": 3, "minScore": 0.1})
    home.own_defaults(query={"maxResults": 4}, chunking={"tokens": 100}, exclude=["x"])
    own_older = home.resolve().search
    home.defaults(model="theirs", query={"maxResults": 3, "minScore": 0.1})
    home.own({"memory": {"search": {"query": {"maxResults": 4}, "chunking": {"tokens": 100}}}})
    own_newer = home.resolve().search

    for search in (own_older, own_newer):
        assert (search.query.max_results, search.query.min_score) == (4, 0.1)
        assert (search.model, search.chunk_tokens) == ("theirs", 100)
    assert own_older.exclude == ("x",)


def test_the_own_file_is_strict_in_the_newer_dialect_too(home: Home) -> None:
    home.own({"memory": {"search": {"bogus": 1}, "backend": 5}})

    assert home.problems() == [
        'memory.search: Unrecognized key: "bogus"',
        "memory.backend: Invalid input",
    ]
