"""`ocmem search` without a key: what it finds, and how it says so."""

import re
from pathlib import Path

import pytest

from tests.cli.program import EXAMPLE, Program
from tests.fake_provider import FakeProvider

FIELDS = [
    "path",
    "startLine",
    "endLine",
    "score",
    "snippet",
    "source",
    "citation",
    "snippetStartLine",
    "snippetEndLine",
    "id",
]
GROUP = "agent:main:telegram:group:-100"


def sources_in(out: str) -> list[str]:
    return [line for line in out.splitlines() if line.startswith("Source: ")]


# Finding


def test_a_question_finds_its_note_without_an_index_key_or_network(ocmem: Program) -> None:
    ocmem.example()

    found = ocmem("search", "When is the Lisbon trip?", "--json")

    assert found.code == 0
    assert "memory/2026-03-14-lisbon-trip.md" in found.paths
    assert found.json["provider"] == "builtin"


def test_every_snippet_stands_in_its_file_at_the_lines_it_claims(ocmem: Program) -> None:
    ocmem.example()

    found = ocmem("search", "slipway booking standby list", "--json", "--max-results", "20")

    assert len(found.results) > 6
    for result in found.results:
        lines = (EXAMPLE / result["path"]).read_text().split("\n")
        claimed = lines[result["snippetStartLine"] - 1 : result["snippetEndLine"]]
        assert "\n".join(claimed).startswith(result["snippet"].rstrip("\n"))
        assert result["startLine"] <= result["snippetStartLine"] <= result["snippetEndLine"]
        assert result["snippetEndLine"] <= result["endLine"]


def test_asking_for_fewer_gives_the_top_of_the_same_list(ocmem: Program) -> None:
    ocmem.example()

    three = ocmem("search", "harbour board money", "--json", "--max-results", "3")
    twenty = ocmem("search", "harbour board money", "--json", "--max-results", "20")

    assert len(three.results) == 3
    assert len(twenty.results) > 3
    assert three.results == twenty.results[:3]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("어제 공유기비밀번호를 바꿨다", "비밀번호"),
        ("我昨天更换了路由器的密码和设置", "路由器"),
        ("昨日新しい自転車置場を予約しました", "自転車"),
        ("ルーターノパスワードヲカエタ", "パスワード"),
    ],
)
def test_words_inside_unspaced_text_are_found(ocmem: Program, text: str, query: str) -> None:
    ocmem.note("memory/wanted.md", f"# note\n\n{text}\n")
    ocmem.note("memory/other.md", "# other\n\nPrefers tea over coffee.\n")

    found = ocmem("search", query, "--json", "--provider", "none")

    assert found.paths == ["memory/wanted.md"]


def test_a_folder_of_notes_can_be_searched_by_naming_it(ocmem: Program) -> None:
    folder = ocmem.home / "diary"
    folder.mkdir()
    (folder / "monday.md").write_text("The heron stood on the pier.\n")

    found = ocmem("search", "heron", "--workspace", "diary", "--json")

    assert found.paths == ["monday.md"]
    assert not ocmem.state.exists()


# Text


def test_text_has_score_place_snippet_and_source(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "# Facts\n\nPrefers tea over coffee.\n")

    found = ocmem("search", "tea", "--provider", "none")

    assert found.code == 0
    assert found.out == (
        "1.000 MEMORY.md:1-4\n# Facts\n\nPrefers tea over coffee.\n\nSource: MEMORY.md#L1-L4\n"
    )
    assert found.err == ""


def test_every_hit_has_one_source_line(ocmem: Program) -> None:
    ocmem.example()

    found = ocmem("search", "tomatoes")

    heads = re.findall(r"^\d\.\d{3} (\S+):(\d+)-(\d+)$", found.out, re.MULTILINE)
    assert len(heads) == 6
    assert sources_in(found.out) == [f"Source: {path}#L{a}-L{b}" for path, a, b in heads]


def test_citations_can_be_switched_off(ocmem: Program) -> None:
    ocmem.example()

    found = ocmem("search", "tomatoes", "--citations", "off")
    as_json = ocmem("search", "tomatoes", "--citations", "off", "--json")

    assert "tomatoes" in found.out.lower()
    assert sources_in(found.out) == []
    assert all("citation" not in result for result in as_json.results)


