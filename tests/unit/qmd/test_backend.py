"""A search by QMD: one process, the right words, and honest failures."""

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from ocmem.backends.qmd import state
from ocmem.core import lock
from ocmem.errors import QmdError
from tests.fake_qmd import mode_of
from tests.unit.qmd.driven import Driven

NAMES = ["memory-root-main", "memory-alt-main", "memory-dir-main"]


def failure(driven: Driven, query: str = "heron", **options: Any) -> QmdError:  # noqa: ANN401
    with pytest.raises(QmdError) as caught:
        driven.backend.search(query, **options)
    return caught.value


def searched(driven: Driven) -> list[dict[str, Any]]:
    return [run for run in driven.fake.runs if run["command"] in ("search", "vsearch", "query")]


@pytest.fixture
def ready(driven: Driven) -> Driven:
    """With collections made, and nothing remembered of how."""
    driven.backend.index()
    driven.fake.forget()
    return driven


# --- the usual case ------------------------------------------------------------------------------


def test_the_first_search_makes_the_collections_and_finds(driven: Driven) -> None:
    found = driven.backend.search("heron")

    assert [hit.chunk.path for hit in found.hits] == ["MEMORY.md", "memory/day.md"]
    assert found.warnings == ()
    assert driven.fake.commands == [*["collection add"] * 3, "search"]


def test_every_later_search_is_one_process(ready: Driven) -> None:
    assert ready.found("router") == ["memory/day.md"]
    assert ready.fake.commands == ["search"]


def test_all_collections_are_asked_at_once_with_options_before_the_query(ready: Driven) -> None:
    ready.backend.search("-x heron")

    [run] = ready.fake.runs
    names = [word for name in NAMES for word in ("-c", name)]
    words = ["search", "--json", "-n", "6", *names, "--", "-x heron"]
    assert run["argv"] == ["--index", "index", *words]


def test_qmd_sees_the_agents_places_and_no_others(ready: Driven) -> None:
    ready.fake.forget()
    backend = ready.backend
    backend.env = ready.fake.env | {"INDEX_PATH": "/x", "QMD_CONFIG_DIR": "/y", "MORE": "1"}

    backend.search("heron")

    [run] = ready.fake.runs
    env = run["env"]
    assert env["XDG_CONFIG_HOME"] == str(ready.home / "xdg-config")
    assert env["XDG_CACHE_HOME"] == str(ready.home / "xdg-cache")
    assert (env["NO_COLOR"], env["MORE"]) == ("1", "1")
    assert {"INDEX_PATH", "QMD_CONFIG_DIR"}.isdisjoint(env)
    assert run["cwd"] == str(ready.workspace)
    assert run["stdin"] == ""


def test_without_a_workspace_it_runs_in_the_nearest_folder_above(ready: Driven) -> None:
    shutil.rmtree(ready.workspace)

    ready.backend.search("heron")

    assert searched(ready)[-1]["cwd"] == str(ready.state)


def test_a_hit_has_lines_score_and_source(ready: Driven) -> None:
    [hit] = ready.backend.search("router").hits

    assert (hit.chunk.start_line, hit.chunk.end_line) == (2, 5)
    assert hit.snippet.text == "Router model: ER605.\nSaw a heron."
    assert (hit.snippet.start_line, hit.snippet.end_line) == (3, 4)
    assert hit.chunk.source == "memory"
    assert 0 < hit.score < 1
    assert hit.chunk.id.startswith("qmd://memory-dir-main/day.md#")


def test_copies_are_both_found(ready: Driven) -> None:
    shutil.copy(ready.memory / "day.md", ready.memory / "copy.md")
    ready.backend.index()

    assert sorted(ready.found("router")) == ["memory/copy.md", "memory/day.md"]


