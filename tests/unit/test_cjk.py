"""Unspaced scripts are indexed as overlapping pairs."""

import unicodedata
from pathlib import Path

import pytest

from ocmem.core import cjk
from tests.unit.notes import Notes


@pytest.mark.parametrize(
    ("run", "expected"),
    [("会议室", ["会议", "议室", "室"]), ("会议", ["会议", "议"]), ("室", ["室"]), ("", [])],
)
def test_a_run_becomes_its_pairs_and_its_last_character(run: str, expected: list[str]) -> None:
    assert cjk.pairs(run) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain words", "plain words"),
        ("the 会议室 key", "the 会议 议室 室 key"),
        ("API方案v2", "API 方案 案 v2"),
        ("カフェで", "カフ フェ ェで で"),
        ("회의실", "회의 의실 실"),
        ("𠮷野家", "𠮷野 野家 家"),
        ("人々、〇", "人々 々 、 〇"),
        ("ﾃｽﾄ", "ﾃｽ ｽﾄ ﾄ"),
    ],
)
def test_only_runs_are_spaced_out(text: str, expected: str) -> None:
    assert cjk.spaced(text).split() == expected.split()


def test_letters_next_to_a_run_do_not_stick_to_it() -> None:
    assert cjk.spaced("a室b") == "a 室 b"


@pytest.mark.parametrize("text", ["회의실", "café", "ガ"])
def test_both_spellings_of_a_character_are_one(text: str) -> None:
    decomposed = unicodedata.normalize("NFD", text)

    assert decomposed != text
    assert cjk.normalize(decomposed) == text
    assert cjk.spaced(decomposed) == cjk.spaced(text)


def test_runs_are_found_in_order() -> None:
    assert cjk.runs("before 会议室 mid カフェ、회의 end") == ["会议室", "カフェ", "회의"]
    assert cjk.runs("nothing ñ ж") == []


def test_a_text_without_its_runs_keeps_the_rest() -> None:
    assert cjk.without_runs("the会议室key 、x").split() == ["the", "key", "、x"]


def test_a_run_that_no_note_has_is_named_as_it_was_typed(tmp_path: Path) -> None:
    notes = Notes(tmp_path)
    notes.without_vectors()
    notes.keep(one="heron")

    answer = notes.ask("カタカナ zeppelin", keywords_only=True)

    assert answer.why_empty == "no indexed note has: zeppelin, カタカナ"
    assert answer.advice == "try other words, or leave out --provider none"
