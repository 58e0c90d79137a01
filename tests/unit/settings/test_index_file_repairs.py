"""Which index file, where OpenClaw would choose otherwise or spell a path otherwise."""

import pytest

from ocmem.core.embedder import identity_of
from ocmem.settings import Overrides, provider
from tests.unit.settings.home import Home


def test_a_model_file_that_openclaw_would_take_keeps_us_off_the_shared_index(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "has_local_engine", lambda: False)
    model = home.root / "model.gguf"
    model.write_bytes(b"GGUF")
    home.defaults(local={"modelPath": str(model)})

    settings = home.resolve(OPENAI_API_KEY="k")

    assert (settings.provider.id, settings.shares_index) == ("openai", False)
    assert settings.provider.fallback is not None
    assert settings.provider.fallback.origin == "local"


def test_an_index_of_gemini_is_recognised_by_its_endpoint(home: Home) -> None:
    home.defaults(provider="gemini", model="models/google/gemini-embedding-001")

    identity = identity_of(home.resolve().provider)

    assert identity.model == "gemini-embedding-001"
    assert identity.cache_key.provider_key == (
        "bd50811302958e0a342bc8a1d2687cb549fc6642bd40ff5466adad80ccd051bf"
    )


def test_a_link_to_the_workspace_is_spelled_as_the_agent_spells_it(home: Home) -> None:
    workspace = home.state / "workspace"
    workspace.mkdir(parents=True)
    link = home.root / "link"
    link.symlink_to(workspace)

    settings = home.resolve(Overrides(workspace=str(link)))

    assert (settings.workspace, settings.is_folder) == (workspace, False)


def test_a_workspace_finds_its_agent(home: Home) -> None:
    home.write({"agents": {"list": [{"id": "a"}, {"id": "b", "workspace": "~/of-b"}]}})

    settings = home.resolve(Overrides(workspace=str(home.root / "of-b")))

    assert (settings.agent_id, settings.is_folder) == ("b", False)


def test_headers_of_the_own_file_are_added_one_by_one(home: Home) -> None:
    home.defaults(remote={"headers": {"A": "1", "B": "1"}})
    home.own_defaults(remote={"headers": {"B": "2", "C": "2"}})

    headers = home.resolve(OPENAI_API_KEY="k").search.remote.headers

    assert dict(headers) == {"A": "1", "B": "2", "C": "2"}


def test_a_key_that_auto_would_give_to_openai_goes_to_nobody_else(home: Home) -> None:
    home.defaults(remote={"apiKey": "for-openai"})

    for name in ("gemini", "voyage"):
        assert home.resolve(Overrides(provider=name)).search.remote.api_key is None
    assert home.resolve(Overrides(provider="openai")).search.remote.api_key == "for-openai"


def test_what_openclaw_paid_for_lies_beside_an_own_file(home: Home) -> None:
    home.own_defaults(exclude=["x"])

    own = home.resolve(OPENAI_API_KEY="k")
    folder = home.resolve(Overrides(workspace=str(home.root)), OPENAI_API_KEY="k")

    assert own.paid_index == home.state / "memory" / "main.sqlite"
    assert folder.paid_index is None
