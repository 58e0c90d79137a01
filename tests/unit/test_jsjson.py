"""JSON, byte for byte as JavaScript writes it."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocmem.core import jsjson

NUMBERS = [
    (1e-7, "1e-7"),
    (1.5e-7, "1.5e-7"),
    (-1e-7, "-1e-7"),
    (0.000001, "0.000001"),
    (0.00000123, "0.00000123"),
    (0.00001, "0.00001"),
    (-0.00001234, "-0.00001234"),
    (0.0001, "0.0001"),
    (0.35484638889110887, "0.35484638889110887"),
    (0.1 + 0.2, "0.30000000000000004"),
    (0.0, "0"),
    (-0.0, "0"),
    (1.0, "1"),
    (-1.0, "-1"),
    (100.0, "100"),
    (1e15, "1000000000000000"),
    (1e16, "10000000000000000"),
    (-1.5e16, "-15000000000000000"),
    (1234567890123456789.0, "1234567890123456800"),
    (123450000000000000000.0, "123450000000000000000"),
    (float(2**69), "590295810358705700000"),
    (1e20, "100000000000000000000"),
    (1e21, "1e+21"),
    (-1.25e21, "-1.25e+21"),
    (1.7976931348623157e308, "1.7976931348623157e+308"),
    (5e-324, "5e-324"),
    (1e-100, "1e-100"),
]


@pytest.mark.parametrize(("value", "expected"), NUMBERS)
def test_a_number_is_printed_as_javascript_prints_it(value: float, expected: str) -> None:
    assert jsjson.number(value) == expected
    assert jsjson.vector([0.5, value, value]) == f"[0.5,{expected},{expected}]"
    assert jsjson.pretty(value) == expected


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_json_cannot_hold_is_null(value: float) -> None:
    assert jsjson.number(value) == "null"


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=200, deadline=None)
def test_a_printed_number_reads_back_as_itself(value: float) -> None:
    printed = jsjson.number(value)

    magnitude = abs(value)
    assert float(printed) == value
    assert ("e" in printed) == (magnitude >= 1e21 or 0 < magnitude < 1e-6)
    assert not printed.endswith(".0")


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=6))
@settings(max_examples=100, deadline=None)
def test_a_vector_is_its_numbers_between_commas(values: list[float]) -> None:
    assert jsjson.vector(values) == f"[{','.join(map(jsjson.number, values))}]"


def test_a_vector_has_no_spaces_and_no_needless_fractions() -> None:
    assert jsjson.vector([0.0, 1.0, 0.35484638889110887]) == "[0,1,0.35484638889110887]"
    assert jsjson.vector([10, -0.0, 20.0]) == "[10,0,20]"
    assert jsjson.vector([]) == "[]"


def test_compact_json_has_no_spaces_and_keeps_other_scripts() -> None:
    value = {"b": ["é", 1, True, None], "a": {"漢": "😀"}}

    assert jsjson.compact(value) == '{"b":["é",1,true,null],"a":{"漢":"😀"}}'


def test_pretty_json_is_indented_by_two() -> None:
    value = {"results": [{"score": 1.0, "path": "a\n"}, []], "none": {}, "ok": True, "no": None}

    assert jsjson.pretty(value).splitlines() == [
        "{",
        '  "results": [',
        "    {",
        '      "score": 1,',
        '      "path": "a\\n"',
        "    },",
        "    []",
        "  ],",
        '  "none": {},',
        '  "ok": true,',
        '  "no": null',
        "}",
    ]


def test_a_tuple_is_an_array() -> None:
    assert jsjson.pretty((1, "a")) == '[\n  1,\n  "a"\n]'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("é漢😀", '"é漢😀"'),
        ('"\\', '"\\"\\\\"'),
        ("\b\f\n\r\t", '"\\b\\f\\n\\r\\t"'),
        ("\0\x1f", '"\\u0000\\u001f"'),
        ("\x7f\u2028", '"\x7f\u2028"'),
        ("é\ud83d", '"é\\ud83d"'),
        ("\ude00😀", '"\\ude00😀"'),
    ],
)
def test_a_string_escapes_only_what_it_must(text: str, expected: str) -> None:
    assert jsjson.string(text) == expected


@given(st.text(st.characters() | st.sampled_from("\ud83d\ude00")))
@settings(max_examples=100, deadline=None)
def test_every_string_can_be_written_as_utf8_and_read_back(text: str) -> None:
    written = jsjson.string(text).encode()

    halves_joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    assert json.loads(written) == halves_joined