def test_a_group_chat_gets_no_citations_unless_they_are_on(ocmem: Program) -> None:
    ocmem.example()

    in_group = ocmem("search", "tomatoes", "--session-key", GROUP)
    wanted = ocmem("search", "tomatoes", "--session-key", GROUP, "--citations", "on")
    direct = ocmem("search", "tomatoes", "--session-key", "agent:main:telegram:direct:7")

    assert sources_in(in_group.out) == []
    assert len(sources_in(wanted.out)) == len(sources_in(direct.out)) == 6


# JSON


def test_json_is_all_that_stdout_has(ocmem: Program) -> None:
    ocmem.example()

    found = ocmem("search", "tomatoes", "--json")

    assert found.out.startswith('{\n  "results": [\n')
    assert found.out.endswith("}\n")
    assert list(found.json) == ["results", "provider", "model", "backend", "ranker", "mode"]
    assert found.json["mode"] == "hybrid"
    assert found.json["ranker"] == "fused"


def test_json_fields_come_in_their_order(ocmem: Program) -> None:
    ocmem.example()

    found = ocmem("search", "tomatoes", "--json")

    for result in found.results:
        assert list(result) == FIELDS
        assert result["citation"] == f"{result['path']}#L{result['startLine']}-L{result['endLine']}"


def test_explain_shows_both_sides_and_the_sum(ocmem: Program) -> None:
    ocmem.example()

    text = ocmem("search", "tomatoes", "--explain")
    as_json = ocmem("search", "tomatoes", "--explain", "--json")

    assert "= 0.40 × vector " in text.out
    for result in as_json.results:
        explain = result["explain"]
        total = 0.4 * explain["vectorNormalized"] + 0.6 * explain["textNormalized"]
        assert explain["score"] == result["score"] == pytest.approx(total * explain["decay"])


# Ranking


def test_the_other_ranker_can_be_chosen(ocmem: Program) -> None:
    ocmem.example()

    found = ocmem("search", "tomatoes", "--ranker", "openclaw", "--json")

    assert found.json["ranker"] == "openclaw"
    assert found.results


def test_strict_is_the_exact_part_of_the_filled_up_list(ocmem: Program) -> None:
    ocmem.example()

    filled = ocmem("search", "tomatoes", "--ranker", "openclaw", "--json")
    strict = ocmem("search", "tomatoes", "--strict", "--json")

    exact = [result for result in filled.results if not result.get("relaxed")]
    assert [result["id"] for result in strict.results] == [result["id"] for result in exact]
    assert len(filled.results) > len(exact)


def test_decay_puts_the_younger_of_two_equal_notes_first(ocmem: Program) -> None:
    ocmem.note("memory/2020-01-01.md", "The heron stood on the pier.\n")
    ocmem.note("memory/2024-01-01.md", "The heron stood on the pier!\n")

    plain = ocmem("search", "heron", "--json", "--provider", "none")
    decayed = ocmem("search", "heron", "--json", "--provider", "none", "--decay", "700")
    off = ocmem("search", "heron", "--json", "--provider", "none", "--decay", "off")

    assert decayed.paths == ["memory/2024-01-01.md", "memory/2020-01-01.md"]
    assert decayed.results[0]["score"] > decayed.results[1]["score"]
    assert plain.results[0]["score"] == pytest.approx(plain.results[1]["score"])
    assert off.results == plain.results


def test_mmr_lets_a_different_note_pass_a_repetition(ocmem: Program) -> None:
    for number in range(3):
        ocmem.note(f"memory/same-{number}.md", "heron heron stood on the old pier today\n")
    ocmem.note("memory/other.md", "a heron, and many unrelated words about tea and bread\n")

    plain = ocmem("search", "heron", "--json", "--provider", "none", "--max-results", "4")
    varied = ocmem(
        "search", "heron", "--json", "--provider", "none", "--max-results", "4", "--mmr", "0.3"
    )

    assert plain.paths[-1] == "memory/other.md"
    assert varied.paths.index("memory/other.md") < 3
    assert sorted(varied.paths) == sorted(plain.paths)


def test_keywords_can_be_asked_of_any_index(ocmem: Program) -> None:
    ocmem.example()
    ocmem.index()

    found = ocmem("search", "tomatoes", "--provider", "none", "--json")

    assert (found.json["provider"], found.json["mode"]) == ("builtin", "fts-only")
    assert "stale" not in found.json
    assert "degraded" not in found.json
    assert all("tomato" in result["snippet"].lower() for result in found.results)


