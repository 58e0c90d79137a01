"""`ocmem config paths`: where things are, for people and for scripts."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.program import Program

PLACES = [
    "stateDir",
    "configFile",
    "ownConfigFile",
    "workspace",
    "store",
    "sessionsDir",
    "agentDir",
    "qmdConfigHome",
    "qmdCacheHome",
]


def test_places_are_told_with_the_reason(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "one\n")

    done = ocmem("config", "paths")

    lines = [line.split("  ") for line in done.out.splitlines()]
    told = {cells[0]: [cell.strip() for cell in cells[1:] if cell] for cells in lines}
    assert told == {
        "State directory": ["~/.openclaw", "default"],
        "Config file": ["~/.openclaw/openclaw.json", "default, not there: all defaults"],
        "ocmem's own file": ["~/ocmem.json5", "OCMEM_CONFIG (environment), not there"],
        "Workspace": ["~/.openclaw/workspace", "default"],
        "Store": ["~/.openclaw/memory/main.ocmem.sqlite", "ocmem's own, not there"],
        "Sessions": ["~/.openclaw/agents/main/sessions", "not there"],
        "Agent directory": ["~/.openclaw/agents/main/agent", "not there"],
        "QMD config home": ["~/.openclaw/agents/main/qmd/xdg-config", "not there"],
        "QMD cache home": ["~/.openclaw/agents/main/qmd/xdg-cache", "not there"],
    }


@pytest.mark.parametrize(
    ("args", "env", "name", "origin"),
    [
        (["--workspace", "ws"], {}, "workspace", "--workspace"),
        (["--state-dir", "elsewhere"], {}, "stateDir", "--state-dir"),
        ([], {"OPENCLAW_STATE_DIR": "~/s"}, "stateDir", "OPENCLAW_STATE_DIR (environment)"),
        ([], {"CLAWDBOT_STATE_DIR": "~/s"}, "stateDir", "CLAWDBOT_STATE_DIR (environment)"),
        (["--profile", "work"], {}, "workspace", "default for profile work"),
        (["--profile", "work"], {}, "stateDir", "--profile work"),
        (["--profile", "work"], {"OPENCLAW_STATE_DIR": "~/s"}, "configFile", "--profile work, "),
        (["--dev"], {}, "stateDir", "--dev"),
        (["--config", "c.json"], {}, "configFile", "--config, older dialect"),
    ],
)
def test_options_and_variables_that_moved_a_place_are_named(
    ocmem: Program, args: list[str], env: dict[str, str], name: str, origin: str
) -> None:
    (ocmem.home / "ws").mkdir()
    (ocmem.home / "c.json").write_text("{}")

    found = ocmem("config", "--json", *args, bound=False, **env).json

    assert found["pathOrigins"][name].startswith(origin)
    assert origin in ocmem("config", "paths", *args, bound=False, **env).out


def test_paths_as_json_are_absolute_and_have_their_names(ocmem: Program) -> None:
    found = ocmem("config", "paths", "--json").json

    assert list(found) == PLACES
    assert all(Path(path).is_absolute() for path in found.values())
    assert found["qmdCacheHome"] == str(ocmem.state / "agents/main/qmd/xdg-cache")
    assert found == ocmem("config", "--json").json["paths"]


def test_each_agent_has_its_own_places(ocmem: Program) -> None:
    entries = [{"id": "main", "default": True}, {"id": "Alpha One"}]
    ocmem.configure_all({"agents": {"list": entries}})

    found = ocmem("config", "--json", "--agent", "alpha-one").json

    assert found["agentId"] == "Alpha One"
    assert found["paths"]["workspace"] == str(ocmem.state / "workspace-alpha-one")
    assert found["paths"]["store"] == str(ocmem.state / "memory" / "Alpha One.ocmem.sqlite")
    assert found["paths"]["sessionsDir"] == str(ocmem.state / "agents/alpha-one/sessions")


@pytest.mark.parametrize("name", ["plain", "it's a home", 'say "$HOME" `id` \\ *', "새 집"])
def test_export_survives_a_real_shell(tmp_path: Path, name: str) -> None:
    home = tmp_path / name
    home.mkdir()
    ocmem = Program(home)
    expected = ocmem("config", "paths", "--json").json

    command = shlex.join(ocmem.command("config", "paths", "--export"))
    names = {
        "OPENCLAW_STATE_DIR": "stateDir",
        "OPENCLAW_CONFIG_PATH": "configFile",
        "OCMEM_CONFIG": "ownConfigFile",
        "OCMEM_WORKSPACE": "workspace",
        "OCMEM_STORE": "store",
        "OCMEM_SESSIONS_DIR": "sessionsDir",
        "XDG_CONFIG_HOME": "qmdConfigHome",
        "XDG_CACHE_HOME": "qmdCacheHome",
    }
    script = f'eval "$({command})" && printf "%s\\0" ' + " ".join(f'"${name}"' for name in names)
    done = subprocess.run(
        ["sh", "-c", script], cwd=home, env=ocmem.env, capture_output=True, check=True
    )

    told = done.stdout.decode().removesuffix("\0").split("\0")
    assert dict(zip(names.values(), told, strict=True)) == {
        place: expected[place] for place in names.values()
    }


def after_eval(ocmem: Program, *args: str, **env: str) -> bytes:
    """The paths as a second run sees them, in a shell that took over those of the first."""
    first = shlex.join(ocmem.command(*args, "config", "paths", "--export"))
    second = shlex.join(ocmem.command("config", "paths", "--export"))
    script = f'eval "$({first})" && {second}'
    return subprocess.run(
        ["sh", "-c", script], cwd=ocmem.home, env=ocmem.env | env, capture_output=True, check=True
    ).stdout


@pytest.mark.parametrize(
    ("args", "env"),
    [
        ([], {}),
        (["--profile", "work"], {}),
        (["--dev"], {}),
        ([], {"OPENCLAW_PROFILE": "home"}),
        (["--profile", "default"], {"OPENCLAW_PROFILE": "home"}),
        (["--state-dir", "elsewhere"], {}),
    ],
)
def test_a_second_run_after_eval_finds_the_same_places(
    ocmem: Program, args: list[str], env: dict[str, str]
) -> None:
    exported = ocmem(*args, "config", "paths", "--export", bound=False, **env).out

    assert after_eval(ocmem, *args, **env).decode() == exported


def test_a_home_that_is_not_utf8_is_exported_byte_for_byte(tmp_path: Path) -> None:
    home = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9 \xff"))
    home.mkdir()
    ocmem = Program(home)

    exported = after_eval(ocmem)

    assert b"OPENCLAW_STATE_DIR='" + os.fsencode(home) + b"/.openclaw'" in exported
    assert ocmem("config", "paths", "--json").json["stateDir"].endswith("/.openclaw")


@pytest.mark.parametrize(
    "args", [["--export"], ["paths", "--export", "--json"], ["paths", "--changed"]]
)
def test_options_that_make_no_sense_together_are_refused(ocmem: Program, args: list[str]) -> None:
    done = ocmem("config", *args)

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"{args[-1] if args[-1] != '--json' else '--export'} goes with ")
