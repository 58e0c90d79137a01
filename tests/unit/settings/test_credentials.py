"""API keys: which place counts, which profile, and that none is ever shown."""

import pytest

from ocmem.settings import Overrides, explain
from ocmem.settings.credentials import cleaned
from tests.unit.settings.home import Home, Json

MISSING = (
    'No API key found for provider "openai". Auth store: {dir}/auth-profiles.json (agentDir: '
    "{dir}). Configure auth for this agent (openclaw agents add <id>) or copy auth-profiles.json "
    "from the main agentDir."
)
NOW = 1_000_000.0


def profile(kind: str = "api_key", **fields: object) -> Json:
    names = {"api_key": "key", "token": "token", "oauth": "access"}
    return {"type": kind, "provider": "openai", names.get(kind, "key"): "profile", **fields}


def key(home: Home, **env: str) -> str:
    """The key that is used, if any."""
    home.now_ms = NOW
    endpoint = home.resolve(None, **env).provider.endpoint
    return endpoint.api_key if endpoint else ""


def store(home: Home, *, order: object = None, stats: object = None, **profiles: object) -> None:
    home.auth({"version": 1, "profiles": profiles, "order": order, "usageStats": stats})


# The order of the places


def test_the_first_place_that_has_a_key_counts(home: Home) -> None:
    places = ["own remote", "remote", "profile", "environment", "models"]
    found = []

    for missing in range(len(places) + 1):
        left = places[missing:]
        remote = {"apiKey": " remote\n"} if "remote" in left else {}
        shared = {"baseUrl": "http://x/v1", "models": [], "apiKey": "models"}
        home.write(
            {
                "agents": {"defaults": {"memorySearch": {"provider": "openai", "remote": remote}}},
                "models": {
                    "providers": {
                        " OpenAI ": shared if "models" in left else shared | {"apiKey": ""}
                    }
                },
            }
        )
        home.own_defaults(remote={"apiKey": "own remote"} if "own remote" in left else {})
        store(home, **({"openai:a": profile()} if "profile" in left else {}))
        found.append(key(home, OPENAI_API_KEY="environment" if "environment" in left else " "))

    assert found == [*places, ""]


def test_an_agents_key_beats_the_defaults(home: Home) -> None:
    home.write(
        {
            "agents": {
                "defaults": {"memorySearch": {"remote": {"apiKey": "all"}}},
                "list": [{"id": "a", "memorySearch": {"remote": {"apiKey": "mine"}}}],
            }
        }
    )

    assert key(home) == "mine"


def test_the_name_of_a_variable_is_no_reference_to_it(home: Home) -> None:
    home.defaults(remote={"apiKey": "OPENAI_API_KEY"})

    assert key(home, OPENAI_API_KEY="k") == "OPENAI_API_KEY"


@pytest.mark.parametrize(
    "name", ["OPENAI_KEY", "OPENAI_API_KEYS", "GOOGLE_API_KEY", "openai_api_key"]
)
def test_no_other_variable_will_do(home: Home, name: str) -> None:
    assert key(home, **{name: "k"}) == ""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (" k ", "k"),
        ("k\r\ney\n", "key"),
        ("a\u2028b\u2029c", "abc"),
        (" \n ", ""),
        ("", ""),
        (None, ""),
        (5, ""),
        ({"source": "env"}, ""),
        (["k"], ""),
    ],
)
def test_a_key_is_cleaned(given: object, expected: str) -> None:
    assert cleaned(given) == expected


# The auth store


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (profile(), "profile"),
        (profile("token"), "profile"),
        (profile("oauth"), "profile"),
        ({"mode": "api_key", "provider": "openai", "apiKey": "k"}, "k"),
        ({"type": "api_key", "provider": " OpenAI ", "key": " k\n"}, "k"),
        (profile(key=""), ""),
        (profile(key=5), ""),
        (profile("password"), ""),
        (profile(provider="anthropic"), ""),
        (profile(provider=None), ""),
        ({"provider": "openai", "key": "k"}, ""),
        (profile("token", expires=NOW), ""),
        (profile("token", expires=NOW - 1), ""),
        (profile("token", expires=NOW + 1), "profile"),
        (profile("oauth", expires=NOW - 1, refresh="r"), ""),
        (profile("token", expires=0), "profile"),
        (profile("token", expires=-5), "profile"),
        (profile("token", expires="soon"), "profile"),
        (profile("token", expires=True), "profile"),
        (profile("token", expires=10**400), "profile"),
        (profile("api_key", expires=1), "profile"),
        (profile(type=["api_key"]), ""),
        ("k", ""),
    ],
)
def test_an_entry_counts_if_it_has_a_key_that_is_good(
    home: Home, entry: object, expected: str
) -> None:
    store(home, **{"openai:a": entry})

    assert key(home) == expected


