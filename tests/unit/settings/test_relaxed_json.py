"""The short way to read JSON5: the same value as the package's, or none at all."""

import json
import time

import json5
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ocmem.settings import document, relaxed_json

WORDS = [
    *("{", "}", "[", "]", ":", ",", "\n", " ", "\t", "\f", "\u00a0", "\u2028", "\ufeff"),
    *("//", "/*", "*/", "// note\n", "/* note */", "#"),
    *("a", "true", "null", "Infinity", "NaN", "$b_1", "é", "\\u0061", "_\u200c"),
    *('"', "'", '"a"', "'b'", "'\"'", '"\'"', r"'\''", r"'\"'", r'"\""', r"'\\'", r"'\x41'"),
    *(r'"\u00e9"', r'"\ud83d\ude00"', r"'\ud800'", "'\\\n'", r"'\0'", r"'\v'", "'😀'", "'\x7f'"),
    *("0", "-0", "1", "-1.50", "1e5", "01", ".5", "5.", "+1", "0x1F", "1E400", "-", "1" * 25),
    *("{a:1}", "[1,2,]", "{'a':'b',}", "{a:{b:[{},[],],},}", "__proto__"),
]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map("".join)
BLANKS = st.sampled_from(["", "", " ", "\n", " // it's\n", '/* "a" */', "\t"])


@st.composite
def written(draw: st.DrawFn, depth: int = 3) -> str:
    """A right text, spelled in the usual ways."""
    kind = draw(st.integers(0, 4 if depth else 2))
    blank = draw(BLANKS)
    if kind <= 1:
        return blank + draw(st.sampled_from(["0", "-1.5e3", "true", "false", "null", "'it\\'s'"]))
    if kind == 2:
        is_ascii = draw(st.booleans())
        return blank + json.dumps(draw(st.text(max_size=5)), ensure_ascii=is_ascii) + draw(BLANKS)
    items = draw(st.lists(written(depth - 1), max_size=3))
    ends_with_comma = draw(st.booleans())
    end = "," if items and ends_with_comma else ""
    if kind == 3:
        return f"{blank}[{','.join(items)}{end}{draw(BLANKS)}]"
    keys = st.sampled_from(["a", "$b", "_c1", "true", "'d e'", '"f"', "__proto__"])
    members = [f"{draw(BLANKS)}{draw(keys)}{draw(BLANKS)}:{item}" for item in items]
    return f"{blank}{{{','.join(members)}{end}{draw(BLANKS)}}}"


def short_way(text: str) -> str | None:
    try:
        return repr(relaxed_json.loads(text))
    except (ValueError, RecursionError):
        return None


def long_way(text: str) -> str | None:
    try:
        return repr(json5.loads(text))
    except ValueError:
        return None


@settings(max_examples=600)
@given(text=TEXTS | written())
@example("[,]")
@example("{,}")
@example("{a:,}")
@example("[1,,]")
@example("1//")
@example("/")
@example("")
def test_the_value_is_that_of_the_package_or_there_is_none(text: str) -> None:
    found = short_way(text)

    assert found is None or found == long_way(text)


@pytest.mark.parametrize(
    "text",
    [
        "{a: 1} // the end",
        "{a: 'b', \"c\": [1, 2,], /* d */ e: {f: null,},}",
        "{\n  // it's \"quoted\"\n  $schema: 'x',\n  url: 'http://x/v1', // and more\n}",
        r"""['it\'s', 'say "no"', 'a\\b', "\u00e9", 'é']""",
    ],
)
def test_what_people_write_goes_the_short_way(text: str) -> None:
    assert short_way(text) is not None
    assert short_way(text) == long_way(text)


def test_a_comment_does_not_make_a_config_slow() -> None:
    config = {f"key{at}": {"text": f"value {at}", "list": [1, 2]} for at in range(200)}
    text = f"// one comment\n{json.dumps(config, indent=1)}"

    began = time.process_time()
    found = document.parse(text)

    assert found == config
    assert time.process_time() - began < 0.1  # json5: 0.3


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{a: 1,, b: 2}", "character ' ' at 1:8"),
        ("// note\n{a: [1,}", "character '}' at 2:8"),
    ],
)
def test_errors_are_where_the_package_finds_them(text: str, place: str) -> None:
    with pytest.raises(ValueError, match=f"invalid {place}"):
        document.parse(text)
