"""Services that only the newer dialect names: those that speak OpenAI's language, and others."""

import pytest

from ocmem.settings import ProviderChoice, provider
from ocmem.settings.provider import Endpoint
from tests.unit.settings.home import Home, Json

OPENAI = "https://api.openai.com/v1"
OLLAMA = "http://127.0.0.1:11434/v1"
LM_STUDIO = "http://127.0.0.1:1234/v1"


def chosen(home: Home, search: Json, providers: Json | None = None, **env: str) -> ProviderChoice:
    home.write({"memory": {"search": search}, "models": {"providers": providers or {}}})
    return home.resolve(None, **env).provider


def endpoint(choice: ProviderChoice) -> Endpoint:
    assert choice.endpoint is not None
    return choice.endpoint


@pytest.mark.parametrize(
    ("search", "providers", "url", "model", "key"),
    [
        ({"provider": "ollama"}, {}, OLLAMA, "nomic-embed-text", ""),
        ({"provider": " Ollama "}, {}, OLLAMA, "nomic-embed-text", ""),
        ({"provider": "ollama", "model": "ollama/bge-m3"}, {}, OLLAMA, "bge-m3", ""),
        (
            {"provider": "ollama", "model": "m", "remote": {"baseUrl": "http://gpu:11434"}},
            {},
            "http://gpu:11434/v1",
            "m",
            "",
        ),
        (
            {"provider": "ollama", "model": "m"},
            {"ollama": {"baseUrl": "http://gpu:11434/", "apiKey": "k"}},
            "http://gpu:11434/v1",
            "m",
            "k",
        ),
        ({"provider": "lmstudio"}, {}, LM_STUDIO, "text-embedding-nomic-embed-text-v1.5", ""),
        ({"provider": "lm-studio", "model": "m"}, {}, LM_STUDIO, "m", ""),
        (
            {
                "provider": "openai-compatible",
                "model": "openai/m",
                "remote": {"baseUrl": "http://x/v1", "apiKey": "k"},
            },
            {},
            "http://x/v1",
            "openai/m",
            "k",
        ),
        (
            {"provider": "My-Proxy", "model": "my-proxy/m"},
            {"my-proxy": {"baseUrl": "http://p/v1", "apiKey": "k"}},
            "http://p/v1",
            "m",
            "k",
        ),
        (
            {"provider": "gpu-2", "model": "m"},
            {"gpu-2": {"api": "ollama", "baseUrl": "http://gpu-2:11434"}},
            "http://gpu-2:11434/v1",
            "m",
            "",
        ),
    ],
)
def test_a_compatible_service_is_spoken_to(
    home: Home, search: Json, providers: Json, url: str, model: str, key: str
) -> None:
    choice = chosen(home, search, providers, OPENAI_API_KEY="openai's")

    assert (choice.id, choice.model, choice.missing) == ("openai", model, None)
    assert choice.requested == search["provider"].strip().lower()
    assert (endpoint(choice).base_url, endpoint(choice).api_key) == (url, key)


@pytest.mark.parametrize(
    "providers", [{}, {"openai-compatible": {"baseUrl": ""}}, {"openai-compatible": {"baseUrl": 5}}]
)
def test_a_compatible_service_needs_an_address(home: Home, providers: Json) -> None:
    choice = chosen(home, {"provider": "openai-compatible"}, providers)

    assert choice.missing == 'provider "openai-compatible" needs remote.baseUrl'


@pytest.mark.parametrize("name", ["bedrock", "deepinfra", "github-copilot", "acme", "ollama2"])
def test_an_unknown_service_gives_way_to_builtin_and_to_no_other_service(
    home: Home, name: str
) -> None:
    remote = {"apiKey": "theirs", "baseUrl": "http://theirs"}
    choice = chosen(home, {"provider": name, "remote": remote}, OPENAI_API_KEY="openai's")

    assert (choice.id, choice.requested, choice.model) == ("builtin", name, "l2_supercat_256")
    assert (choice.endpoint, choice.missing) == (None, None)
    assert choice.fallback is not None
    assert choice.fallback.origin == name
    assert choice.fallback.reason == f'ocmem has no provider "{name}"'


def test_an_unknown_service_without_builtin_leaves_the_keywords(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "builtin_files", lambda: None)

    choice = chosen(home, {"provider": "bedrock"}, OPENAI_API_KEY="k")

    assert (choice.id, choice.requested) == ("none", "bedrock")
    assert choice.missing == "the data files of the wordllama package are missing"


def test_an_unknown_service_gives_way_to_its_fallback_first(home: Home) -> None:
    choice = chosen(home, {"provider": "bedrock", "fallback": "Ollama", "model": "titan"})

    assert (choice.id, choice.requested, choice.model) == ("openai", "bedrock", "nomic-embed-text")
    assert choice.fallback is not None
    assert choice.fallback.reason == 'ocmem has no provider "bedrock"'


def test_two_unknown_services_are_both_named(home: Home) -> None:
    choice = chosen(home, {"provider": "bedrock", "fallback": "deepinfra"}, OPENAI_API_KEY="k")

    assert choice.id == "builtin"
    assert choice.fallback is not None
    assert choice.fallback.reason == (
        'ocmem has no provider "bedrock"\n\n'
        'Fallback to deepinfra failed: ocmem has no provider "deepinfra"'
    )


