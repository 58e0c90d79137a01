"""What the reference refuses is refused in its words."""

from typing import Any

import pytest

from ocmem.settings import schema
from tests.unit.settings.home import Home, Json, agent

BAD_VALUES: list[tuple[Json, list[str]]] = [
    (
        {"query": {"maxResults": 0, "minScore": 2}, "bogus": 1},
        [
            ".query.maxResults: Too small: expected number to be >0",
            ".query.minScore: Too big: expected number to be <=1",
            ': Unrecognized key: "bogus"',
        ],
    ),
    (
        {"a": 1, "store": {"z": 1, "vector": {"enabled": 1, "q": 1}}, "b": 1},
        [
            ".store.vector.enabled: Invalid input: expected boolean, received number",
            '.store.vector: Unrecognized key: "q"',
            '.store: Unrecognized key: "z"',
            ': Unrecognized keys: "a", "b"',
        ],
    ),
    ({"x": 1, "y": 2}, [': Unrecognized keys: "x", "y"']),
    ({"query": {"x": 1}}, ['.query: Unrecognized key: "x"']),
    ({"provider": "acme"}, [".provider: Invalid input"]),
    ({"provider": "builtin"}, [".provider: Invalid input"]),
    ({"fallback": "auto"}, [".fallback: Invalid input"]),
    ({"sources": ["memory", "web"]}, [".sources.1: Invalid input"]),
    ({"model": 5}, [".model: Invalid input: expected string, received number"]),
    ({"enabled": "yes"}, [".enabled: Invalid input: expected boolean, received string"]),
    ({"query": []}, [".query: Invalid input: expected object, received array"]),
    ({"extraPaths": "x"}, [".extraPaths: Invalid input: expected array, received string"]),
    ({"chunking": {"overlap": -1}}, [".chunking.overlap: Too small: expected number to be >=0"]),
    (
        {"chunking": {"tokens": True}},
        [".chunking.tokens: Invalid input: expected number, received boolean"],
    ),
    (
        {"chunking": {"tokens": 1.5}},
        [".chunking.tokens: Invalid input: expected int, received number"],
    ),
    ({"query": {"minScore": -0.1}}, [".query.minScore: Too small: expected number to be >=0"]),
    ({"sources": ["web", "memory", 5]}, [".sources.0: Invalid input", ".sources.2: Invalid input"]),
    (
        {"extraPaths": ["a", 5, None]},
        [
            ".extraPaths.1: Invalid input: expected string, received number",
            ".extraPaths.2: Invalid input: expected string, received null",
        ],
    ),
    (
        {"extraPaths": [{"path": "a"}]},
        [".extraPaths.0: Invalid input: expected string, received object"],
    ),
    (
        {"remote": {"headers": {"A": "1", "B": 2}}},
        [".remote.headers.B: Invalid input: expected string, received number"],
    ),
    (
        {"remote": {"headers": []}},
        [".remote.headers: Invalid input: expected object, received array"],
    ),
    (
        {"remote": {"apiKey": {"source": "env"}}},
        [".remote.apiKey: Invalid input: expected string, received object"],
    ),
    (
        {"chunking": {"tokens": 2**53}},
        [".chunking.tokens: Too big: expected int to be <=9007199254740991"],
    ),
    ({"chunking": {"tokens": -0.0}}, [".chunking.tokens: Too small: expected number to be >0"]),
    (
        {"store": {"path": "a\0b"}},
        [".store.path: Invalid input: a path cannot hold a null character"],
    ),
    (
        {"extraPaths": ["a\0b"]},
        [".extraPaths.0: Invalid input: a path cannot hold a null character"],
    ),
    ({"store": {"driver": "postgres"}}, [".store.driver: Invalid input"]),
    ({"provider": ["openai"]}, [".provider: Invalid input"]),
    ({"provider": {"openai": 1}}, [".provider: Invalid input"]),
    ({"__proto__": 1}, [': Unrecognized key: "__proto__"']),
    ({"\x1b[2J\n": 1}, [r': Unrecognized key: "\x1b[2J\n"']),
    ({"exclude": ["x"]}, [': Unrecognized key: "exclude"']),
    ({"query": {"ranker": "fused"}}, ['.query: Unrecognized key: "ranker"']),
    ({"remote": {"dimensions": 256}}, ['.remote: Unrecognized key: "dimensions"']),
]


@pytest.mark.parametrize(("memory_search", "expected"), BAD_VALUES)
def test_a_bad_value_is_named_with_its_path(
    home: Home, memory_search: Json, expected: list[str]
) -> None:
    home.defaults(**memory_search)

    assert home.problems() == [f"agents.defaults.memorySearch{text}" for text in expected]


@pytest.mark.parametrize(
    ("number", "received"), [("NaN", "NaN"), ("Infinity", "number"), ("-Infinity", "number")]
)
def test_json5_has_numbers_that_are_none(home: Home, number: str, received: str) -> None:
    home.write(f"{{agents: {{defaults: {{memorySearch: {{query: {{maxResults: {number}}}}}}}}}}}")

    kind = "number" if number == "NaN" else "int"
    assert home.problems() == [
        "agents.defaults.memorySearch.query.maxResults: "
        f"Invalid input: expected {kind}, received {received}"
    ]


