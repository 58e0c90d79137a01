"""ocmem's own file is ocmem's: what it does not know there is a mistake."""

import pytest

from tests.unit.settings.home import Home, Json


@pytest.mark.parametrize(
    ("own", "problems"),
    [
        ({"agnets": {}}, ['<root>: Unrecognized key: "agnets"']),
        ({"a": 1, "b": 2}, ['<root>: Unrecognized keys: "a", "b"']),
        ({"agents": {"lst": []}}, ['agents: Unrecognized key: "lst"']),
        ({"agents": {"defaults": {"foo": 1}}}, ['agents.defaults: Unrecognized key: "foo"']),
        (
            {"agents": {"list": [{"id": "a"}, {"id": "b", "memroySearch": {}}]}, "x": 1},
            [
                'agents.list.1: Unrecognized key: "memroySearch"',
                '<root>: Unrecognized key: "x"',
            ],
        ),
        (
            {"agents": {"entries": {"a": {"memroy": {}}}}},
            ['agents.entries.a: Unrecognized key: "memroy"'],
        ),
        (
            {"agents": {"entries": {"a": {"memorySearch": {}}}}},
            ['agents.entries.a: Unrecognized key: "memorySearch"'],
        ),
        (
            {"memory": {"search": {}}, "agents": {"defaults": {"memorySearch": {}}}},
            ['agents.defaults: Unrecognized key: "memorySearch"'],
        ),
    ],
)
def test_unknown_keys_are_reported_with_their_place(
    home: Home, own: Json, problems: list[str]
) -> None:
    home.own(own)

    assert home.problems() == problems


@pytest.mark.parametrize(
    "own",
    [
        {"$schema": "x", "meta": {"lastTouchedVersion": "1"}, "plugins": {"slots": {}}},
        {"env": {"A": "1"}, "models": {"providers": {}}, "auth": {"order": {}}},
        {"memory": {"citations": "off"}, "agents": {"defaults": {"workspace": "~/w"}}},
        {"agents": {"list": [{"id": "a", "name": "A", "default": True, "agentDir": "~/a"}]}},
        {"agents": {"entries": {"a": {"id": "a", "memory": {"search": {}}}}}},
    ],
)
def test_what_openclaw_has_there_too_is_no_mistake(home: Home, own: Json) -> None:
    home.own(own)

    home.resolve()


def test_other_programs_keys_in_openclaws_file_stay_its_own_business(home: Home) -> None:
    home.write({"x": 1, "agents": {"y": 1, "defaults": {"z": 1}, "list": [{"id": "a", "w": 1}]}})

    home.resolve()


@pytest.mark.parametrize(
    ("own", "hint"),
    [
        ({"provider": "builtin"}, "provider: put that under agents.defaults.memorySearch"),
        (
            {"agents": {"defaults": {"query": {}, "remote": {}}}},
            "query, remote: put that under agents.defaults.memorySearch",
        ),
        (
            {"memory": {"search": {}}, "exclude": ["x"]},
            "exclude: put that under memory.search",
        ),
        ({"agnets": {}}, None),
    ],
)
def test_a_memory_setting_in_the_wrong_place_is_shown_the_right_one(
    home: Home, own: Json, hint: str | None
) -> None:
    home.own(own)

    assert home.error().hint == hint


@pytest.mark.parametrize("name", ["builtin", "none"])
def test_a_provider_that_openclaw_refuses_is_shown_where_to_go(home: Home, name: str) -> None:
    home.defaults(provider=name)

    error = home.error()

    assert "memorySearch.provider: Invalid input" in str(error)
    assert error.hint == "builtin and none go into ~/ocmem.json5"


def test_another_mistake_has_no_such_hint(home: Home) -> None:
    home.defaults(provider="acme")

    assert home.error().hint is None


def test_an_agent_that_lives_where_another_would_by_default_shares_its_folder(home: Home) -> None:
    folder = "~/.openclaw/agents/a/agent"
    home.write({"agents": {"list": [{"id": "A"}, {"id": "b", "agentDir": folder}]}})

    assert home.problems() == [
        f'agents.list: Duplicate agentDir detected (multi-agent config). "a" and "b" share {folder}'
    ]
