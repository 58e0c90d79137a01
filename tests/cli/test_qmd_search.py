"""`ocmem search` where QMD is the backend."""

import pytest

from tests.cli.qmd_program import GROUP, QmdProgram

HIT_FIELDS = [
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


def test_a_first_search_makes_the_collections_and_answers(qmd: QmdProgram) -> None:
    done = qmd("search", "router")

    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "0.710 memory/day.md:2-5\nRouter model: ER605.\nSaw a heron.\nSource: memory/day.md#L2-L5\n"
    )
    assert qmd.fake.commands == [*["collection add"] * 3, "search"]


def test_programs_are_told_who_answered(qmd: QmdProgram) -> None:
    answer = qmd.ask("heron")

    assert list(answer) == ["results", "provider", "model", "backend", "ranker", "mode"]
    assert {answer[key] for key in ("provider", "model", "backend", "ranker")} == {"qmd"}
    assert answer["mode"] == "fts-only"
    assert all(list(result) == HIT_FIELDS for result in answer["results"])
    assert [result["path"] for result in answer["results"]] == ["MEMORY.md", "memory/day.md"]


def test_the_configured_mode_is_used_and_named(qmd: QmdProgram) -> None:
    qmd.with_models()
    for search_mode, mode in (("vsearch", "vector"), ("query", "hybrid")):
        qmd.configure_qmd(searchMode=search_mode)

        answer = qmd.ask("heron")

        assert (answer["backend"], answer["mode"]) == ("qmd", mode)
        assert qmd.fake.commands[-1] == search_mode


def test_every_citation_is_one_that_get_takes(qmd: QmdProgram) -> None:
    for place in (qmd.home / "docs", qmd.workspace / "projects"):
        place.mkdir()
        (place / "a b.md").write_text(f"A heron in {place.name}.\n")
    paths = [{"path": "~/docs", "name": "Docs & Notes"}, {"path": "projects"}]
    qmd.configure_qmd(paths=paths, sessions={"enabled": True})
    qmd.say("monday", "I saw a heron")

    results = qmd.ask("heron")["results"]

    assert {result["citation"] for result in results} == {
        "MEMORY.md#L1-L2",
        "memory/day.md#L3-L5",
        "qmd/docs-notes-main/a b.md#L1-L2",
        "projects/a b.md#L1-L2",
        "qmd/sessions-main/monday.md#L2-L4",
    }
    scores = [result["score"] for result in results]
    assert scores == sorted(scores, reverse=True)
    for result in results:
        got = qmd("get", result["citation"])
        assert (got.code, got.err) == (0, "")
        assert "heron" in got.out.lower()


def test_no_more_results_than_the_settings_allow(qmd: QmdProgram) -> None:
    qmd.configure_qmd(limits={"maxResults": 1})

    more = qmd("search", "heron", "--max-results", "50", "--json")

    assert more.paths == ["MEMORY.md"]
    assert more.err == "[memory] memory.qmd.limits.maxResults allows only 1\n"


def test_a_floor_that_nothing_reaches_is_told_with_one_that_something_does(
    qmd: QmdProgram,
) -> None:
    done = qmd("search", "heron", "--min-score", "0.95")

    assert (done.code, done.out) == (0, "No matches.\n")
    assert done.err == (
        "[memory] the best match scores 0.79, below the floor of 0.95; try --min-score 0.79\n"
    )
    assert qmd.ask("heron", "--min-score", "0.79", "--max-results", "1")["results"]


def test_nothing_found_is_an_answer(qmd: QmdProgram) -> None:
    one, several = qmd("search", "zebra"), qmd("search", "zebra crossing")

    assert (one.code, one.out) == (several.code, several.out) == (0, "No matches.\n")
    assert one.err == "[memory] QMD found nothing; try other words, or --backend builtin\n"
    assert several.err == (
        "[memory] QMD found no note with all of these words; try fewer, or --backend builtin\n"
    )


def test_a_query_reaches_qmd_as_it_is(qmd: QmdProgram) -> None:
    for query in ("a\nheron", "\U0001f9ff", "-x", "--json", "'", "h" * 100_000):
        done = qmd("search", "--query", query)

        assert (done.code, done.out) == (0, "No matches.\n")
        assert qmd.fake.runs[-1]["argv"][-2:] == ["--", query]


def test_a_blank_query_is_not_asked_at_all(qmd: QmdProgram) -> None:
    done = qmd("search", " \t ")

    assert (done.code, done.out) == (0, "No matches.\n")
    assert done.err == "[memory] the query is blank\n"
    assert qmd.fake.runs == []


@pytest.mark.parametrize("args", [("--max-results", "0"), ("--min-score", "nan")])
def test_numbers_without_sense_are_refused(qmd: QmdProgram, args: tuple[str, ...]) -> None:
    done = qmd("search", "heron", *args)

    assert (done.code, done.out) == (1, "")
    assert args[0] in done.err


