"""The real QMD, where there is one: what the fake one cannot vouch for.

`OCMEM_TEST_QMD` names the command; else the `qmd` in PATH is taken. Only words are searched for,
which needs no model.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ocmem.backends.qmd import process
from ocmem.backends.qmd.backend import QmdBackend
from ocmem.backends.qmd.process import Command
from ocmem.core.store import qmd_index
from ocmem.settings import Overrides, Settings, resolve
from tests.cli.program import REPOSITORY, Program
from tests.fake_qmd import mode_of, wait_until

RUNNER = """
import sys
from ocmem.backends.qmd.backend import QmdBackend
from ocmem.settings import Overrides, resolve
home = sys.argv[1]
QmdBackend(resolve(Overrides(), {"HOME": home, "OCMEM_CONFIG": home + "/own.json5"})).index()
"""


@pytest.fixture(scope="session")
def qmd() -> str:
    """The command, if it is there and runs."""
    command = os.environ.get("OCMEM_TEST_QMD") or shutil.which("qmd")
    if command is None:
        pytest.skip("there is no qmd here")
    try:
        asked = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"{command} does not run here: {error}")
    if asked.returncode or not asked.stdout.startswith("qmd 2."):
        pytest.skip(f"{command} is no QMD 2 that runs here: {asked.stdout}{asked.stderr}"[:300])
    return command


class Home:
    """A home with a few notes, driven by the real thing."""

    def __init__(self, root: Path, command: str) -> None:
        self.root = root
        self.command = command
        self.state = root / ".openclaw"
        self.workspace = self.state / "workspace"
        self.agent = self.state / "agents" / "main" / "qmd"
        self.note("MEMORY.md", "# Long term\n\nThe boat is called Heron.\n")
        self.note("memory/day.md", "# Day\n\none\ntwo\nRouter model: ER605.\nsix\nseven\n")
        self.note("memory/other.md", "Tea with Ana at noon.\n")
        self.configure()

    def note(self, name: str, text: str) -> None:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def configure(self, **qmd: Any) -> None:  # noqa: ANN401
        # A machine under load is given time: how long it takes is not the question here.
        chosen = {"command": self.command, "limits": {"timeoutMs": 60_000}, **qmd}
        config = {"memory": {"backend": "qmd", "qmd": chosen}}
        (self.state / "openclaw.json").write_text(json.dumps(config))

    @property
    def settings(self) -> Settings:
        env = {"HOME": str(self.root), "OCMEM_CONFIG": str(self.root / "own.json5")}
        return resolve(Overrides(), env)

    @property
    def backend(self) -> QmdBackend:
        return QmdBackend(self.settings)

    def found(self, query: str) -> list[str]:
        return [hit.chunk.path for hit in self.backend.search(query).hits]

    def document_ids(self) -> list[tuple[int, str]]:
        """Rows of QMD's index: a collection that is made anew has new ones."""
        import apsw

        db = apsw.Connection(str(self.settings.qmd.database))
        rows = db.execute("SELECT id, collection || '/' || path FROM documents ORDER BY id")
        ids = [(int(str(id)), str(path)) for id, path in rows.fetchall()]
        db.close()
        return ids


@pytest.fixture
def home(tmp_path: Path, qmd: str) -> Home:
    return Home(tmp_path, qmd)


def test_a_first_search_finds_with_lines(home: Home) -> None:
    [hit] = home.backend.search("router").hits

    assert hit.chunk.path == "memory/day.md"
    assert (hit.chunk.start_line, hit.chunk.end_line) == (4, 7)
    assert hit.snippet.text == "two\nRouter model: ER605.\nsix\nseven"
    assert 0 < hit.score < 1


def test_collections_are_made_once_and_then_left_alone(home: Home) -> None:
    first = home.backend.index()
    ids = home.document_ids()

    second = home.backend.index()

    assert len(first.added) == 3
    assert first.warnings == second.warnings == ()
    assert second.added == second.removed == ()
    assert (first.counts.new, second.counts.unchanged) == (3, 3)
    assert home.document_ids() == ids


def test_what_changes_is_found_after_the_next_run(home: Home) -> None:
    home.backend.index()
    home.note("memory/other.md", "Coffee with Ben.\n")
    home.note("memory/new.md", "An osprey over the bay.\n")
    (home.workspace / "MEMORY.md").unlink()

    report = home.backend.index()

    counts = report.counts
    assert (counts.new, counts.updated, counts.unchanged, counts.removed) == (1, 1, 1, 1)
    assert home.found("osprey") == ["memory/new.md"]
    assert home.found("heron") == home.found("tea") == []


def test_copies_of_a_text_are_both_found(home: Home) -> None:
    shutil.copy(home.workspace / "memory" / "day.md", home.workspace / "memory" / "copy.md")

    assert sorted(home.found("router")) == ["memory/copy.md", "memory/day.md"]


