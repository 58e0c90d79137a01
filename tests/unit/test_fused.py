"""What the fused ranker finds in a real index, and how its scores come about."""

import unicodedata
from pathlib import Path

import pytest

from tests.unit.notes import Blind, Notes

SOUP = "Lentil soup with lemon."


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    """Keywords only, until a test brings vectors."""
    notes = Notes(tmp_path)
    notes.without_vectors()
    return notes


# --- which words count --------------------------------------------------------------------------


def test_one_word_of_the_question_is_enough(notes: Notes) -> None:
    notes.keep(router="The router is in the closet.", soup=SOUP, tea="Prefers tea.")

    assert sorted(notes.found("router soup zeppelin")) == ["router", "soup"]


def test_more_words_of_the_question_rank_higher(notes: Notes) -> None:
    notes.keep(
        both="The router is in the closet.", one="The router is in the hall.", none="Tea, no milk."
    )

    assert notes.found("router closet") == ["both", "one"]


def test_a_word_finds_its_other_forms(notes: Notes) -> None:
    notes.keep(moved="We moved the meeting.", soup=SOUP)

    assert notes.found("moving") == notes.found("meetings") == ["moved"]


def test_small_words_find_nothing_beside_a_word_that_matters(notes: Notes) -> None:
    notes.keep(router="Router: closet.", chat="What is it about? It is the weather.")

    assert notes.found("What is it about the router?") == ["router"]


def test_small_words_are_looked_for_when_there_is_nothing_else(notes: Notes) -> None:
    notes.keep(quote="To be, or not to be.", soup=SOUP)

    assert notes.found("to be or") == ["quote"]


@pytest.mark.parametrize(
    ("query", "answer", "chatter"),
    [
        ("언제 회의", "회의는 열 시", "언제 올까"),
        ("なぜ 東京", "東京へ行く", "なぜ だろう"),
        ("为什么迁移", "迁移安排在二月底", "不知道为什么"),
        ("多少预算", "预算已经批准", "一共多少人"),
    ],
    ids=["Korean", "Japanese", "Chinese", "Chinese how many"],
)
def test_question_words_of_other_languages_are_small_words_too(
    notes: Notes, query: str, answer: str, chatter: str
) -> None:
    notes.keep(answer=answer, chatter=chatter)

    assert notes.found(query) == ["answer"]


# --- one spelling, and scripts without spaces ---------------------------------------------------


@pytest.mark.parametrize(("written", "asked"), [("NFD", "NFC"), ("NFC", "NFD")])
def test_a_letter_written_in_two_ways_is_one_letter(notes: Notes, written: str, asked: str) -> None:
    forms = {"NFC": "각국의 학교", "NFD": unicodedata.normalize("NFD", "각국의 학교")}
    assert forms["NFC"] != forms["NFD"]
    notes.keep(school=forms[written], other="소금 후추")

    assert notes.found(forms[asked][: len(forms[asked]) // 2]) == ["school"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("어제 공유기비밀번호를 바꿨다", "비밀번호"),
        ("어제공유기비밀번호를바꿨다", "공유기"),
        ("我昨天更换了路由器的密码和设置", "路由器"),
        ("我昨天更换了路由器的密码和设置", "密码"),
        ("昨日新しい自転車置場を予約しました", "自転車"),
        ("きのうじてんしゃおきばをよやくした", "じてんしゃ"),
        ("ルーターノパスワードヲカエタ", "パスワード"),
    ],
)
def test_a_part_of_unspaced_text_is_found(notes: Notes, text: str, query: str) -> None:
    notes.keep(wanted=text, other="我们下周去北京开会。다음 주에 만나요。また来週。")

    assert notes.found(query) == ["wanted"]


def test_the_order_of_characters_matters(notes: Notes) -> None:
    notes.keep(meeting="明天会议在东京", parliament="明天议会在东京")

    assert notes.found("会议") == ["meeting"]


def test_the_last_character_of_a_question_is_also_looked_for_at_the_end_of_a_run(
    notes: Notes,
) -> None:
    notes.keep(exact="今天开会", ending="今天有会", within="会计来了")

    assert notes.found("开会") == ["exact", "ending"]


