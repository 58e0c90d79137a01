"""The loop: wait for something to happen, sync what is due, say what came of it."""

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ocmem.core import files, freshness
from ocmem.core.session_files import FOLDER
from ocmem.core.store import open_existing, rows
from ocmem.errors import IndexBusy, IndexUnavailable, OcmemError
from ocmem.model import Source, Stamp
from ocmem.settings import Settings
from ocmem.watch.observer import Arming, Watches
from ocmem.watch.places import Place, places_of
from ocmem.watch.schedule import Due, Schedule

SWEEP_MS = 60_000  # between two looks at all files, in case an event was lost
POLL_MS = 5_000  # the same where events cannot be had, or where a folder is missing
TURN_MS = 5_000  # between two looks at the places themselves, which may be replaced unseen

# Syncs some sources, or all; also gives the settings that were used: a fallback's, maybe.
Run = Callable[[tuple[Source, ...]], tuple[Settings, "Report"]]
Stamps = dict[tuple[Source, str], Stamp]
Clock = Callable[[], int]  # in milliseconds, and never put back


class Report(Protocol):
    """What a sync did. The watcher only asks whether something was left for later, or failed."""

    @property
    def is_complete(self) -> bool: ...

    @property
    def skipped(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a sync did, or why it could not."""

    settings: Settings
    due: Due
    report: Report | None = None
    error: OcmemError | None = None
    is_last: bool = False  # nothing more comes from that agent


class Ground(Protocol):
    """What is watched for an agent: the files behind an index."""

    @property
    def index(self) -> Path: ...

    def sources(self) -> tuple[Source, ...]: ...

    def places(self, sources: tuple[Source, ...]) -> list[Place]: ...

    def look(self, sources: tuple[Source, ...]) -> Stamps: ...


@dataclass(frozen=True, slots=True)
class OwnGround:
    """What the built-in index is made of."""

    settings: Settings

    @property
    def index(self) -> Path:
        return self.settings.index_path

    def sources(self) -> tuple[Source, ...]:
        return sources_of(self.settings)

    def places(self, sources: tuple[Source, ...]) -> list[Place]:
        return places_of(self.settings, sources)

    def look(self, sources: tuple[Source, ...]) -> Stamps:
        found = files.discover(self.settings, sources)
        return {(file.source, file.path): file.stamp for file in found.files}


@dataclass(slots=True)
class Watched:
    """One agent: its files as last seen, and what is to be done about them."""

    settings: Settings
    ground: Ground
    run: Run
    schedule: Schedule
    sources: tuple[Source, ...] = ()
    keep: Callable[[], object] = lambda: None  # the lock, which may have to be taken anew
    _stamps: Stamps | None = None  # None before the first sync, which looks at everything
    _has_index: bool = False  # there was one after the last sync
    _swept_ms: int = 0

    def places(self) -> list[Place]:
        return self.ground.places(self.sources)

    def take_as_seen(self) -> None:
        """What is there now is no reason for a sync."""
        self._stamps = self.ground.look(self.sources)

    def guard(self) -> None:
        """Stay the only watcher of that index; raises IndexBusy if somebody else is by now."""
        self.keep()
        if self._has_index and not self._sees_index():
            self._has_index = False
            self.schedule.start_over()

    def step(self, clock: Clock) -> Outcome | None:
        """Do what is due, if anything is. That may take long, so it takes a clock, not a time."""
        due = self.schedule.take_due(self._size_of, now_ms=clock())
        if due is None:
            return None
        self.sources = self.ground.sources()
        # Looked at before they are read: what changes meanwhile will look different later.
        seen = self.ground.look(due.only or self.sources)
        known = (self._stamps or {}).items() if due.only else ()
        self._stamps = {key: stamp for key, stamp in known if key[0] not in due.only} | seen
        try:
            used, report = self.run(due.only)
        except OcmemError as error:
            self.schedule.failed(now_ms=clock())
            return Outcome(self.settings, due, error=error)
        except OSError as error:
            self.schedule.failed(now_ms=clock())
            failure = OcmemError(f"{error.strerror}: {error.filename or 'a file'}")
            return Outcome(self.settings, due, error=failure)
        self.sources = self.ground.sources()
        sizes = {path: stamp.size for (kind, path), stamp in seen.items() if kind == "sessions"}
        self._has_index = self._sees_index()
        if report.skipped:
            self.schedule.failed(now_ms=clock())  # what could not be read may be well again soon
        else:
            self.schedule.succeeded(due, sizes, now_ms=clock(), is_complete=report.is_complete)
        return Outcome(used, due, report)

    def touch(self, source: Source, location: str, *, now_ms: int) -> None:
        """A file was changed, or may have been."""
        name = location.rsplit("/", 1)[-1]
        path = f"{FOLDER}{name}" if source == "sessions" else location
        self.schedule.touch(source, path, now_ms=now_ms)

    def look_around(self, arming: Arming, clock: Clock) -> None:
        """Sweep if it is time to, or if the places are not those that they were."""
        pause_ms = SWEEP_MS if arming.is_whole else POLL_MS
        if arming.has_changed or clock() - self._swept_ms >= pause_ms:
            self.sweep(now_ms=clock())
            self._swept_ms = clock()

    def sweep(self, *, now_ms: int) -> None:
        """Look for changes that nobody has told about."""
        if self._stamps is None:
            return
        before, self._stamps = self._stamps, self.ground.look(self.sources)
        for key in before.keys() | self._stamps.keys():
            if before.get(key) != self._stamps.get(key):
                source, path = key
                self.schedule.touch(source, path, now_ms=now_ms)

    def _sees_index(self) -> bool:
        return os.path.exists(self.ground.index)  # noqa: PTH110 - Path would raise

    def _size_of(self, path: str) -> int | None:
        try:
            return _location(self.settings, path).stat().st_size
        except OSError:
            return None


def watched(
    settings: Settings,
    run: Run,
    *,
    keep: Callable[[], object] = lambda: None,
    quiet_ms: int | None = None,
) -> Watched:
    """An agent as its settings want it to be watched; `quiet_ms` is an option that beats them."""
    limits = settings.search.watch
    schedule = schedule_of(
        settings,
        quiet_ms=limits.debounce_ms if quiet_ms is None else quiet_ms,
        interval_ms=limits.interval_minutes * 60_000,
    )
    ground = OwnGround(settings)
    return Watched(settings, ground, run, schedule, ground.sources(), keep)


def schedule_of(settings: Settings, *, quiet_ms: int, interval_ms: int) -> Schedule:
    """When to sync; transcripts have the same thresholds whoever indexes them."""
    limits = settings.search.watch

    def count(path: str, start: int, end: int) -> int:
        return count_lines(_location(settings, path), start, end)

    return Schedule(
        quiet_ms=quiet_ms,
        interval_ms=interval_ms,
        delta_bytes=limits.delta_bytes,
        delta_messages=limits.delta_messages,
        count_lines=count,
    )


def sources_of(settings: Settings) -> tuple[Source, ...]:
    """The sources that an index is kept in step with: the settings', and what it has besides."""
    meta = None
    try:
        db = open_existing(settings.index_path, "read")
        if db is not None:
            with db:
                meta = rows.read_meta(db) if rows.is_index(db) else None
    except IndexUnavailable:
        pass  # the sync will say so
    return freshness.indexed_sources(settings, meta)


def count_lines(location: Path, start: int, end: int) -> int:
    """The newlines between two positions of a file; what cannot be read has none."""
    count = 0
    with contextlib.suppress(OSError), location.open("rb") as file:
        file.seek(start)
        while start < end and (block := file.read(min(1 << 16, end - start))):
            count += block.count(b"\n")
            start += len(block)
    return count


def monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def watch(
    agents: Sequence[Watched],
    watches: Watches,
    show: Callable[[Outcome], None],
    *,
    clock: Clock = monotonic_ms,
    each_turn: Callable[[], None] = lambda: None,
) -> None:
    """Until somebody interrupts, or until none of the agents is ours to watch any more."""
    left = dict(enumerate(agents))
    while True:
        each_turn()
        for number, agent in list(left.items()):
            try:
                agent.guard()
            except IndexBusy as error:
                show(Outcome(agent.settings, Due("lost"), error=error, is_last=True))
                watches.drop(number)
                del left[number]
        if not left:
            return
        for number, agent in left.items():
            # Before the files are looked at: what happens from here on is told.
            agent.look_around(watches.arm(number, agent.places()), clock)
        for agent in left.values():
            outcome = agent.step(clock)
            if outcome is not None:
                show(outcome)
        now_ms = clock()
        times = (agent.schedule.next_ms for agent in left.values())
        next_ms = min([now_ms + TURN_MS, *(time for time in times if time is not None)])
        for sighting in watches.wait(max(0, next_ms - now_ms) / 1000):
            if sighting.agent in left:
                left[sighting.agent].touch(sighting.source, sighting.path, now_ms=clock())


def _location(settings: Settings, path: str) -> Path:
    """Where a transcript is that the index calls `path`."""
    return settings.sessions_dir / path.removeprefix(FOLDER)
