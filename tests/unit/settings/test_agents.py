"""Which agent is meant, and what belongs to it."""

import pytest

from ocmem.settings import Documents, Overrides
from ocmem.settings.document import normalized_id
from tests.unit.settings.home import Home, Json, agent, agent_ids


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", "main"),
        ("   ", "main"),
        ("Main", "main"),
        ("Alpha One", "alpha-one"),
        ("  A_b-9 ", "a_b-9"),
        ("--a--b--", "a--b"),
        ("_a", "_a"),
        ("é!", "main"),
        ("a@@b..c", "a-b-c"),
        ("x" * 80, "x" * 64),
    ],
)
def test_agent_ids_are_normalised_as_in_the_reference(given: str, expected: str) -> None:
    assert normalized_id(given) == expected


@pytest.mark.parametrize(
    ("entries", "expected", "warned"),
    [
        ([], "main", False),
        ([{"id": "a"}, {"id": "b"}], "a", False),
        ([{"id": "a"}, {"id": "B", "default": True}], "B", False),
        ([{"id": "a", "default": True}, {"id": "b", "default": True}], "a", True),
    ],
)
def test_the_default_agent_is_the_marked_or_the_first_one(
    home: Home, entries: list[Json], expected: str, warned: bool
) -> None:
    home.write({"agents": {"list": entries}})
    warning = "Multiple agents marked default=true; using the first entry as default."

    settings = home.resolve()

    assert settings.agent_id == expected
    assert settings.warnings == ((warning,) if warned else ())


def test_an_agent_is_looked_up_by_its_normalised_id(home: Home) -> None:
    home.write({"agents": {"list": [agent("a"), agent("Alpha One", model="mine")]}})

    settings = home.resolve(Overrides(agents=(" ALPHA-one ",)), OPENAI_API_KEY="k")

    assert settings.agent_id == "Alpha One"
    assert settings.search.model == "mine"
    assert settings.index_path == home.state / "memory" / "Alpha One.sqlite"
    assert settings.sessions_dir == home.state / "agents" / "alpha-one" / "sessions"
    assert settings.warnings == ()


def test_an_unknown_agent_is_normalised_with_a_warning(home: Home) -> None:
    home.write({"agents": {"list": [{"id": "a"}, {"id": "b"}]}})

    settings = home.resolve(Overrides(agents=("No One",)))

    assert settings.agent_id == "no-one"
    assert settings.workspace == home.state / "workspace-no-one"
    assert settings.warnings == ('no agent "No One" is configured (known: a, b)',)


def test_main_needs_no_entry(home: Home) -> None:
    assert home.resolve(Overrides(agents=("Main",))).warnings == ()


def test_every_configured_agent_is_handled_unless_one_is_asked_for(home: Home) -> None:
    empty = agent_ids(Overrides(), home.env)
    home.write({"agents": {"list": [{"id": "B b"}, {"id": "a"}]}})

    assert empty == [""]
    assert agent_ids(Overrides(), home.env) == ["B b", "a"]
    assert agent_ids(Overrides(agents=("x",)), home.env) == ["x"]
    assert agent_ids(Overrides(workspace="/w"), home.env) == [""]


def test_workspaces_belong_to_agents(home: Home) -> None:
    entries = [{"id": "a"}, {"id": "B b"}, {"id": "c", "workspace": "~/c"}]
    home.write({"agents": {"defaults": {"workspace": "~/shared"}, "list": entries}})

    found = [home.resolve(Overrides(agents=(name,))).workspace for name in ("a", "b-b", "c")]

    assert found == [home.root / "shared", home.state / "workspace-b-b", home.root / "c"]


@pytest.mark.parametrize("id", ["", "   "])
def test_a_blank_id_is_main(home: Home, id: str) -> None:
    home.write({"agents": {"list": [{"id": "a"}, {"id": id, "workspace": "~/w"}]}})

    settings = home.resolve(Overrides(agents=("main",)))

    assert agent_ids(Overrides(), home.env) == ["a", "main"]
    assert settings.agent_id == "main"
    assert settings.workspace == home.root / "w"


def test_the_first_of_two_entries_with_one_id_counts(home: Home) -> None:
    home.write({"agents": {"list": [agent("A", model="first"), agent("a", model="second")]}})

    assert home.resolve(Overrides(agents=("a",))).search.model == "first"


@pytest.mark.parametrize("profile", ["", "default", "DEFAULT", "work"])
def test_the_default_agents_workspace_is_named_after_the_profile(home: Home, profile: str) -> None:
    home.write({"agents": {"list": [{"id": "a"}, {"id": "b"}]}})

    first, second = (
        home.resolve(Overrides(agents=(id,)), OPENCLAW_PROFILE=profile) for id in ("a", "b")
    )

    suffix = "-work" if profile == "work" else ""
    assert first.workspace == home.state / f"workspace{suffix}"
    assert second.workspace == home.state / "workspace-b"