def test_names_with_spaces_and_letters_of_all_kinds_are_paths_as_they_are(home: Home) -> None:
    names = ["memory/Sub Dir/Straße & Co.md", "memory/한글 메모.md", "memory/a?b#c%20d 100%.md"]
    for name in names:
        home.note(name, "A zebra.\n")

    assert sorted(home.found("zebra")) == sorted(names)


@pytest.mark.parametrize("query", ["네트워크", "部署网络", "讨论部署网络"])
def test_words_of_languages_without_spaces_are_found(home: Home, query: str) -> None:
    home.note("memory/cjk.md", "네트워크 설정을 바꿨다.\n我们讨论部署网络方案。\n")

    assert home.found(query) == ["memory/cjk.md"]


@pytest.mark.parametrize("query", ["-tea router", "--json router", "-n router", "-- router"])
def test_a_query_may_begin_with_a_dash(home: Home, query: str) -> None:
    assert "memory/day.md" in home.found(query)  # to QMD it means: without that word


@pytest.mark.parametrize("query", ["'", '"', '"a b', "*", "NEAR(", "a AND", "(", "\ud83d", ":"])
def test_no_query_is_a_syntax_error(home: Home, query: str) -> None:
    home.backend.search(query)

    assert home.backend.status().failure is None


def test_a_folder_of_qmds_own_in_the_workspace_does_not_take_over(home: Home) -> None:
    elsewhere = {"HOME": str(home.root), "PATH": os.environ["PATH"]}
    for words in (["init"], ["collection", "add", ".", "--name", "theirs"]):
        made = Command((home.command, *words), home.workspace, elsewhere, timeout_s=60)
        assert process.run(made).code == 0
    theirs = home.workspace / ".qmd" / "index.sqlite"
    before = theirs.read_bytes()

    assert home.found("router") == ["memory/day.md"]
    home.backend.index()

    assert theirs.read_bytes() == before
    assert home.backend.status().counts.total == 3


def test_sessions_custom_folders_and_the_workspace_are_searched_together(home: Home) -> None:
    docs = home.root / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("The router of the docs.\n")
    home.configure(paths=[{"path": "~/docs", "name": "Docs & Notes"}], sessions={"enabled": True})

    def export() -> list[str]:
        (home.agent / "sessions" / "5d0c.md").write_text("# Session 5d0c\n\nUser: the router?\n")
        return []

    home.backend.index(export=export)

    found = home.backend.search("router").hits
    assert sorted((hit.chunk.path, hit.chunk.source) for hit in found) == [
        ("memory/day.md", "memory"),
        ("qmd/docs-notes-main/a.md", "memory"),
        ("qmd/sessions-main/5d0c.md", "sessions"),
    ]
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)


def test_a_path_that_repeats_the_default_memory_does_no_harm(home: Home) -> None:
    home.configure(paths=[{"path": "memory"}])

    found = home.backend.search("router")

    assert [hit.chunk.path for hit in found.hits] == ["memory/day.md"]
    assert len(found.warnings) == 1


def test_a_workspace_behind_a_link_is_indexed_once_and_again_when_it_moves(home: Home) -> None:
    home.workspace.rename(home.root / "first")
    home.workspace.symlink_to(home.root / "first")
    assert home.found("router") == ["memory/day.md"]
    assert home.backend.index().added == ()

    shutil.copytree(home.root / "first", home.root / "second")
    (home.root / "second" / "memory" / "day.md").write_text("A switch.\n")
    home.workspace.unlink()
    home.workspace.symlink_to(home.root / "second")

    assert home.found("switch") == ["memory/day.md"]
    assert home.found("router") == []


def test_a_collection_that_was_taken_away_is_made_again_by_the_search(home: Home) -> None:
    home.backend.index()
    config = home.agent / "xdg-config" / "qmd" / "index.yml"
    config.write_text("collections: {}\n")

    assert home.found("router") == ["memory/day.md"]


def test_a_mode_by_meaning_finds_nothing_before_there_are_vectors_and_says_so(home: Home) -> None:
    home.backend.index()
    home.configure(searchMode="vsearch", limits={"timeoutMs": 60_000})
    models = home.agent / "xdg-cache" / "qmd" / "models"
    models.mkdir()
    (models / "any.gguf").touch()

    found = home.backend.search("router")

    assert found.hits == []
    assert "no vectors" in found.warnings[0]


def test_status_tells_version_and_documents_and_leaves_no_trace(home: Home) -> None:
    assert home.backend.status(asks_version=True).version is not None
    assert not home.agent.exists()
    home.backend.index()
    before = sorted(home.agent.rglob("*"))

    facts = home.backend.status(asks_version=True)

    assert (facts.version or "").startswith("2.")
    assert (facts.counts.total, facts.counts.pending) == (3, 3)
    assert sorted(home.agent.rglob("*")) == before


