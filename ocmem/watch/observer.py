"""watchdog's events -> a queue; and which places have to be looked at instead."""

import contextlib
import errno
import logging
import os
import queue
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from ocmem.model import Source
from ocmem.watch.places import Place, why_without_events

# Others tell of reading, which is what a sync does: it would never come to an end.
_CHANGES = ("created", "modified", "deleted", "moved", "closed", "attrib")
_LIMITS = {
    errno.ENOSPC: "the limit of inotify watches is reached (fs.inotify.max_user_watches)",
    errno.EMFILE: "the limit of inotify instances is reached (fs.inotify.max_user_instances)",
}


@dataclass(frozen=True, slots=True)
class Sighting:
    """Something happened to `path`, in a place of the agent with that number."""

    agent: int
    source: Source
    path: str


class _Handler(FileSystemEventHandler):
    def __init__(self, agent: int, place: Place, found: "queue.SimpleQueue[Sighting]") -> None:
        self.is_lost = False  # the folder itself went; one that comes in its place may look alike
        self._agent = agent
        self._place = place
        self._root = os.path.realpath(place.path)
        self._found = found

    def dispatch(self, event: FileSystemEvent) -> None:
        is_folder = event.is_directory
        if event.event_type not in _CHANGES or (is_folder and event.event_type == "modified"):
            return
        if event.event_type in ("deleted", "moved") and os.fsdecode(event.src_path) == self._root:
            self.is_lost = True
            self._tell(self._root)
        for told in (event.src_path, getattr(event, "dest_path", "")):
            path = os.fsdecode(told)
            if path and self._place.cares_about(path, is_folder=is_folder):
                self._tell(path)

    def _tell(self, path: str) -> None:
        self._found.put(Sighting(self._agent, self._place.source, path))


@dataclass(slots=True)
class _Armed:
    """A place under watch: as which folder, and by whom; no observer: it is only looked at."""

    identity: tuple[int, int]
    handler: _Handler
    observer: Any = None

    @property
    def is_lost(self) -> bool:
        return self.observer is not None and self.handler.is_lost


@dataclass(frozen=True, slots=True)
class Arming:
    """How the places of an agent are watched now."""

    is_whole: bool  # every place reports by itself what happens in it
    has_changed: bool  # one came, went or was replaced: nobody has told what is in it now


@dataclass(slots=True)
class Watches:
    """Keeps events coming from places that appear, vanish and are replaced."""

    tell: Callable[[str], None]  # what a person should know
    _found: "queue.SimpleQueue[Sighting]" = field(default_factory=queue.SimpleQueue)
    _armed: dict[tuple[int, Place], _Armed] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)

    def arm(self, agent: int, places: Sequence[Place]) -> Arming:
        """Watch what is there now. Costs little where nothing changed: a look at each place."""
        is_whole, has_changed = True, False
        for place in places:
            key = (agent, place)
            identity = _identity(place.path)
            armed = self._armed.get(key)
            if armed is not None and (armed.identity != identity or armed.is_lost):
                self._disarm(key)
                armed, has_changed = None, True
            if identity is not None and armed is None:
                handler = _Handler(agent, place, self._found)
                armed = _Armed(identity, handler, self._observer(place, handler))
                self._armed[key] = armed
                has_changed = True
            is_whole = is_whole and armed is not None and armed.observer is not None
        return Arming(is_whole, has_changed)

    def drop(self, agent: int) -> None:
        """Nobody cares any more what happens there."""
        for key in [key for key in self._armed if key[0] == agent]:
            self._disarm(key)

    def wait(self, timeout_s: float) -> Iterator[Sighting]:
        """What happens within that time; ends with the first of it, and all that came along."""
        with contextlib.suppress(queue.Empty):
            yield self._found.get(timeout=timeout_s)
            while True:
                yield self._found.get_nowait()

    def stop(self) -> None:
        for key in list(self._armed):
            self._disarm(key)

    def _observer(self, place: Place, handler: _Handler) -> Any:  # noqa: ANN401
        """One for each place: watchdog's own would share a watch between agents, and lose it."""
        why = why_without_events(place.path)
        if why is None:
            # What it has to say of its book-keeping is not for people: a sweep finds what it lost.
            warnings.filterwarnings("ignore", module=r"watchdog\.")
            logging.getLogger("watchdog").addHandler(logging.NullHandler())
            logging.getLogger("watchdog").propagate = False
            observer = Observer()
            try:
                # By its true name: watchdog would watch a link instead of where it leads.
                path = os.path.realpath(place.path)
                observer.schedule(handler, path, recursive=place.is_recursive)
                observer.start()
                return observer
            except OSError as error:
                why = _LIMITS.get(error.errno or 0, error.strerror or str(error))
        if place.path not in self._told:
            self._told.add(place.path)
            self.tell(f"{place.path} is looked at every few seconds: {why}")
        return None

    def _disarm(self, key: tuple[int, Place]) -> None:
        armed = self._armed.pop(key)
        if armed.observer is not None:
            armed.observer.stop()
            armed.observer.join(2.0)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return status.st_dev, status.st_ino
