"""An agent under watch: whatever happens to its files, and in whatever order it is told."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocmem.errors import EmbedderError
from ocmem.model import Source, SyncReport
from ocmem.settings import Settings
from ocmem.watch.watcher import Outcome, Watched, count_lines, sources_of, watched
from tests.unit.chats import OPTED_IN, Chats, line
from tests.unit.place import Rows

ANYTHING = {"sync": {"sessions": {"deltaBytes": 0, "deltaMessages": 0}}}


class Agent:
    """An agent whose events and clock are in the hands of a test."""

    def __init__(self, chats: Chats) -> None:
        self.chats = chats
        self.now_ms = 0
        self.synced: list[tuple[Source, ...]] = []
        self.failure: EmbedderError | None = None
        self.watched: Watched = watched(chats.settings, self._run)

    def _run(self, only: tuple[Source, ...]) -> tuple[Settings, SyncReport]:
        if self.failure is not None:
            raise self.failure
        self.synced.append(only)
        return self.chats.settings, self.chats.index(only=only)

    def pass_ms(self, ms: int) -> Outcome | None:
        """Let time go by, and do what is due then."""
        self.now_ms += ms
        return self.watched.step(lambda: self.now_ms)

    def hear(self, source: Source, path: Path) -> None:
        self.watched.touch(source, str(path), now_ms=self.now_ms)

    def sweep(self) -> None:
        self.watched.sweep(now_ms=self.now_ms)

    def settle(self) -> None:
        """Until nothing more is due."""
        while self.watched.schedule.next_ms is not None:
            self.pass_ms(max(0, self.watched.schedule.next_ms - self.now_ms))


@pytest.fixture
def chats(tmp_path: Path) -> Chats:
    chats = Chats(tmp_path)
    chats.configure(**OPTED_IN)
    return chats


def report_of(outcome: Outcome | None) -> SyncReport:
    assert outcome is not None
    assert isinstance(outcome.report, SyncReport)
    return outcome.report


def test_the_first_step_brings_everything_up_to_date(chats: Chats) -> None:
    chats.write(a="alpha")
    chats.say("monday", "hello")
    agent = Agent(chats)

    outcome = agent.pass_ms(0)

    assert report_of(outcome).changed_paths == ["memory/a.md", "sessions/monday.jsonl"]
    assert outcome is not None
    assert outcome.due.reason == "start"
    assert agent.pass_ms(10**6) is None


def test_a_saved_note_is_indexed_after_the_quiet_time(chats: Chats) -> None:
    agent = Agent(chats)
    agent.pass_ms(0)
    chats.write(a="alpha")
    agent.hear("memory", chats.memory / "a.md")

    assert agent.pass_ms(1499) is None
    assert report_of(agent.pass_ms(1)).changed_paths == ["memory/a.md"]
    assert agent.synced == [(), ("memory",)]


def test_a_chat_that_grew_a_little_waits_and_one_that_grew_a_lot_does_not(chats: Chats) -> None:
    path = chats.say("monday", "hello")
    agent = Agent(chats)
    agent.pass_ms(0)
    chats.say("monday", *["a word"] * 48)
    agent.hear("sessions", path)
    assert agent.pass_ms(5000) is None

    chats.say("monday", "and", "another")
    agent.hear("sessions", path)

    assert report_of(agent.pass_ms(5000)).changed_paths == ["sessions/monday.jsonl"]
    assert agent.synced == [(), ("sessions",)]


def test_a_lost_event_is_found_by_a_look_at_the_files(chats: Chats) -> None:
    agent = Agent(chats)
    agent.pass_ms(0)
    agent.sweep()
    assert agent.watched.schedule.next_ms is None

    chats.write(a="alpha")
    agent.sweep()

    assert report_of(agent.pass_ms(1500)).changed_paths == ["memory/a.md"]
    agent.sweep()
    assert agent.watched.schedule.next_ms is None


def test_a_change_during_a_sync_is_found_later(chats: Chats) -> None:
    chats.write(a="alpha")
    agent = Agent(chats)

    def change() -> None:
        chats.embedder.before = lambda: None
        chats.write(a="changed meanwhile")

    chats.embedder.before = change
    agent.pass_ms(0)
    agent.sweep()

    assert report_of(agent.pass_ms(1500)).changed_paths == ["memory/a.md"]


def test_a_chat_that_grew_while_notes_were_synced_is_not_forgotten(chats: Chats) -> None:
    agent = Agent(chats)
    agent.pass_ms(0)
    chats.say("monday", *["a word"] * 60)
    chats.write(a="alpha")
    agent.hear("memory", chats.memory / "a.md")
    agent.pass_ms(1500)

    agent.sweep()

    assert report_of(agent.pass_ms(5000)).changed_paths == ["sessions/monday.jsonl"]


def test_a_failure_is_an_outcome_and_everything_is_tried_again(chats: Chats) -> None:
    agent = Agent(chats)
    agent.pass_ms(0)
    chats.write(a="alpha")
    agent.hear("memory", chats.memory / "a.md")
    agent.failure = EmbedderError("no")

    failed = agent.pass_ms(1500)
    agent.failure = None

    assert failed is not None
    assert failed.error is not None
    assert report_of(agent.pass_ms(15_000)).changed_paths == ["memory/a.md"]
    assert agent.synced == [(), ()]


def test_a_source_that_the_index_has_besides_is_watched_too(chats: Chats) -> None:
    chats.configure(own={"provider": "none"}, **OPTED_IN)
    chats.index()
    chats.configure(own={"provider": "none"})
    assert chats.settings.search.sources == ("memory",)

    assert sources_of(chats.settings) == ("memory", "sessions")


def test_newlines_are_counted_between_two_positions(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\n" + b"ab\n" * 100_000)

    assert count_lines(path, 0, 300_001) == 100_001
    assert count_lines(path, 1, 7) == 2
    assert count_lines(path, 1, 6) == 1
    assert count_lines(tmp_path / "absent", 0, 10) == 0


# --- the law ------------------------------------------------------------------------------------

NOTES = ("MEMORY.md", "memory/a.md", "memory/deep/b.md", "memory/moved/deep/b.md")
TRANSCRIPTS = ("sessions/c.jsonl", "sessions/d.jsonl")
FOLDERS = ("memory/deep", "memory/moved")
edits = st.one_of(
    st.tuples(st.sampled_from(["write", "append", "delete"]), st.sampled_from(NOTES + TRANSCRIPTS)),
    st.tuples(st.just("rename"), st.permutations(NOTES)),
    st.tuples(st.just("rename"), st.permutations(TRANSCRIPTS)),
    st.tuples(st.just("rename"), st.permutations(FOLDERS)),
    st.tuples(st.just("delete"), st.sampled_from(FOLDERS)),
)
pauses = st.tuples(st.sampled_from(["wait", "sweep"]), st.just(""))
news = st.tuples(st.just("tell"), st.sampled_from(NOTES + TRANSCRIPTS))


@dataclass
class Home:
    """An agent and its files, each by the name that the index has for it."""

    agent: Agent
    count: int = 0

    @classmethod
    def begun(cls, root: Path) -> "Home":
        chats = Chats(root)
        chats.configure(**OPTED_IN, **ANYTHING)
        home = cls(Agent(chats))
        for name in (*NOTES[:3], TRANSCRIPTS[0]):  # so that there is something to rename or delete
            home.happen("write", name)
        home.agent.pass_ms(0)
        return home

    def location(self, name: str) -> Path:
        chats = self.agent.chats
        if name.startswith("sessions/"):
            return chats.folder / name.removeprefix("sessions/")
        return chats.workspace / name

    def tell(self, name: str) -> None:
        source: Source = "sessions" if name.startswith("sessions/") else "memory"
        self.agent.hear(source, self.location(name))

    def happen(self, what: str, about: str | list[str]) -> list[str]:
        """Do it, and give the names that it is about, as events would."""
        self.count += 1
        names = [about] if isinstance(about, str) else about[:2]
        path, *targets = map(self.location, names)
        is_chat = names[0].startswith("sessions/")
        # No two as long as each other: of transcripts, as in the reference, only growth counts.
        said = "x" * self.count
        text = line(said) if is_chat else f"{said}\n"
        match what:
            case "wait":
                self.agent.pass_ms(2000)
            case "sweep":
                self.agent.sweep()
            case "tell":
                self.tell(names[0])
            case "write" | "append":
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("a" if what == "append" else "w") as file:
                    file.write(text)
            case "delete" if path.is_dir():
                shutil.rmtree(path)
            case "delete":
                path.unlink(missing_ok=True)
            case "rename" if path.exists() and not targets[0].is_dir():
                targets[0].parent.mkdir(parents=True, exist_ok=True)
                path.replace(targets[0])
        return names if what in ("write", "append", "delete", "rename") else []

    def is_as_if_fresh(self) -> bool:
        """Whether an index from scratch would say the same."""
        chats = self.agent.chats
        watched_rows = comparable(chats.rows())
        chats.index_path.unlink()
        chats.index()
        return watched_rows == comparable(chats.rows())


def comparable(rows: Rows) -> Rows:
    return {table: found for table, found in rows.items() if found}


@settings(max_examples=25, deadline=None)
@given(done=st.lists(st.one_of(edits, edits, pauses, news), max_size=25))
def test_whatever_order_edits_and_events_come_in_the_index_equals_a_fresh_one(
    done: list[tuple[str, str | list[str]]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Home.begun(Path(folder))
        for what, about in done:
            home.happen(what, about)

        home.agent.sweep()
        home.agent.settle()

        assert home.is_as_if_fresh()


@settings(max_examples=25, deadline=None)
@given(done=st.lists(st.one_of(edits, edits, pauses), max_size=25))
def test_if_every_edit_is_told_nobody_need_look_for_changes(
    done: list[tuple[str, str | list[str]]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Home.begun(Path(folder))
        for what, about in done:
            for name in home.happen(what, about):
                home.tell(name)

        home.agent.settle()

        assert home.is_as_if_fresh()
