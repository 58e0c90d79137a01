"""Variables: the real environment, `.env` files, a config's `env` block, the login shell."""

from pathlib import Path

import pytest

from ocmem.settings import Overrides
from ocmem.settings.environment import Variables, config_variables, dotenv
from tests.unit.settings.home import Home

REAL, HERE, GLOBAL, CONFIG = "environment", "cwd .env", "global .env", "config"


def shown(home: Home, **env: str) -> str:
    """What `${X}` is in a config that sets X last."""
    home.write({"env": {"X": CONFIG}, "agents": {"defaults": {"workspace": "/${X}"}}})
    return str(home.resolve(None, **env).workspace)[1:]


# Which place wins


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ((REAL, HERE, GLOBAL), REAL),
        ((HERE, GLOBAL), HERE),
        ((GLOBAL,), GLOBAL),
        ((), CONFIG),
    ],
)
def test_the_nearest_place_wins(home: Home, places: tuple[str, ...], expected: str) -> None:
    if HERE in places:
        home.file(home.cwd / ".env", f"X={HERE}\n")
    if GLOBAL in places:
        home.file(home.state / ".env", f"X={GLOBAL}\n")

    assert shown(home, **({"X": REAL} if REAL in places else {})) == expected


@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_variable_is_set_for_env_files_but_not_for_the_config(
    home: Home, blank: str
) -> None:
    home.file(home.cwd / ".env", f"X={HERE}")

    assert shown(home, X=blank) == CONFIG


def test_a_blank_line_in_the_nearer_file_hides_the_other(home: Home) -> None:
    home.file(home.cwd / ".env", "X=\n")
    home.file(home.state / ".env", f"X={GLOBAL}\n")

    assert shown(home) == CONFIG


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({}, ".openclaw"),
        ({"OPENCLAW_STATE_DIR": "~/state"}, "state"),
        ({"CLAWDBOT_STATE_DIR": "~/bot"}, "bot"),
        ({"OPENCLAW_STATE_DIR": "~/state", "CLAWDBOT_STATE_DIR": "~/bot"}, "state"),
        ({"OPENCLAW_HOME": "~/other"}, "other/.openclaw"),
    ],
)
def test_the_global_file_is_in_the_state_directory(
    home: Home, env: dict[str, str], folder: str
) -> None:
    home.file(home.root / folder / ".env", "OPENAI_API_KEY=k")

    endpoint = home.resolve(None, **env).provider.endpoint

    assert endpoint is not None
    assert endpoint.api_key == "k"


@pytest.mark.parametrize("legacy", [".clawdbot", ".moldbot", ".moltbot"])
def test_a_legacy_folder_has_no_global_file(home: Home, legacy: str) -> None:
    home.file(home.root / legacy / ".env", "OPENAI_API_KEY=k")

    settings = home.resolve()

    assert settings.state_dir == home.root / legacy
    assert settings.provider.endpoint is None


def test_the_nearer_file_may_say_where_the_global_one_is(home: Home) -> None:
    home.file(home.cwd / ".env", "OPENCLAW_STATE_DIR=~/state\n")
    home.file(home.root / "state" / ".env", f"X={GLOBAL}\n")
    home.file(
        home.root / "state" / "openclaw.json", {"agents": {"defaults": {"workspace": "/${X}"}}}
    )

    settings = home.resolve()

    assert settings.state_dir == home.root / "state"
    assert settings.workspace == Path("/global .env")


def test_a_profile_beats_what_an_env_file_says_about_places(home: Home) -> None:
    home.file(home.cwd / ".env", "OPENCLAW_STATE_DIR=~/state\nOPENCLAW_PROFILE=other\n")

    settings = home.resolve(Overrides(profile="work"))

    assert settings.state_dir == home.root / ".openclaw-work"
    assert settings.workspace == home.state / "workspace-work"


@pytest.mark.parametrize("make", [Path.mkdir, lambda file: file.write_bytes(b"\xff\xfe=\x00")])
def test_an_env_file_that_makes_no_sense_is_passed_over(home: Home, make: object) -> None:
    home.cwd.mkdir()
    assert callable(make)
    make(home.cwd / ".env")

    assert shown(home) == CONFIG


def test_every_variable_knows_where_it_came_from(home: Home) -> None:
    home.file(home.cwd / ".env", "A=1\nB=1")
    home.file(home.state / ".env", "B=2\nC=2")
    home.write({"env": {"C": "3", "D": "3", "vars": {"E": "4"}}})
    home.own({"env": {"E": "5", "F": "5"}})

    found = home.resolve(None, A="0").env

    assert isinstance(found, Variables)
    assert {name: (found[name], found.origin(name)) for name in "ABCDEF"} == {
        "A": ("0", "environment"),
        "B": ("1", str(home.cwd / ".env")),
        "C": ("2", str(home.state / ".env")),
        "D": ("3", str(home.config)),
        "E": ("4", str(home.config)),
        "F": ("5", str(home.overlay)),
    }
    assert found.origin("G") is None
    assert len(found) == len(set(found))


