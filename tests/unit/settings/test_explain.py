"""`ocmem config`: every value with the place it came from."""

from pathlib import Path
from typing import Any

import pytest

from ocmem.settings import Overrides, Settings, explain, schema
from ocmem.settings.explain import Setting
from ocmem.settings.origin import DEFAULT, Origin
from tests.unit.settings.home import Home, Json, agent


def told(settings: Settings) -> dict[str, Setting]:
    listed = explain.settings_of(settings)
    found = {setting.key: setting for setting in listed}
    assert len(found) == len(listed)  # each is told once
    return found


def put(path: str, value: object) -> Any:  # noqa: ANN401
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


# A value for each setting that is not its default, and what becomes of it.
VALUES: dict[str, tuple[object, object]] = {
    "enabled": (False, False),
    "sources": (["sessions"], ["memory"]),
    "extraPaths": (["a", " a ", "b"], ["a", "b"]),
    "exclude": (["x"], ["x"]),
    "experimental.sessionMemory": (True, True),
    "provider": ("openai", "openai"),
    "fallback": ("gemini", "gemini"),
    "model": ("openai/m", "m"),
    "remote.baseUrl": ("http://x", "http://x"),
    "remote.apiKey": ("k", "set"),
    "remote.headers": ({"A": "1"}, {"A": "set"}),
    "remote.batch.enabled": (True, True),
    "remote.batch.wait": (False, False),
    "remote.batch.concurrency": (3, 3),
    "remote.batch.pollIntervalMs": (1, 1),
    "remote.batch.timeoutMinutes": (2, 2),
    "remote.maxItems": (3, 3),
    "remote.dimensions": (256, 256),
    "remote.requestsPerMinute": (5, 5),
    "local.modelPath": ("~/m", "~/m"),
    "local.modelCacheDir": ("~/c", "~/c"),
    "store.path": ("~/x.db", "~/x.db"),
    "store.vector.enabled": (False, False),
    "store.vector.extensionPath": ("/v", "/v"),
    "chunking.tokens": (50, 50),
    "chunking.overlap": (400, 399),
    "sync.onSessionStart": (False, False),
    "sync.onSearch": (False, False),
    "sync.watch": (False, False),
    "sync.watchDebounceMs": (5, 5),
    "sync.intervalMinutes": (5, 5),
    "sync.sessions.deltaBytes": (5, 5),
    "sync.sessions.deltaMessages": (5, 5),
    "query.maxResults": (9, 9),
    "query.minScore": (0.5, 0.5),
    "query.ranker": ("fused", "fused"),
    "query.snippet": ("head", "head"),
    "query.hybrid.enabled": (False, False),
    "query.hybrid.vectorWeight": (0.1, 0.25),
    "query.hybrid.textWeight": (0.0, 0.0),
    "query.hybrid.candidateMultiplier": (99, 20),
    "query.hybrid.mmr.enabled": (True, True),
    "query.hybrid.mmr.lambda": (0.1, 0.1),
    "query.hybrid.temporalDecay.enabled": (True, True),
    "query.hybrid.temporalDecay.halfLifeDays": (5, 5),
    "cache.enabled": (False, False),
    "cache.maxEntries": (5, 5),
}
# How a file of the newer dialect says the same.
NEWER_NAMES = {"remote.dimensions": "outputDimensionality"}


def test_every_setting_is_told_once_in_the_order_of_the_schema(home: Home) -> None:
    found = list(told(home.resolve(None, OPENAI_API_KEY="k")))

    first = ["provider", "model", "remote.baseUrl", "remote.apiKey"]
    rest = [key.path for key in schema.KEYS if key.path not in first]
    assert found == [*first, *rest, "memory.citations", "memory.backend"]