def put(path: str, value: object) -> Any:  # noqa: ANN401
    """`value` at a dotted path."""
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


@pytest.mark.parametrize("key", schema.KEYS, ids=lambda key: key.path)
def test_every_setting_refuses_what_it_cannot_be(home: Home, key: schema.Key) -> None:
    write = home.own_defaults if key.own else home.defaults
    write(**put(key.path, [[]]))
    (problem,) = home.problems()
    write(**put(key.path, None))
    home.resolve()

    assert problem.startswith(f"agents.defaults.memorySearch.{key.path}")
    assert ": Invalid input" in problem


@pytest.mark.parametrize("key", schema.KEYS, ids=lambda key: key.path)
def test_every_default_is_a_value_that_may_be_set(home: Home, key: schema.Key) -> None:
    if key.default is not None and key.default != "":
        write = home.own_defaults if key.own else home.defaults
        write(**put(key.path, key.default))

    home.resolve()


@pytest.mark.parametrize(
    ("agents", "expected"),
    [
        ([], "agents: Invalid input: expected object, received array"),
        ({"defaults": []}, "agents.defaults: Invalid input: expected object, received array"),
        (
            {"defaults": {"memorySearch": []}},
            "agents.defaults.memorySearch: Invalid input: expected object, received array",
        ),
        (
            {"defaults": {"workspace": 5}},
            "agents.defaults.workspace: Invalid input: expected string, received number",
        ),
        ({"list": {}}, "agents.list: Invalid input: expected array, received object"),
        ({"list": ["main"]}, "agents.list.0: Invalid input: expected object, received string"),
        ({"list": [None]}, "agents.list.0: Invalid input: expected object, received null"),
        (
            {"list": [{"default": True}]},
            "agents.list.0.id: Invalid input: expected string, received undefined",
        ),
        (
            {"list": [{"id": 5}]},
            "agents.list.0.id: Invalid input: expected string, received number",
        ),
        (
            {"list": [{"id": "a\0b"}]},
            "agents.list.0.id: Invalid input: a path cannot hold a null character",
        ),
        (
            {"list": [{"id": "a", "default": "yes"}]},
            "agents.list.0.default: Invalid input: expected boolean, received string",
        ),
        (
            {"list": [{"id": "a", "workspace": ["x"]}]},
            "agents.list.0.workspace: Invalid input: expected string, received array",
        ),
        (
            {"list": [{"id": "a"}, {"id": "b", "agentDir": 1}]},
            "agents.list.1.agentDir: Invalid input: expected string, received number",
        ),
        (
            {"list": [agent("a"), agent("b", model=1)]},
            "agents.list.1.memorySearch.model: Invalid input: expected string, received number",
        ),
        (
            {"list": [{"id": "a", "memory": {"search": {}}}]},
            'agents.list.0: Unrecognized key: "memory"',
        ),
    ],
)
def test_agents_are_checked(home: Home, agents: object, expected: str) -> None:
    home.write({"agents": agents})

    assert home.problems() == [expected]


@pytest.mark.parametrize(
    ("first", "second"), [("~/a", "~/a"), ("~/a", " ~/b/../a/ "), ("~/a", "{home}/a")]
)
def test_two_agents_must_not_share_their_folder(home: Home, first: str, second: str) -> None:
    second = second.replace("{home}", str(home.root))
    home.write(
        {"agents": {"list": [{"id": "A", "agentDir": first}, {"id": "b", "agentDir": second}]}}
    )

    assert home.problems() == [
        'agents.list: Duplicate agentDir detected (multi-agent config). "a" and "b" share ~/a'
    ]