def test_the_index_is_readable_while_qmd_has_it_open(home: Home) -> None:
    import apsw

    home.backend.index()
    other = apsw.Connection(str(home.settings.qmd.database))
    other.execute("BEGIN IMMEDIATE")
    other.execute("DELETE FROM documents WHERE path = 'other.md'")

    assert home.backend.status().counts.total == 3
    other.execute("COMMIT")
    assert home.backend.status().counts.total == 2
    other.close()


def test_the_index_is_for_its_owner_only(home: Home) -> None:
    home.backend.index()

    assert mode_of(home.agent) == 0o700
    assert {mode_of(path) & 0o077 for path in home.agent.rglob("*") if path.is_file()} == {0}


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks at /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_no_process_and_a_sound_index(
    home: Home, number: signal.Signals
) -> None:
    for each in range(1500):
        home.note(f"memory/many/{each}.md", f"Note {each} on herons.\n" * 20)
    words = [sys.executable, "-c", RUNNER, str(home.root)]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY)}

    with subprocess.Popen(words, cwd=REPOSITORY, env=env, stderr=subprocess.DEVNULL) as ours:
        wait_until(lambda: bool(indexing(home.workspace / "memory")))
        os.kill(ours.pid, number)
        ours.wait()

    wait_until(lambda: not indexing(home.workspace))
    assert ours.returncode == -number
    report = home.backend.index()
    assert report.counts.total == 1503
    index = qmd_index.open_existing(home.settings.qmd.database)
    assert index is not None
    with index:
        assert index.counts().total == 1503


def indexing(root: Path) -> list[str]:
    """The processes of QMD that were told of a folder."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if "--mask" in words and str(root) in words:
            found.append(file.parent.name)
    return found


# --- through the program -------------------------------------------------------------------------


def program(home: Home) -> Program:
    ocmem = Program(home.root)
    ocmem.configure_own(provider="none")
    return ocmem


def test_every_citation_of_the_program_is_one_that_it_reads(home: Home) -> None:
    ocmem = program(home)
    (home.root / "docs").mkdir()
    (home.root / "docs" / "a.md").write_text("The router of the docs.\n")
    home.configure(paths=[{"path": "~/docs", "name": "Docs"}], sessions={"enabled": True})
    talks = home.state / "agents" / "main" / "sessions"
    talks.mkdir(parents=True)
    said = {"type": "message", "message": {"role": "user", "content": "the router?"}}
    (talks / "5d0c.jsonl").write_text(json.dumps(said) + "\n")

    found = ocmem("search", "router", "--json")

    assert (found.json["backend"], found.err) == ("qmd", "")
    assert sorted(found.paths) == [
        "memory/day.md",
        "qmd/docs-main/a.md",
        "qmd/sessions-main/5d0c.md",
    ]
    for result in found.results:
        assert "router" in ocmem("get", result["citation"]).out.lower()


def test_the_users_own_qmd_sees_the_same_index_and_ocmem_still_does(home: Home) -> None:
    ocmem = program(home)
    ocmem.index()
    ours = f"{sys.executable} -m ocmem"
    script = f'eval "$({ours} config paths --export)"; cd /; {home.command} collection list; {ours}'

    def run(*args: str) -> str:
        words = ["/bin/sh", "-c", f'{script} "$@"', "sh", *args]
        return subprocess.check_output(words, cwd=home.root, env=ocmem.env, text=True)

    names = ("memory-root-main", "memory-alt-main", "memory-dir-main")
    assert all(f"{name} (qmd://{name}/)" in run("--version") for name in names)
    assert "memory/day.md:4-7" in run("search", "router")
    assert "Indexed: 3/3 files · 3 chunks\nDirty: no\n" in run("status")


def test_first_searches_at_once_all_answer(home: Home) -> None:
    ocmem = program(home)
    children = [ocmem.start("search", "router", "--json") for _ in range(3)]

    answers = [child.communicate(timeout=120) for child in children]

    assert all(b"memory/day.md" in out for out, _ in answers), answers


def test_a_damaged_index_is_built_anew_by_force(home: Home) -> None:
    ocmem = program(home)
    ocmem.index()
    home.settings.qmd.database.write_bytes(b"no database " * 100)

    searched, indexed = ocmem("search", "router", "--json"), ocmem("index")
    forced = ocmem("index", "--force")

    reason = "QMD could not search: its index is damaged"
    assert searched.json["fallback"] == {"from": "qmd", "reason": reason}
    assert "hint: ocmem index --force builds it anew" in indexed.err
    assert forced.code == 0, forced.err
    assert ocmem("search", "router", "--json").json["backend"] == "qmd"


@pytest.mark.parametrize("folder", ["build", "node_modules", ".hidden"])
def test_status_counts_the_files_that_qmd_does(home: Home, folder: str) -> None:
    ocmem = program(home)
    home.note(f"memory/{folder}/a.md", "Not looked at.\n")
    (home.workspace / "memory" / "link.md").symlink_to("day.md")
    (home.workspace / "memory.md").symlink_to("MEMORY.md")

    ocmem.index()

    assert "Indexed: 3/3 files · 3 chunks\nDirty: no\n" in ocmem("status").out
