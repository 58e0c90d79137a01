"""A search catches up first, but never holds a person up or spends unasked."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ocmem.backends import builtin
from ocmem.backends.answer import Answer
from ocmem.core import lock
from ocmem.errors import EmbedderError
from ocmem.model import Vector
from tests.unit.notes import Notes, names
from tests.unit.place import Ahead, Words

HINT = "run: ocmem index"
SMALL_CHUNKS = {"tokens": 10, "overlap": 0}  # a line of 36 characters is one
OTHER_CHUNKS = {"tokens": 12, "overlap": 0}


class Meter(Words):
    """An embedder that notes how long each call may take, and can be out of order."""

    def __init__(self) -> None:
        super().__init__()
        self.allowed_s: list[float] = []
        self.queries: list[float] = []  # how long each might take
        self.is_down = False

    def embed_documents(self, texts: Sequence[str], *, timeout_s: float) -> list[Vector]:
        self.allowed_s.append(timeout_s)
        if self.is_down:
            raise EmbedderError("the server did not answer")
        return super().embed_documents(texts, timeout_s=timeout_s)

    def embed_query(self, text: str, *, timeout_s: float) -> Vector:
        self.queries.append(timeout_s)
        return super().embed_query(text, timeout_s=timeout_s)


class Diary(Notes):
    """Notes whose provider costs money, unless a test chooses another; every line is a chunk."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.meter = Meter()
        self.embedder = self.meter

    def configure(self, *, own: dict[str, Any] | None = None, **memory_search: Any) -> None:  # noqa: ANN401
        super().configure(own=own, **{"chunking": SMALL_CHUNKS, **memory_search})

    def start(self, **settings: Any) -> None:  # noqa: ANN401
        """An index with one note in it."""
        self.configure(**settings)
        self.keep(old="the old heron")
        self.meter.asked.clear()
        self.meter.allowed_s.clear()

    def add(self, count: int) -> None:
        """One more note, of so many chunks."""
        lines = [f"{n:03} new heron on the old pier today" for n in range(count)]
        if lines:
            self.write(new="\n".join(lines))

    def add_notes(self, count: int) -> None:
        """So many notes of one chunk each."""
        self.write(**{f"new{n}": f"new heron {n}" for n in range(count)})

    def drop(self, name: str) -> None:
        (self.memory / f"{name}.md").unlink()

    def search_now(self) -> Answer:
        self.meter.asked.clear()
        return self.ask("heron", sync=True, ranker="fused", max_results=200)

    @property
    def inode(self) -> int:
        """Another one after a full rebuild, which swaps a new file in."""
        return self.index_path.stat().st_ino


@pytest.fixture
def diary(tmp_path: Path) -> Diary:
    return Diary(tmp_path)


def assert_stale(answer: Answer) -> None:
    assert answer.stale
    assert any(HINT in warning for warning in answer.warnings)
    assert names(answer.hits) == ["old"]


def assert_fresh(answer: Answer, *, hits: int) -> None:
    assert not answer.stale
    assert answer.warnings == ()
    assert len(answer.hits) == hits


# --- what is free -------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", ["builtin", "none"])
def test_what_costs_nothing_is_always_brought_up_to_date(diary: Diary, provider: str) -> None:
    diary.start(own={"provider": provider})
    diary.add(60)

    assert_fresh(diary.search_now(), hits=61)


def test_what_costs_nothing_has_no_time_limit(diary: Diary) -> None:
    diary.start(own={"provider": "builtin"})
    diary.add(3)

    diary.search_now()

    assert diary.meter.allowed_s
    assert min(diary.meter.allowed_s) > builtin.SYNC_BEFORE_SEARCH_S


# --- what is paid for ---------------------------------------------------------------------------


def test_fifty_chunks_are_embedded_before_a_search(diary: Diary) -> None:
    diary.start()
    diary.add(50)

    assert_fresh(diary.search_now(), hits=51)
    assert len(diary.meter.asked) == 50


def test_fifty_one_chunks_are_not(diary: Diary) -> None:
    diary.start()
    before = diary.rows()
    diary.add(51)

    assert_stale(diary.search_now())
    assert diary.meter.asked == []
    assert diary.rows() == before


def test_the_chunks_of_all_files_count_together(diary: Diary) -> None:
    diary.start()
    diary.add(49)
    diary.add_notes(2)

    assert_stale(diary.search_now())
    diary.drop("new0")
    assert_fresh(diary.search_now(), hits=51)


def test_what_is_in_the_cache_costs_nothing(diary: Diary) -> None:
    diary.start()
    diary.add(51)
    diary.index()
    diary.drop("new")
    diary.index()
    diary.add(60)

    assert_fresh(diary.search_now(), hits=61)
    assert len(diary.meter.asked) == 9