# How a file is read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A=b", {"A": "b"}),
        ("A=b\n", {"A": "b"}),
        ("A=b\r\nC=d\r\n", {"A": "b", "C": "d"}),
        ("A=b\rC=d", {"A": "b", "C": "d"}),
        ("  A =  b  \n", {"A": "b"}),
        ("export A=b", {"A": "b"}),
        ("export   A = b", {"A": "b"}),
        ("exportA=b", {"exportA": "b"}),
        ("A: b", {"A": "b"}),
        ("A:b", {}),
        ("A", {}),
        ("A=", {"A": ""}),
        ("A=\nB=c", {"A": "", "B": "c"}),
        ("=b", {}),
        ("# A=b", {}),
        ("A=b # c", {"A": "b"}),
        ("A=b#c", {"A": "b"}),
        ("A='b # c' # d", {"A": "b # c"}),
        ('A="b # c"', {"A": "b # c"}),
        ("A=`b # c`", {"A": "b # c"}),
        ("A=' b '", {"A": " b "}),
        ("A=''", {"A": ""}),
        ('A="b\nc"\nD=e', {"A": "b\nc", "D": "e"}),
        ("A='b\nc'\nD=e", {"A": "b\nc", "D": "e"}),
        (r'A="b\nc\rd"', {"A": "b\nc\rd"}),
        (r"A='b\nc'", {"A": r"b\nc"}),
        (r"A=b\nc", {"A": r"b\nc"}),
        (r'A="say \"b\""', {"A": r"say \"b\""}),
        ("A='b' c", {"A": "'b' c"}),
        ("A='b\nC=d", {"A": "'b", "C": "d"}),
        ('A="b"c"', {"A": 'b"c'}),
        ("A=b=c", {"A": "b=c"}),
        ("A=b\nA=c", {"A": "c"}),
        ("a.b-c=1", {"a.b-c": "1"}),
        ("Ä=b", {}),
        ("A=${B}", {"A": "${B}"}),
        ("A=ключ 鍵", {"A": "ключ 鍵"}),
        ("", {}),
        ("\n\n  \n", {}),
    ],
)
def test_env_files_are_read_as_dotenv_reads_them(text: str, expected: dict[str, str]) -> None:
    assert dotenv(text) == expected


def test_a_byte_order_mark_belongs_to_no_name(home: Home) -> None:
    home.file(home.cwd / ".env", f"\ufeffX={HERE}")

    assert shown(home) == HERE


def test_a_value_that_no_variable_can_have_is_left_out(home: Home) -> None:
    home.file(home.cwd / ".env", "OPENCLAW_STATE_DIR=/a\0b\nX=here")

    assert shown(home) == "here"
    assert home.resolve().state_dir == home.state


# The `env` block


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"A": "1", "vars": {"A": "2", "B": "3"}}, {"A": "1", "B": "3"}),
        ({"A": " ", "vars": {"A": "2"}}, {"A": "2"}),
        ({"A": "", "B": "  "}, {}),
        ({"A": "1", "shellEnv": {"enabled": False}}, {"A": "1"}),
        ({"A": "a\0b", "B": "1"}, {"B": "1"}),
        ({"LD_PRELOAD": "x", "dyld_insert_libraries": "x", "NODE_OPTIONS": "x"}, {}),
        ({"PYTHONPATH": "x", "BASH_ENV": "x", "vars": {"LD_LIBRARY_PATH": "x", "SHELL": "x"}}, {}),
        ({"PATHS": "x", "SHELLY": "y"}, {"PATHS": "x", "SHELLY": "y"}),
        (None, {}),
        ([], {}),
        ("A=1", {}),
    ],
)
def test_an_env_block_exports_its_strings(block: object, expected: dict[str, str]) -> None:
    assert config_variables(block) == expected


def test_an_env_block_may_refer_to_other_variables(home: Home) -> None:
    home.write({"env": {"OPENAI_API_KEY": "${MY_KEY}", "MY_KEY": "sk-1", "B": "$${MY_KEY}"}})

    settings = home.resolve()

    assert settings.provider.endpoint is not None
    assert settings.provider.endpoint.api_key == "sk-1"
    assert settings.env["B"] == "${MY_KEY}"


