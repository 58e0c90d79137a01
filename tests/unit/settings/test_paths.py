"""Home, state directory and config file: which of the many places wins."""

from pathlib import Path

import pytest

from ocmem.settings import paths

LEGACY = [".clawdbot", ".moldbot", ".moltbot"]
NAMES = ["openclaw.json", "clawdbot.json", "moldbot.json", "moltbot.json"]


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"OPENCLAW_HOME": "/o", "HOME": "/h", "USERPROFILE": "/u"}, "/o"),
        ({"OPENCLAW_HOME": "  ", "HOME": "/h", "USERPROFILE": "/u"}, "/h"),
        ({"HOME": "", "USERPROFILE": " /u "}, "/u"),
        ({"OPENCLAW_HOME": "~", "HOME": "/h"}, "/h"),
        ({"OPENCLAW_HOME": "~/x", "HOME": "/h"}, "/h/x"),
        ({"OPENCLAW_HOME": "~/x", "USERPROFILE": "/u"}, "/u/x"),
        ({"OPENCLAW_HOME": "/a/../b/", "HOME": "/h"}, "/b"),
    ],
)
def test_the_first_home_that_is_not_blank_wins(env: dict[str, str], expected: str) -> None:
    assert paths.home_dir(env) == Path(expected)


def test_without_variables_home_is_what_the_system_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    assert paths.home_dir({}) == tmp_path


def test_a_relative_home_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert paths.home_dir({"OPENCLAW_HOME": "x", "HOME": "/h"}) == tmp_path / "x"
    assert paths.home_dir({"OPENCLAW_HOME": "~user", "HOME": "/h"}) == tmp_path / "~user"


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"OPENCLAW_STATE_DIR": "/s", "CLAWDBOT_STATE_DIR": "/c"}, "/s"),
        ({"OPENCLAW_STATE_DIR": " ", "CLAWDBOT_STATE_DIR": "/c"}, "/c"),
        ({"OPENCLAW_STATE_DIR": " ~/s "}, "/h/s"),
    ],
)
def test_a_state_directory_may_be_given_and_need_not_exist(
    env: dict[str, str], expected: str
) -> None:
    assert paths.state_dir(env, Path("/h")) == Path(expected)


def test_there_is_no_variable_for_the_newest_legacy_name(tmp_path: Path) -> None:
    assert paths.state_dir({"MOLTBOT_STATE_DIR": "/m"}, tmp_path) == tmp_path / ".openclaw"


def test_the_state_directory_need_not_exist(tmp_path: Path) -> None:
    assert paths.state_dir({}, tmp_path) == tmp_path / ".openclaw"


def test_legacy_state_directories_count_in_order_until_the_new_one_exists(tmp_path: Path) -> None:
    found = []

    for name in [*reversed(LEGACY), ".openclaw"]:
        (tmp_path / name).mkdir()
        found.append(paths.state_dir({}, tmp_path).name)

    assert found == [".moltbot", ".moldbot", ".clawdbot", ".openclaw"]


def write(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"OPENCLAW_CONFIG_PATH": "~/a.json", "CLAWDBOT_CONFIG_PATH": "/b.json"}, "a.json"),
        ({"CLAWDBOT_CONFIG_PATH": "~/b.json"}, "b.json"),
    ],
)
def test_a_named_config_file_is_used_even_if_it_is_missing(
    tmp_path: Path, env: dict[str, str], expected: str
) -> None:
    write(tmp_path / ".openclaw" / "openclaw.json")

    assert paths.config_file(env, tmp_path) == tmp_path / expected


def test_config_names_and_folders_are_tried_in_order(tmp_path: Path) -> None:
    places = [tmp_path / folder / name for folder in [".openclaw", *LEGACY] for name in NAMES]
    found = []

    for place in reversed(places):
        write(place)
        found.append(paths.config_file({}, tmp_path))

    assert found == places[::-1]


def test_a_given_state_directory_is_searched_before_home(tmp_path: Path) -> None:
    env = {"OPENCLAW_STATE_DIR": "~/state"}
    write(tmp_path / ".openclaw" / "openclaw.json")

    from_home = paths.config_file(env, tmp_path)
    write(tmp_path / "state" / "moltbot.json")
    from_state = paths.config_file(env, tmp_path)

    assert from_home == tmp_path / ".openclaw" / "openclaw.json"
    assert from_state == tmp_path / "state" / "moltbot.json"