@pytest.mark.parametrize("character", ["室", "실", "駅"])
def test_one_character_is_found_wherever_it_stands(notes: Notes, character: str) -> None:
    notes.keep(
        first=f"{character}外很冷",
        within=f"三号{character}外面",
        last=f"三号{character}",
        no="很冷",
    )

    assert sorted(notes.found(character)) == ["first", "last", "within"]


# --- candidates ---------------------------------------------------------------------------------


def test_the_keyword_side_brings_up_two_hundred(notes: Notes) -> None:
    notes.keep(**{f"n{n}": f"heron {n}" for n in range(205)})

    assert len(notes.hits("heron", max_results=500)) == 200


def test_the_vector_side_brings_up_two_hundred(notes: Notes) -> None:
    notes.with_cosines({f"n{n}": (f"note {n}", n / 205) for n in range(205)})

    found = notes.found("heron", max_results=500)

    # The two hundredth is the lowest of its side, and so has no score.
    assert found == [f"n{n}" for n in range(204, 5, -1)]


# --- scores -------------------------------------------------------------------------------------


def test_cosines_are_spread_between_the_best_and_the_last(notes: Notes) -> None:
    notes.with_cosines({"best": ("a", 0.9), "middle": ("b", 0.8), "last": ("c", 0.5)})

    assert notes.scores("zeppelin") == pytest.approx({"best": 0.4, "middle": 0.3}, abs=1e-6)


def test_cosines_that_are_all_the_same_count_in_full(notes: Notes) -> None:
    notes.with_cosines({"a": ("tea", 0.5), "b": ("soup", 0.5)})

    assert notes.scores("zeppelin") == {"a": 0.4, "b": 0.4}


def test_keyword_scores_are_spread_from_zero_to_the_best(notes: Notes) -> None:
    notes.keep(best="heron heron heron", other="a heron on the pier, and then some more words")

    best, other = notes.hits("heron")

    raw = [hit.explanation.text_score for hit in (best, other)]
    assert raw[0] is not None and raw[1] is not None
    assert 0 < raw[1] < raw[0]
    assert (best.score, other.score) == (1.0, raw[1] / raw[0])


def test_meaning_weighs_four_tenths_and_keywords_six(notes: Notes) -> None:
    notes.with_cosines(
        {"word": ("heron", 0.1), "meaning": ("a grey bird", 0.9), "neither": ("soup", 0.1)}
    )

    assert notes.scores("heron") == pytest.approx({"word": 0.6, "meaning": 0.4})


def test_both_sides_add_up(notes: Notes) -> None:
    notes.with_cosines({"both": ("heron", 0.7), "near": ("a grey bird", 0.9), "far": ("x", 0.1)})

    assert notes.scores("heron") == pytest.approx({"both": 0.6 + 0.4 * 0.75, "near": 0.4})


def test_a_note_that_one_side_did_not_bring_up_gets_nothing_from_it(notes: Notes) -> None:
    crowd = {f"n{n}": (f"note {n}", 0.5 + n / 1000) for n in range(200)}
    notes.with_cosines({**crowd, "word": ("heron", 0.4)})

    best = notes.hits("heron")[0]

    assert (best.chunk.path, best.score) == ("memory/word.md", 0.6)
    assert (best.explanation.vector_score, best.explanation.vector_rank) == (None, None)


def test_without_vectors_the_keywords_count_alone(notes: Notes) -> None:
    notes.with_cosines({"word": ("heron", 0.1), "meaning": ("a grey bird", 0.9)})
    notes.embedder = Blind()

    assert notes.scores("heron") == {"word": 1.0}


def test_a_note_that_scores_nothing_is_no_result(notes: Notes) -> None:
    notes.with_cosines({"near": ("a grey bird", 0.9), "far": ("soup", 0.1)})

    assert notes.found("zeppelin") == ["near"]


def test_the_order_does_not_depend_on_how_many_are_asked_for(notes: Notes) -> None:
    notes.with_cosines(
        {
            f"n{n}": (f"{'heron ' * (n % 7)}on {'pier ' * (n % 3)}{n}", (n * 37 % 60) / 60)
            for n in range(60)
        }
    )

    everything = list(notes.scores("heron pier", max_results=200).items())

    assert len(everything) > 40
    for wanted in (1, 2, 6, 13, 40):
        assert list(notes.scores("heron pier", max_results=wanted).items()) == everything[:wanted]