def test_the_old_place_of_the_settings_is_pointed_out(home: Home) -> None:
    home.write({"memorySearch": {"provider": "openai"}})

    assert home.problems() == [
        "memorySearch: top-level memorySearch was moved; use agents.defaults.memorySearch instead."
    ]


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        ([], "memory: Invalid input: expected object, received array"),
        ({"citations": "maybe"}, "memory.citations: Invalid input"),
        ({"backend": "lancedb"}, "memory.backend: Invalid input"),
        ({"x": 1}, 'memory: Unrecognized key: "x"'),
        (
            {"backend": "qmd", "qmd": {"limits": {"maxResults": 0}}},
            "memory.qmd.limits.maxResults: Too small: expected number to be >0",
        ),
        (
            {"qmd": {"paths": [{"name": "x"}]}},
            "memory.qmd.paths.0.path: Invalid input: expected string, received undefined",
        ),
        (
            {"qmd": {"paths": [{"path": "x", "pattern": 1}]}},
            "memory.qmd.paths.0.pattern: Invalid input: expected string, received number",
        ),
        (
            {"qmd": {"paths": ["x"]}},
            "memory.qmd.paths.0: Invalid input: expected object, received string",
        ),
        (
            {"qmd": {"update": {"interval": True}}},
            "memory.qmd.update.interval: Invalid input: expected number, received boolean",
        ),
        ({"qmd": {"update": {"x": 1}}}, 'memory.qmd.update: Unrecognized key: "x"'),
    ],
)
def test_the_memory_block_is_checked(home: Home, memory: object, expected: str) -> None:
    home.write({"memory": memory})

    assert home.problems() == [expected]


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        ([], ["models: Invalid input: expected object, received array"]),
        ({"providers": []}, ["models.providers: Invalid input: expected object, received array"]),
        (
            {"providers": {"openai": {"apiKey": "k"}}},
            [
                "models.providers.openai.baseUrl: "
                "Invalid input: expected string, received undefined",
                "models.providers.openai.models: Invalid input: expected array, received undefined",
            ],
        ),
        (
            {"providers": {"x": {"baseUrl": "u", "models": [], "apiKey": 5, "headers": {"A": 1}}}},
            [
                "models.providers.x.apiKey: Invalid input: expected string, received number",
                "models.providers.x.headers.A: Invalid input: expected string, received number",
            ],
        ),
        (
            {"providers": {"x": "http://x"}},
            ["models.providers.x: Invalid input: expected object, received string"],
        ),
        ({"providers": {"x": {"baseUrl": "u", "models": [], "more": 1}}}, []),
        ({"providers": {"x": {"baseUrl": "u", "models": [], "apiKey": {"source": "env"}}}}, []),
    ],
)
def test_services_are_checked(home: Home, models: object, expected: list[str]) -> None:
    home.write({"models": models})

    assert (home.problems() if expected else []) == expected
    if not expected:
        home.resolve()


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"env": []}, "env: Invalid input: expected object, received array"),
        ({"env": {"A": 5}}, "env.A: Invalid input: expected string, received number"),
        ({"env": {"vars": "A"}}, "env.vars: Invalid input: expected object, received string"),
        (
            {"env": {"vars": {"A": True}}},
            "env.vars.A: Invalid input: expected string, received boolean",
        ),
        ({"env": {"shellEnv": 1}}, "env.shellEnv: Invalid input: expected object, received number"),
        (
            {"env": {"shellEnv": {"enabled": "yes"}}},
            "env.shellEnv.enabled: Invalid input: expected boolean, received string",
        ),
        (
            {"env": {"shellEnv": {"timeoutMs": -1}}},
            "env.shellEnv.timeoutMs: Too small: expected number to be >=0",
        ),
        ({"auth": 5}, "auth: Invalid input: expected object, received number"),
        (
            {"auth": {"order": {"openai": "a"}}},
            "auth.order.openai: Invalid input: expected array, received string",
        ),
        (
            {"auth": {"order": {"openai": ["a", 5]}}},
            "auth.order.openai.1: Invalid input: expected string, received number",
        ),
        (
            {"auth": {"profiles": {"openai:a": 5}}},
            "auth.profiles.openai:a: Invalid input: expected object, received number",
        ),
    ],
)
def test_variables_and_profiles_are_checked(home: Home, config: object, expected: str) -> None:
    home.write(config)

    assert home.problems() == [expected]


@pytest.mark.parametrize(
    "config",
    [
        {"nonsense": 1},
        {"$schema": "x", "meta": {"lastTouchedVersion": "2026.2.26", "x": 1}},
        {"channels": {"telegram": {"botToken": 5}}, "gateway": [], "plugins": "odd"},
        {"plugins": {"slots": {"memory": "none"}}},
        {"agents": {"defaults": {"model": {"primary": "x"}}, "else": 1}},
        {"agents": {"list": [{"id": "a", "tools": {"x": 1}}]}},
        {"models": {"mode": "merge"}, "auth": {"cooldowns": {}}},
        {"agents": None, "memory": None, "models": None, "env": None, "auth": None},
    ],
)
def test_what_memory_does_not_use_is_none_of_our_business(home: Home, config: Json) -> None:
    home.write(config)

    assert home.resolve().search.enabled is True


def test_problems_come_in_the_order_of_the_parts(home: Home) -> None:
    home.write(
        {
            "env": {"A": 1},
            "models": {"providers": []},
            "memory": {"x": 1},
            "agents": {"list": [{"id": 1}], "defaults": {"memorySearch": {"x": 1}}},
            "memorySearch": {},
        }
    )

    assert [problem.split(":")[0] for problem in home.problems()] == [
        "memorySearch",
        "agents.defaults.memorySearch",
        "agents.list.0.id",
        "memory",
        "models.providers",
        "env.A",
    ]


def test_the_own_file_may_hold_what_openclaw_refuses(home: Home) -> None:
    home.own_defaults(
        provider="none",
        exclude=["private"],
        query={"ranker": "fused", "snippet": "head"},
        remote={"maxItems": 4, "dimensions": 256, "requestsPerMinute": 60},
    )

    settings = home.resolve()

    assert settings.provider.id == "none"
    assert settings.search.exclude == ("private",)
    assert (settings.search.query.ranker, settings.search.query.snippet) == ("fused", "head")
    assert settings.search.remote.dimensions == 256