def keys(**named: Json) -> dict[str, Json]:
    """Profiles whose keys are their names."""
    fields = {"api_key": "key", "token": "token", "oauth": "access"}
    return {name: {**entry, fields[entry["type"]]: name} for name, entry in named.items()}


@pytest.mark.parametrize(
    ("profiles", "stats", "expected"),
    [
        (keys(a=profile(), b=profile("token"), c=profile("oauth")), {}, "c"),
        (keys(a=profile(), b=profile("token")), {}, "b"),
        (keys(a=profile(), b=profile()), {"a": {"lastUsed": 5}, "b": {"lastUsed": 4}}, "b"),
        (keys(a=profile(), b=profile()), {"a": {"lastUsed": 5}}, "b"),
        (keys(a=profile(), b=profile()), {}, "a"),
        (keys(a=profile("oauth"), b=profile()), {"a": {"cooldownUntil": NOW + 1}}, "b"),
        (keys(a=profile("oauth"), b=profile()), {"a": {"disabledUntil": NOW + 1}}, "b"),
        (keys(a=profile("oauth"), b=profile()), {"a": {"cooldownUntil": NOW}}, "a"),
        (
            keys(a=profile(), b=profile("oauth")),
            {"a": {"cooldownUntil": NOW + 1}, "b": {"cooldownUntil": NOW + 2}},
            "a",
        ),
        (keys(a=profile()), {"a": {"cooldownUntil": NOW + 1}}, "a"),
        (keys(a=profile(), b=profile()), {"a": "odd", "b": {"lastUsed": "x"}}, "a"),
    ],
)
def test_without_an_order_the_kind_counts_then_the_longest_rest(
    home: Home, profiles: dict[str, Json], stats: Json, expected: str
) -> None:
    store(home, stats=stats, **profiles)

    assert key(home) == expected


AB = keys(a=profile("oauth"), b=profile())


@pytest.mark.parametrize(
    ("order", "auth", "stats", "expected"),
    [
        ({"openai": ["b", "a"]}, {}, {}, "b"),
        ({" OpenAI ": ["b", "a"]}, {}, {}, "b"),
        ({"openai": ["gone", "b"]}, {}, {}, "b"),
        ({"openai": ["b"]}, {"order": {"openai": ["a"]}}, {}, "b"),
        ({"other": ["b"]}, {"order": {"openai": ["b"]}}, {}, "b"),
        ({"openai": []}, {"order": {"openai": ["a"]}}, {}, ""),
        ({"openai": ["gone"]}, {}, {}, ""),
        ({"openai": "b"}, {}, {}, "a"),
        ({"openai": [5, None, "b"]}, {}, {}, "b"),
        ({"openai": ["b", "a"]}, {}, {"b": {"cooldownUntil": NOW + 1}}, "a"),
        (None, {"profiles": {"b": {"provider": "openai"}}}, {}, "b"),
        (None, {"profiles": {"gone": {"provider": "openai"}}}, {}, ""),
        (None, {"profiles": {"b": {"provider": "OpenAI", "mode": "api_key"}}}, {}, "b"),
        (None, {"profiles": {"b": {"provider": "openai", "mode": "token"}}}, {}, ""),
        (None, {"profiles": {"a": {"provider": "anthropic"}}}, {}, "b"),
        (
            {"openai": ["a", "b"]},
            {"profiles": {"a": {"provider": "openai", "mode": "token"}}},
            {},
            "b",
        ),
        ({"openai": ["b"]}, {"profiles": {"a": {"provider": "openai"}}}, {}, "b"),
    ],
)
def test_an_order_is_kept_and_the_config_may_narrow_the_choice(
    home: Home, order: object, auth: Json, stats: Json, expected: str
) -> None:
    home.write({"auth": auth})
    store(home, order=order, stats=stats, **AB)

    assert key(home) == expected


def test_a_token_will_do_where_the_config_says_oauth(home: Home) -> None:
    home.write({"auth": {"profiles": {"a": {"provider": "openai", "mode": "oauth"}}}})
    store(home, a=profile("token"))

    assert key(home) == "profile"


def test_the_older_store_is_read_where_there_is_no_newer_one(home: Home) -> None:
    home.auth({"openai": {"type": "api_key", "key": "old"}, "x": "odd"}, name="auth.json")
    old = key(home)
    home.auth({"profiles": {"a": profile()}})

    assert old == "old"
    assert key(home) == "profile"


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', "null", '{"profiles": []}', "[" * 10_000])
def test_a_broken_store_is_an_empty_one(home: Home, text: str) -> None:
    home.auth(text)

    assert key(home) == ""
    assert key(home, OPENAI_API_KEY="k") == "k"


