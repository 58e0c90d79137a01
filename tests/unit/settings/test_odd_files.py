"""The real program with files that nobody should have: an answer or a message, no traceback."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.program import Program


def defaults(**memory_search: object) -> object:
    return {"agents": {"defaults": {"memorySearch": memory_search}}}


def agents(*ids: str) -> object:
    return {"agents": {"list": [{"id": id} for id in ids]}}


def workspace(path: str) -> object:
    return {"agents": {"defaults": {"workspace": path}}}


BROKEN: dict[str, bytes | object] = {
    "nothing": b"",
    "blanks": b" \n\t ",
    "zeros": b"\0" * 100,
    "random bytes": bytes(range(256)),
    "another encoding": "{a: 1}".encode("utf-16"),
    "a number": b"5",
    "not a number": b"NaN",
    "a list": b"[1, 2",
    "lists in lists": b"[" * 100_000,
    "objects in objects": b'{"a":' * 100_000,
    "many digits": b'{"a": ' + b"9" * 10_000 + b"}",
    "itself": {"$include": "openclaw.json"},
    "somebody else's": {"$include": "/etc/passwd"},
    "no path": {"$include": "a\0b"},
    "no variable": {"x": ["${NO_SUCH_VARIABLE}"]},
    "wrong kinds": {"agents": {"list": 5, "defaults": []}, "memory": 1, "env": [], "models": 2},
    "a null character": workspace("/a\0b"),
    "huge numbers": defaults(chunking={"tokens": 10**100}, query={"minScore": 1e308}),
    "infinity": b"{agents: {defaults: {memorySearch: {query: {maxResults: Infinity}}}}}",
    "a mixture": {"memory": {"search": {}}, "agents": {"list": [], "entries": {}}},
}
USABLE: dict[str, object] = {
    "odd keys": {"__proto__": {"a": 1}, "constructor": 5, "": None, "\ud800": "\udfff", "\0": 1},
    "half a pair": {"agents": {"list": [{"id": "\ud800", "workspace": "~/w\udc80"}]}},
    "odd ids": agents("..", "a/../b", "", "A", "a", "é\u2028\x1b[2J", "__proto__"),
    "a long id": agents("x" * 300),
    "many agents": agents(*(f"a{index}" for index in range(20))),
    "a long workspace": workspace("/" + "x/" * 3000),
    "a long name": workspace("~/" + "x" * 300),
    "a loop": workspace("~/loop"),
    "a file for a workspace": workspace("~/.openclaw/openclaw.json"),
    "odd extra paths": defaults(extraPaths=["", "~", "..", "x" * 300, "\udc80", "~/loop"]),
    "a folder for an index": defaults(store={"path": "~"}),
    "no library": defaults(store={"vector": {"extensionPath": "~/.openclaw/openclaw.json"}}),
    "the largest numbers": defaults(
        chunking={"tokens": 2**53 - 1, "overlap": 2**53 - 1},
        query={"maxResults": 2**53 - 1},
        remote={"batch": {"timeoutMinutes": 2**53 - 1}},
    ),
    "an odd address": defaults(provider="openai", remote={"baseUrl": "http://[", "apiKey": "k\n"}),
    "an odd key": defaults(provider="openai", remote={"apiKey": "ключ\ud800\0"}),
    "odd headers": defaults(remote={"apiKey": "k", "headers": {"a b\n": "c\r\nd", "": ""}}),
    "odd entries": {"agents": {"entries": {"": {}, "a/b": {"memory": {"search": {"x": 1}}}}}},
    "odd services": {"memory": {"search": {"provider": "\0"}}, "models": {"providers": {"": 5}}},
}


@pytest.fixture
def ocmem(tmp_path: Path) -> Program:
    program = Program(tmp_path)
    program.state.mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    return program


def data(content: bytes | object) -> bytes:
    return content if isinstance(content, bytes) else json.dumps(content).encode()


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_config_is_told_on_stderr(ocmem: Program, name: str) -> None:
    ocmem.config.write_bytes(data(BROKEN[name]))

    done = ocmem("status")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Config invalid\nFile: ~/.openclaw/openclaw.json\nProblem:\n  - ")
    assert "Traceback" not in done.err


@pytest.mark.parametrize("name", USABLE)
def test_an_odd_config_is_used(ocmem: Program, name: str) -> None:
    ocmem.config.write_bytes(data(USABLE[name]))

    done = ocmem("status")

    assert done.code == 0, done.err
    assert done.out.startswith("Memory Search (")
    assert "Traceback" not in done.err


MAKE: dict[str, Callable[[Path], object]] = {
    "bytes": lambda file: file.write_bytes(bytes(range(256))),
    "a folder": Path.mkdir,
    "a loop": lambda file: file.symlink_to(file),
    "nested": lambda file: file.write_bytes(b"[" * 100_000),
    "empty": lambda file: file.write_bytes(b""),
}


@pytest.mark.parametrize(
    "name", ["ocmem.json5", ".env", ".openclaw/agents/main/agent/auth-profiles.json"]
)
@pytest.mark.parametrize("content", MAKE)
def test_no_other_file_breaks_the_program(ocmem: Program, name: str, content: str) -> None:
    file = ocmem.home / name
    file.parent.mkdir(parents=True, exist_ok=True)
    MAKE[content](file)

    done = ocmem("status")

    is_refused = name == "ocmem.json5"
    assert done.code == (1 if is_refused else 0), done.err
    assert done.err.startswith("Config invalid\nFile: ~/ocmem.json5\n") == is_refused
    assert "Traceback" not in done.err