def test_by_default_qmd_sees_our_environment_and_what_the_settings_add(
    ready: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = json.loads((ready.state / "openclaw.json").read_text())
    config["env"] = {"QMD_FORCE_CPU": "1"}
    (ready.state / "openclaw.json").write_text(json.dumps(config))
    monkeypatch.setenv("FAKE_QMD", str(ready.fake.folder))
    backend = ready.backend
    backend.env = None

    backend.search("heron")

    env = searched(ready)[-1]["env"]
    assert (env["QMD_FORCE_CPU"], env["PATH"]) == ("1", os.environ["PATH"])


# --- what is asked -------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["", "  \n", "\0"])
def test_a_blank_query_asks_nobody(ready: Driven, query: str) -> None:
    found = ready.backend.search(query)

    assert (found.hits, found.why_empty) == ([], "the query is blank")
    assert ready.fake.runs == []


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("  boat \n", "boat"),
        ("a\0b", "a b"),
        ("half \ud83d", "half \ufffd"),
        ("讨论部署方案", "讨论 论部 部署 署方 方案"),
        ("数", "数"),
        ("네트워크 설정", "네트워크 설정"),
        ("lex: boat", "lex: boat"),
    ],
)
def test_qmd_is_asked_what_it_can_take(ready: Driven, query: str, asked: str) -> None:
    ready.backend.search(query)

    assert searched(ready)[-1]["argv"][-1] == asked


def test_at_most_twelve_keywords_of_a_chinese_query_are_asked(ready: Driven) -> None:
    ready.backend.search("今天我们讨论数据库迁移计划以及网络部署方案还有路由器配置")

    assert len(searched(ready)[-1]["argv"][-1].split()) == 12


def test_a_long_question_of_several_lines_is_one_line_to_the_query_mode(ready: Driven) -> None:
    ready.configure(searchMode="query")
    ready.with_models()

    ready.backend.search("where is\nthe boat")
    ready.backend.search("lex: boat\nvec: where is it")

    assert [run["argv"][-1] for run in searched(ready)] == [
        "where is the boat",
        "lex: boat\nvec: where is it",
    ]


def test_a_query_that_is_too_long_is_no_fault_of_qmd(ready: Driven) -> None:
    assert failure(ready, "x" * 3_000_000).cause == "query"
    assert ready.found("heron")


def test_a_query_document_that_qmd_rejects_is_no_fault_of_qmd_either(ready: Driven) -> None:
    ready.configure(searchMode="query")
    ready.with_models()
    ready.fake.on("query", stderr="intent: cannot appear alone.", code=1)
    ready.fake.on("query", stdout="[]")

    assert failure(ready, "intent: boat").cause == "query"
    assert ready.found("boat") == []


# --- how much comes back -------------------------------------------------------------------------


def test_a_caller_can_ask_for_fewer_results_but_not_more(ready: Driven) -> None:
    ready.configure(limits={"maxResults": 2})
    for name in "abc":
        (ready.memory / f"{name}.md").write_text("A heron.\n")
    ready.backend.index()

    assert len(ready.found("heron")) == 2
    assert len(ready.found("heron", max_results=1)) == 1
    assert len(ready.found("heron", max_results=5)) == 2
    assert [run["argv"][5] for run in searched(ready)] == ["2", "1", "2"]


def test_where_collections_overlap_more_is_asked_for_and_each_file_shown_once(
    ready: Driven,
) -> None:
    ready.configure(paths=[{"path": "."}], limits={"maxResults": 2})

    assert ready.found("heron") == ["MEMORY.md", "memory/day.md"]
    assert searched(ready)[-1]["argv"][5] == "4"


def test_the_floor_is_none_unless_there_is_one(ready: Driven) -> None:
    ready.fake.on("search", stdout='[{"docid": "#1", "file": "qmd://memory-dir-main/a.md"}]')

    assert ready.found("x") == ["memory/a.md"]
    found = ready.backend.search("x", min_score=0.5)
    assert (found.hits, found.advice) == ([], "try --min-score 0")
    assert found.why_empty == "the best match scores 0, below the floor of 0.5"


