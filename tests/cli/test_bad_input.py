"""A command line that makes no sense: exit 1, a message, and nothing on stdout."""

import pytest

from tests.cli.program import Program

MISSING_QUERY = "Missing search query. Provide a positional query or use --query <text>.\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["search", "tea", "--max-results", "abc"], "max-results"),
        (["search", "tea", "--max-results", "1.5"], "max-results"),
        (["search", "tea", "--max-results", "0"], "--max-results must be 1 or more"),
        (["search", "tea", "--max-results", "-1"], "--max-results must be 1 or more"),
        (["search", "tea", "--min-score", "nan"], "--min-score must be a number"),
        (["search", "tea", "--min-score", "inf"], "--min-score must be a number"),
        (["search", "tea", "--min-score", "x"], "min-score"),
        (["search", "tea", "--decay", "x"], "--decay takes a number above 0, or off"),
        (["search", "tea", "--decay", "0"], "--decay takes a number above 0, or off"),
        (["search", "tea", "--decay", "nan"], "--decay takes a number above 0, or off"),
        (["search", "tea", "--mmr", "2"], "--mmr takes a number from 0 to 1, or off"),
        (["search", "tea", "--mmr", "-0.1"], "--mmr takes a number from 0 to 1, or off"),
        (["search", "tea", "--ranker", "best"], "ranker"),
        (["search", "tea", "--provider", "acme"], "provider"),
        (["search", "tea", "--strict", "--ranker", "fused"], "leave out --ranker fused"),
    ],
)
def test_a_bad_value_is_a_usage_error(ocmem: Program, args: list[str], message: str) -> None:
    ocmem.note("MEMORY.md", "Prefers tea over coffee.\n")

    for given in (args, [*args, "--json"]):
        done = ocmem(*given)

        assert (done.code, done.out) == (1, "")
        assert message in done.err
        assert "Traceback" not in done.err


@pytest.mark.parametrize("args", [[], ["--query="], [""]])
def test_a_search_needs_a_query(ocmem: Program, args: list[str]) -> None:
    done = ocmem("search", *args)

    assert (done.code, done.out, done.err) == (1, "", MISSING_QUERY)


def test_the_query_option_wins_over_the_argument(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "Prefers tea.\n")

    found = ocmem("search", "xylophone", "--query", "tea", "--json", "--provider", "none")

    assert found.paths == ["MEMORY.md"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["search", "tea", "--bogus"], "error: unknown option '--bogus'\n"),
        (["status", "--bogus"], "error: unknown option '--bogus'\n"),
        (["index", "--bogus"], "error: unknown option '--bogus'\n"),
        (["get", "MEMORY.md", "--bogus"], "error: unknown option '--bogus'\n"),
        (["bogus"], "error: unknown command 'bogus'\n"),
    ],
)
def test_what_is_not_known_is_named(ocmem: Program, args: list[str], message: str) -> None:
    done = ocmem(*args)

    assert (done.code, done.out, done.err) == (1, "", message)


@pytest.mark.parametrize(
    "args",
    [
        ["search", "tea", "two"],
        ["search", "tea", "--agent"],
        ["get"],
        ["status", "extra"],
        ["--profile", "no good", "status"],
        ["--dev", "--profile", "x", "status"],
        ["--workspace", " ", "status"],
        ["--workspace", "nowhere", "status"],
        ["search", "tea", "--workspace", "ocmem.json5"],
    ],
)
def test_other_usage_errors_exit_1(ocmem: Program, args: list[str]) -> None:
    ocmem.overlay.write_text("{}")

    done = ocmem(*args)

    assert (done.code, done.out) == (1, "")
    assert done.err
    assert "Traceback" not in done.err


def test_help_is_an_answer(ocmem: Program) -> None:
    done = ocmem("search", "--help")

    assert (done.code, done.err) == (0, "")
    assert "--max-results" in done.out


def test_no_command_shows_the_help_on_stderr(ocmem: Program) -> None:
    done = ocmem()

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Usage: ocmem ")
    assert "\n  search " in done.err


@pytest.mark.parametrize("text", ["{ broken", '{"agents": {"defaults": {"memorySearch": 5}}}'])
@pytest.mark.parametrize(
    "args", [["search", "tea", "--json"], ["index"], ["status"], ["get", "MEMORY.md"]]
)
def test_a_broken_config_stops_every_command(ocmem: Program, text: str, args: list[str]) -> None:
    ocmem.note("MEMORY.md", "Prefers tea.\n")
    ocmem.config.write_text(text)

    done = ocmem(*args)

    assert (done.code, done.out) == (1, "")
    assert "Config invalid" in done.err
    assert not (ocmem.state / "memory").exists()
