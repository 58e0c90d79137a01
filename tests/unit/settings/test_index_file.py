"""Which index file: the one that OpenClaw shares, or one beside it."""

import hashlib
import os

import pytest

from ocmem.settings import Overrides
from tests.unit.settings.home import Home, Json, agent


def test_a_store_path_has_the_agents_id_filled_in(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home.root)
    entries = [
        agent("Alpha One", store={"path": "~/x/{agentId}/{agentId}.db"}),
        agent("b", store={"path": "rel/b"}),
        agent("c", store={"path": "  "}),
    ]
    home.write({"agents": {"list": entries}})

    found = [
        home.resolve(Overrides(agents=(name,)), OPENAI_API_KEY="k").index_path
        for name in ("Alpha One", "b", "c")
    ]

    assert found == [
        home.root / "x" / "Alpha One" / "Alpha One.db",
        home.root / "rel" / "b",
        home.state / "memory" / "c.sqlite",
    ]


@pytest.mark.parametrize("overrides", [Overrides(), Overrides(provider="openai")])
def test_what_openclaw_would_build_goes_into_its_own_file(home: Home, overrides: Overrides) -> None:
    home.defaults(provider="openai")
    home.own_defaults(query={"ranker": "fused", "maxResults": 9}, remote={"maxItems": 3})

    settings = home.resolve(overrides, OPENAI_API_KEY="k")

    assert settings.index_path == home.state / "memory" / "main.sqlite"
    assert settings.shares_index


@pytest.mark.parametrize(
    "own",
    [
        {"provider": "builtin"},
        {"provider": "none"},
        {"remote": {"dimensions": 256}},
        {"exclude": ["private"]},
        {"extraPaths": ["x"]},
        {"chunking": {"tokens": 200}},
        {"model": "text-embedding-3-large"},
        {"remote": {"baseUrl": "http://127.0.0.1:1/v1"}},
        {"sources": ["sessions"], "experimental": {"sessionMemory": True}},
    ],
)
def test_what_openclaw_would_not_build_goes_beside_it(home: Home, own: Json) -> None:
    home.defaults(provider="openai")
    home.own_defaults(**own)

    settings = home.resolve(None, OPENAI_API_KEY="k")

    assert settings.index_path == home.state / "memory" / "main.ocmem.sqlite"
    assert not settings.shares_index


@pytest.mark.parametrize(
    ("overrides", "name"),
    [
        (Overrides(provider="builtin"), "notes.v1.builtin.ocmem.db"),
        (Overrides(provider="none"), "notes.v1.none.ocmem.db"),
        (Overrides(provider="voyage"), "notes.v1.voyage.ocmem.db"),
        (Overrides(sources=("sessions",)), "notes.v1.ocmem.db"),
    ],
)
def test_an_option_that_openclaw_lacks_goes_beside_it_too(
    home: Home, overrides: Overrides, name: str
) -> None:
    home.defaults(provider="openai", store={"path": "~/db/notes.v1.db"})

    settings = home.resolve(overrides, OPENAI_API_KEY="k", VOYAGE_API_KEY="k")

    assert settings.index_path == home.root / "db" / name
    assert not settings.shares_index


def test_a_provider_for_once_has_a_file_beside_the_own_one_too(home: Home) -> None:
    home.defaults(provider="openai")
    home.own_defaults(exclude=["x"])

    settings = home.resolve(Overrides(provider="builtin"), OPENAI_API_KEY="k")

    assert settings.index_path.name == "main.builtin.ocmem.sqlite"


def test_naming_the_configured_provider_is_no_detour(home: Home) -> None:
    home.defaults(provider="openai")

    settings = home.resolve(Overrides(provider="openai"), OPENAI_API_KEY="k")

    assert settings.index_path.name == "main.sqlite"
    assert settings.shares_index


def test_a_folder_has_a_file_for_each_provider_that_is_asked_for_once(home: Home) -> None:
    home.defaults(provider="openai")
    folder = home.root / "notes"
    folder.mkdir()

    usual, once = (
        home.resolve(Overrides(workspace=str(folder), provider=name), OPENAI_API_KEY="k")
        for name in (None, "builtin")
    )

    assert once.index_path.name == f"{usual.index_path.stem}.builtin.sqlite"


def test_a_source_that_the_config_lists_may_be_asked_for_again(home: Home) -> None:
    home.defaults(sources=["memory", "sessions"], experimental={"sessionMemory": True})

    settings = home.resolve(Overrides(sources=("sessions",)), OPENAI_API_KEY="k")

    assert settings.search.sources == ("memory", "sessions")
    assert settings.shares_index