# --- who is asked --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args",
    [
        ("--ranker", "fused", "--decay", "30"),
        ("--strict",),
        ("--explain", "--mmr", "0.5"),
        ("--provider", "none"),
        ("--source", "sessions"),
        ("--backend", "builtin"),
        ("--workspace", "notes"),
    ],
)
def test_what_only_the_built_in_index_knows_is_asked_of_it(
    qmd: QmdProgram, args: tuple[str, ...]
) -> None:
    (qmd.home / "notes").mkdir()

    answer = qmd.ask("heron", *args)

    assert answer["backend"] == "builtin"
    assert "fallback" not in answer
    assert qmd.fake.runs == []


@pytest.mark.parametrize("args", [("--strict",), ("--workspace", "notes")])
def test_qmd_cannot_be_asked_for_what_it_does_not_know(
    qmd: QmdProgram, args: tuple[str, ...]
) -> None:
    (qmd.home / "notes").mkdir()

    done = qmd("search", "heron", "--backend", "qmd", *args)

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("--backend qmd")
    assert done.err.count("\n") == 1


def test_qmd_answers_for_once_where_the_built_in_index_is_configured(qmd: QmdProgram) -> None:
    (qmd.home / "docs").mkdir()
    (qmd.home / "docs" / "a.md").write_text("A zebra.\n")
    chosen = {"command": str(qmd.fake.command), "paths": [{"path": "~/docs", "name": "docs"}]}
    qmd.configure_all({"memory": {"qmd": chosen}})

    assert qmd.ask("zebra")["results"] == []
    [result] = qmd.ask("zebra", "--backend", "qmd")["results"]

    assert result["citation"] == "qmd/docs-main/a.md#L1-L2"
    assert qmd("get", result["citation"]).out == "A zebra.\n"


def test_the_advice_to_index_is_about_the_index_that_was_asked(qmd: QmdProgram) -> None:
    builtin = qmd("search", "heron", "--strict", "--no-sync")

    assert "run: ocmem index --backend builtin" in builtin.err
    assert qmd("index", "--backend", "builtin").code == 0
    assert qmd.ask("heron", "--strict", "--no-sync")["results"]


def test_sessions_are_searched_alone(qmd: QmdProgram) -> None:
    qmd.configure_qmd(sessions={"enabled": True})
    qmd.say("monday", "I saw a heron")

    answer = qmd.ask("heron", "--source", "sessions")

    assert answer["backend"] == "qmd"
    assert [result["source"] for result in answer["results"]] == ["sessions"]


def test_offline_asks_qmd_all_the_same(qmd: QmdProgram) -> None:
    assert qmd.ask("heron", "--offline")["backend"] == "qmd"


# --- chats ---------------------------------------------------------------------------------------


def test_a_chat_that_may_not_search_gets_nothing_and_the_reason(qmd: QmdProgram) -> None:
    done = qmd("search", "heron", "--session-key", GROUP)

    assert (done.code, done.out) == (0, "No matches.\n")
    assert done.err == f"[memory] memory.qmd.scope does not let {GROUP} search\n"
    assert qmd.fake.runs == []


def test_a_direct_chat_and_the_owner_may_search(qmd: QmdProgram) -> None:
    for key in ("agent:main:telegram:direct:123", ""):
        assert qmd.ask("heron", "--session-key", key)["results"]


def test_a_chat_is_refused_even_where_qmd_cannot_answer(qmd: QmdProgram) -> None:
    qmd.configure_qmd(command="/nowhere/qmd")

    answer = qmd.ask("heron", "--session-key", GROUP)

    assert (answer["results"], answer["backend"]) == ([], "qmd")


def test_rules_of_ones_own_decide(qmd: QmdProgram) -> None:
    qmd.configure_qmd(scope={"rules": [{"action": "deny", "match": {"channel": "telegram"}}]})

    assert qmd.ask("heron", "--session-key", GROUP)["results"]
    assert qmd.ask("heron", "--session-key", "agent:main:telegram:direct:1")["results"] == []


# --- how it looks --------------------------------------------------------------------------------


def test_on_a_terminal_the_hits_are_drawn(qmd: QmdProgram) -> None:
    qmd.note("memory/day.md", "Router \x1b[31mred\x1b[0m\n")

    drawn = qmd.on_terminal("search", "router", columns=40)
    plain = qmd.on_terminal("search", "router", "--no-color", columns=40)

    assert "\x1b[1;32m0." in drawn
    assert "\x1b[31m" not in drawn
    assert "\x1b" not in plain
    assert "Source: memory/day.md#L1" in plain


def test_a_reader_that_leaves_early_is_no_reason_to_complain(qmd: QmdProgram) -> None:
    with qmd.start("search", "heron") as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        err = child.stderr.read()

    assert (child.returncode, err) == (0, b"")