def test_only_the_collections_of_a_source_are_asked(ready: Driven) -> None:
    ready.configure(sessions={"enabled": True})
    ready.backend.index()
    ready.fake.forget()

    ready.backend.search("x", sources=["sessions"])

    argv = searched(ready)[-1]["argv"]
    assert [argv[at + 1] for at, word in enumerate(argv) if word == "-c"] == ["sessions-main"]


def test_a_source_without_collections_has_nothing(ready: Driven) -> None:
    found = ready.backend.search("x", sources=["sessions"])

    assert (found.hits, found.why_empty) == ([], "QMD has no collection to search")
    assert ready.fake.runs == []


def test_snippets_keep_to_both_limits(ready: Driven) -> None:
    ready.configure(limits={"maxSnippetChars": 10, "maxInjectedChars": 15})

    found = ready.backend.search("heron")

    assert [len(hit.snippet.text) for hit in found.hits] == [10, 5]


# --- collections ---------------------------------------------------------------------------------


def test_a_collection_that_is_new_in_the_settings_is_made_by_the_search(ready: Driven) -> None:
    (ready.root / "docs").mkdir()
    (ready.root / "docs" / "a.md").write_text("An otter.\n")
    ready.configure(paths=[{"path": str(ready.root / "docs"), "name": "Docs"}])

    assert ready.found("otter") == ["qmd/docs-main/a.md"]
    assert ready.fake.commands == ["collection add", "search"]


def test_one_whose_folder_changed_is_made_anew(ready: Driven) -> None:
    moved = ready.root / "elsewhere"
    shutil.copytree(ready.workspace, moved)
    (moved / "memory" / "day.md").write_text("A stork.\n")
    shutil.rmtree(ready.workspace)
    ready.workspace.symlink_to(moved)

    assert ready.found("stork") == ["memory/day.md"]
    assert ready.fake.commands.count("collection remove") == 3


def test_a_folder_that_is_not_there_has_to_wait_and_is_not_made(driven: Driven) -> None:
    shutil.rmtree(driven.memory)

    assert driven.found("heron") == ["MEMORY.md"]
    assert not driven.memory.exists()
    driven.fake.forget()
    assert driven.found("heron") == ["MEMORY.md"]
    assert driven.fake.commands == ["search"]

    driven.memory.mkdir()
    (driven.memory / "a.md").write_text("heron")
    assert sorted(driven.found("heron")) == ["MEMORY.md", "memory/a.md"]


def test_a_collection_that_qmd_lost_is_made_again_and_the_search_repeated(ready: Driven) -> None:
    ready.fake.on("search", stderr="Collection not found: memory-dir-main\n", code=1)
    ready.fake.on("search", does=True)

    assert ready.found("router") == ["memory/day.md"]
    assert ready.fake.commands == ["search", "search"]


def test_if_it_stays_lost_that_is_the_cause(ready: Driven) -> None:
    ready.fake.on("search", stderr="Collection not found: memory-dir-main\n", code=1)

    assert failure(ready).cause == "collections"
    assert ready.fake.commands == ["search", "search"]


def test_the_same_files_named_twice_do_no_harm_and_are_told(ready: Driven) -> None:
    ready.configure(paths=[{"path": "memory"}])

    found = ready.backend.search("router")

    assert [hit.chunk.path for hit in found.hits] == ["memory/day.md"]
    assert "memory-dir-main already" in found.warnings[0]


def test_a_collection_that_cannot_be_added_is_told_and_the_rest_answers(driven: Driven) -> None:
    driven.fake.on("collection add", does=True)
    driven.fake.on("collection add", stderr="out of names", code=1)
    driven.fake.on("collection add", does=True)

    found = driven.backend.search("heron")

    assert len(found.hits) == 2
    assert any("out of names" in warning for warning in found.warnings)


def test_while_another_run_makes_them_a_search_does_not_wait_for_ever(driven: Driven) -> None:
    with lock.writing(driven.database, wait_s=0, command="index"):
        error = failure(driven)

    assert error.cause == "locked"
    assert driven.fake.runs == []


# --- an older QMD --------------------------------------------------------------------------------


