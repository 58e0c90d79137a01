"""Real events of the file system, and what is done where there are none."""

import errno
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ocmem.watch import observer
from ocmem.watch.observer import Watches
from ocmem.watch.places import Place

PATIENCE_S = 20.0


class Listener:
    """Watches some places of agent 0."""

    def __init__(self, *places: Place) -> None:
        self.told: list[str] = []
        self.places = places
        self.watches = Watches(self.told.append)

    def arm(self) -> bool:
        """Whether every place reports what happens in it."""
        return self.watches.arm(0, self.places).is_whole

    def has_changed(self) -> bool:
        return self.watches.arm(0, self.places).has_changed

    def names(self, until: Callable[[set[str]], bool]) -> set[str]:
        """The names that were heard of, as soon as they suffice."""
        heard: set[str] = set()
        deadline = time.monotonic() + PATIENCE_S
        while not until(heard) and time.monotonic() < deadline:
            heard |= {Path(each.path).name for each in self.watches.wait(0.2)}
        return heard

    def hears_of(self, *names: str) -> bool:
        return self.names(lambda heard: heard.issuperset(names)).issuperset(names)


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Callable[..., Listener]]:
    started: list[Listener] = []

    def listen(*places: Place) -> Listener:
        started.append(Listener(*places))
        return started[-1]

    yield listen
    for listener in started:
        listener.watches.stop()


def notes(folder: Path) -> Place:
    return Place(str(folder), "memory", is_recursive=True)


def test_every_way_to_change_a_note_is_heard_of(
    tmp_path: Path, listening: Callable[..., Listener]
) -> None:
    (tmp_path / "gone.md").write_text("x")
    listener = listening(notes(tmp_path))
    assert listener.arm()

    (tmp_path / "new.md").write_text("x")
    assert listener.hears_of("new.md")
    with (tmp_path / "new.md").open("a") as file:
        file.write("more")
    assert listener.hears_of("new.md")
    (tmp_path / "draft.tmp").write_text("saved by rename")
    (tmp_path / "draft.tmp").replace(tmp_path / "new.md")
    assert listener.hears_of("new.md")
    (tmp_path / "gone.md").unlink()
    assert listener.hears_of("gone.md")


def test_new_and_renamed_folders_are_watched(
    tmp_path: Path, listening: Callable[..., Listener]
) -> None:
    listener = listening(notes(tmp_path))
    listener.arm()

    (tmp_path / "deep" / "er").mkdir(parents=True)
    assert listener.hears_of("deep", "er")
    (tmp_path / "deep" / "er" / "a.md").write_text("x")
    assert listener.hears_of("a.md")
    (tmp_path / "deep").rename(tmp_path / "renamed")
    assert listener.hears_of("renamed")
    (tmp_path / "renamed" / "er" / "b.md").write_text("x")
    assert listener.hears_of("b.md")


def test_reading_is_no_event(tmp_path: Path, listening: Callable[..., Listener]) -> None:
    (tmp_path / "a.md").write_text("x")
    listener = listening(notes(tmp_path))
    listener.arm()

    (tmp_path / "a.md").read_text()
    list(tmp_path.iterdir())
    (tmp_path / "b.md").write_text("x")

    assert listener.names(lambda heard: "b.md" in heard) == {"b.md"}


def test_a_folder_that_was_replaced_is_watched_again(
    tmp_path: Path, listening: Callable[..., Listener]
) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    listener = listening(notes(folder))
    assert listener.arm()

    folder.rmdir()
    assert not listener.arm()
    folder.mkdir()
    assert listener.arm()
    (folder / "a.md").write_text("x")

    assert listener.hears_of("a.md")


def test_only_a_place_that_came_went_or_was_replaced_has_changed(
    tmp_path: Path, listening: Callable[..., Listener]
) -> None:
    folder = tmp_path / "memory"
    listener = listening(notes(folder))
    assert not listener.has_changed()

    folder.mkdir()
    assert listener.has_changed()
    (folder / "a.md").write_text("x")
    assert not listener.has_changed()
    (tmp_path / "new").mkdir()
    (tmp_path / "new").rename(tmp_path / "memory.new")
    folder.rename(tmp_path / "old")
    (tmp_path / "memory.new").rename(folder)
    assert listener.has_changed()
    assert not listener.has_changed()
    folder.rmdir()
    assert listener.has_changed()
    assert not listener.has_changed()


def test_a_folder_renamed_into_place_is_watched_to_its_depths(
    tmp_path: Path, listening: Callable[..., Listener]
) -> None:
    (tmp_path / "outside" / "deep").mkdir(parents=True)
    (tmp_path / "memory").mkdir()
    listener = listening(notes(tmp_path / "memory"))
    listener.arm()

    (tmp_path / "outside").rename(tmp_path / "memory" / "inside")
    assert listener.hears_of("inside")
    (tmp_path / "memory" / "inside" / "deep" / "a.md").write_text("x")

    assert listener.hears_of("a.md")