def test_a_folder_is_an_empty_store(home: Home) -> None:
    (home.state / "agents" / "main" / "agent" / "auth-profiles.json").mkdir(parents=True)

    assert key(home) == ""


# Several agents


def test_an_agents_own_profiles_lie_over_those_of_main(home: Home) -> None:
    home.write({"agents": {"list": [{"id": "Beta B", "default": True}]}})
    home.auth({"profiles": keys(a=profile(), b=profile()), "usageStats": {"b": {"lastUsed": 1}}})
    from_main = key(home)
    home.auth({"profiles": {"b": profile(key="own")}}, agent="beta-b")
    still_from_main = key(home)
    home.auth({"profiles": {"b": profile(key="own")}, "order": {"openai": ["b"]}}, agent="beta-b")
    own = key(home)

    assert (from_main, still_from_main, own) == ("a", "a", "own")


def test_the_main_store_may_be_elsewhere(home: Home) -> None:
    home.file(home.root / "one" / "auth-profiles.json", {"profiles": {"a": profile(key="one")}})
    home.file(home.root / "two" / "auth-profiles.json", {"profiles": {"a": profile(key="two")}})

    assert key(home, PI_CODING_AGENT_DIR="~/two") == "two"
    assert key(home, PI_CODING_AGENT_DIR="~/two", OPENCLAW_AGENT_DIR="~/one") == "one"


def test_an_agents_folder_may_be_elsewhere(home: Home) -> None:
    home.write({"agents": {"list": [{"id": "a", "agentDir": "~/mine"}]}})
    home.file(home.root / "mine" / "auth-profiles.json", {"profiles": {"a": profile()}})

    assert key(home) == "profile"
    assert home.resolve().agent_dir == home.root / "mine"


def test_nothing_is_copied_or_rewritten(home: Home) -> None:
    home.write({"agents": {"list": [{"id": "b"}]}})
    home.auth({"openai": profile()}, name="auth.json")
    before = sorted(home.root.rglob("*"))

    assert key(home) == "profile"

    assert sorted(home.root.rglob("*")) == before


# What is said without a key


def test_a_missing_key_is_told_with_the_place_that_was_searched(home: Home) -> None:
    home.defaults(provider="openai")
    home.file(home.root / "x", "")

    main = home.resolve().provider
    other = home.resolve(Overrides(agents=("Alpha One",))).provider

    agents = home.state / "agents"
    assert main.missing == MISSING.format(dir=agents / "main" / "agent")
    assert other.missing == MISSING.format(dir=agents / "alpha-one" / "agent")


def test_a_codex_login_is_no_key(home: Home) -> None:
    home.defaults(provider="openai")
    store(home, **{"openai-codex:a": profile("oauth", provider="openai-codex")})

    missing = home.resolve().provider.missing

    assert missing is not None
    assert missing.startswith(
        'No API key found for provider "openai". You are authenticated with OpenAI Codex OAuth'
    )


# Keys are never shown

SECRET = "sk-open-sesame"


@pytest.mark.parametrize("place", ["remote", "profile", "environment", "models", "header", "url"])
@pytest.mark.parametrize("provider", ["openai", "gemini"])
def test_no_key_is_in_what_is_shown(home: Home, place: str, provider: str) -> None:
    remotes: dict[str, Json] = {
        "remote": {"apiKey": SECRET},
        "header": {"headers": {"Authorization": SECRET}},
        "url": {"baseUrl": f"https://user:{SECRET}@host/v1"},
    }
    search = {"provider": provider, "fallback": "voyage", "remote": remotes.get(place, {})}
    shared: Json = {"baseUrl": "http://x", "models": []}
    if place == "models":
        shared |= {"apiKey": SECRET, "headers": {"X": SECRET}}
    home.write(
        {
            "agents": {"defaults": {"memorySearch": search}},
            "models": {"providers": {"openai": shared}},
        }
    )
    store(home, a=profile(key=SECRET if place == "profile" else ""))

    settings = home.resolve(None, OPENAI_API_KEY=SECRET if place == "environment" else "")

    assert SECRET not in repr(settings)
    assert SECRET not in str(settings)
    assert SECRET not in repr(settings.layers)
    assert SECRET not in repr(explain.settings_of(settings))
    assert SECRET not in repr(explain.place_origins(settings))


def test_no_key_is_in_the_complaint_about_a_config(home: Home) -> None:
    home.write(
        {
            "agents": {"defaults": {"memorySearch": {"remote": {"apiKey": [SECRET]}}}},
            "env": {"vars": {"A": [SECRET]}},
            "models": {"providers": {"x": {"apiKey": {"x": SECRET}}}},
            "auth": {"order": {"x": SECRET}},
        }
    )

    error = home.error()

    assert SECRET not in str(error)
    assert SECRET not in repr(error)
    assert error.__cause__ is None
