"""Settings files that are no files: nobody waits for a pipe, or reads without an end."""

import os

import pytest

from tests.unit.settings.home import Home


@pytest.mark.parametrize("own", [False, True])
def test_a_pipe_is_no_config(home: Home, own: bool) -> None:
    file = home.overlay if own else home.config
    file.parent.mkdir(exist_ok=True)
    os.mkfifo(file)

    assert home.problems() == [
        f"<root>: read failed: Error: EINVAL: not a regular file, open '{file}'"
    ]


def test_pipes_in_the_places_of_optional_files_are_not_waited_for(home: Home) -> None:
    agent_dir = home.state / "agents" / "main" / "agent"
    for file in (
        home.state / ".env",
        home.cwd / ".env",
        agent_dir / "auth-profiles.json",
        agent_dir / "auth.json",
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(file)

    assert home.resolve().provider.id == "builtin"


def test_an_endless_config_is_refused(home: Home) -> None:
    home.write("")
    os.truncate(home.config, 17 * 1024 * 1024)

    assert home.problems() == [
        f"<root>: read failed: Error: EFBIG: larger than 16777216 bytes, open '{home.config}'"
    ]
