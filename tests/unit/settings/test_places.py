"""Where a command finds state, config and workspace."""

import os
import shutil
from pathlib import Path

import pytest

from ocmem.errors import OcmemError, UsageError
from ocmem.settings import Overrides
from tests.unit.settings.home import Home, agent_ids


def test_without_any_file_everything_has_a_default(home: Home) -> None:
    settings = home.resolve()

    search = settings.search
    assert settings.agent_id == "main"
    assert settings.state_dir == home.state
    assert settings.config_file == home.config
    assert settings.workspace == home.state / "workspace"
    assert settings.sessions_dir == home.state / "agents" / "main" / "sessions"
    assert (search.chunk_tokens, search.chunk_overlap) == (400, 80)
    assert (search.sources, search.extra_paths, search.exclude) == (("memory",), (), ())
    assert (search.query.max_results, search.query.min_score) == (6, 0.35)
    assert (search.query.vector_weight, search.query.text_weight) == (0.7, 0.3)
    assert (search.query.candidate_multiplier, search.query.half_life_days) == (4, 30)
    assert (search.cache_enabled, search.cache_max_entries) == (True, None)
    assert settings.citations == "auto"
    assert settings.warnings == ()


def test_nothing_is_created_by_looking(home: Home) -> None:
    home.resolve()

    assert list(home.root.iterdir()) == []


def test_the_state_directory_does_not_move_the_default_workspace(home: Home) -> None:
    settings = home.resolve(OPENCLAW_STATE_DIR="~/state", OPENAI_API_KEY="k")

    assert settings.workspace == home.root / ".openclaw" / "workspace"
    assert settings.index_path == home.root / "state" / "memory" / "main.sqlite"


def test_a_profile_option_moves_state_and_config_but_not_the_workspaces_parent(home: Home) -> None:
    settings = home.resolve(Overrides(profile="work"), OPENAI_API_KEY="k")

    assert settings.config_file == home.root / ".openclaw-work" / "openclaw.json"
    assert settings.index_path == home.root / ".openclaw-work" / "memory" / "main.sqlite"
    assert settings.workspace == home.root / ".openclaw" / "workspace-work"


def test_a_profile_in_the_environment_only_names_the_workspace(home: Home) -> None:
    settings = home.resolve(OPENCLAW_PROFILE="work")

    assert settings.state_dir == home.state
    assert settings.config_file == home.config
    assert settings.workspace == home.state / "workspace-work"


def test_the_default_profile_changes_nothing(home: Home) -> None:
    settings = home.resolve(Overrides(profile="default"))

    assert settings.state_dir == home.state
    assert settings.workspace == home.state / "workspace"


def test_a_variable_that_is_set_beats_the_profile_and_an_option_beats_both(home: Home) -> None:
    profile = Overrides(profile="work")
    option = Overrides(profile="work", state_dir="~/option")

    assert home.resolve(profile, OPENCLAW_STATE_DIR="~/set").state_dir == home.root / "set"
    assert home.resolve(option, OPENCLAW_STATE_DIR="~/set").state_dir == home.root / "option"


def test_a_config_option_names_another_file(home: Home) -> None:
    other = home.root / "other.json"
    other.write_text('{"memory": {"citations": "off"}}')
    home.write({"memory": {"citations": "on"}})

    assert home.resolve().citations == "on"
    assert home.resolve(Overrides(config="~/other.json")).citations == "off"


def test_a_config_option_without_its_file_is_a_usage_error(home: Home) -> None:
    with pytest.raises(UsageError, match=r"--config: no such file: .*gone\.json"):
        home.resolve(Overrides(config="~/gone.json"))


def test_a_config_variable_without_its_file_is_an_empty_config(home: Home) -> None:
    home.defaults(chunking={"tokens": 7})

    assert home.resolve(OPENCLAW_CONFIG_PATH="~/gone.json").search.chunk_tokens == 400


def test_a_config_option_that_is_no_file_is_a_usage_error(home: Home) -> None:
    home.state.mkdir()

    for name in ("~/.openclaw", "/" + "x" * 5000, "~/gone/" + "x" * 300):
        with pytest.raises(UsageError, match="--config: no such file"):
            home.resolve(Overrides(config=name))


