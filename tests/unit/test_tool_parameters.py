"""What a model wrote as parameters, and what is understood of it."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocmem.errors import ToolInputError
from ocmem.tools import definitions, parameters
from tests.unit.odd_json import VALUES


def test_a_required_string_is_trimmed_as_javascript_trims() -> None:
    blank = {"query": "\ufeff two words\u00a0\n"}

    assert parameters.required_text(blank, "query") == "two words"


@pytest.mark.parametrize("value", [None, "", " \t\ufeff", 5, True, [], {}, ["tea"]])
def test_what_is_no_text_is_missing(value: object) -> None:
    for wrong in ({"query": value}, {}):
        with pytest.raises(ToolInputError, match=r"^query required$"):
            parameters.required_text(wrong, "query")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3.0),
        (2.7, 2.7),
        (-1, -1.0),
        ("3", 3.0),
        (" 3.5 ", 3.5),
        ("12 results", 12.0),
        ("+4", 4.0),
        (".5x", 0.5),
        ("1e2", 100.0),
        ("1e", 1.0),
        ("1.", 1.0),
        ("0x10", 0.0),
        ("1_000", 1.0),
        ("-3,5", -3.0),
    ],
)
def test_a_number_may_be_the_beginning_of_a_string(value: object, expected: float) -> None:
    assert parameters.number({"minScore": value}, "minScore") == expected


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, False, [], [3], {}, "", " ", "many", "-", ".", "e5", "NaN"),
        *("Infinity", "-Infinity", "1e999", math.inf, -math.inf, math.nan, 10**400, "٣", "３"),
    ],
)
def test_an_unusable_number_counts_as_absent(value: object) -> None:
    assert parameters.number({"minScore": value}, "minScore") is None


@pytest.mark.parametrize(
    ("value", "expected"), [(2.9, 2), (-2.9, -2), (-0.5, 0), ("7.9 lines", 7), (1e20, 10**20)]
)
def test_whole_numbers_lose_their_fraction(value: object, expected: int) -> None:
    assert parameters.integer({"from": value}, "from") == expected


def test_snake_case_is_understood_and_camel_case_wins() -> None:
    snake: dict[str, Any] = {"max_results": 3}

    assert parameters.number(snake, "maxResults") == 3
    assert parameters.number({"maxResults": 5, **snake}, "maxResults") == 5
    assert parameters.number({**snake, "maxResults": None}, "maxResults") is None
    assert parameters.number({"MaxResults": 5}, "maxResults") is None


@pytest.mark.parametrize("text", ["[]", "null", '"query"', "5", "true"])
def test_parameters_are_an_object(text: str) -> None:
    with pytest.raises(ToolInputError, match="must be a JSON object"):
        parameters.from_json(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "{'query': 'tea'}", '{"query": "tea",}', '{"a": 1} {}', "\ufeff{}"),
        *('{"n": NaN}', '{"n": Infinity}', '{"n": -Infinity}', '{"q": "\0"}', '{"q": "a\nb"}'),
    ],
)
def test_what_is_not_json_is_said_in_one_line(text: str) -> None:
    with pytest.raises(ToolInputError, match=r"^the parameters are not JSON: [^\n]+$"):
        parameters.from_json(text)


def test_nesting_without_end_is_no_crash() -> None:
    with pytest.raises(ToolInputError, match="nested too deeply"):
        parameters.from_json('{"a":' * 100_000)


def test_numbers_are_read_as_javascript_reads_them() -> None:
    found = parameters.from_json('{"from": 2, "lines": %s, "x": 1, "x": 3}' % ("9" * 5000))

    assert parameters.integer(found, "from") == 2
    assert parameters.integer(found, "lines") is None
    assert found["x"] == 3


@given(VALUES)
def test_whatever_json_is_given_it_is_read_or_refused_by_name(value: object) -> None:
    try:
        found = parameters.from_json(json.dumps(value))
    except ToolInputError:
        assert not isinstance(value, dict)
        return
    for name in found:
        number = parameters.number(found, name)
        assert number is None or math.isfinite(number)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_in_a_string_is_that_number(value: float) -> None:
    assert parameters.number({"n": repr(value)}, "n") == value


def test_the_schemas_name_what_is_read() -> None:
    search, get = (each.parameters for each in definitions.DEFINITIONS)

    assert list(search["properties"]) == ["query", "maxResults", "minScore"]
    assert list(get["properties"]) == ["path", "from", "lines"]
    assert (search["required"], get["required"]) == (["query"], ["path"])
    for schema in (search, get):
        assert schema["type"] == "object"
        assert {each["type"] for each in schema["properties"].values()} == {"string", "number"}
    json.dumps([each.fields for each in definitions.DEFINITIONS])
