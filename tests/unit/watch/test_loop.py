"""The loop: what it does in which turn, with a clock that only waiting and working move on."""

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ocmem.core import files
from ocmem.errors import EmbedderError, IndexBusy
from ocmem.model import Source, SyncReport
from ocmem.settings import Settings
from ocmem.watch import observer
from ocmem.watch.observer import Sighting, Watches
from ocmem.watch.watcher import Outcome, watch, watched
from tests.unit.bad_disk import BadDisk
from tests.unit.chats import OPTED_IN, Chats, long_turns

Happening = Callable[[], object]


class Over(Exception):
    """The time of the test is."""


class Deaf:
    """An observer that reports nothing, or one that cannot be had."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails

    def start(self) -> None:
        if self.fails:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    def schedule(self, *_: object, **__: object) -> None: ...

    def stop(self) -> None: ...

    def join(self, timeout: float) -> None: ...


@dataclass
class Stage(Watches):
    """Waiting takes no time: it makes happen what happens meanwhile."""

    now_ms: int = 0
    until_ms: int = 0
    coming: list[tuple[int, Happening]] = field(default_factory=list)
    turns: int = 0

    def wait(self, timeout_s: float) -> Iterator[Sighting]:
        self.turns += 1
        self.now_ms += max(1, round(timeout_s * 1000))
        while self.coming and self.coming[0][0] <= self.now_ms:
            self.coming.pop(0)[1]()
        if self.now_ms > self.until_ms:
            raise Over
        return iter(())


class Show:
    """A watcher of one home, in which things happen at their time."""

    def __init__(self, chats: Chats) -> None:
        self.chats = chats
        self.stage = Stage(self._tell)
        self.told: list[str] = []
        self.seen: list[tuple[int, Outcome]] = []  # with the second in which it was shown
        self.works: list[Happening] = []  # what the next syncs do besides

    def _tell(self, text: str) -> None:
        self.told.append(text)

    def at(self, seconds: int, happening: Happening) -> None:
        self.stage.coming.append((seconds * 1000, happening))

    def work(self, only: tuple[Source, ...]) -> tuple[Settings, SyncReport]:
        if self.works:
            self.works.pop(0)()
        return self.chats.settings, self.chats.index(only=only)

    def take(self, seconds: int, error: Exception | None = None) -> None:
        """Let the next sync take that long, and maybe come to nothing."""

        def work() -> None:
            self.stage.now_ms += seconds * 1000
            if error is not None:
                raise error

        self.works.append(work)

    def play(self, *keeps: Callable[[], object], seconds: int) -> list[tuple[int, str]]:
        """Watch for that long, an agent for each lock; when which files were seen to change."""
        self.stage.until_ms = seconds * 1000
        settings = self.chats.settings
        locks = keeps or (lambda: False,)
        agents = [watched(settings, self.work, keep=keep) for keep in locks]
        with contextlib.suppress(Over):
            watch(agents, self.stage, self._see, clock=lambda: self.stage.now_ms)
        return list(self._changes())

    def _see(self, outcome: Outcome) -> None:
        self.seen.append((self.stage.now_ms // 1000, outcome))

    def _changes(self) -> Iterator[tuple[int, str]]:
        for at, outcome in self.seen:
            if isinstance(outcome.report, SyncReport):
                yield from ((at, path) for path in outcome.report.changed_paths)

    @property
    def reasons(self) -> list[tuple[int, str]]:
        return [(at, outcome.due.reason) for at, outcome in self.seen]


@pytest.fixture
def chats(tmp_path: Path) -> Chats:
    chats = Chats(tmp_path)
    chats.configure()
    return chats


@pytest.fixture
def show(chats: Chats, monkeypatch: pytest.MonkeyPatch) -> Show:
    monkeypatch.setattr(observer, "Observer", Deaf)
    return Show(chats)


def test_where_no_observer_can_be_had_changes_are_seen_by_looking(
    chats: Chats, show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observer, "Observer", lambda: Deaf(fails=True))
    show.at(21, lambda: chats.write(a="alpha"))

    assert show.play(seconds=60) == [(26, "memory/a.md")]
    assert any("looked at every few seconds: the limit of inotify" in text for text in show.told)


def test_a_lost_event_is_made_up_for_within_a_minute(chats: Chats, show: Show) -> None:
    show.at(20, lambda: chats.write(a="alpha"))

    assert show.play(seconds=120) == [(61, "memory/a.md")]


def test_between_the_looks_at_all_files_only_the_places_are_looked_at(
    show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    discover = files.discover

    def counted(*args: object, **options: object) -> files.Discovery:
        looks.append(show.stage.now_ms)
        return discover(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(files, "discover", counted)

    show.play(seconds=179)

    assert [at for at in looks if at] == [60_000, 120_000]
    assert show.stage.turns == 36


def replace_folder(folder: Path, **notes: str) -> None:
    """What `rsync`, `git` or a person does: the new one comes as a whole."""
    new = folder.with_name("new")
    new.mkdir()
    for name, text in notes.items():
        (new / f"{name}.md").write_text(text)
    folder.rename(folder.with_name("old"))
    new.rename(folder)


def test_a_replaced_folder_is_looked_into_within_seconds(chats: Chats, show: Show) -> None:
    extra = chats.root / "extra" / "notes"
    extra.mkdir(parents=True)
    chats.configure(extraPaths=[str(extra)])
    show.at(8, lambda: replace_folder(extra, b="beta"))

    assert show.play(seconds=50) == [(11, "../../extra/notes/b.md")]


def test_a_replaced_folder_of_transcripts_is_looked_into_within_seconds(
    chats: Chats, show: Show
) -> None:
    chats.configure(**OPTED_IN)
    text = chats.say("monday", *["hello"] * 60).read_text()

    def replace() -> None:
        chats.folder.rename(chats.folder.with_name("old"))
        chats.folder.mkdir()
        (chats.folder / "tuesday.jsonl").write_text(text)

    show.at(8, replace)

    assert (15, "sessions/tuesday.jsonl") in show.play(seconds=50)


def test_a_workspace_link_that_leads_elsewhere_is_followed_within_seconds(
    chats: Chats, show: Show
) -> None:
    chats.write(a="alpha")
    other = chats.root / "other"
    shutil.copytree(chats.workspace, other)
    (other / "memory" / "b.md").write_text("beta")
    chats.workspace.rename(chats.root / "real")
    chats.workspace.symlink_to(chats.root / "real")

    def turn() -> None:
        chats.workspace.unlink()
        chats.workspace.symlink_to(other)

    show.at(8, turn)

    assert (11, "memory/b.md") in show.play(seconds=50)


def test_after_a_long_failure_the_next_try_comes_no_sooner(show: Show) -> None:
    show.take(60, EmbedderError("no"))
    show.take(60, EmbedderError("no"))

    show.play(seconds=200)

    assert show.reasons == [(60, "start"), (135, "retry"), (165, "retry")]


def test_after_a_long_sync_the_interval_begins_anew(chats: Chats, show: Show) -> None:
    chats.configure(sync={"intervalMinutes": 1})
    show.take(90)

    show.play(seconds=160)

    assert show.reasons == [(90, "start"), (150, "interval")]


def test_a_sync_that_the_system_fails_ends_no_watcher(chats: Chats, show: Show) -> None:
    show.take(0, OSError(errno.EIO, os.strerror(errno.EIO), "/mnt/a.md"))
    show.at(1, lambda: chats.write(a="alpha"))

    assert show.play(seconds=30) == [(15, "memory/a.md")]
    failed = show.seen[0][1]
    assert str(failed.error) == "Input/output error: /mnt/a.md"


def test_a_transcript_that_broke_off_is_read_again_when_the_disk_is_well(
    chats: Chats, show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    chats.configure(**OPTED_IN)
    chats.say("a", "alpha")
    chats.say("b", *long_turns(3))
    disk = BadDisk(monkeypatch, "b", lines=1)
    show.at(3, lambda: setattr(disk, "is_bad", False))

    seen = show.play(seconds=60)

    assert seen == [(0, "sessions/a.jsonl"), (15, "sessions/b.jsonl")]


@pytest.mark.parametrize("is_at_once", [True, False])
def test_an_index_that_was_removed_is_made_again(
    chats: Chats, show: Show, is_at_once: bool
) -> None:
    chats.write(a="alpha")
    if is_at_once:
        show.at(7, lambda: shutil.rmtree(chats.index_path.parent))
    else:
        show.at(7, chats.index_path.unlink)

    assert show.play(seconds=30) == [(0, "memory/a.md"), (10, "memory/a.md")]


def busy() -> bool:
    raise IndexBusy("it is watched by another")


def test_an_agent_that_another_watches_by_now_is_let_go_and_the_others_are_not(
    chats: Chats, show: Show
) -> None:
    show.at(20, lambda: chats.write(a="alpha"))

    assert show.play(busy, lambda: False, seconds=120) == [(61, "memory/a.md")]
    lost = [outcome for _, outcome in show.seen if outcome.is_last]
    assert [(outcome.due.reason, str(outcome.error)) for outcome in lost] == [
        ("lost", "it is watched by another")
    ]


def test_without_an_agent_left_there_is_nothing_to_wait_for(show: Show) -> None:
    show.play(busy, busy, seconds=10)

    assert show.reasons == [(0, "lost"), (0, "lost")]
    assert show.stage.turns == 0
