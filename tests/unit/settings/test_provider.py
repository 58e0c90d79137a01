"""Which provider embeds, with what endpoint, and what steps in for it."""

import pytest

from ocmem.settings import Overrides, ProviderChoice, provider
from ocmem.settings.provider import Endpoint
from tests.unit.settings.home import Home, Json

OPENAI = "https://api.openai.com/v1"
NO_KEY = 'No API key found for provider "openai".'
NO_GOOGLE_KEY = 'No API key found for provider "google".'


def endpoint(choice: ProviderChoice) -> Endpoint:
    assert choice.endpoint is not None
    return choice.endpoint


def chosen(home: Home, **env: str) -> ProviderChoice:
    return home.resolve(None, **env).provider


@pytest.fixture
def no_builtin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider, "builtin_files", lambda: None)


# Endpoints


def test_a_key_is_taken_from_the_nearest_place(home: Home) -> None:
    shared = {
        "openai": {
            "baseUrl": " http://shared/v1 ",
            "apiKey": "shared",
            "headers": {"A": "1"},
            "models": [],
        }
    }
    home.write({"models": {"providers": shared}})

    from_config = home.resolve().provider.endpoint
    from_env = home.resolve(None, OPENAI_API_KEY=" env\n").provider.endpoint
    home.own_defaults(remote={"apiKey": "own", "baseUrl": "http://own", "headers": {"B": "2"}})
    from_remote = home.resolve(None, OPENAI_API_KEY="env").provider.endpoint

    assert from_config is not None
    assert (from_config.base_url, from_config.api_key) == ("http://shared/v1", "shared")
    assert from_env is not None
    assert from_env.api_key == "env"
    assert from_remote is not None
    assert (from_remote.base_url, from_remote.api_key) == ("http://own", "own")
    assert from_remote.headers == {"A": "1", "B": "2"}


def test_a_model_loses_its_providers_prefix(home: Home) -> None:
    home.defaults(provider="openai", model=" openai/text-embedding-3-large ")

    assert home.resolve().provider.model == "text-embedding-3-large"


def test_a_key_is_in_no_representation(home: Home) -> None:
    home.defaults(provider="openai", remote={"apiKey": "sk-sesame", "headers": {"X": "sk-sesame"}})

    settings = home.resolve(None, OPENAI_API_KEY="sk-sesame")

    assert settings.provider.endpoint is not None
    assert settings.provider.endpoint.api_key == "sk-sesame"
    assert "sk-sesame" not in repr(settings)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("", "text-embedding-3-small"),
        ("  ", "text-embedding-3-small"),
        ("openai/", "text-embedding-3-small"),
        ("text-embedding-3-large", "text-embedding-3-large"),
        ("openai/openai/x", "openai/x"),
        ("acme/x", "acme/x"),
    ],
)
def test_only_the_providers_own_prefix_goes(home: Home, model: str, expected: str) -> None:
    home.defaults(provider="openai", model=model)

    assert chosen(home).model == expected


# Automatic choice


@pytest.mark.parametrize("config", [{}, {"provider": "auto"}, {"provider": None}])
def test_auto_takes_the_first_provider_that_has_a_key(home: Home, config: Json) -> None:
    home.defaults(**config)

    with_key, without = chosen(home, OPENAI_API_KEY="k"), chosen(home)

    assert (with_key.id, with_key.requested, with_key.missing) == ("openai", "auto", None)
    assert endpoint(with_key).base_url == OPENAI
    assert (without.id, without.requested, without.missing) == ("builtin", "auto", None)
    assert (without.model, without.endpoint) == ("l2_supercat_256", None)


def test_auto_with_a_configured_key_is_openai(home: Home) -> None:
    home.defaults(remote={"apiKey": "k", "baseUrl": "http://x"}, model="m")

    choice = chosen(home)

    assert (choice.id, choice.model) == ("openai", "m")
    assert (endpoint(choice).base_url, endpoint(choice).api_key) == ("http://x", "k")


def test_auto_goes_through_the_services_in_order(home: Home) -> None:
    names = ["OPENAI_API_KEY", "GEMINI_API_KEY", "VOYAGE_API_KEY", "MISTRAL_API_KEY"]

    found = [chosen(home, **dict.fromkeys(names[at:], "k")).id for at in range(5)]

    assert found == ["openai", "gemini", "voyage", "mistral", "builtin"]


def test_another_name_for_geminis_key_does_not_select_it(home: Home) -> None:
    assert chosen(home, GOOGLE_API_KEY="k").id == "builtin"


def test_auto_without_anything_is_keywords_only(home: Home, no_builtin: None) -> None:
    choice = chosen(home)

    assert (choice.id, choice.requested, choice.model) == ("none", "auto", "fts-only")
    assert choice.missing is not None
    *keys, last = choice.missing.split("\n\n")
    assert [text.split('"')[1] for text in keys] == ["openai", "google", "voyage", "mistral"]
    assert last == "the data files of the wordllama package are missing"


