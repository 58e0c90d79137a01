"""An agent whose notes QMD indexes: the folders of its collections, and its own times."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ocmem.backends.qmd import collections, walk
from ocmem.backends.qmd.collections import Collection
from ocmem.core import files
from ocmem.model import Source
from ocmem.settings import Settings
from ocmem.watch.places import Place
from ocmem.watch.watcher import Run, Stamps, Watched, schedule_of


@dataclass(frozen=True, slots=True)
class QmdGround:
    """What QMD's index is made of; sessions by their transcripts, before they are exported."""

    settings: Settings
    collections: tuple[Collection, ...]

    @property
    def index(self) -> Path:
        return self.settings.qmd.database

    def sources(self) -> tuple[Source, ...]:
        return tuple(dict.fromkeys(each.source for each in self.collections))

    def places(self, sources: tuple[Source, ...]) -> list[Place]:
        found = [_place(each) for each in self.collections if each.kind != "sessions"]
        if "sessions" in sources:
            found.append(Place(str(self.settings.sessions_dir), "sessions", is_recursive=False))
        return list(dict.fromkeys(found))

    def look(self, sources: tuple[Source, ...]) -> Stamps:
        seen: Stamps = {}
        if "memory" in sources:
            for collection in self.collections:
                if collection.kind != "sessions":
                    for each in walk.walk(collection):
                        if not each.is_folder:
                            seen["memory", each.location] = each.stamp
        if "sessions" in sources:
            found = files.discover(self.settings, ["sessions"])
            seen |= {(file.source, file.path): file.stamp for file in found.files}
        return seen


def watched(
    settings: Settings,
    run: Run,
    *,
    keep: Callable[[], object],
    now_ms: int,
    quiet_ms: int | None = None,
) -> Watched:
    """By `memory.qmd.update`: at the start, after changes and in intervals."""
    update = settings.qmd.update
    schedule = schedule_of(
        settings,
        quiet_ms=update.debounce_ms if quiet_ms is None else quiet_ms,
        interval_ms=update.interval_ms,
    )
    ground = QmdGround(settings, collections.wanted(settings.qmd).collections)
    agent = Watched(settings, ground, run, schedule, ground.sources(), keep)
    if not update.on_boot:
        schedule.put_off(now_ms=now_ms)
        agent.take_as_seen()
    return agent


def _place(collection: Collection) -> Place:
    root, pattern = str(collection.root), collection.pattern
    if not walk.is_wild(pattern):
        return Place(root, "memory", is_recursive=False, names=frozenset({pattern}))
    suffix = ".md" if pattern.endswith(".md") else ""
    return Place(root, "memory", is_recursive=walk.goes_deep(pattern), suffix=suffix)
