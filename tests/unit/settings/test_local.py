"""When a model on this machine is chosen, and what is said where it cannot run."""

import pytest

from ocmem.settings import ProviderChoice, provider
from ocmem.settings.provider import DEFAULT_MODELS
from tests.unit.settings.home import Home


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider, "has_local_engine", lambda: True)


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider, "has_local_engine", lambda: False)


def chosen(home: Home, **env: str) -> ProviderChoice:
    return home.resolve(None, **env).provider


def with_model(home: Home, **more: object) -> str:
    model = home.root / "model.gguf"
    model.write_bytes(b"GGUF")
    home.defaults(local={"modelPath": str(model)}, **more)
    return str(model)


@pytest.mark.parametrize(
    ("given", "model"),
    [
        (None, DEFAULT_MODELS["local"]),
        (" ", DEFAULT_MODELS["local"]),
        (" hf:user/repo/f.gguf ", "hf:user/repo/f.gguf"),
        ("https://models.example/m.gguf", "https://models.example/m.gguf"),
        ("m.gguf", "m.gguf"),
        ("/no/such/m.gguf", "/no/such/m.gguf"),
    ],
)
def test_the_model_is_its_path_as_configured(
    home: Home, engine: None, given: str | None, model: str
) -> None:
    home.defaults(provider="local", model="ignored", local={"modelPath": given} if given else {})

    settings = home.resolve()

    assert settings.provider == ProviderChoice("local", "local", model)
    assert settings.shares_index


def test_auto_takes_a_model_that_is_here_first(home: Home, engine: None) -> None:
    model = with_model(home)

    choice = chosen(home, OPENAI_API_KEY="k")

    assert choice == ProviderChoice("local", "auto", model)


@pytest.mark.parametrize("given", ["hf:u/r/f.gguf", "HTTPS://x/m.gguf", "/no/such.gguf", "/tmp"])
def test_auto_takes_no_model_that_is_not_a_file(home: Home, engine: None, given: str) -> None:
    home.defaults(local={"modelPath": given})

    assert chosen(home).id == "builtin"


def test_auto_goes_on_without_the_extra_and_keeps_the_reason(home: Home, no_engine: None) -> None:
    with_model(home)

    settings = home.resolve(None, OPENAI_API_KEY="k")

    assert (settings.provider.id, settings.provider.missing) == ("openai", None)
    assert settings.provider.fallback is not None
    assert settings.provider.fallback.origin == "local"
    assert settings.provider.fallback.reason.startswith("Local embeddings unavailable.")
    assert not settings.shares_index  # OpenClaw would build it with the model


def test_auto_without_anything_gives_the_reason_for_local_last(
    home: Home, no_engine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "builtin_files", lambda: None)
    with_model(home)

    choice = chosen(home)

    assert choice.id == "none"
    assert (choice.missing or "").split("\n\n")[-1].startswith("Local embeddings unavailable.")


def test_a_missing_extra_comes_with_advice(home: Home, no_engine: None) -> None:
    home.defaults(provider="local")

    choice = chosen(home)

    assert (choice.id, choice.model) == ("local", DEFAULT_MODELS["local"])
    assert choice.missing is not None
    lines = choice.missing.splitlines()
    assert lines[:3] == [
        "Local embeddings unavailable.",
        "Reason: xllamacpp is not installed",
        "To enable local embeddings:",
    ]
    assert "pip install 'ocmem[local]'" in lines[3]
    assert lines[-4:] == [
        f'Or set agents.defaults.memorySearch.provider = "{name}" (remote).'
        for name in ("openai", "gemini", "voyage", "mistral")
    ]


def test_a_fallback_may_be_local_with_its_model(home: Home, engine: None) -> None:
    model = with_model(home, provider="openai", fallback="local")

    choice = chosen(home)

    assert (choice.id, choice.requested, choice.model) == ("local", "openai", model)


def test_a_fallback_steps_in_without_the_extra(home: Home, no_engine: None) -> None:
    home.defaults(provider="local", fallback="openai")

    choice = chosen(home, OPENAI_API_KEY="k")

    assert (choice.id, choice.requested) == ("openai", "local")
    assert choice.fallback is not None
    assert choice.fallback.origin == "local"
