"""The loop: wait for something to happen, sync what is due, say what came of it."""

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from ocmem.core import files, freshness
from ocmem.core.session_files import FOLDER
from ocmem.core.store import open_existing, rows
from ocmem.errors import IndexUnavailable, OcmemError
from ocmem.model import Source, Stamp, SyncReport
from ocmem.settings import Settings
from ocmem.watch.observer import Watches
from ocmem.watch.places import Place, places_of
from ocmem.watch.schedule import Due, Schedule

SWEEP_MS = 60_000  # a look at all files, in case an event was lost
POLL_MS = 5_000  # the same where events cannot be had, or where a folder is missing

# Syncs some sources, or all; also gives the settings that were used: a fallback's, maybe.
Run = Callable[[tuple[Source, ...]], tuple[Settings, SyncReport]]
Stamps = dict[tuple[Source, str], Stamp]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a sync did, or why it could not."""

    settings: Settings
    due: Due
    report: SyncReport | None = None
    error: OcmemError | None = None


@dataclass(slots=True)
class Watched:
    """One agent: its files as last seen, and what is to be done about them."""

    settings: Settings
    run: Run
    schedule: Schedule
    sources: tuple[Source, ...] = ()
    _stamps: Stamps = field(default_factory=dict)

    def places(self) -> list[Place]:
        return places_of(self.settings, self.sources)

    def step(self, *, now_ms: int) -> Outcome | None:
        """Do what is due, if anything is."""
        due = self.schedule.take_due(self._size_of, now_ms=now_ms)
        if due is None:
            return None
        self.sources = sources_of(self.settings)
        # Looked at before they are read: what changes meanwhile will look different later.
        seen = self._look(due.only or self.sources)
        others = {key: stamp for key, stamp in self._stamps.items() if key[0] not in due.only}
        self._stamps = {**others, **seen} if due.only else seen
        try:
            used, report = self.run(due.only)
        except OcmemError as error:
            self.schedule.failed(now_ms=now_ms)
            return Outcome(self.settings, due, error=error)
        except OSError as error:  # a file that can be listed, and then not be read to its end
            self.schedule.failed(now_ms=now_ms)
            failure = OcmemError(f"{error.strerror}: {error.filename or 'a file'}")
            return Outcome(self.settings, due, error=failure)
        self.sources = sources_of(self.settings)
        sizes = {path: stamp.size for (kind, path), stamp in seen.items() if kind == "sessions"}
        self.schedule.succeeded(due, sizes, now_ms=now_ms, is_complete=report.pending is None)
        return Outcome(used, due, report)

    def touch(self, source: Source, location: str, *, now_ms: int) -> None:
        """A file was changed, or may have been."""
        name = location.rsplit("/", 1)[-1]
        path = f"{FOLDER}{name}" if source == "sessions" else location
        self.schedule.touch(source, path, now_ms=now_ms)

    def sweep(self, *, now_ms: int) -> None:
        """Look for changes that nobody has told about."""
        before, self._stamps = self._stamps, self._look(self.sources)
        for key in before.keys() | self._stamps.keys():
            if before.get(key) != self._stamps.get(key):
                source, path = key
                self.schedule.touch(source, path, now_ms=now_ms)

    def _look(self, sources: tuple[Source, ...]) -> Stamps:
        found = files.discover(self.settings, sources)
        return {(file.source, file.path): file.stamp for file in found.files}

    def _size_of(self, path: str) -> int | None:
        try:
            return _location(self.settings, path).stat().st_size
        except OSError:
            return None


def watched(settings: Settings, run: Run, *, quiet_ms: int | None = None) -> Watched:
    """An agent as its settings want it to be watched; `quiet_ms` is an option that beats them."""
    limits = settings.search.watch

    def count(path: str, start: int, end: int) -> int:
        return count_lines(_location(settings, path), start, end)

    schedule = Schedule(
        quiet_ms=limits.debounce_ms if quiet_ms is None else quiet_ms,
        interval_ms=limits.interval_minutes * 60_000,
        delta_bytes=limits.delta_bytes,
        delta_messages=limits.delta_messages,
        count_lines=count,
    )
    return Watched(settings, run, schedule, sources_of(settings))


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


def watch(agents: Sequence[Watched], watches: Watches, show: Callable[[Outcome], None]) -> NoReturn:
    """Until somebody interrupts."""
    next_sweep_ms: float = 0
    while True:
        # Before the files are looked at: what happens from here on is told.
        armed = [watches.arm(at, agent.places()) for at, agent in enumerate(agents)]
        for agent in agents:
            outcome = agent.step(now_ms=_now_ms())
            if outcome is not None:
                show(outcome)
        now_ms = _now_ms()
        pause_ms = SWEEP_MS if all(armed) else POLL_MS
        next_sweep_ms = min(next_sweep_ms or math.inf, now_ms + pause_ms)
        times = (agent.schedule.next_ms for agent in agents)
        next_ms = min((time for time in times if time is not None), default=next_sweep_ms)
        for sighting in watches.wait(max(0, min(next_ms, next_sweep_ms) - now_ms) / 1000):
            agents[sighting.agent].touch(sighting.source, sighting.path, now_ms=_now_ms())
        if _now_ms() >= next_sweep_ms:
            next_sweep_ms = 0
            for agent in agents:
                agent.sweep(now_ms=_now_ms())


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def _location(settings: Settings, path: str) -> Path:
    """Where a transcript is that the index calls `path`."""
    return settings.sessions_dir / path.removeprefix(FOLDER)