@pytest.mark.parametrize(
    ("entry", "defaults", "expected"),
    [
        ({"workspace": "~/e"}, {"workspace": "~/d"}, "~/e"),
        ({"workspace": " "}, {"workspace": "~/d"}, "~/d"),
        ({}, {"workspace": " ~/d/ "}, "~/d"),
        ({}, {"workspace": ""}, "~/.openclaw/workspace"),
        ({"workspace": "/abs/../x"}, {}, "/x"),
        ({"workspace": "~user"}, {}, "{cwd}/~user"),
        ({"workspace": "rel"}, {}, "{cwd}/rel"),
    ],
)
def test_a_workspace_is_expanded(
    home: Home, entry: Json, defaults: Json, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.cwd.mkdir()
    monkeypatch.chdir(home.cwd)
    home.write({"agents": {"defaults": defaults, "list": [{"id": "a", **entry}]}})

    found = str(home.resolve().workspace)

    assert found == expected.replace("{cwd}", str(home.cwd)).replace("~/", f"{home.root}/")


def test_the_state_directory_moves_only_what_belongs_to_other_agents(home: Home) -> None:
    home.write({"agents": {"list": [{"id": "a"}, {"id": "b"}]}})

    first, second = (
        home.resolve(Overrides(agents=(id,)), OPENCLAW_STATE_DIR="~/s") for id in ("a", "b")
    )

    assert first.workspace == home.state / "workspace"
    assert second.workspace == home.root / "s" / "workspace-b"
    assert second.sessions_dir == home.root / "s" / "agents" / "b" / "sessions"
    assert second.agent_dir == home.root / "s" / "agents" / "b" / "agent"


@pytest.mark.parametrize(
    ("enabled", "expected"),
    [((None, None), True), ((False, None), False), ((None, False), False), ((False, True), True)],
)
def test_an_agent_may_be_switched_off_or_on_again(
    home: Home, enabled: tuple[bool | None, bool | None], expected: bool
) -> None:
    shared, own = enabled
    defaults = {"memorySearch": {"enabled": shared}}
    home.write({"agents": {"defaults": defaults, "list": [agent("a", enabled=own)]}})

    assert home.resolve().search.enabled is expected


def test_the_last_agent_that_was_named_is_the_one(home: Home) -> None:
    assert home.resolve(Overrides(agents=("a", "b"))).agent_id == "b"


def test_the_own_file_may_add_an_agent_and_mark_the_default(home: Home) -> None:
    home.write({"agents": {"list": [{"id": "a"}, {"id": "Beta"}]}})
    home.own({"agents": {"list": [{"id": "c"}, {"id": "beta", "default": True}]}})

    assert agent_ids(Overrides(), home.env) == ["a", "Beta", "c"]
    assert home.resolve().agent_id == "Beta"
    assert home.resolve().warnings == ()


# Several agents


def wanted(home: Home, *agents: str) -> tuple[list[str], list[str]]:
    overrides = Overrides(agents=agents)
    return Documents.read(overrides, home.env, cwd=None).wanted(overrides)


def test_ids_that_mean_the_same_agent_are_handled_once_with_a_warning(home: Home) -> None:
    home.write({"agents": {"list": [{"id": "a"}, {"id": "A"}, {"id": "b"}, {"id": "a "}]}})

    assert wanted(home) == (
        ["a", "b"],
        [
            'agents.list: "A" is the agent "a" again; handled once',
            'agents.list: "a " is the agent "a" again; handled once',
        ],
    )


def test_an_agent_that_is_asked_for_twice_is_handled_once(home: Home) -> None:
    home.write({"agents": {"list": [{"id": "Alpha One"}, {"id": "b"}]}})

    assert wanted(home, "alpha-one", "b", "Alpha One", "b") == (
        ["alpha-one", "b"],
        [
            '--agent: "Alpha One" is the agent "alpha-one" again; handled once',
            '--agent: "b" is the agent "b" again; handled once',
        ],
    )


def test_two_defaults_are_told_whichever_way_the_agents_are_chosen(home: Home) -> None:
    both = [{"id": "a", "default": True}, {"id": "b", "default": True}]
    home.write({"agents": {"list": both}})
    many = "Multiple agents marked default=true; using the first entry as default."

    assert wanted(home) == (["a", "b"], [many])
    assert wanted(home, "b") == (["b"], [])
    assert home.resolve().warnings == (many,)