def test_one_that_keeps_its_collections_elsewhere_is_believed(ready: Driven) -> None:
    old_index(ready)
    ready.fake.on("search", stdout="No results found.\n")

    assert ready.found("heron") == []
    assert ready.fake.commands == ["search"]


def test_one_that_dislikes_several_collections_is_asked_one_by_one(ready: Driven) -> None:
    old_index(ready)
    entry = '[{{"docid": "#{0}", "file": "{0}.md", "score": 0.{0}}}]'
    ready.fake.on("search", stderr="too many values for -c", code=1)
    ready.fake.on("search", stdout=entry.format(1))
    ready.fake.on("search", stdout="No results found.")
    ready.fake.on("search", stdout=entry.format(2))

    assert ready.found("heron") == ["memory/2.md", "1.md"]
    assert ready.fake.commands == ["search"] * 4


def test_its_listing_is_asked_for_when_it_misses_a_collection(ready: Driven) -> None:
    old_index(ready)
    ready.fake.on("search", stderr="Collection not found: memory-dir-main", code=1)
    ready.fake.on("search", stdout="[]")
    ready.fake.on("collection list", stdout='["memory-root-main", "memory-alt-main"]')
    ready.fake.on("collection show", stdout=f"  Path: {ready.workspace}\n")
    ready.fake.on("collection add", stdout="ok")

    assert ready.found("heron") == []
    assert ready.fake.commands == [
        "search",
        "collection list",
        "collection show",
        "collection show",
        "collection add",
        "search",
    ]


def old_index(driven: Driven) -> None:
    import apsw

    db = apsw.Connection(str(driven.database))
    db.execute("DROP TABLE store_collections")
    db.close()


# --- failures ------------------------------------------------------------------------------------


def test_a_missing_command_is_the_cause_and_installing_it_helps_at_once(driven: Driven) -> None:
    driven.configure(command=str(driven.root / "none"))

    error = failure(driven)

    assert (error.cause, failure(driven).cause) == ("missing", "missing")
    assert "npm install" in (error.hint or "")
    assert not (driven.home / state.NAME).exists()


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        ({"code": 1, "stderr": "boom"}, "failed"),
        ({"signal": int(signal.SIGSEGV)}, "crash"),
        ({"signal": int(signal.SIGKILL)}, "crash"),
        ({"delay": 60}, "timeout"),
        ({"stdout": ""}, "output"),
        ({"stdout": '[{"docid": "#1",'}, "output"),
        ({"stdout": "x" * 100, "repeat": 3000}, "output"),
        ({"code": 127, "stderr": "env: node: No such file or directory"}, "node"),
    ],
)
def test_a_failure_has_a_cause_and_is_followed_by_a_rest(
    ready: Driven, answer: dict[str, Any], cause: str
) -> None:
    if cause == "timeout":
        ready.configure(limits={"timeoutMs": 1000})
    ready.fake.on("search", **answer)

    assert failure(ready).cause == cause
    assert failure(ready).cause == "resting"

    assert ready.fake.commands == ["search"]


def test_a_lock_may_be_gone_in_a_moment_and_starts_no_rest(ready: Driven) -> None:
    ready.fake.on("search", code=1, stderr="database is locked")
    ready.fake.on("search", does=True)

    assert failure(ready).cause == "locked"
    assert ready.found("heron") != []


def test_the_rest_ends_and_the_next_is_longer(ready: Driven) -> None:
    ready.fake.on("search", code=1)

    causes = []
    for seconds in (0, 59, 1, 60, 59, 1):
        ready.now_ms += seconds * 1000
        causes.append(failure(ready).cause)

    assert causes == ["failed", "resting", "failed", "resting", "resting", "failed"]


def test_an_answer_ends_the_row_of_failures(ready: Driven) -> None:
    ready.fake.on("search", code=1)
    ready.fake.on("search", does=True)

    assert failure(ready).cause == "failed"
    ready.now_ms += 60_000
    assert ready.found("router")
    assert ready.backend.status().failure is None


