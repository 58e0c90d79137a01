"""A settings file as text: JSON5, and what is wrong with it."""

from pathlib import Path

import pytest

from ocmem.errors import SettingsError
from ocmem.settings import explain
from ocmem.settings.document import load, parse
from ocmem.settings.environment import Variables
from tests.cli.program import Program, permissions_hold
from tests.unit.settings.home import Home

ON = '{"memory": {"citations": "on"}}'


def nested(opening: str, depth: int) -> str:
    closing = "".join("]" if mark == "[" else "}" for mark in reversed(opening) if mark in "[{")
    return '{"x": ' + opening * depth + "1" + closing * depth + "}"


def test_a_config_may_be_json5(home: Home) -> None:
    home.write("// mine\n{agents: {defaults: {memorySearch: {query: {maxResults: 9,},},},},}")

    assert home.resolve().search.query.max_results == 9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{a: 1, 'b': 2, \"c\": 3,}", {"a": 1, "b": 2, "c": 3}),
        ("/* x */ [1, 2,] // y", [1, 2]),
        ("{a: 'it\\'s'}", {"a": "it's"}),
        ("{a: 'one \\\ntwo'}", {"a": "one two"}),
        ("[0x10, .5, 5., +1, -1, 1e3]", [16, 0.5, 5.0, 1, -1, 1000.0]),
        ("[Infinity, -Infinity]", [float("inf"), float("-inf")]),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ("{a: 1, a: 2}", {"a": 2}),
        ("{$schema: 'x', _a: 1}", {"$schema": "x", "_a": 1}),
        ("null", None),
    ],
)
def test_json5_is_understood(text: str, expected: object) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [ON, f"\ufeff{ON}", f"\ufeff// x\n{ON}", f"\r\n{ON}\r\n", f"{ON}\n\n\n"],
)
def test_marks_and_line_ends_do_no_harm(home: Home, text: str) -> None:
    home.write(text)

    assert home.resolve().citations == "on"


def test_text_in_another_encoding_does_no_harm_in_a_comment(home: Home) -> None:
    home.write(ON)
    home.config.write_bytes("// café\n".encode("latin-1") + ON.encode())

    assert home.resolve().citations == "on"


def test_half_a_character_pair_becomes_a_replacement_character(home: Home) -> None:
    home.write(r'{"agents": {"list": [{"id": "a\ud800", "workspace": "/w\udc80"}]}, "\udfff": 1}')

    settings = home.resolve()

    assert settings.agent_id == "a\ufffd"
    assert settings.workspace == Path("/w\ufffd")
    assert "\ufffd" in settings.config.written


# Broken files


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "invalid end of input at 1:1"),
        ("\n", "invalid end of input at 2:1"),
        ("{agents: ", "invalid end of input at 1:10"),
        ("{\n", "invalid end of input at 2:1"),
        ('{\n  "a": 1\n  "b": 2\n}', "invalid character '\"' at 3:3"),
        ("{\r\n a: @}", "invalid character '@' at 2:5"),
        ("{a: 'x\ny'}", "invalid character '\\n' at 1:7"),
        ("\x00", "invalid character '\\x00' at 1:1"),
        ("{a: 1}}", "invalid character '}' at 1:7"),
        ("PK\x03\x04", "invalid character 'P' at 1:1"),
    ],
)
def test_broken_json5_is_shown_with_line_and_column(home: Home, text: str, expected: str) -> None:
    home.write(text)

    assert home.problems() == [f"<root>: JSON5 parse failed: SyntaxError: JSON5: {expected}"]


@pytest.mark.parametrize("text", ["{a: 1e}", "{a: " + "9" * 5000 + "}"])
def test_a_number_that_is_none_is_a_problem(home: Home, text: str) -> None:
    home.write(text)

    (problem,) = home.problems()

    assert problem.startswith("<root>: JSON5 parse failed: SyntaxError: JSON5: ")


@pytest.mark.parametrize(
    ("opening", "depth"),
    [
        *(
            (each, depth)
            for each in ("[", '{"a":', "{a:", '{"agents":[')
            for depth in (1_000, 100_000)
        ),
        ("[{$include:", 100_000),  # some versions of Python can read a thousand of these
    ],
)
def test_a_file_that_is_nested_too_deeply_is_refused(home: Home, opening: str, depth: int) -> None:
    home.write(nested(opening, depth))

    assert home.problems() == ["<root>: JSON5 parse failed: nested too deeply"]


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_there_is_no_depth_at_which_reading_breaks(home: Home, opening: str) -> None:
    for depth in range(250, 1_000, 15):
        home.write(nested(opening, depth))
        home.own(f'{{"plugins": {nested(opening, depth)}}}')
        try:
            explain.settings_of(home.resolve())
        except SettingsError as error:
            assert "nested too deeply" in str(error)