@pytest.mark.parametrize(
    ("given", "env", "state", "config", "workspace"),
    [
        ("work", {}, ".openclaw-work", ".openclaw-work/openclaw.json", "workspace-work"),
        ("Work_2", {}, ".openclaw-Work_2", ".openclaw-Work_2/openclaw.json", "workspace-Work_2"),
        ("dev", {}, ".openclaw-dev", ".openclaw-dev/openclaw.json", "workspace-dev"),
        ("Default", {}, ".openclaw", ".openclaw/openclaw.json", "workspace"),
        ("work", {"OPENCLAW_STATE_DIR": "~/s"}, "s", "s/openclaw.json", "workspace-work"),
        ("work", {"OPENCLAW_STATE_DIR": "  "}, ".openclaw-work", None, "workspace-work"),
        ("work", {"CLAWDBOT_STATE_DIR": "~/c"}, ".openclaw-work", None, "workspace-work"),
        (
            "work",
            {"OPENCLAW_CONFIG_PATH": "~/c.json"},
            ".openclaw-work",
            "c.json",
            "workspace-work",
        ),
        ("work", {"OPENCLAW_PROFILE": "other"}, ".openclaw-work", None, "workspace-work"),
    ],
)
def test_a_profile_fills_in_what_is_not_set(
    home: Home,
    given: str,
    env: dict[str, str],
    state: str,
    config: str | None,
    workspace: str,
) -> None:
    settings = home.resolve(Overrides(profile=given), **env)

    assert settings.state_dir == home.root / state
    assert settings.config_file == home.root / (config or f"{state}/openclaw.json")
    assert settings.workspace == home.root / ".openclaw" / workspace


def test_a_profile_does_not_look_for_a_config_elsewhere(home: Home) -> None:
    home.write({"memory": {"citations": "on"}})

    assert home.resolve(Overrides(profile="work")).citations == "auto"


def test_an_option_for_the_state_directory_takes_the_profiles_config_along(home: Home) -> None:
    settings = home.resolve(Overrides(profile="work", state_dir="~/s"))

    assert settings.state_dir == home.root / "s"
    assert settings.config_file == home.root / "s" / "openclaw.json"


def test_a_chosen_home_moves_everything(home: Home) -> None:
    settings = home.resolve(Overrides(profile="work"), OPENCLAW_HOME="~/other")

    assert settings.home == home.root / "other"
    assert settings.state_dir == home.root / "other" / ".openclaw-work"
    assert settings.workspace == home.root / "other" / ".openclaw" / "workspace-work"
    assert settings.shown(settings.state_dir) == "$OPENCLAW_HOME/.openclaw-work"


@pytest.mark.parametrize("legacy", [".clawdbot", ".moldbot", ".moltbot"])
def test_a_legacy_folder_serves_until_there_is_a_new_one(home: Home, legacy: str) -> None:
    name = f"{legacy[1:]}.json"
    home.file(home.root / legacy / name, {"memory": {"citations": "off"}})

    before = home.resolve()
    home.state.mkdir()
    after = home.resolve()

    assert (before.state_dir, before.citations) == (home.root / legacy, "off")
    assert before.sessions_dir == home.root / legacy / "agents" / "main" / "sessions"
    assert before.workspace == home.state / "workspace"
    assert (after.state_dir, after.citations) == (home.state, "off")


def test_legacy_folders_are_only_read(home: Home) -> None:
    home.file(home.root / ".clawdbot" / "clawdbot.json", {})
    before = sorted(home.root.rglob("*"))

    home.resolve()
    agent_ids(Overrides(), home.env)

    assert sorted(home.root.rglob("*")) == before


def test_a_path_is_shown_as_people_read_it(home: Home) -> None:
    settings = home.resolve()

    assert settings.shown(settings.workspace) == "~/.openclaw/workspace"


@pytest.mark.parametrize(
    "env",
    [
        {"OPENCLAW_STATE_DIR": "relative"},
        {"OPENCLAW_HOME": "relative"},
        {"OCMEM_CONFIG": "relative"},
        {"OPENCLAW_CONFIG_PATH": "relative"},
    ],
)
def test_a_relative_path_from_a_folder_that_is_gone_is_a_usage_error(
    home: Home, env: dict[str, str]
) -> None:
    here = Path.cwd()
    gone = home.root / "gone"
    gone.mkdir()
    os.chdir(gone)
    try:
        shutil.rmtree(gone)
        with pytest.raises(OcmemError, match="relative: the current folder is gone"):
            home.resolve(None, **env)
        assert home.resolve().state_dir == home.state
    finally:
        os.chdir(here)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("~/x", "{home}/x"),
        (" ~ ", "{home}"),
        ("~user/x", "~user/x"),
        ("/x", "/x"),
        ("rel", "rel"),
        ("hf:org/model", "hf:org/model"),
    ],
)
def test_every_path_in_the_config_may_begin_at_home(home: Home, given: str, expected: str) -> None:
    home.defaults(
        local={"modelPath": given, "modelCacheDir": given},
        store={"vector": {"extensionPath": given}},
    )

    search = home.resolve().search

    found = (search.local.model_path, search.local.model_cache_dir, search.vector_extension_path)
    assert found == (expected.replace("{home}", str(home.root)),) * 3
