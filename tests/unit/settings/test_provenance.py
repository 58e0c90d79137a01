"""`ocmem config`: the included file, the variable, the option behind a value."""

import pytest

from ocmem.settings import Overrides, explain
from ocmem.settings.explain import Setting
from ocmem.settings.origin import Origin
from tests.unit.settings.home import Home, Json

DEFAULTS = "agents.defaults.memorySearch"


def told(home: Home, key: str, overrides: Overrides | None = None, **env: str) -> Setting:
    found = explain.settings_of(home.resolve(overrides, **env))
    return next(setting for setting in found if setting.key == key)


def test_a_value_from_an_included_file_is_credited_to_that_file(home: Home) -> None:
    more = home.file(home.state / "more.json", {"memorySearch": {"query": {"maxResults": 9}}})
    beside = {"memorySearch": {"query": {"minScore": 0.1}}}
    home.write({"agents": {"defaults": {"$include": "more.json", **beside}}})

    key = f"{DEFAULTS}.query"
    assert told(home, "query.maxResults").origin == Origin("file", f"{key}.maxResults", str(more))
    assert told(home, "query.minScore").origin == Origin(
        "file", f"{key}.minScore", str(home.config)
    )


@pytest.mark.parametrize("newer", [False, True])
def test_an_included_entry_is_credited_to_its_file(home: Home, newer: bool) -> None:
    search = {"query": {"maxResults": 9}}
    entry: Json = {"memory": {"search": search}} if newer else {"memorySearch": search, "id": "B"}
    agents = {"entries": {"a": {}, "B": entry}} if newer else {"list": [{"id": "a"}, entry]}
    more = home.file(home.state / "more.json", {"agents": agents})
    home.write({"$include": "more.json"})

    origin = told(home, "query.maxResults", Overrides(agents=("b",))).origin

    place = "agents.entries.B.memory.search" if newer else "agents.list.B.memorySearch"
    assert origin == Origin("file", f"{place}.query.maxResults", str(more))


def test_a_list_of_several_files_is_credited_to_the_one_that_joins_them(home: Home) -> None:
    home.file(home.state / "more.json", {"extraPaths": ["a"]})
    home.defaults(**{"$include": "more.json", "extraPaths": ["b"]})

    setting = told(home, "extraPaths")

    assert setting.value == ["a", "b"]
    assert setting.origin.file == str(home.config)


def test_keys_outside_the_memory_settings_are_credited_too(home: Home) -> None:
    more = home.file(
        home.state / "more.json",
        {
            "memory": {"citations": "off"},
            "models": {"providers": {"OpenAI": {"baseUrl": "${URL}", "models": [], "apiKey": "k"}}},
        },
    )
    home.write({"$include": "more.json"})

    citations = told(home, "memory.citations", None, URL="http://x")
    url = told(home, "remote.baseUrl", None, URL="http://x")

    assert citations.origin == Origin("file", "memory.citations", str(more))
    assert url.origin == Origin(
        "file", "models.providers.openai.baseUrl", str(more), (("URL", "environment"),)
    )


def test_variables_in_a_value_are_told_with_their_place(home: Home) -> None:
    dotenv = home.file(home.state / ".env", "MM=text-embedding-3-large")
    home.defaults(provider="openai", model="${MM}", remote={"apiKey": "${A}${B}${A}$${C}"})

    env = {"A": "1", "B": "2"}
    assert told(home, "model", None, **env).origin.via == (("MM", str(dotenv)),)
    assert told(home, "remote.apiKey", None, **env).origin.via == (
        ("A", "environment"),
        ("B", "environment"),
    )


def test_extra_paths_name_every_list_that_was_joined(home: Home) -> None:
    entry = {"id": "a", "memorySearch": {"extraPaths": ["two"]}}
    defaults = {"memorySearch": {"extraPaths": ["one"]}}
    home.write({"agents": {"defaults": defaults, "list": [entry]}})

    setting = told(home, "extraPaths")

    assert setting.value == ["one", "two"]
    file = str(home.config)
    assert setting.origin == Origin("file", "agents.list.a.memorySearch.extraPaths", file)
    assert setting.also_from == (Origin("file", f"{DEFAULTS}.extraPaths", file),)


# Places


def test_a_config_from_a_legacy_folder_is_said_to_be(home: Home) -> None:
    home.file(home.root / ".clawdbot" / "clawdbot.json", {})
    legacy = explain.place_origins(home.resolve())
    home.file(home.state / "moltbot.json", {})
    name = explain.place_origins(home.resolve())
    home.file(home.root / "s" / "openclaw.json", {})
    moved = explain.place_origins(home.resolve(None, OPENCLAW_STATE_DIR="~/s"))

    assert legacy["configFile"] == "legacy folder, older dialect"
    assert name["configFile"] == "legacy name, older dialect"
    assert moved["configFile"] == "in the state directory, older dialect"


def test_variables_that_name_the_files_are_told(home: Home) -> None:
    home.own({})

    found = explain.place_origins(home.resolve(None, OPENCLAW_CONFIG_PATH="~/x.json"))

    chosen = "OPENCLAW_CONFIG_PATH (environment)"
    assert found["configFile"] == f"{chosen}, not there: all defaults"
    assert found["ownConfigFile"] == "OCMEM_CONFIG (environment), read"


def test_a_configured_store_is_told_with_its_key(home: Home) -> None:
    home.defaults(store={"path": "~/x.sqlite"})

    found = explain.place_origins(home.resolve())

    assert found["store"] == f"{DEFAULTS}.store.path, ocmem's own"
