"""However odd the settings files: every command answers, or tells people why not."""

import contextlib
import io
import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ocmem.cli import main
from tests.cli.program import Outcome
from tests.unit.settings import odd
from tests.unit.settings.home import Home
from tests.unit.settings.test_fuzz import places

# None of them asks a service, and none writes anything.
COMMANDS = [
    ["status"],
    ["status", "--json"],
    ["ls"],
    ["ls", "--json"],
    ["config"],
    ["config", "--json"],
    ["config", "--changed", "--json", "--agent", "Alpha One"],
    ["config", "paths"],
    ["config", "paths", "--json"],
    ["config", "paths", "--export"],
    ["search", "tea", "--no-sync", "--offline", "--provider", "none", "--json"],
    ["get", "MEMORY.md"],
    ["tool", "memory_get", '{"path": "MEMORY.md"}'],
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("home"))
    home.file(home.state / "workspace" / "MEMORY.md", "Prefers tea.\n")
    home.cwd.mkdir()
    return home


def run(home: Home, args: list[str]) -> Outcome:
    """The program in this process; whatever it raises is a failure of the test."""
    streams = [io.TextIOWrapper(io.BytesIO()) for _ in range(2)]
    env = home.env | {"SHELL": "/bin/false", "PATH": os.defpath}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["ocmem", *args])
        patched.setattr(os, "environ", env)
        patched.chdir(home.cwd)
        with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
            code = main()
    for stream in streams:
        stream.flush()
    out, err = (stream.buffer.getvalue().decode() for stream in streams)
    return Outcome(code, out, err)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(files=odd.FILES, args=st.sampled_from(COMMANDS))
def test_no_file_makes_a_command_break(
    world: Home, files: dict[str, bytes], args: list[str]
) -> None:
    for name, path in places(world).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if name in files:
            path.write_bytes(files[name])
    before = _below(world.root)

    done = run(world, args)

    assert done.code in (0, 1)
    assert "Traceback" not in done.err
    assert done.code == 0 or done.err.strip()
    if done.code == 0 and "--json" in args:
        json.loads(done.out)
    assert _below(world.root) == before


def _below(root: Path) -> set[Path]:
    return set(root.rglob("*"))