def test_without_files_everything_is_a_default(home: Home) -> None:
    found = told(home.resolve())

    assert {setting.origin for setting in found.values()} == {DEFAULT}
    for key in schema.KEYS:
        setting = found[key.path]
        if key.path not in ("provider", "model", "remote.apiKey"):
            assert setting.value == key.default
        assert setting.configured is None or key.path == "provider"
    assert (found["provider"].value, found["provider"].configured) == ("builtin", "auto")
    assert found["remote.apiKey"].value == "not set"
    assert found["memory.citations"].value == "auto"


def test_the_table_covers_every_setting() -> None:
    assert VALUES.keys() | {"store.driver"} == {key.path for key in schema.KEYS}


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (path, place)
        for path in VALUES
        for place in ("defaults", "agent", "own defaults", "own agent")
        if place.startswith("own") or not schema.OLDER.by_path[path].own
    ],
)
def test_a_configured_value_is_told_with_its_file_and_key(
    home: Home, path: str, place: str
) -> None:
    given, expected = VALUES[path]
    search = put(path, given)
    agents: Json = {"list": [agent("Main", **search)]}
    key = f"agents.list.Main.memorySearch.{path}"
    if place.endswith("defaults"):
        agents = {"defaults": {"memorySearch": search}}
        key = f"agents.defaults.memorySearch.{path}"
    is_own = place.startswith("own")
    (home.own if is_own else home.write)({"agents": agents})

    settings = home.resolve(None, OPENAI_API_KEY="k")
    setting = told(settings)[path]

    assert setting.value == pytest.approx(expected)
    assert setting.origin == Origin("file", key, str(home.overlay if is_own else home.config))
    if given != expected and path not in ("extraPaths", "remote.apiKey", "remote.headers"):
        assert setting.configured == given
    elif path != "provider":
        assert setting.configured is None


@pytest.mark.parametrize("per_agent", [False, True])
@pytest.mark.parametrize(
    "path", [path for path in VALUES if NEWER_NAMES.get(path, path) in schema.USED_NEWER.by_path]
)
def test_the_newer_dialect_is_told_in_its_own_keys(home: Home, path: str, per_agent: bool) -> None:
    name = NEWER_NAMES.get(path, path)
    given, expected = VALUES[path]
    search = put(name, given)
    where = "agents.entries.Alpha One.memory.search" if per_agent else "memory.search"
    entry = {"memory": {"search": search}} if per_agent else {}
    home.write(
        {
            "memory": {"search": {} if per_agent else search},
            "agents": {"entries": {"Alpha One": entry}},
        }
    )

    setting = told(home.resolve(None, OPENAI_API_KEY="k"))[path]

    if path != "fallback":
        assert setting.value == expected
    assert setting.origin == Origin("file", f"{where}.{name}", str(home.config))


def test_an_option_is_told_by_its_name(home: Home) -> None:
    home.defaults(provider="openai", model="m")

    found = told(home.resolve(Overrides(provider="none")))

    assert found["provider"] == Setting("provider", "none", Origin("option", "--provider"), "none")
    assert found["model"].value is None


def test_extra_paths_of_several_places_are_told_together(home: Home) -> None:
    home.write(
        {
            "memory": {"search": {"extraPaths": ["a"]}},
            "agents": {
                "entries": {
                    "x": {"memory": {"search": {"extraPaths": [{"path": "b", "pattern": "*.txt"}]}}}
                }
            },
        }
    )

    setting = told(home.resolve())["extraPaths"]

    assert setting.value == ["a", {"path": "b", "pattern": "*.txt"}]
    assert setting.origin.key == "agents.entries.x.memory.search.extraPaths"


# Keys and addresses

SHARED = {"baseUrl": "http://shared/v1", "models": [], "apiKey": "k"}


