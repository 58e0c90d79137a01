"""Commands that handle several agents."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ocmem.cli import common
from ocmem.settings import document
from tests.cli.program import Program


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that is parsed as a settings file."""
    texts: list[str] = []
    parse = document.parse

    def counting(text: str) -> object:
        texts.append(text)
        return parse(text)

    monkeypatch.setattr(document, "parse", counting)
    return texts


def test_the_settings_files_are_read_once_for_all_agents(
    ocmem: Program, parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = ocmem.home / "shells"
    shell = ocmem.home / "shell"
    shell.write_text(f"#!/bin/sh\necho >> {marks}\n")
    shell.chmod(0o700)
    agents = {"list": [{"id": f"agent{at}"} for at in range(10)]}
    config: dict[str, Any] = {"agents": agents, "env": {"shellEnv": {"enabled": True}}}
    ocmem.configure_all(config)
    ocmem.overlay.write_text("{}")
    for name in os.environ:
        monkeypatch.delenv(name)
    for name, value in (ocmem.env | {"SHELL": str(shell)}).items():
        monkeypatch.setenv(name, value)

    found = list(common.each_agent({}))

    assert [settings.agent_id for settings in found] == [f"agent{at}" for at in range(10)]
    assert parsed == [json.dumps(config), "{}"]
    assert marks.read_text() == "\n"


@pytest.mark.parametrize("command", ["status", "index", "ls"])
def test_an_agent_with_two_spellings_is_handled_once(ocmem: Program, command: str) -> None:
    ocmem.configure_all({"agents": {"list": [{"id": "a"}, {"id": "A"}, {"id": "a "}]}})
    ocmem.configure_own(provider="none")

    done = ocmem(command, "--json")
    named = ocmem(command, "--json", "--agent", "a", "--agent", "a")

    assert [each["agentId"] for each in done.json] == ["a"]
    assert done.err.count("again; handled once") == 2
    assert [each["agentId"] for each in named.json] == ["a"]
    assert named.err.count("again; handled once") == 1


def test_a_search_of_one_agent_named_twice_is_one_search(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "tea\n")
    ocmem.configure_own(provider="none")

    done = ocmem("search", "tea", "--json", "--agent", "main", "--agent", "Main")

    assert "agents" not in done.json
    assert len(done.results) == 1


@pytest.mark.parametrize("command", ["status", "index", "ls", "search"])
def test_two_default_agents_are_told_once(ocmem: Program, command: str) -> None:
    both = [{"id": "a", "default": True}, {"id": "b", "default": True}]
    ocmem.configure_all({"agents": {"list": both}})
    ocmem.configure_own(provider="none")

    done = ocmem(command, *(["x", "--all-agents"] if command == "search" else []))

    assert done.err.count("Multiple agents marked default=true") == 1


@pytest.mark.parametrize("args", [["get", "MEMORY.md"], ["config"], ["config", "paths"]])
def test_a_command_for_one_agent_refuses_several(ocmem: Program, args: list[str]) -> None:
    ocmem.note("MEMORY.md", "tea\n")

    done = ocmem(*args, "--agent", "a", "--agent", "b")

    assert (done.code, done.out) == (1, "")
    assert done.err == "--agent: this command takes only one\n"
    assert ocmem("--agent", "a", *args, "--agent", "main").code == 0  # the later one wins


def test_status_as_json_keeps_the_order_of_the_config(ocmem: Program) -> None:
    ocmem.configure_all({"agents": {"list": [{"id": "a"}, {"id": "b"}, {"id": "c"}]}})
    ocmem.configure_own(provider="none")
    broken: Path = ocmem.state / "memory" / "b.ocmem.sqlite"
    broken.parent.mkdir()
    broken.write_bytes(b"noise " * 1000)

    done = ocmem("status", "--json")

    assert done.code == 1
    assert [each["agentId"] for each in done.json] == ["a", "b", "c"]
    assert "error" in done.json[1]
