"""Settings, surroundings, questions and streams that nobody would wish for."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.both_ways import both_ways, redirected, run_bytes
from tests.cli.program import Program, indexed

COMMANDS = (["search", "tea"], ["index"], ["status"], ["get", "MEMORY.md"])


@pytest.fixture
def ocmem(tmp_path: Path) -> Program:
    program = Program(tmp_path)
    program.note("MEMORY.md", "Prefers tea over coffee.\n")
    return program


# The config


def a_folder(path: Path) -> None:
    path.mkdir()


def no_utf_8(path: Path) -> None:
    path.write_bytes(b"\xff\xfe{}")


def empty(path: Path) -> None:
    path.write_bytes(b"")


def broken_off(path: Path) -> None:
    path.write_text('{ agents: { defaults: { memorySearch: { provider: "none", // no end')


def endlessly_nested(path: Path) -> None:
    path.write_text('{"a":' * 600 + "1" + "}" * 600)


@pytest.mark.parametrize("own", [False, True], ids=["openclaw.json", "config.json5"])
@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (a_folder, "<root>: read failed: Error: EISDIR: is a directory"),
        (no_utf_8, "<root>: JSON5 parse failed: SyntaxError: JSON5: invalid character"),
        (empty, "<root>: JSON5 parse failed"),
        (broken_off, "<root>: JSON5 parse failed"),
        (endlessly_nested, "<root>: JSON5 parse failed: nested too deeply"),
    ],
)
def test_a_config_that_cannot_be_read_stops_every_command(
    ocmem: Program, spoil: object, told: str, own: bool
) -> None:
    path = ocmem.overlay if own else ocmem.config
    assert callable(spoil)
    spoil(path)
    shown = str(path).replace(str(ocmem.home), "~")

    for args in (*COMMANDS, ["search", "tea", "--json"]):
        done = ocmem(*args)

        assert (done.code, done.out) == (1, "")
        assert done.err.startswith(f"Config invalid\nFile: {shown}\nProblem:\n  - {told}")
    assert not (ocmem.state / "memory").exists()


@pytest.mark.parametrize("own", [False, True], ids=["openclaw.json", "config.json5"])
def test_a_config_that_may_not_be_read_is_not_taken_for_an_empty_one(
    ocmem: Program, permissions: None, own: bool
) -> None:
    path = ocmem.overlay if own else ocmem.config
    path.write_text("{}")
    path.chmod(0)

    done = ocmem("search", "tea", bound=True)

    assert (done.code, done.out) == (1, "")
    assert "Problem:\n  - <root>: read failed: Error: EACCES: permission denied" in done.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"agents": {"list": "main"}}', "agents.list: Invalid input: expected array, received st"),
        ('{"agents": {"defaults": []}}', "agents.defaults: Invalid input: expected object, recei"),
        ('{"agents": {"defaults": {"workspace": 5}}}', "agents.defaults.workspace: Invalid input"),
        ('{"agents": {"list": [{"id": "a", "workspace": []}]}}', "agents.list.0.workspace: Inval"),
        (
            '{"agents": {"defaults": {"workspace": "a\\u0000b"}}}',
            "workspace: Invalid input: a path",
        ),
        (
            '{"agents": {"defaults": {"memorySearch": {"store": {"path": "a\\u0000b"}}}}}',
            "agents.defaults.memorySearch.store.path: Invalid input: a path cannot hold a null",
        ),
        (
            '{"agents": {"defaults": {"memorySearch": {"extraPaths": ["\\u0000"]}}}}',
            "agents.defaults.memorySearch.extraPaths.0: Invalid input: a path cannot hold a null",
        ),
    ],
)
def test_a_value_of_the_wrong_kind_is_not_overlooked(ocmem: Program, text: str, told: str) -> None:
    ocmem.config.write_text(text)

    for args in COMMANDS:
        done = ocmem(*args)

        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("Config invalid\n")
        assert told in done.err
    assert not (ocmem.state / "memory").exists()


@pytest.mark.parametrize("odd", ['"api": "x"', '"api": [], "other": {}', '"models": [{"id": 5}]'])
def test_another_part_of_the_config_is_not_ours_to_judge(ocmem: Program, odd: str) -> None:
    provider = f'{{"baseUrl": "http://127.0.0.1:9/v1", "models": [], {odd}}}'
    ocmem.config.write_text(f'{{"models": {{"providers": {{"openai": {provider}}}}}}}')

    found = ocmem("search", "tea", "--json")

    assert (found.code, found.err, found.paths) == (0, "", ["MEMORY.md"])
    assert found.json["provider"] == "builtin"


# Home


def test_without_home_the_system_says_where_it_is(ocmem: Program) -> None:
    del ocmem.env["HOME"]
    ocmem.env["OPENCLAW_STATE_DIR"] = str(ocmem.state)

    _, status = both_ways(ocmem, "status")

    assert status.code == 0
    assert status.json[0]["status"]["workspaceDir"].endswith("/.openclaw/workspace")


def test_a_home_at_the_root_is_shown_with_its_slash(ocmem: Program) -> None:
    ocmem.env["HOME"] = "/"

    status, _ = both_ways(ocmem, "status")

    assert "Workspace: ~/.openclaw/workspace\n" in status.out


def test_a_home_that_does_not_exist_has_no_notes(ocmem: Program) -> None:
    ocmem.env["HOME"] = str(ocmem.home / "no" / "where")

    status, _ = both_ways(ocmem, "status")
    get, _ = both_ways(ocmem, "get", "MEMORY.md")
    made = (ocmem.home / "no").exists()
    search, _ = both_ways(ocmem, "search", "tea")

    assert (status.code, get.code, made) == (0, 1, False)
    assert (search.code, search.out) == (0, "No matches.\n")
    assert "no notes are indexed in ~/.openclaw/workspace" in search.err


def test_a_home_that_cannot_be_written_can_be_read(ocmem: Program, permissions: None) -> None:
    for folder in (ocmem.state, ocmem.home):
        folder.chmod(0o500)

    search, _ = both_ways(ocmem, "search", "tea", bound=True)
    by_hand, _ = both_ways(ocmem, "search", "tea", "--workspace", "/usr/share", bound=True)
    status, _ = both_ways(ocmem, "status", bound=True)
    get, _ = both_ways(ocmem, "get", "MEMORY.md", bound=True)

    for folder in (ocmem.home, ocmem.state):
        folder.chmod(0o700)
    assert (search.code, search.out, by_hand.code, by_hand.out) == (1, "", 1, "")
    told = f"cannot write in {ocmem.state}/memory: Permission denied\n"
    assert search.err == f"Memory search failed: {told}"
    assert f"cannot write in {ocmem.home}/.local" in by_hand.err
    assert (status.code, "Indexed: 0/1 files" in status.out) == (0, True)
    assert (get.code, get.out) == (0, "Prefers tea over coffee.\n")


def test_a_home_that_is_a_file_is_named(ocmem: Program) -> None:
    ocmem.overlay.write_text("{}")
    ocmem.env["HOME"] = str(ocmem.overlay)

    done, _ = both_ways(ocmem, "search", "tea")

    assert (done.code, done.out) == (1, "")
    assert f"not a directory, open '{ocmem.overlay}/.openclaw/openclaw.json'" in done.err


def test_a_home_that_sqlite_cannot_name_is_told(ocmem: Program) -> None:
    home = Path(os.fsdecode(os.fsencode(ocmem.home) + b"/h\xffme"))
    ocmem.state.rename(ocmem.home / "state")
    home.mkdir()
    (ocmem.home / "state").rename(home / ".openclaw")
    ocmem.env["HOME"] = str(home)

    search = run_bytes(ocmem, b"search", b"tea", b"--json")
    get = run_bytes(ocmem, b"get", b"MEMORY.md")

    assert (search[0], search[1]) == (1, b"")
    assert b"cannot open " in search[2]
    assert search[2].endswith(b"the path is not valid UTF-8\n")
    assert get == (0, b"Prefers tea over coffee.\n", b"")


def test_a_workspace_out_of_reach_is_a_usage_error(ocmem: Program, permissions: None) -> None:
    closed = ocmem.home / "closed"
    closed.mkdir(0)

    done, _ = both_ways(ocmem, "search", "tea", "--workspace", "closed/notes", bound=True)

    assert (done.code, done.out) == (1, "")
    assert done.err == f"--workspace: {closed}/notes: Permission denied\n"


def test_a_current_folder_that_is_gone_is_told_where_it_matters(ocmem: Program) -> None:
    script = 'mkdir "$0" && cd "$0" && rmdir "$0" && exec "$@"'

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        command = ["sh", "-c", script, str(ocmem.home / "gone"), *ocmem.command(*args)]
        return subprocess.run(command, env=ocmem.env, capture_output=True, text=True, check=False)

    relative = run("search", "tea", "--workspace", ".")
    agent = run("search", "tea")

    assert (relative.returncode, relative.stdout) == (1, "")
    assert relative.stderr == ".: the current folder is gone\nhint: use a full path\n"
    assert (agent.returncode, "tea" in agent.stdout) == (0, True)


# Questions


@pytest.mark.parametrize("ranker", ["fused", "openclaw"])
@pytest.mark.parametrize(
    "query",
    [
        "tea " * 25_000,
        "tea AND OR NOT NEAR(coffee, 3)",
        'tea "',
        '"" tea',
        "tea*",
        "text:tea",
        "^tea",
        "(tea",
        "{tea}: -",
        "-tea",
        "tea'; DROP TABLE chunks; --",
        "\x01\x1b[31m tea \x7f",
        "%tea_\\",
    ],
    ids=lambda query: repr(query[:20]),
)
def test_no_query_is_syntax(ocmem: Program, query: str, ranker: str) -> None:
    ocmem.configure_own(provider="none")

    search, found = both_ways(ocmem, "search", f"--ranker={ranker}", "--", query)

    assert (search.code, search.err) == (0, "")
    assert found.paths == ["MEMORY.md"]
    assert indexed(ocmem.own_index) == {"MEMORY.md"}


@pytest.mark.parametrize("query", ["?!.,;", '"', "😀", "\x7f", "\u200b", "\ufffd", "%"])
def test_a_query_without_words_says_so(ocmem: Program, query: str) -> None:
    ocmem.configure_own(provider="none")

    search, found = both_ways(ocmem, "search", "--", query)

    assert (search.code, search.out, found.results) == (0, "No matches.\n", [])
    assert search.err == "[memory] the query has no words to look for\n"


def test_a_query_of_stop_words_is_taken_at_its_word(ocmem: Program) -> None:
    ocmem.configure_own(provider="none")
    ocmem.note("memory/who.md", "To be or not to be.\n")

    _, found = both_ways(ocmem, "search", "to be or")

    assert found.paths == ["memory/who.md"]


@pytest.mark.parametrize(
    "query", ["x" * 100_000, " ".join(f"word{number}" for number in range(12_000))]
)
def test_a_very_long_query_is_not_thrown_back_at_the_reader(ocmem: Program, query: str) -> None:
    ocmem.configure_own(provider="none")

    search, _ = both_ways(ocmem, "search", query)

    assert (search.code, search.out) == (0, "No matches.\n")
    assert "no indexed note has: " in search.err
    assert len(search.err) < 500


# Streams


@pytest.mark.parametrize("args", [*COMMANDS, ["index", "--json"], ["--help"], ["--version"]])
def test_a_closed_stream_is_no_reason_to_fail(ocmem: Program, args: list[str]) -> None:
    ocmem.index()

    no_stdout = redirected(ocmem, ">&-", *args)
    no_stderr = redirected(ocmem, "2>&-", *args)

    assert (no_stdout.code, no_stderr.code) == (0, 0)
    assert "Traceback" not in no_stdout.err
    assert no_stderr.out


def test_a_usage_error_keeps_its_code_without_streams(ocmem: Program) -> None:
    assert redirected(ocmem, ">&- 2>&-", "search").code == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("args", [*COMMANDS, ["--help"]])
def test_an_answer_that_cannot_be_written_is_a_failure(ocmem: Program, args: list[str]) -> None:
    ocmem.index()

    done = redirected(ocmem, ">/dev/full", *args)

    assert done.code == 1
    assert done.err.endswith("ocmem failed: No space left on device\n")
    assert "Traceback" not in done.err


def test_help_that_nobody_reads_is_no_failure(ocmem: Program) -> None:
    with ocmem.start("--help") as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        err = child.stderr.read()

    assert (child.returncode, err) == (0, b"")
