"""Keywords as the reference takes them out of a question; the examples are measured there."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocmem.core import keywords, stopwords


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("that thing we discussed about the API", "discussed api"),
        ("之前讨论的那个方案", "之 讨 论 个 方 案 前讨 讨论 论的 的那 个方 方案"),
        ("昨日の会議について", "会議 について"),
        ("API를 사용", "api를 api 사용"),
        ("데이터베이스에서 검색", "데이터베이스에서 데이터베이스 검색"),
        ("API方案 review", "方 案 方案 review"),
        ("foo=bar a|b", "foo=bar a|b"),
        ("ab c1 12a 2026 ---", "c1 12a"),
        ("C++ c# go", "c++"),
        ("the and of", ""),
    ],
)
def test_the_measured_examples(query: str, expected: str) -> None:
    assert keywords.extract(query) == expected.split()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", []),
        (" \ufeff\u3000 ", []),
        (
            "snake_case kebab-case dotted.name “quoted”",
            ["snake", "case", "kebab", "dotted", "name", "quoted"],
        ),
        ("router Router ROUTER", ["router"]),
        ("$5 <tag> = +", ["$5", "<tag>"]),
        ("one\x85two", ["one\x85two"]),
        ("naïve café", ["naïve", "café"]),
        ("mañana reunión", ["reunión"]),
        ("١٢٣", ["١٢٣"]),
    ],
)
def test_words_in_scripts_with_spaces(query: str, expected: list[str]) -> None:
    assert keywords.extract(query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("東京都でreview", "東京都 東京 京都 review"),  # a single kana is not a word
        ("データベースの設計", "データベース 設計"),
        ("サーバー・ログ", "サーバー ログ"),
    ],
)
def test_japanese_is_cut_where_the_script_changes(query: str, expected: str) -> None:
    assert keywords.extract(query) == expected.split()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("은", ""),  # a particle alone has no stem, and is a stop word itself
        ("우리는", ""),  # the stem is a stop word
        ("집에서", "집에서"),  # the stem is one syllable
        ("서버까지", "서버까지 서버"),
        ("검색", "검색"),
        ("db2를", "db2를 db2"),
    ],
)
def test_a_korean_word_also_counts_without_its_particle(query: str, expected: str) -> None:
    assert keywords.extract(query) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("router OR alpha", '"router" AND "OR" AND "alpha"'),
        ('say "hi" foo_bar*', '"say" AND "hi" AND "foo_bar"'),
        ("e\u0301t", '"e" AND "t"'),  # a combining mark is not a letter
        ("½ Ⅷ ٣", '"½" AND "Ⅷ" AND "٣"'),
        ("会议室 API", '"会议室" AND "API"'),
        ("--- ***", None),
        ("", None),
    ],
)
def test_the_keyword_query_wants_every_word(text: str, expected: str | None) -> None:
    assert keywords.and_query(text) == expected


def test_every_stop_word_list_counts_everywhere() -> None:
    for word in stopwords.EVERY:
        assert word not in keywords.extract(word)


@given(st.text())
def test_any_text_gives_distinct_keywords_without_white_space(query: str) -> None:
    found = keywords.extract(query)

    assert len(found) == len(set(found))
    assert all(token and token not in stopwords.EVERY for token in found)
    assert keywords.and_query(query) is None or '""' not in str(keywords.and_query(query))


def test_keywords_cost_no_slow_import() -> None:
    probe = "import sys, ocmem.core.keywords; print('regex' in sys.modules)"

    assert subprocess.check_output([sys.executable, "-c", probe], text=True) == "False\n"