def test_a_cache_that_is_switched_off_pays_for_nothing(diary: Diary) -> None:
    diary.start()
    diary.add(51)
    diary.index()
    diary.drop("new")
    diary.index()
    diary.configure(cache={"enabled": False})
    diary.add(51)

    assert_stale(diary.search_now())
    assert diary.meter.asked == []


def test_a_text_that_is_there_many_times_is_paid_for_once(diary: Diary) -> None:
    diary.start()
    diary.add(30)
    text = (diary.memory / "new.md").read_text()
    diary.write(copy=text)

    assert_fresh(diary.search_now(), hits=61)
    assert len(diary.meter.asked) == 30


def test_a_deleted_note_is_forgotten_whatever_else_there_is_to_do(diary: Diary) -> None:
    diary.start()
    diary.keep(gone="a heron that left")
    diary.drop("gone")

    assert_fresh(diary.search_now(), hits=1)
    assert diary.meter.asked == []


def test_with_nothing_to_do_nothing_is_done(diary: Diary) -> None:
    diary.start()
    before = diary.index_path.read_bytes()

    assert_fresh(diary.search_now(), hits=1)
    assert diary.meter.allowed_s == []
    assert diary.index_path.read_bytes() == before


# --- five seconds -------------------------------------------------------------------------------


def test_paid_chunks_have_five_seconds_together(diary: Diary) -> None:
    diary.start()
    diary.add_notes(5)

    diary.search_now()

    assert len(diary.meter.allowed_s) == 5
    assert all(0 < allowed <= 5.0 for allowed in diary.meter.allowed_s)
    assert diary.meter.allowed_s == sorted(diary.meter.allowed_s, reverse=True)