def test_indexing_or_a_word_from_the_caller_ends_the_rest(ready: Driven) -> None:
    ready.fake.on("search", code=1)
    assert failure(ready).cause == "failed"
    ready.backend.index()
    assert failure(ready).cause == "failed"
    ready.backend.retry()
    assert failure(ready).cause == "failed"
    assert failure(ready).cause == "resting"


def test_a_clock_that_was_set_back_ends_the_rest(ready: Driven) -> None:
    ready.fake.on("search", code=1)
    assert failure(ready).cause == "failed"

    ready.now_ms -= 3_600_000

    assert failure(ready).cause == "failed"


def test_a_damaged_index_is_left_to_qmd_to_judge(ready: Driven) -> None:
    ready.database.write_bytes(b"no database " * 100)
    ready.fake.on("search", stderr="SqliteError: file is not a database", code=1)

    error = failure(ready)

    assert error.cause == "damaged"
    assert str(error) == "QMD could not search: its index is damaged"
    assert error.hint == "ocmem index --force builds it anew"


# --- models --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["vsearch", "query"])
def test_a_mode_that_needs_models_is_not_tried_without_any(ready: Driven, mode: str) -> None:
    ready.configure(searchMode=mode)

    error = failure(ready)

    assert error.cause == "models"
    assert "ocmem warmup" in (error.hint or "")
    assert ready.fake.runs == []


def test_once_they_are_there_they_are_used_at_once(ready: Driven) -> None:
    ready.configure(searchMode="vsearch")
    assert failure(ready).cause == "models"

    ready.with_models()

    assert ready.found("router") == ["memory/day.md"]
    assert ready.fake.commands == ["vsearch"]


def test_typed_words_need_none(ready: Driven) -> None:
    ready.configure(searchMode="query")
    ready.fake.on("query", stdout="[]")

    assert ready.found("lex: router") == []


def test_notes_without_vectors_are_told(ready: Driven) -> None:
    ready.configure(searchMode="vsearch")
    ready.with_models()
    ready.fake.on(
        "vsearch", stdout="[]", stderr="Warning: 6 documents (86%) need embeddings. Run ..."
    )

    found = ready.backend.search("router")

    assert found.hits == []
    assert "ocmem index" in found.warnings[0]


# --- the agent's corner --------------------------------------------------------------------------


def test_everything_is_for_its_owner_only(driven: Driven) -> None:
    before = os.umask(0)
    try:
        driven.backend.index()
    finally:
        os.umask(before)

    paths = [driven.home, *driven.home.rglob("*")]
    assert {mode_of(path) for path in paths if path.is_dir()} == {0o700}
    assert {mode_of(path) & 0o077 for path in paths if path.is_file()} == {0}


def test_nothing_is_written_among_the_notes(driven: Driven) -> None:
    before = snapshot(driven.workspace)

    driven.backend.index()
    driven.backend.search("heron")

    assert snapshot(driven.workspace) == before


def snapshot(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in [folder, *folder.rglob("*")]}


def test_a_corner_that_cannot_be_made_is_told(driven: Driven) -> None:
    (driven.state / "agents").write_text("a file")

    error = failure(driven)

    assert error.cause == "locked"
    assert str(driven.state) in str(error)


def test_models_that_the_user_has_are_shared(driven: Driven) -> None:
    shared = driven.root / ".cache" / "qmd" / "models"
    shared.mkdir(parents=True)
    (shared / "a.gguf").touch()

    driven.backend.index()

    link = driven.home / "xdg-cache" / "qmd" / "models"
    assert link.is_symlink()
    assert link.resolve() == shared.resolve()
    assert driven.backend.status().has_models


def test_or_those_of_the_cache_that_the_environment_names(driven: Driven) -> None:
    shared = driven.root / "cache" / "qmd" / "models"
    shared.mkdir(parents=True)
    backend = driven.backend
    backend.env = driven.fake.env | {"XDG_CACHE_HOME": str(driven.root / "cache")}

    backend.index()

    link = driven.home / "xdg-cache" / "qmd" / "models"
    assert link.resolve() == shared.resolve()


