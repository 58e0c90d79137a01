"""`${VAR}` in a settings file."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocmem.errors import SettingsError
from ocmem.settings.document import load
from ocmem.settings.environment import Variables
from tests.unit.settings.home import Home


def filled(home: Home, value: object, **env: str) -> Any:  # noqa: ANN401
    home.write({"value": value})
    return load(home.config, Variables((("environment", env),))).written["value"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${X}", "x"),
        ("a ${X} b ${Y_1}${X} c", "a x b yx c"),
        ("$${X}", "${X}"),
        ("$${UNSET}", "${UNSET}"),
        ("$$${X}", "$${X}"),
        ("${X}$${X}${X}", "x${X}x"),
        ("${lower}", "${lower}"),
        ("${X y}", "${X y}"),
        ("${1X}", "${1X}"),
        ("${}", "${}"),
        ("${X", "${X"),
        ("$X", "$X"),
        ("{X}", "{X}"),
        ("${ X }", "${ X }"),
        ("${Ä}", "${Ä}"),
    ],
)
def test_variables_are_filled_in(home: Home, text: str, expected: str) -> None:
    assert filled(home, text, X="x", Y_1="y") == expected


def test_variables_are_filled_in_wherever_a_string_stands(home: Home) -> None:
    value = {"a": ["${X}", {"b": "${X}"}], "${X}": 5, "n": None, "t": True}

    assert filled(home, value, X="x") == {"a": ["x", {"b": "x"}], "${X}": 5, "n": None, "t": True}


def test_a_value_is_not_looked_at_again(home: Home) -> None:
    assert filled(home, "${X}", X="${Y} $${Y}", Y="y") == "${Y} $${Y}"


@pytest.mark.parametrize("other", ["OTHER_KEY", "NOPE_KEY"])
def test_a_missing_or_empty_variable_makes_the_config_invalid(home: Home, other: str) -> None:
    home.defaults(remote={"apiKey": "${NOPE_KEY}"}, extraPaths=["a", "${NOPE_KEY}"])

    where = "agents.defaults.memorySearch"
    assert str(home.error(**{other: ""})).splitlines() == [
        "Config invalid",
        "File: ~/.openclaw/openclaw.json",
        "Problem:",
        f'  - <root>: Missing env var "NOPE_KEY" referenced at config path: {where}.remote.apiKey',
        f'  - <root>: Missing env var "NOPE_KEY" referenced at config path: {where}.extraPaths[1]',
        "",
        "Run: openclaw doctor --fix",
    ]


def test_a_missing_variable_is_a_problem_even_where_memory_does_not_look(home: Home) -> None:
    home.write({"channels": {"telegram": [{"token": "${NOPE}"}]}, ".x": "${NOPE}"})

    text = '<root>: Missing env var "NOPE" referenced at config path:'
    assert home.problems() == [f"{text} channels.telegram[0].token", f"{text} .x"]


# Laws

ENV = {"X": "x", "Y_1": "${X}", "_Z": "$${X}"}
NAMES = st.sampled_from(sorted(ENV))
# Pieces of a string, with what becomes of each.
PIECES = st.lists(
    st.text(st.sampled_from("ab {}é\n"), max_size=3).map(lambda text: (text, text))
    | NAMES.map(lambda name: (f"${{{name}}}", ENV[name]))
    | NAMES.map(lambda name: (f"$${{{name}}}", f"${{{name}}}"))
    | st.sampled_from(["$ ", "$a", "$}", "${a}"]).map(lambda text: (text, text)),
    max_size=8,
)
MARKS = st.text(st.sampled_from("$${{}}XY_1"), max_size=16)


@given(pieces=PIECES)
def test_each_piece_of_a_string_goes_its_own_way(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[tuple[str, str]]
) -> None:
    home = Home(tmp_path_factory.mktemp("home"))

    found = filled(home, "".join(before for before, _ in pieces), **ENV)

    assert found == "".join(after for _, after in pieces)


@given(text=MARKS)
def test_no_variable_survives_unless_it_was_escaped(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    home = Home(tmp_path_factory.mktemp("home"))

    try:
        found = filled(home, text, X="a", Y="b", XY="c", _="d")
    except SettingsError:
        return  # some other name

    for name in ("X", "Y", "XY", "_"):
        assert found.count(f"${{{name}}}") == text.count(f"$${{{name}}}")


def test_a_variable_that_a_string_lacks_twice_is_told_once(home: Home) -> None:
    home.defaults(model="${NOPE}-${NOPE}-${NO}")

    where = "agents.defaults.memorySearch.model"
    assert home.problems() == [
        f'<root>: Missing env var "{name}" referenced at config path: {where}'
        for name in ("NOPE", "NO")
    ]
