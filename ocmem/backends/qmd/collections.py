"""Which collections QMD should have for an agent, and what to change so that it has them. Pure."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ocmem.core import session_markdown
from ocmem.model import Source
from ocmem.settings.qmd import DEFAULT_PATTERN, QmdSettings

Kind = Literal["memory", "custom", "sessions"]

_BASES = (  # of the default memory: name, folder below the workspace, pattern
    ("memory-root", "", "MEMORY.md"),
    ("memory-alt", "", "memory.md"),
    ("memory-dir", "memory", DEFAULT_PATTERN),
)


@dataclass(frozen=True, slots=True)
class Collection:
    """A set of files that QMD indexes under one name. `base` is the name without the agent."""

    name: str
    root: Path
    pattern: str
    kind: Kind
    base: str = ""

    @property
    def source(self) -> Source:
        return "sessions" if self.kind == "sessions" else "memory"


@dataclass(frozen=True, slots=True)
class Listed:
    """A collection as QMD has it; None where QMD does not say."""

    name: str
    root: str | None
    pattern: str | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """The collections that an agent should have, and what could not be had."""

    collections: tuple[Collection, ...]
    warnings: tuple[str, ...] = ()

    def named(self, name: str) -> Collection | None:
        return next((each for each in self.collections if each.name == name), None)

    def of(self, sources: Iterable[Source] | None) -> tuple[Collection, ...]:
        """Those of the sources, or all of them."""
        wanted = None if sources is None else set(sources)
        return tuple(each for each in self.collections if wanted is None or each.source in wanted)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to remove, then what to add, each in this order."""

    removes: tuple[str, ...] = ()
    adds: tuple[Collection, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.removes and not self.adds


def wanted(settings: QmdSettings) -> Wanted:
    """The agent's collections in the order they are made, each place under one name."""
    names = _Names(settings.agent)
    found: list[Collection] = []
    refused = _refusal(settings)
    warnings = [refused] if refused else []
    taken: dict[tuple[str, str], str] = {}
    for base, root, pattern, kind in _places(settings):
        name = names.take(base)  # a place that is left out keeps its name, as the numbers do
        place = (_real(root), pattern)
        if place in taken:
            # QMD refuses a second collection for the same files, and then finds neither.
            warnings.append(f"memory.qmd.paths: {root} ({pattern}) is {taken[place]} already")
            continue
        taken[place] = name
        found.append(Collection(name, root, pattern, kind, _clean(base)))
    return Wanted(tuple(found), tuple(warnings))


def plan(wanted: Iterable[Collection], existing: Iterable[Listed]) -> Plan:
    """What is right stays; so does what belongs to somebody else and is not in the way."""
    listed = {each.name: each for each in existing}
    wanted = tuple(wanted)
    kept = {each.name for each in wanted if _is(each, listed.get(each.name))}
    removes = dict.fromkeys(
        each.name for each in wanted if each.name in listed and each.name not in kept
    )
    adds = tuple(each for each in wanted if each.name not in kept)
    names = {each.name for each in wanted}
    for each in adds:
        # An earlier release named collections without the agent.
        former = None if each.name in listed or each.base in names else listed.get(each.base)
        if former is not None and _is_perhaps(each, former):
            removes[former.name] = None
        # QMD refuses a place that another of its collections has.
        for other in listed.values():
            if other.name not in names and _is(each, other):
                removes[other.name] = None
    return Plan(tuple(removes), adds)


def missing_roots(wanted: Iterable[Collection]) -> tuple[Collection, ...]:
    """Collections whose folder is not there: QMD cannot add them."""
    return tuple(each for each in wanted if not is_folder(each.root))


def lacks(missing: Iterable[Collection], shown: Callable[[Path], str]) -> Iterator[str]:
    """What to tell about folders that are not there; that for sessions is made when need be."""
    for each in missing:
        if each.base == "memory-dir" and each.kind == "memory":
            yield f"memory directory missing ({shown(each.root)})"
        elif each.kind == "custom":
            what = "is no folder" if each.root.exists() else "missing"
            yield f"additional memory path {what} ({shown(each.root)})"


def is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # behind a closed door, or with half a surrogate pair in it
        return False


def overlap(wanted: Iterable[Collection]) -> bool:
    """Whether a file can be in two of them."""
    places = [(f"{_real(each.root)}/", each.pattern) for each in wanted]
    return any(
        inner.startswith(outer) and any(sign in pattern for sign in "*?[{")
        for at, (outer, pattern) in enumerate(places)
        for other, (inner, _) in enumerate(places)
        if at != other
    )


def _places(settings: QmdSettings) -> Iterable[tuple[str, Path, str, Kind]]:
    if settings.includes_default:
        for base, folder, pattern in _BASES:
            yield base, settings.workspace / folder, pattern, "memory"
    for path in settings.paths:
        yield path.name or f"custom-{path.number}", path.location, path.pattern, "custom"
    if settings.exports_sessions and _refusal(settings) is None:
        yield "sessions", settings.export_dir, DEFAULT_PATTERN, "sessions"


def _refusal(settings: QmdSettings) -> str | None:
    """Why no sessions can be exported where the settings want them: nor may they be searched there,
    as everything in that folder would pass for something that was said."""
    if not settings.exports_sessions:
        return None
    return session_markdown.refusal(
        settings.export_dir,
        workspace=settings.workspace,
        sessions_dir=settings.home.parent / "sessions",
    )


@dataclass(slots=True)
class _Names:
    """Names that are an agent's own, each given once."""

    agent: str
    _taken: set[str] = field(default_factory=set)

    def take(self, base: str) -> str:
        stem = _clean(f"{base}-{_clean(self.agent) or 'agent'}") or "collection"
        name, number = stem, 1
        while name in self._taken:
            number += 1
            name = f"{stem}-{number}"
        self._taken.add(name)
        return name


def _clean(text: str) -> str:
    return re.sub(r"[^a-z0-9-]+", "-", text.lower()).strip("-")


def _is(wanted: Collection, listed: Listed | None) -> bool:
    if listed is None or listed.root is None:
        return False
    is_same = listed.pattern is None or listed.pattern == wanted.pattern
    # QMD stored the real path, and leaves out files that a link has led elsewhere since.
    return is_same and os.path.normpath(listed.root) == _real(wanted.root)


def _is_perhaps(wanted: Collection, listed: Listed) -> bool:
    """As `_is`, but what QMD does not say counts as the same."""
    root = listed.root if listed.root is not None else wanted.root
    return _is(wanted, Listed(listed.name, str(root), listed.pattern))


def _real(path: str | Path) -> str:
    try:
        return os.path.realpath(path)  # as QMD stores it
    except ValueError:  # half a surrogate pair: no folder has such a name
        return os.path.normpath(path)