def test_an_explicit_provider_keeps_the_shared_file_without_its_key(home: Home) -> None:
    home.defaults(provider="openai")

    settings = home.resolve()

    assert settings.index_path == home.state / "memory" / "main.sqlite"
    assert settings.provider.missing is not None
    assert settings.provider.missing.startswith('No API key found for provider "openai".')


def test_without_a_key_nothing_goes_into_the_shared_file(home: Home) -> None:
    settings = home.resolve()

    assert settings.provider.id in ("builtin", "none")
    assert settings.index_path == home.state / "memory" / "main.ocmem.sqlite"


def test_a_foreign_folder_has_its_index_in_the_data_directory(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(home.root / "data"))
    folder = home.root / "notes"
    folder.mkdir()
    (home.root / "link").symlink_to(folder)
    home.defaults(sources=["sessions"], experimental={"sessionMemory": True}, extraPaths=["x"])

    direct, linked = (
        home.resolve(Overrides(workspace=name), OPENAI_API_KEY="k")
        for name in ("~/notes", "~/link")
    )

    digest = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()
    assert direct.index_path.parts[-2:] == ("workspaces", f"{digest[:16]}.sqlite")
    assert linked.index_path == direct.index_path
    assert (direct.is_folder, direct.shares_index) == (True, False)
    assert (direct.search.sources, direct.search.extra_paths) == (("memory",), ())
    assert linked.workspace == home.root / "link"


def test_a_folder_that_is_the_agents_workspace_keeps_the_agents_index(home: Home) -> None:
    home.write({"agents": {"defaults": {"workspace": "~/notes"}}})
    (home.root / "notes").mkdir()

    settings = home.resolve(Overrides(workspace="~/notes/../notes"), OPENAI_API_KEY="k")

    assert not settings.is_folder
    assert settings.index_path == home.state / "memory" / "main.sqlite"


@pytest.mark.parametrize("path", ["/", "~", "..", ".", "{agentId}"])
def test_an_odd_store_path_does_no_harm(
    home: Home, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home.root)
    home.defaults(store={"path": path})

    assert ".ocmem" in home.resolve().index_path.name


def test_a_fallback_that_steps_in_has_a_file_of_its_own(home: Home) -> None:
    home.defaults(provider="gemini", fallback="openai")

    assert not home.resolve(None, OPENAI_API_KEY="k").shares_index


def test_a_fallback_that_is_missing_too_leaves_the_shared_file(home: Home) -> None:
    home.defaults(provider="openai", fallback="gemini")

    settings = home.resolve()

    assert settings.index_path == home.state / "memory" / "main.sqlite"
    assert settings.shares_index


@pytest.mark.parametrize(
    "own",
    [
        {"models": {"providers": {"openai": {"baseUrl": "http://elsewhere/v1"}}}},
        {"models": {"providers": {"openai": {"headers": {"X": "1"}}}}},
        {"agents": {"defaults": {"workspace": "~/elsewhere"}}},
        {"agents": {"list": [{"id": "b", "default": True}]}},
        {"agents": {"list": [agent("b", extraPaths=["x"])]}},
        {"memory": {"search": {"extraPaths": [{"path": "x", "pattern": "*.txt"}]}}},
    ],
)
def test_what_openclaw_does_not_know_of_goes_beside_its_file(home: Home, own: Json) -> None:
    entries = [{"id": "a"}, {"id": "b"}]
    defaults = {"memorySearch": {"provider": "openai"}}
    home.write({"agents": {"defaults": defaults, "list": entries}})
    shared = [home.resolve(Overrides(agents=(id,)), OPENAI_API_KEY="k") for id in ("a", "b")]
    home.own(own)
    beside = [home.resolve(Overrides(agents=(id,)), OPENAI_API_KEY="k") for id in ("a", "b")]

    assert all(settings.shares_index for settings in shared)
    assert not all(settings.shares_index for settings in beside)


@pytest.mark.parametrize(
    "own",
    [
        {"env": {"OPENAI_API_KEY": "k"}},
        {"memory": {"citations": "off"}},
        {"agents": {"defaults": {"memorySearch": {"remote": {"apiKey": "other"}}}}},
        {"agents": {"defaults": {"memorySearch": {"query": {"maxResults": 1}}}}},
    ],
)
def test_what_changes_no_row_leaves_the_shared_file(home: Home, own: Json) -> None:
    home.defaults(provider="openai")
    home.own(own)

    assert home.resolve().shares_index


def test_a_key_that_only_ocmem_has_chooses_no_shared_file(home: Home) -> None:
    home.own({"env": {"OPENAI_API_KEY": "k"}})

    settings = home.resolve()

    assert settings.provider.id == "openai"
    assert not settings.shares_index