# Sync before search


def test_a_search_sees_a_note_written_just_before(ocmem: Program) -> None:
    ocmem.example()
    ocmem.index()
    ocmem.note("memory/new.md", "The zeppelin landed.\n")

    found = ocmem("search", "zeppelin", "--json")

    assert found.paths[0] == "memory/new.md"
    assert "stale" not in found.json


def test_no_sync_answers_from_the_index_and_says_that_it_is_old(ocmem: Program) -> None:
    ocmem.note("memory/old.md", "The heron stood on the pier.\n")
    ocmem.configure_own(provider="none")
    ocmem.index()
    fresh = ocmem("search", "heron", "--no-sync", "--json")
    ocmem.note("memory/new.md", "Another heron.\n")

    stale = ocmem("search", "heron", "--no-sync", "--json")

    assert "stale" not in fresh.json
    assert stale.paths == ["memory/old.md"]
    assert stale.json["stale"] is True
    assert "ocmem index" in stale.err


def test_no_sync_without_an_index_creates_none(ocmem: Program) -> None:
    ocmem.note("memory/old.md", "The heron stood on the pier.\n")

    found = ocmem("search", "heron", "--no-sync")

    assert (found.code, found.out) == (0, "No matches.\n")
    assert "there is no index yet" in found.err
    assert not (ocmem.state / "memory").exists()


# Nothing found


@pytest.mark.parametrize(
    ("query", "why"),
    [("xylophone", "no indexed note has: xylophone"), ("   ", "the query is blank")],
)
def test_nothing_found_is_an_answer_and_stderr_says_why(
    ocmem: Program, query: str, why: str
) -> None:
    ocmem.note("MEMORY.md", "Prefers tea over coffee.\n")

    text = ocmem("search", query, "--provider", "none")
    as_json = ocmem("search", query, "--provider", "none", "--json")

    assert (text.code, text.out) == (0, "No matches.\n")
    assert why in text.err
    assert (as_json.code, as_json.results) == (0, [])


def test_a_floor_that_nothing_reaches_is_named(ocmem: Program) -> None:
    ocmem.example()

    found = ocmem("search", "tomatoes", "--min-score", "5")

    assert (found.code, found.out) == (0, "No matches.\n")
    assert "below the floor of 5" in found.err


def test_an_empty_workspace_has_no_matches(ocmem: Program) -> None:
    (ocmem.workspace / "memory").mkdir(parents=True)

    found = ocmem("search", "tea")

    assert (found.code, found.out) == (0, "No matches.\n")
    assert "no notes are indexed in ~/.openclaw/workspace" in found.err


def test_the_users_notes_are_left_as_they_were(ocmem: Program) -> None:
    ocmem.example()

    ocmem("search", "tomatoes")

    def contents(root: Path) -> dict[str, bytes]:
        files = (path for path in root.rglob("*") if path.is_file())
        return {str(path.relative_to(root)): path.read_bytes() for path in files}

    assert contents(ocmem.workspace) == contents(EXAMPLE)


def test_a_floor_that_was_typed_is_not_filled_up_from_below(ocmem: Program) -> None:
    ocmem.example()

    found = ocmem("search", "tomatoes", "--ranker", "openclaw", "--min-score", "0.5", "--json")
    filled = ocmem("search", "tomatoes", "--ranker", "openclaw", "--json")

    assert all(result["score"] >= 0.5 for result in found.results)
    assert any(result.get("relaxed") for result in filled.results)


def test_a_folder_of_notes_has_no_transcripts_to_search(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "heron\n")
    folder = ocmem.workspace.rename(ocmem.home / "notes")

    done = ocmem("search", "heron", "--workspace", str(folder), "--source", "sessions")

    assert (done.code, done.out) == (1, "")
    assert "--source sessions" in done.err


def test_another_source_pays_for_nothing_that_openclaw_paid_for(
    ocmem: Program, fake: FakeProvider
) -> None:
    ocmem.note("MEMORY.md", "The heron stood.\n")
    ocmem.use(fake)
    ocmem.index()
    fake.forget()

    ocmem("search", "heron", "--source", "memory", "--source", "sessions", "--json")

    assert fake.texts() == ["heron"]