def test_models_of_its_own_are_not_touched(driven: Driven) -> None:
    driven.with_models()
    (driven.root / ".cache" / "qmd" / "models").mkdir(parents=True)

    driven.backend.index()

    assert not (driven.home / "xdg-cache" / "qmd" / "models").is_symlink()


# --- status --------------------------------------------------------------------------------------


def test_status_creates_nothing_and_starts_nothing(driven: Driven) -> None:
    before = snapshot(driven.root)

    facts = driven.backend.status()

    assert snapshot(driven.root) == before
    assert driven.fake.runs == []
    assert facts.location == str(driven.fake.command)
    assert (facts.index_exists, facts.counts.total, facts.version) == (False, 0, None)
    assert facts.absent == tuple(NAMES)


def test_status_tells_the_version_if_asked(driven: Driven) -> None:
    before = snapshot(driven.state)

    facts = driven.backend.status(asks_version=True)

    assert (facts.version, facts.trouble) == ("2.8.3", None)
    assert driven.fake.runs[0]["argv"] == ["--version"]
    assert snapshot(driven.state) == before


@pytest.mark.parametrize(
    ("answer", "version", "trouble"),
    [
        ({"stdout": "hello\n"}, "unknown", None),
        ({"stderr": "Unknown command: --version", "code": 1}, "unknown", None),
        ({"stderr": "env: node: No such file or directory", "code": 127}, None, "Node.js"),
        ({"signal": int(signal.SIGSEGV)}, None, "SIGSEGV"),
    ],
)
def test_a_qmd_that_cannot_tell_is_old_or_in_trouble(
    driven: Driven, answer: dict[str, Any], version: str | None, trouble: str | None
) -> None:
    driven.fake.on("--version", **answer)

    facts = driven.backend.status(asks_version=True)

    assert facts.version == version
    assert (facts.trouble is None) if trouble is None else trouble in str(facts.trouble)


def test_a_command_may_be_named_from_the_workspace(driven: Driven) -> None:
    (driven.workspace / "tools").symlink_to(driven.fake.folder)
    driven.configure(command="tools/qmd")

    assert driven.backend.status().location == str(driven.workspace / "tools" / "qmd")
    assert driven.found("router") == ["memory/day.md"]


def test_status_tells_that_there_is_no_command(driven: Driven) -> None:
    driven.configure(command="no-such-qmd")

    facts = driven.backend.status(asks_version=True)

    assert facts.location is None
    assert "not installed" in str(facts.trouble)


def test_status_counts_documents_and_what_waits_for_vectors(ready: Driven) -> None:
    shutil.copy(ready.memory / "day.md", ready.memory / "copy.md")
    ready.configure(sessions={"enabled": True})
    ready.backend.index()
    (ready.home / "sessions" / "talk.md").write_text("# Session\n\nUser: hello\n")
    ready.backend.index()

    facts = ready.backend.status()

    assert facts.counts.total == 4
    assert facts.counts.pending == 3  # two of the documents are the same text
    assert (facts.documents("memory"), facts.documents("sessions")) == (3, 1)
    assert facts.absent == ()
    assert facts.updated_at_ms == ready.now_ms


def test_status_tells_what_failed_and_how_long_it_is_left_alone(ready: Driven) -> None:
    ready.fake.on("search", stderr="boom", code=1)
    failure(ready)
    ready.now_ms += 10_000

    facts = ready.backend.status()

    assert facts.failure is not None
    assert (facts.failure.cause, facts.rest_ms) == ("failed", 50_000)
    assert "boom" in facts.failure.reason


def test_status_believes_an_older_qmd_about_its_collections(ready: Driven) -> None:
    old_index(ready)

    assert ready.backend.status().absent == ()


def test_status_tells_of_an_index_that_is_none(ready: Driven) -> None:
    ready.database.write_bytes(b"no database " * 100)

    facts = ready.backend.status()

    assert facts.index_exists
    assert "not a database" in str(facts.index_error)