def test_a_config_may_move_the_state_directory_but_not_itself(home: Home) -> None:
    home.write({"env": {"OPENCLAW_STATE_DIR": "~/moved", "OPENCLAW_CONFIG_PATH": "~/x.json"}})

    settings = home.resolve()

    assert settings.state_dir == home.root / "moved"
    assert settings.config_file == home.config


def test_variables_are_in_no_representation(home: Home) -> None:
    home.file(home.cwd / ".env", "A=sesame")

    assert "sesame" not in repr(home.resolve().env)
    assert "sesame" not in repr(home.resolve())


# The login shell


@pytest.fixture
def shell(home: Home) -> Path:
    """A shell that notes how it was called, and knows three keys."""
    file = home.file(
        home.root / "shell",
        "#!/bin/sh\n"
        f'echo "$@" >> {home.root}/calls\n'
        f'echo "$FROM_ENV_FILE" >> {home.root}/calls\n'
        "printf 'OPENAI_API_KEY= sk-shell \\0GEMINI_API_KEY=g\\nh\\0VOYAGE_API_KEY=v\\0odd\\0'\n",
    )
    file.chmod(0o755)
    return file


def calls(home: Home) -> list[str]:
    file = home.root / "calls"
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.parametrize("value", ["1", "true", "YES", " on "])
def test_a_variable_asks_the_login_shell(home: Home, shell: Path, value: str) -> None:
    settings = home.resolve(None, SHELL=str(shell), OPENCLAW_LOAD_SHELL_ENV=value)

    assert settings.provider.endpoint is not None
    assert settings.provider.endpoint.api_key == "sk-shell"
    assert settings.env["GEMINI_API_KEY"] == "g\nh"
    assert "VOYAGE_API_KEY" not in settings.env
    assert calls(home) == ["-l -c env -0", ""]


def test_the_config_asks_the_login_shell(home: Home, shell: Path) -> None:
    home.write({"env": {"shellEnv": {"enabled": True}}})

    settings = home.resolve(None, SHELL=str(shell), OPENAI_API_KEY=" ")

    assert settings.provider.endpoint is not None
    assert settings.provider.endpoint.api_key == "sk-shell"


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"OPENCLAW_LOAD_SHELL_ENV": "0"},
        {"OPENCLAW_LOAD_SHELL_ENV": "no"},
        {"OPENCLAW_LOAD_SHELL_ENV": "1", "OPENAI_API_KEY": "k"},
        {"OPENCLAW_LOAD_SHELL_ENV": "1", "GEMINI_API_KEY": "k"},
        {"OPENCLAW_LOAD_SHELL_ENV": "1", "ANTHROPIC_API_KEY": "k"},
    ],
)
def test_the_login_shell_is_not_asked_in_vain(home: Home, shell: Path, env: dict[str, str]) -> None:
    home.resolve(None, SHELL=str(shell), **env)

    assert calls(home) == []


def test_a_folders_env_file_chooses_no_shell_and_tells_it_nothing(home: Home, shell: Path) -> None:
    evil = home.file(home.root / "evil", f"#!/bin/sh\necho evil >> {home.root}/calls\n")
    evil.chmod(0o755)
    home.file(home.cwd / ".env", f"SHELL={evil}\nFROM_ENV_FILE=1\nOPENCLAW_LOAD_SHELL_ENV=1")

    home.resolve(None, SHELL=str(shell))
    home.resolve()

    assert calls(home) == ["-l -c env -0", ""]


@pytest.mark.parametrize(
    "script", ["#!/bin/sh\nexit 3\n", "#!/bin/sh\nexec sleep 60\n", "no program", None]
)
def test_a_login_shell_that_fails_or_hangs_does_no_harm(home: Home, script: str | None) -> None:
    file = home.root / "shell"
    if script is not None:
        home.file(file, script).chmod(0o755)

    settings = home.resolve(
        None, SHELL=str(file), OPENCLAW_LOAD_SHELL_ENV="1", OPENCLAW_SHELL_ENV_TIMEOUT_MS="100"
    )

    assert settings.provider.endpoint is None


@pytest.mark.parametrize("timeout_ms", ["0", "soon", "-5", "1e999", "nan"])
def test_a_timeout_that_makes_no_sense_is_not_used(
    home: Home, shell: Path, timeout_ms: str
) -> None:
    home.write({"env": {"shellEnv": {"enabled": True, "timeoutMs": 0}}})

    settings = home.resolve(None, SHELL=str(shell), OPENCLAW_SHELL_ENV_TIMEOUT_MS=timeout_ms)

    assert settings.provider.endpoint is not None