@pytest.mark.parametrize("place", ["environment", "here", "global", "config", "own", "shell"])
def test_a_key_from_a_variable_is_told_with_the_file_that_sets_it(home: Home, place: str) -> None:
    env: dict[str, str] = {}
    file: Path | None = None
    if place == "environment":
        env = {"OPENAI_API_KEY": "k"}
    elif place == "here":
        file = home.file(home.cwd / ".env", "OPENAI_API_KEY=k")
    elif place == "global":
        file = home.file(home.state / ".env", "OPENAI_API_KEY=k")
    elif place == "config":
        file = home.file(home.config, {"env": {"vars": {"OPENAI_API_KEY": "k"}}})
    elif place == "own":
        file = home.file(home.overlay, {"env": {"OPENAI_API_KEY": "k"}})
    else:
        shell = home.file(home.root / "shell", "#!/bin/sh\nprintf 'OPENAI_API_KEY=k\\0'\n")
        shell.chmod(0o755)
        env = {"SHELL": str(shell), "OPENCLAW_LOAD_SHELL_ENV": "1"}

    setting = told(home.resolve(None, **env))["remote.apiKey"]

    kind = "login shell" if place == "shell" else "environment"
    assert setting.origin == Origin(kind, "OPENAI_API_KEY", str(file) if file else None)
    assert setting.value == "set"


def test_a_key_from_a_profile_is_told_with_its_store(home: Home) -> None:
    entry = {"type": "api_key", "provider": "openai", "key": "k"}
    file = home.auth({"profiles": {"openai:work": entry}})

    setting = told(home.resolve())["remote.apiKey"]

    assert setting.origin == Origin("file", "profiles.openai:work", str(file))


@pytest.mark.parametrize("own", [False, True])
def test_what_belongs_to_a_service_is_told_with_the_file_that_says_it(
    home: Home, own: bool
) -> None:
    (home.own if own else home.write)({"models": {"providers": {" OpenAI ": SHARED}}})

    found = told(home.resolve())

    file = str(home.overlay if own else home.config)
    assert found["remote.baseUrl"] == Setting(
        "remote.baseUrl",
        "http://shared/v1",
        Origin("file", "models.providers.openai.baseUrl", file),
    )
    assert found["remote.apiKey"].origin == Origin("file", "models.providers.openai.apiKey", file)


def test_a_fallback_is_told_with_the_reason_and_without_what_is_not_its_own(home: Home) -> None:
    home.defaults(provider="gemini", fallback="openai", model="g", remote={"baseUrl": "http://g"})

    found = told(home.resolve(None, OPENAI_API_KEY="k"))

    provider = found["provider"]
    assert (provider.value, provider.configured) == ("openai", "gemini")
    assert provider.note is not None
    assert provider.note.startswith('in place of gemini: No API key found for provider "google".')
    assert (found["model"].value, found["model"].configured) == ("text-embedding-3-small", "g")
    assert found["remote.baseUrl"].value == "https://api.openai.com/v1"
    assert found["remote.baseUrl"].origin == DEFAULT


def test_a_missing_key_is_told_as_a_note(home: Home) -> None:
    home.defaults(provider="openai", fallback="gemini")

    found = told(home.resolve())

    note = found["provider"].note
    assert note is not None
    assert note.startswith("No API key found")
    assert "Fallback to gemini failed" in note
    assert found["remote.apiKey"] == Setting("remote.apiKey", "not set", DEFAULT)


def test_a_password_in_an_address_is_not_told(home: Home) -> None:
    home.defaults(provider="openai", remote={"baseUrl": "https://me:pass@host/v1"})
    used = told(home.resolve())
    home.defaults(provider="gemini", remote={"baseUrl": "https://me:pass@host/v1"})
    unused = told(home.resolve())

    assert used["remote.baseUrl"].value == "https://***@host/v1"
    assert unused["remote.baseUrl"].value == "https://***@host/v1"


def test_nothing_secret_is_told_of_any_address(home: Home) -> None:
    secret = "https://u:p@SECRET@hf.co/x?key=SECRET"
    home.own_defaults(
        provider="openai",
        model=f"openai/{secret}",
        remote={"baseUrl": secret},
        local={"modelPath": secret},
        store={"path": secret, "vector": {"extensionPath": secret}},
        extraPaths=[secret],
        exclude=[secret],
    )

    assert "SECRET" not in repr(explain.settings_of(home.resolve()))