def test_an_option_beats_every_file(home: Home) -> None:
    home.defaults(provider="openai")
    home.own_defaults(provider="builtin")

    assert home.resolve(Overrides(provider="none")).provider.id == "none"
    assert home.resolve(Overrides(provider="openai"), OPENAI_API_KEY="k").provider.id == "openai"


# A provider by name


def test_a_named_provider_is_kept_without_its_key(home: Home) -> None:
    home.defaults(provider="openai")

    choice = chosen(home)

    assert (choice.id, choice.requested, choice.fallback) == ("openai", "openai", None)
    assert choice.missing is not None
    assert choice.missing.startswith(NO_KEY)


@pytest.mark.parametrize(
    ("name", "filed_as", "model"),
    [
        ("gemini", "google", "gemini-embedding-001"),
        ("voyage", "voyage", "voyage-4-large"),
        ("mistral", "mistral", "mistral-embed"),
    ],
)
def test_every_service_has_its_own_key_and_model(
    home: Home, name: str, filed_as: str, model: str
) -> None:
    home.defaults(provider=name)

    without = chosen(home, OPENAI_API_KEY="openai's")
    with_key = chosen(home, OPENAI_API_KEY="openai's", **{f"{name.upper()}_API_KEY": "own"})

    assert (without.id, without.requested, without.model) == (name, name, model)
    assert without.missing is not None
    assert without.missing.startswith(f'No API key found for provider "{filed_as}".')
    assert (with_key.id, with_key.missing) == (name, None)
    assert endpoint(with_key).api_key == "own"


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("models/gemini-embedding-001", "gemini-embedding-001"),
        ("models/google/foo", "foo"),
        ("gemini/foo", "foo"),
        ("google/gemini/foo", "gemini/foo"),
        (" ", "gemini-embedding-001"),
    ],
)
def test_geminis_model_loses_what_says_whose_it_is(home: Home, model: str, expected: str) -> None:
    home.defaults(provider="gemini", model=model)

    assert chosen(home).model == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://g/v1beta/openai/", "https://g/v1beta"),
        ("https://g/v1beta//", "https://g/v1beta"),
        (" https://g/custom ", "https://g/custom"),
    ],
)
def test_geminis_url_is_cut_to_its_own_api(home: Home, url: str, expected: str) -> None:
    home.defaults(provider="gemini", remote={"baseUrl": url, "apiKey": "k"})

    assert endpoint(chosen(home)).base_url == expected


@pytest.mark.parametrize("name", ["GEMINI_API_KEY", "GOOGLE_API_KEY"])
def test_geminis_configured_key_may_name_a_variable(home: Home, name: str) -> None:
    home.defaults(provider="gemini", remote={"apiKey": name})

    assert endpoint(chosen(home, **{name: "from the variable"})).api_key == "from the variable"


def test_gemini_has_further_keys_in_a_fixed_order(home: Home) -> None:
    home.defaults(provider="gemini", remote={"apiKey": "first"})
    env = {
        "GOOGLE_API_KEY": "g",
        "GEMINI_API_KEY_B": "b",
        "GEMINI_API_KEY": "a",
        "GEMINI_API_KEYS": "x, y;z x",
    }

    many = endpoint(chosen(home, **env))
    live = endpoint(chosen(home, OPENCLAW_LIVE_GEMINI_KEY="only", **env))

    assert (many.api_key, many.more_keys) == ("first", ("x", "y", "z", "a", "b", "g"))
    assert live.more_keys == ("only",)
    assert "only" not in repr(live)


@pytest.mark.parametrize("name", ["builtin", "none"])
def test_ocmems_own_providers_need_nothing(home: Home, name: str) -> None:
    home.own_defaults(provider=name, fallback="openai")

    choice = chosen(home, OPENAI_API_KEY="k")

    assert (choice.id, choice.requested, choice.missing, choice.fallback) == (
        name,
        name,
        None,
        None,
    )


# Fallback


def test_a_fallback_steps_in_with_its_own_defaults_only(home: Home) -> None:
    remote = {"baseUrl": "http://gemini", "headers": {"X": "gemini's"}}
    home.defaults(provider="gemini", fallback="openai", model="gemini-x", remote=remote)

    choice = chosen(home, OPENAI_API_KEY="openai's")

    assert (choice.id, choice.requested, choice.missing) == ("openai", "gemini", None)
    assert choice.model == "text-embedding-3-small"
    assert endpoint(choice) == Endpoint(
        OPENAI, {}, "openai's", endpoint(choice).url_origin, endpoint(choice).key_origin
    )
    assert choice.fallback is not None
    assert choice.fallback.origin == "gemini"
    assert choice.fallback.reason.startswith(NO_GOOGLE_KEY)