@pytest.mark.parametrize(
    ("text", "kind"),
    [("[]", "array"), ("5", "number"), ('"x"', "string"), ("null", "null"), ("true", "boolean")],
)
def test_a_config_must_be_an_object(home: Home, text: str, kind: str) -> None:
    home.write(text)

    assert home.problems() == [f"<root>: Invalid input: expected object, received {kind}"]


def test_a_folder_is_no_config(home: Home) -> None:
    home.config.mkdir(parents=True)

    assert home.problems() == [
        f"<root>: read failed: Error: EISDIR: is a directory, open '{home.config}'"
    ]


def test_a_config_below_a_file_is_no_config(home: Home) -> None:
    home.file(home.root / "file", "x")

    (problem,) = home.problems(OPENCLAW_CONFIG_PATH="~/file/openclaw.json")

    assert problem.startswith("<root>: read failed: Error: ENOTDIR: not a directory, open ")


def test_a_name_that_is_too_long_is_no_config(home: Home) -> None:
    (problem,) = home.problems(OPENCLAW_CONFIG_PATH="/" + "x" * 5000)

    assert problem.startswith("<root>: read failed: Error: ENAMETOOLONG: file name too long, open ")


def test_an_unreadable_config_says_who_should_own_it(tmp_path: Path) -> None:
    if not permissions_hold(tmp_path / "probe"):
        pytest.skip("this user cannot be refused a file")
    ocmem = Program(tmp_path)
    ocmem.configure()
    ocmem.config.chmod(0)

    done = ocmem("status", bound=True)

    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines() == [
        "Config invalid",
        "File: ~/.openclaw/openclaw.json",
        "Problem:",
        f"  - <root>: read failed: Error: EACCES: permission denied, open '{ocmem.config}'",
        "",
        "Run: openclaw doctor --fix",
        f'hint: chown "$(id -un)" {ocmem.config}',
    ]


def test_every_problem_is_told_in_the_references_layout(home: Home) -> None:
    home.write(
        {
            "agents": {
                "defaults": {
                    "memorySearch": {"query": {"maxResults": 0, "minScore": 2}, "bogus": 1}
                }
            }
        }
    )

    assert str(home.error()).splitlines() == [
        "Config invalid",
        "File: ~/.openclaw/openclaw.json",
        "Problem:",
        "  - agents.defaults.memorySearch.query.maxResults: Too small: expected number to be >0",
        "  - agents.defaults.memorySearch.query.minScore: Too big: expected number to be <=1",
        '  - agents.defaults.memorySearch: Unrecognized key: "bogus"',
        "",
        "Run: openclaw doctor --fix",
    ]


def test_a_file_is_shown_below_the_home_that_was_chosen(home: Home) -> None:
    home.file(home.root / "other" / ".openclaw" / "openclaw.json", "[]")

    error = home.error(OPENCLAW_HOME="~/other")

    assert str(error).splitlines()[1] == "File: $OPENCLAW_HOME/.openclaw/openclaw.json"


def test_an_invalid_config_hints_at_the_doctor_and_an_invalid_overlay_does_not(home: Home) -> None:
    home.own_defaults(bogus=1)
    own = str(home.error())
    home.defaults(bogus=1)
    shared = str(home.error())

    assert own.splitlines()[1] == "File: ~/ocmem.json5"
    assert own.endswith("\n\nEdit: ~/ocmem.json5")
    assert shared.splitlines()[1] == "File: ~/.openclaw/openclaw.json"
    assert shared.endswith("\n\nRun: openclaw doctor --fix")


def test_a_file_is_only_read(home: Home) -> None:
    home.write(ON)
    home.own("{}")
    before = [(file.read_bytes(), file.stat().st_mtime_ns) for file in (home.config, home.overlay)]

    home.resolve()

    after = [(file.read_bytes(), file.stat().st_mtime_ns) for file in (home.config, home.overlay)]
    assert after == before


def test_what_a_file_says_is_in_no_representation(home: Home) -> None:
    home.write({"env": {"A": "sesame"}, "models": {"x": "sesame"}})

    assert "sesame" not in repr(load(home.config, Variables(())))