def test_the_memory_block_is_told_with_its_file(home: Home) -> None:
    home.write({"memory": {"citations": "on", "backend": "builtin"}})
    home.own({"memory": {"citations": "off"}})

    found = told(home.resolve())

    assert found["memory.citations"] == Setting(
        "memory.citations", "off", Origin("file", "memory.citations", str(home.overlay))
    )
    assert found["memory.backend"].origin == Origin("file", "memory.backend", str(home.config))


# Places


def test_the_places_are_absolute(home: Home) -> None:
    home.write({"agents": {"list": [{"id": "Alpha One"}]}})

    places = explain.places_of(home.resolve())

    agents = home.state / "agents" / "alpha-one"
    assert places == {
        "stateDir": home.state,
        "configFile": home.config,
        "ownConfigFile": home.overlay,
        "workspace": home.state / "workspace",
        "store": home.state / "memory" / "Alpha One.ocmem.sqlite",
        "sessionsDir": agents / "sessions",
        "agentDir": agents / "agent",
        "qmdConfigHome": agents / "qmd" / "xdg-config",
        "qmdCacheHome": agents / "qmd" / "xdg-cache",
    }


@pytest.mark.parametrize(
    ("config", "env", "expected"),
    [
        (None, {}, {"stateDir": "default", "configFile": "default, not there: all defaults"}),
        ({}, {}, {"configFile": "default, older dialect"}),
        (
            {"memory": {"search": {}}},
            {},
            {"configFile": "default, newer dialect", "store": "ocmem's own"},
        ),
        ({}, {"OPENAI_API_KEY": "k"}, {"store": "shared with OpenClaw"}),
        ({}, {"OPENCLAW_STATE_DIR": "/s"}, {"stateDir": "OPENCLAW_STATE_DIR (environment)"}),
        ({}, {"CLAWDBOT_STATE_DIR": "/s"}, {"stateDir": "CLAWDBOT_STATE_DIR (environment)"}),
        ({}, {"OPENCLAW_PROFILE": "work"}, {"workspace": "default for profile work"}),
        (
            {"agents": {"defaults": {"workspace": "/w"}}},
            {},
            {"workspace": "agents.defaults.workspace"},
        ),
        (
            {"agents": {"list": [{"id": "A b", "workspace": "/w"}]}},
            {},
            {"workspace": "agents.list.A b.workspace"},
        ),
        (
            {"agents": {"entries": {"A b": {"workspace": "/w"}}}},
            {},
            {"workspace": "agents.entries.A b.workspace"},
        ),
    ],
)
def test_the_places_say_why(
    home: Home, config: Json | None, env: dict[str, str], expected: dict[str, str]
) -> None:
    if config is not None:
        home.write(config)

    found = explain.place_origins(home.resolve(None, **env))

    assert {name: found[name] for name in expected} == expected


def test_a_legacy_folder_and_an_option_are_told(home: Home) -> None:
    (home.root / ".moltbot").mkdir()
    (home.root / "notes").mkdir()

    legacy = explain.place_origins(home.resolve())
    option = explain.place_origins(home.resolve(Overrides(workspace="~/notes", state_dir="~/s")))

    assert legacy["stateDir"] == "legacy folder"
    assert option["stateDir"] == "--state-dir"
    assert option["workspace"] == "--workspace"


def test_a_folder_of_notes_has_none_of_the_agents_other_places(home: Home) -> None:
    (home.root / "notes").mkdir()
    home.defaults(extraPaths=["x"], sources=["sessions"], experimental={"sessionMemory": True})

    found = told(home.resolve(Overrides(workspace=str(Path(home.root) / "notes"))))

    assert found["extraPaths"].value == []
    assert (found["sources"].value, found["sources"].configured) == (["memory"], ["sessions"])