@pytest.mark.parametrize("asked", ["gemini", None])
def test_a_fallback_steps_in_when_the_first_fails_at_work(home: Home, asked: str | None) -> None:
    remote = {"apiKey": "gemini's", "baseUrl": "http://gemini", "headers": {"X": "gemini's"}}
    home.defaults(provider=asked, fallback="voyage", model="m", remote=remote)

    failed = Overrides(failure="503 sorry")
    choice = home.resolve(failed, VOYAGE_API_KEY="voyage's").provider

    assert (choice.id, choice.requested, choice.model) == (
        "voyage",
        asked or "auto",
        "voyage-4-large",
    )
    assert endpoint(choice).api_key == "voyage's"
    assert endpoint(choice).headers == {}
    assert choice.fallback is not None
    assert (choice.fallback.origin, choice.fallback.reason) == (asked or "openai", "503 sorry")
    assert "gemini's" not in repr(choice) + str(endpoint(choice).more_keys)


def test_a_fallback_may_use_what_is_configured_for_it(home: Home) -> None:
    shared = {"baseUrl": "http://o/v1", "models": [], "apiKey": "k", "headers": {"A": "1"}}
    home.write(
        {
            "agents": {"defaults": {"memorySearch": {"provider": "voyage", "fallback": "openai"}}},
            "models": {"providers": {"openai": shared}},
        }
    )

    found = endpoint(chosen(home))

    assert (found.base_url, found.api_key, found.headers) == ("http://o/v1", "k", {"A": "1"})


def test_a_fallback_that_fails_too_leaves_the_first_with_both_reasons(home: Home) -> None:
    home.defaults(provider="openai", fallback="gemini")

    choice = chosen(home)

    assert (choice.id, choice.requested) == ("openai", "openai")
    assert choice.missing is not None
    first, second = choice.missing.split("\n\n")
    assert first.startswith(NO_KEY)
    assert second.startswith(f"Fallback to gemini failed: {NO_GOOGLE_KEY}")
    assert choice.fallback is not None
    assert (choice.fallback.origin, choice.fallback.reason) == ("openai", choice.missing)


@pytest.mark.parametrize("fallback", ["none", "openai", None])
def test_nothing_steps_in_where_no_other_provider_is_named(
    home: Home, fallback: str | None
) -> None:
    home.defaults(provider="openai", fallback=fallback)

    assert chosen(home).fallback is None


def test_a_fallback_is_not_used_where_the_first_works(home: Home) -> None:
    home.defaults(provider="openai", fallback="gemini")

    assert chosen(home, OPENAI_API_KEY="k").fallback is None


# A key stays with the service it was meant for


@pytest.mark.parametrize("own", ["openai", "auto", "builtin", "none"])
@pytest.mark.parametrize("is_option", [False, True])
def test_a_key_does_not_follow_to_a_provider_that_ocmem_was_told_to_use(
    home: Home, own: str, is_option: bool
) -> None:
    remote = {"apiKey": "gemini's", "baseUrl": "http://gemini", "headers": {"X": "gemini's"}}
    home.defaults(provider="gemini", model="gemini-x", remote=remote)
    if not is_option:
        home.own_defaults(provider=own)

    settings = home.resolve(Overrides(provider=own if is_option else None), OPENAI_API_KEY="k")

    assert "gemini" not in repr(settings.provider)
    if settings.provider.endpoint is not None:
        assert settings.provider.endpoint.base_url == OPENAI
        assert settings.provider.endpoint.api_key == "k"
        assert settings.provider.endpoint.headers == {}


def test_a_key_may_be_given_for_the_provider_that_ocmem_was_told_to_use(home: Home) -> None:
    home.defaults(provider="gemini", model="gemini-x", remote={"apiKey": "gemini's"})
    home.own_defaults(provider="openai", remote={"apiKey": "own"})

    choice = chosen(home)

    assert (choice.id, choice.model) == ("openai", "text-embedding-3-small")
    assert endpoint(choice).api_key == "own"


def test_the_same_provider_may_be_named_twice(home: Home) -> None:
    home.defaults(provider="openai", model="m", remote={"apiKey": "k"})

    choice = home.resolve(Overrides(provider="openai")).provider

    assert (choice.model, endpoint(choice).api_key) == ("m", "k")


def test_a_provider_for_once_finds_the_key_that_was_meant_for_it(home: Home) -> None:
    home.defaults(provider="openai", model="m", remote={"apiKey": "k", "baseUrl": "http://x"})
    home.own_defaults(provider="builtin")

    choice = home.resolve(Overrides(provider="openai")).provider

    assert (choice.id, choice.model, choice.missing) == ("openai", "m", None)
    assert (endpoint(choice).api_key, endpoint(choice).base_url) == ("k", "http://x")