def test_a_link_that_leads_elsewhere_now_is_followed(
    tmp_path: Path, listening: Callable[..., Listener]
) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "memory").mkdir(parents=True)
    link = tmp_path / "workspace"
    link.symlink_to("one")
    listener = listening(notes(link / "memory"))
    listener.arm()

    (tmp_path / "new").symlink_to("two")
    (tmp_path / "new").replace(link)
    assert listener.has_changed()
    (tmp_path / "two" / "memory" / "a.md").write_text("x")

    assert listener.hears_of("a.md")


def test_of_an_agent_that_was_dropped_nothing_more_is_heard(
    tmp_path: Path, listening: Callable[..., Listener]
) -> None:
    listener = listening(notes(tmp_path))
    listener.arm()
    listener.watches.arm(1, listener.places)
    listener.watches.drop(0)

    (tmp_path / "a.md").write_text("x")

    assert {each.agent for each in listener.watches.wait(PATIENCE_S)} == {1}


def test_a_folder_behind_a_link_is_watched(
    tmp_path: Path, listening: Callable[..., Listener]
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    listener = listening(notes(tmp_path / "link"))
    listener.arm()

    (tmp_path / "real" / "a.md").write_text("x")

    assert listener.hears_of("a.md")


def test_two_agents_may_share_a_folder(tmp_path: Path, listening: Callable[..., Listener]) -> None:
    listener = listening(notes(tmp_path))
    listener.arm()
    listener.watches.arm(1, listener.places)

    (tmp_path / "a.md").write_text("x")

    heard: set[int] = set()
    deadline = time.monotonic() + PATIENCE_S
    while heard != {0, 1} and time.monotonic() < deadline:
        heard |= {each.agent for each in listener.watches.wait(0.2)}
    assert heard == {0, 1}


def test_a_folder_that_came_back_at_once_is_watched_again(
    tmp_path: Path, listening: Callable[..., Listener]
) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    listener = listening(notes(folder))
    listener.arm()

    for number in range(5):  # a file system may give the new one the number of the old one
        folder.rmdir()
        folder.mkdir()
        assert listener.hears_of("memory")
        listener.arm()
        (folder / f"{number}.md").write_text("x")
        assert listener.hears_of(f"{number}.md")
        (folder / f"{number}.md").unlink()


def test_what_one_agent_loses_the_other_keeps(
    tmp_path: Path, listening: Callable[..., Listener]
) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    listener = listening(notes(folder))
    listener.arm()
    listener.watches.arm(1, listener.places)
    folder.rename(tmp_path / "old")
    folder.mkdir()

    listener.arm()
    listener.watches.arm(1, listener.places)
    (folder / "a.md").write_text("x")

    heard: set[int] = set()
    deadline = time.monotonic() + PATIENCE_S
    while heard != {0, 1} and time.monotonic() < deadline:
        sightings = listener.watches.wait(0.2)
        heard |= {each.agent for each in sightings if each.path.endswith("a.md")}
    assert heard == {0, 1}


class Full:
    """An observer of a machine that has no watches left."""

    def __init__(self, when: str, number: int) -> None:
        self.when = when
        self.number = number

    def start(self) -> None:
        self._fail("start")

    def schedule(self, *_: object, **__: object) -> Any:  # noqa: ANN401
        self._fail("schedule")

    def stop(self) -> None: ...

    def join(self, timeout: float) -> None: ...

    def _fail(self, when: str) -> None:
        if when == self.when:
            raise OSError(self.number, os.strerror(self.number))


@pytest.mark.parametrize(
    ("when", "number", "limit"),
    [("schedule", errno.ENOSPC, "max_user_watches"), ("start", errno.EMFILE, "max_user_instances")],
)
def test_where_the_system_has_no_watches_left_files_are_looked_at_and_it_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str, number: int, limit: str
) -> None:
    monkeypatch.setattr(observer, "Observer", lambda: Full(when, number))
    listener = Listener(notes(tmp_path))

    assert not listener.arm()
    assert not listener.arm()

    (told,) = listener.told
    assert told.startswith(f"{tmp_path} is looked at every few seconds: the limit of inotify")
    assert limit in told


def test_a_folder_on_another_machine_is_looked_at_and_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observer, "why_without_events", lambda path: "it is on a nfs4 file system")
    listener = Listener(notes(tmp_path))

    assert not listener.arm()

    assert listener.told == [
        f"{tmp_path} is looked at every few seconds: it is on a nfs4 file system"
    ]


def test_waiting_ends_with_the_time(tmp_path: Path) -> None:
    assert [*Watches(print).wait(0.0)] == []