def test_a_legacy_config_serves_an_empty_new_state_directory(tmp_path: Path) -> None:
    (tmp_path / ".openclaw").mkdir()
    write(tmp_path / ".clawdbot" / "clawdbot.json")

    assert paths.config_file({}, tmp_path) == tmp_path / ".clawdbot" / "clawdbot.json"
    assert paths.state_dir({}, tmp_path) == tmp_path / ".openclaw"


def test_without_any_config_the_state_directory_names_one(tmp_path: Path) -> None:
    (tmp_path / ".moltbot").mkdir()

    assert paths.config_file({}, tmp_path) == tmp_path / ".moltbot" / "openclaw.json"
    env = {"OPENCLAW_STATE_DIR": "/s"}
    assert paths.config_file(env, tmp_path) == Path("/s/openclaw.json")


def test_the_own_settings_file_may_be_named() -> None:
    assert paths.overlay_file({"OCMEM_CONFIG": "~/o.json5"}, Path("/h")) == Path("/h/o.json5")
    assert paths.overlay_file({}, Path("/h")).name == "config.json5"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("~", "/h"),
        (" ~/a ", "/h/a"),
        ("/x/./y/../z", "/x/z"),
        ("/~/a", "/~/a"),
    ],
)
def test_a_leading_tilde_stands_for_home(text: str, expected: str) -> None:
    assert paths.expand(text, Path("/h")) == Path(expected)


@pytest.mark.parametrize("text", ["~user", "~user/a", "a/~"])
def test_another_users_home_is_never_meant(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert paths.expand(text, Path("/h")) == tmp_path / text


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/h", "~"),
        ("/h/a b", "~/a b"),
        ("/home", "/home"),
        ("/", "/"),
        ("/x/h/a", "/x/h/a"),
        ("h/a", "h/a"),
        ("/h/../x", "~/../x"),
    ],
)
def test_a_path_is_shown_with_a_tilde(path: str, expected: str) -> None:
    assert paths.shorten(path, env={}, home=Path("/h")) == expected


def test_a_chosen_home_is_shown_by_its_name() -> None:
    env = {"OPENCLAW_HOME": "/h"}

    assert paths.shorten("/h/a", env=env, home=Path("/h")) == "$OPENCLAW_HOME/a"


@pytest.mark.parametrize(("path", "expected"), [("/", "~"), ("/a", "~/a")])
def test_the_root_can_be_a_home(path: str, expected: str) -> None:
    assert paths.shorten(path, env={}, home=Path("/")) == expected


@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_variable_is_not_set(tmp_path: Path, blank: str) -> None:
    names = ("OPENCLAW_HOME", "OPENCLAW_STATE_DIR", "CLAWDBOT_STATE_DIR", "OPENCLAW_CONFIG_PATH")
    env = dict.fromkeys(names, blank) | {"HOME": str(tmp_path)}

    home = paths.home_dir(env)

    assert home == tmp_path
    assert paths.state_dir(env, home) == tmp_path / ".openclaw"
    assert paths.config_file(env, home) == tmp_path / ".openclaw" / "openclaw.json"
    assert paths.shorten(tmp_path / "x", env=env, home=home) == "~/x"


def test_a_state_directory_need_not_be_one_to_count(tmp_path: Path) -> None:
    (tmp_path / ".clawdbot").mkdir()
    (tmp_path / ".openclaw").write_text("")

    assert paths.state_dir({}, tmp_path) == tmp_path / ".openclaw"


@pytest.mark.parametrize("name", ["MOLTBOT_CONFIG_PATH", "MOLDBOT_STATE_DIR", "CLAWDBOT_HOME"])
def test_no_other_legacy_variable_is_known(tmp_path: Path, name: str) -> None:
    env = {"HOME": str(tmp_path), name: "/elsewhere"}

    home = paths.home_dir(env)

    assert home == tmp_path
    assert paths.state_dir(env, home) == tmp_path / ".openclaw"
    assert paths.config_file(env, home) == tmp_path / ".openclaw" / "openclaw.json"


def test_a_backslash_behind_the_tilde_counts(tmp_path: Path) -> None:
    assert str(paths.expand("~\\a", Path("/h"))) == "/h\\a"