@pytest.mark.parametrize("name", [None, "", " ", "auto", "AUTO"])
def test_nothing_and_auto_mean_openai_and_without_a_key_builtin(
    home: Home, name: str | None
) -> None:
    assert chosen(home, {"provider": name}, OPENAI_API_KEY="k").id == "openai"
    assert chosen(home, {"provider": name}).id == "builtin"


def test_the_older_dialect_knows_no_such_names(home: Home) -> None:
    home.defaults(provider="ollama")

    assert home.problems() == ["agents.defaults.memorySearch.provider: Invalid input"]


def test_ocmems_own_file_may_name_a_service_in_the_newer_dialect(home: Home) -> None:
    home.defaults(provider="openai", remote={"apiKey": "openai's"})
    home.own({"memory": {"search": {"provider": "ollama"}}})

    settings = home.resolve()

    assert endpoint(settings.provider).base_url == OLLAMA
    assert endpoint(settings.provider).api_key == ""
    assert not settings.shares_index


# What belongs to a service stays with its address

SHARED = {"openai": {"baseUrl": "http://own/v1", "apiKey": "k", "headers": {"A": "1"}}}


@pytest.mark.parametrize(
    ("remote", "key", "headers"),
    [
        ({}, "env", {"A": "1"}),
        ({"baseUrl": "http://own/v1/"}, "env", {"A": "1"}),
        ({"baseUrl": "http://own/v1", "headers": {"B": "2"}}, "env", {"A": "1", "B": "2"}),
        ({"baseUrl": "http://other/v1"}, "", {}),
        ({"baseUrl": OPENAI}, "", {}),
        ({"baseUrl": "http://other/v1", "apiKey": "mine"}, "mine", {}),
        ({"baseUrl": "http://other/v1", "headers": {"B": "2"}}, "", {"B": "2"}),
    ],
)
def test_keys_and_headers_go_to_the_services_own_address_only(
    home: Home, remote: Json, key: str, headers: Json
) -> None:
    choice = chosen(home, {"provider": "openai", "remote": remote}, SHARED, OPENAI_API_KEY="env")

    assert (endpoint(choice).api_key, endpoint(choice).headers) == (key, headers)
    assert (choice.missing is None) == bool(key)


def test_an_authorization_header_is_as_good_as_a_key(home: Home) -> None:
    remote = {"baseUrl": "http://other", "headers": {"authorization": "Basic x"}}

    assert chosen(home, {"provider": "openai", "remote": remote}).missing is None


def test_a_missing_key_says_why_the_one_that_is_set_is_not_used(home: Home) -> None:
    choice = chosen(
        home, {"provider": "openai", "remote": {"baseUrl": "http://x"}}, OPENAI_API_KEY="k"
    )

    assert choice.missing is not None
    assert choice.missing.endswith(" Keys from elsewhere are not sent to another remote.baseUrl.")


def test_the_older_dialect_sends_them_wherever_it_is_told_to(home: Home) -> None:
    home.defaults(provider="openai", remote={"baseUrl": "http://other"})

    assert endpoint(home.resolve(None, OPENAI_API_KEY="k").provider).api_key == "k"


# Two files, two dialects: each means what it says in its own


ELSEWHERE = "http://127.0.0.1:1/v1"


def test_an_own_file_in_the_newer_dialect_does_not_change_what_an_older_config_means(
    home: Home,
) -> None:
    home.defaults(provider="openai", remote={"baseUrl": ELSEWHERE})
    home.own({"memory": {"search": {"query": {"ranker": "fused"}}}})

    choice = home.resolve(None, OPENAI_API_KEY="k").provider

    assert choice.missing is None
    assert choice.endpoint is not None
    assert (choice.endpoint.base_url, choice.endpoint.api_key) == (ELSEWHERE, "k")


def test_a_url_in_the_newer_dialect_gets_no_key_meant_for_the_service(home: Home) -> None:
    home.defaults(provider="openai")
    home.own({"memory": {"search": {"remote": {"baseUrl": ELSEWHERE}}}})

    choice = home.resolve(None, OPENAI_API_KEY="k").provider

    assert choice.endpoint is not None
    assert choice.endpoint.api_key == ""


def test_an_older_config_still_picks_among_all_keys(home: Home) -> None:
    home.defaults(query={"maxResults": 9})
    home.own({"memory": {"search": {"query": {"ranker": "fused"}}}})

    assert home.resolve(None, VOYAGE_API_KEY="k").provider.id == "voyage"


@pytest.mark.parametrize("key", ["provider", "fallback"])
def test_the_own_file_may_name_services_that_only_the_newer_dialect_has(
    home: Home, key: str
) -> None:
    home.defaults(provider="openai")
    home.own({"memory": {"search": {key: "Ollama "}}})

    choice = home.resolve().provider

    assert choice.endpoint is not None
    assert choice.endpoint.base_url == "http://127.0.0.1:11434/v1"
