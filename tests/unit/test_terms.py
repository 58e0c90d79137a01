"""A question -> the words worth looking for."""

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from ocmem.core import cjk
from ocmem.core.store import Connection
from ocmem.core.terms import any_of, rarity, terms_of


@pytest.fixture
def db() -> Iterator[Connection]:
    with Connection(Path(":memory:"), "create") as connection:
        yield connection


def stems_of(db: Connection, query: str) -> list[str]:
    return [term.stem for term in terms_of(query, words=db.words, stems=db.stems)]


def found(db: Connection, query: str, *texts: str) -> list[int]:
    """The positions of the texts that a query brings up, indexed as ocmem indexes them."""
    db.run("CREATE VIRTUAL TABLE IF NOT EXISTS t USING fts5(text, tokenize='porter unicode61')")
    db.run("DELETE FROM t")
    for at, text in enumerate(texts):
        db.run(
            "INSERT INTO t(rowid, text) VALUES (:at, :text)", {"at": at, "text": cjk.spaced(text)}
        )
    match = any_of(terms_of(query, words=db.words, stems=db.stems))
    return [at for (at,) in db.rows("SELECT rowid FROM t(:match) ORDER BY rowid", {"match": match})]


def test_one_word_of_many_is_enough(db: Connection) -> None:
    texts = ("the gateway sleeps", "lentil soup", "the host")

    assert found(db, "gateway host closet", *texts) == [0, 2]


def test_a_word_finds_its_other_forms(db: Connection) -> None:
    assert stems_of(db, "Meetings moved") == ["meet", "move"]
    assert found(db, "meetings moved", "we meet at ten", "moving to Lisbon", "soup") == [0, 1]


def test_the_same_stem_is_looked_for_once(db: Connection) -> None:
    assert stems_of(db, "move moves moved moving") == ["move"]


def test_stop_words_are_left_out(db: Connection) -> None:
    assert stems_of(db, "What did we decide about the database?") == ["decid", "databas"]


def test_a_query_of_stop_words_alone_is_taken_at_its_word(db: Connection) -> None:
    assert stems_of(db, "who are you") == ["who", "ar", "you"]


def test_a_query_without_words_looks_for_nothing(db: Connection) -> None:
    assert stems_of(db, "?! --") == []
    assert any_of([]) == ""


def test_operators_and_quotes_are_no_syntax(db: Connection) -> None:
    assert found(db, 'gateway" OR NEAR(soup* -x', "the gateway", "a soup", "nothing") == [0, 1]


def test_one_letter_may_be_written_in_two_ways(db: Connection) -> None:
    decomposed = unicodedata.normalize("NFD", "각국 학교")

    assert decomposed != "각국 학교"
    assert stems_of(db, decomposed) == stems_of(db, "각국 학교")
    assert found(db, decomposed, "각국의 학교") == [0]
    assert found(db, "각국", decomposed) == [0]


def test_an_unspaced_run_becomes_its_pairs_and_its_last_character(db: Connection) -> None:
    assert stems_of(db, "会议室") == ["会议", "议室", "室"]


def test_a_part_of_an_unspaced_run_is_found(db: Connection) -> None:
    texts = ("数据库迁移安排在二月底", "索引可以随时删除", "東京の会議は四月")

    assert found(db, "迁移", *texts) == [0]
    assert found(db, "会議", *texts) == [2]


def test_one_character_is_looked_for_as_a_beginning(db: Connection) -> None:
    [term] = terms_of("会", words=db.words, stems=db.stems)

    assert (term.match, term.is_prefix) == ('"会"*', True)
    assert term.is_in(frozenset({"会议"}))
    assert not term.is_in(frozenset({"开会"}))
    # Within, at the start, and at the end of a run: its last character stands alone.
    assert found(db, "会", "开会了", "会议", "开会", "没有") == [0, 1, 2]


def test_the_last_character_of_a_longer_run_is_no_beginning(db: Connection) -> None:
    terms = terms_of("会议", words=db.words, stems=db.stems)

    assert [term.match for term in terms] == ['"会议"', '"议"']


@pytest.mark.parametrize(
    ("query", "stems"),
    [
        ("언제 회의", ["회의", "의"]),
        ("なぜ 東京", ["東京", "京"]),
        ("为什么迁移", ["迁移", "移"]),
        ("迁移是什么", ["迁移", "移是", "是"]),
    ],
)
def test_question_words_of_other_languages_are_left_out(
    db: Connection, query: str, stems: list[str]
) -> None:
    assert stems_of(db, query) == stems


def test_a_question_word_alone_is_taken_at_its_word(db: Connection) -> None:
    assert stems_of(db, "什么") == ["什么", "么"]


def test_a_mark_that_the_index_drops_is_dropped_from_a_pair_as_well(db: Connection) -> None:
    pair, *_ = terms_of("あ゛", words=db.words, stems=db.stems)
    tokens = frozenset(token for _, _, token in db.stems(cjk.spaced("あ゛っ")))

    assert (pair.shown, pair.stem) == ("あ゛", "あ")
    assert pair.is_in(tokens)
    assert found(db, "あ゛", "あ゛っ", "いう") == [0]


def test_words_of_both_kinds_go_together(db: Connection) -> None:
    assert stems_of(db, "API方案 reviews") == ["api", "review", "方案", "案"]


def test_accents_do_not_matter(db: Connection) -> None:
    assert found(db, "naive cafe", "naïve", "un café", "soup") == [0, 1]


def test_the_rarer_a_word_the_more_it_says() -> None:
    weights = [rarity(found_in=count, total=100) for count in (0, 1, 10, 50, 100)]

    assert weights == sorted(weights, reverse=True)
    assert len(set(weights)) == 5
    assert weights[-1] > 0