def test_when_the_time_is_up_the_answer_comes_from_what_is_there(
    diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    diary.start()
    diary.add(2)
    monkeypatch.setattr(builtin, "SYNC_BEFORE_SEARCH_S", 0.0)

    assert_stale(diary.search_now())
    assert diary.meter.asked == []


def test_a_provider_that_was_too_slow_is_left_alone_for_a_while(
    diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    diary.start()
    diary.add(2)
    monkeypatch.setattr(builtin, "SYNC_BEFORE_SEARCH_S", 0.0)
    first = diary.search_now()
    monkeypatch.undo()

    second = diary.search_now()
    asked = list(diary.meter.asked)
    diary.clock = Ahead(seconds=60 + 600)
    third = diary.search_now()

    assert "0 s were not enough to bring the index up to date (0 chunks embedded)" in "".join(
        first.warnings
    )
    assert_stale(second)
    assert asked == []
    assert_fresh(third, hits=3)


def test_an_index_run_ends_that_rest(diary: Diary, monkeypatch: pytest.MonkeyPatch) -> None:
    diary.start()
    diary.add(2)
    monkeypatch.setattr(builtin, "SYNC_BEFORE_SEARCH_S", 0.0)
    diary.search_now()
    monkeypatch.undo()
    diary.index()

    diary.write(later="a later heron")

    assert_fresh(diary.search_now(), hits=4)


def test_no_call_is_begun_that_would_hardly_end_in_time(
    diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    diary.start()
    diary.meter.concurrency = 1
    diary.add_notes(4)

    def take_two_seconds() -> None:
        now[0] += 2.0

    diary.meter.before = take_two_seconds
    answer = diary.search_now()

    assert answer.stale
    assert len(diary.meter.asked) == 2  # the third would have one second
    assert "(2 chunks embedded)" in "".join(answer.warnings)


def test_a_query_does_not_wait_long_for_a_provider_that_was_slow(
    diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    diary.start()
    diary.add(2)
    diary.search_now()
    diary.add(3)
    monkeypatch.setattr(builtin, "SYNC_BEFORE_SEARCH_S", 0.0)

    diary.search_now()

    assert diary.meter.queries == [30.0, 0.0]


def test_a_provider_that_fails_does_not_keep_the_answer_back(diary: Diary) -> None:
    diary.start()
    diary.add(2)
    diary.meter.is_down = True

    answer = diary.search_now()

    assert_stale(answer)
    assert any("the server did not answer" in warning for warning in answer.warnings)
    assert answer.mode == "fts-only"
    assert answer.degraded == "the server did not answer"
    assert diary.meter.queries == []  # once is enough to know


def test_what_arrived_in_time_is_not_paid_for_again(diary: Diary) -> None:
    diary.start()
    diary.add_notes(3)

    def fail_at_the_third() -> None:
        diary.meter.is_down = len(diary.meter.asked) == 2
        if diary.meter.is_down:
            raise EmbedderError("the server did not answer")

    diary.meter.before = fail_at_the_third
    assert_stale(diary.search_now())
    diary.meter.before = lambda: None
    diary.meter.is_down = False

    assert_fresh(diary.search_now(), hits=4)
    assert len(diary.meter.asked) == 1


# --- no index yet -------------------------------------------------------------------------------


def test_without_an_index_everything_is_indexed_however_much_it_is(diary: Diary) -> None:
    diary.add(60)

    assert_fresh(diary.search_now(), hits=60)
    assert min(diary.meter.allowed_s) > builtin.SYNC_BEFORE_SEARCH_S


def test_a_first_run_that_was_cut_off_left_no_index(diary: Diary) -> None:
    diary.add(60)
    diary.meter.is_down = True
    with pytest.raises(EmbedderError):
        diary.search_now()
    diary.meter.is_down = False

    assert diary.index_path.exists()
    assert_fresh(diary.search_now(), hits=60)


# --- never a full rebuild -----------------------------------------------------------------------


def another_model(diary: Diary) -> None:
    diary.configure(model="text-embedding-3-large")


def another_endpoint(diary: Diary) -> None:
    diary.configure(remote={"baseUrl": "http://127.0.0.1:10/v1", "apiKey": "k"})


def other_chunks(diary: Diary) -> None:
    diary.configure(chunking=OTHER_CHUNKS)


def no_fingerprint(diary: Diary) -> None:
    diary.sql("DELETE FROM meta")


def unreadable_fingerprint(diary: Diary) -> None:
    diary.sql("UPDATE meta SET value = '{nonsense'")


@pytest.mark.parametrize(
    "change",
    [another_model, another_endpoint, other_chunks, no_fingerprint, unreadable_fingerprint],
)
@pytest.mark.parametrize("count", [0, 1], ids=["same files", "a new file"])
def test_a_search_never_rebuilds_an_index_that_is_in_use(
    diary: Diary, change: Callable[[Diary], None], count: int
) -> None:
    diary.start()
    change(diary)
    before, inode = diary.rows(), diary.inode
    diary.add(count)

    assert_stale(diary.search_now())
    assert diary.meter.asked == []
    assert (diary.rows(), diary.inode) == (before, inode)


@pytest.mark.parametrize("count", [0, 1], ids=["same files", "a new file"])
def test_vectors_that_were_switched_on_wait_for_an_index_run(diary: Diary, count: int) -> None:
    diary.start(store={"vector": {"enabled": False}})
    diary.configure()
    before, inode = diary.rows(), diary.inode
    diary.add(count)

    assert_stale(diary.search_now())
    assert diary.ask("heron", sync=False).stale
    assert (diary.rows(), diary.inode) == (before, inode)
    assert diary.index().full
    assert_fresh(diary.search_now(), hits=1 + count)


def test_even_a_rebuild_that_costs_nothing_is_left_to_an_index_run(diary: Diary) -> None:
    diary.start(own={"provider": "none"})
    diary.configure(own={"provider": "none", "chunking": OTHER_CHUNKS})
    inode = diary.inode
    diary.add(1)

    assert_stale(diary.search_now())
    assert diary.inode == inode
    assert diary.index().full
    assert_fresh(diary.search_now(), hits=2)


# --- not now ------------------------------------------------------------------------------------


def test_another_run_is_not_waited_for(diary: Diary) -> None:
    diary.start()
    diary.add(1)

    with lock.writing(diary.index_path, wait_s=0, command="index"):
        answer = diary.search_now()

    assert answer.stale
    assert any("answering from what is there" in warning for warning in answer.warnings)
    assert names(answer.hits) == ["old"]


def test_without_its_key_a_changed_note_is_reported_and_not_written(diary: Diary) -> None:
    diary.start()
    before = diary.rows()
    diary.add(1)
    diary.configure(remote={"baseUrl": "http://127.0.0.1:9/v1"})

    answer = diary.search_now()

    assert answer.stale
    assert any("No API key found" in warning for warning in answer.warnings)
    assert diary.rows() == before


@pytest.mark.parametrize("provider", ["openai", "builtin", "none"])
@pytest.mark.parametrize("count", [0, 1], ids=["same files", "a new file"])
def test_a_search_that_must_not_sync_only_says_whether_it_should_have(
    diary: Diary, provider: str, count: int
) -> None:
    diary.start(own={"provider": provider})
    before = diary.rows()
    diary.add(count)

    answer = diary.ask("heron", sync=False)

    assert answer.stale is bool(count)
    assert diary.rows() == before
