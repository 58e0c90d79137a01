"""The answers of one or several agents, as one list."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ocmem.backends.answer import Answer
from ocmem.backends.roots import qmd_roots
from ocmem.core import virtual
from ocmem.core.merge import rescored
from ocmem.model import Hit
from ocmem.settings import Fallback, Settings


@dataclass(frozen=True, slots=True)
class Answered:
    """One agent and its answer; None where it failed, or where memory search is off for it."""

    settings: Settings
    answer: Answer | None
    error: str | None = None
    instead_of: Fallback | None = None  # the backend that was to answer, where no other could


@dataclass(frozen=True, slots=True)
class AgentHit:
    agent_id: str
    hit: Hit


def comparable(answered: Sequence[Answered]) -> list[Answered]:
    """The answers with scores on one scale, where each had a scale of its own."""
    measured = [
        (each.answer.yardstick, list(zip(each.answer.hits, each.answer.evidence, strict=True)))
        for each in answered
        if each.answer is not None and each.answer.yardstick is not None
    ]
    if not measured:
        return list(answered)
    lists = iter(rescored(measured))
    return [
        replace(each, answer=replace(each.answer, hits=next(lists)))
        if each.answer is not None and each.answer.yardstick is not None
        else each
        for each in answered
    ]


def _path(answered: Answered, path: str) -> str:
    """Where a file is: agents may share a folder that each has as a collection of its own."""
    if answered.answer is None or answered.answer.backend != "qmd":
        return path
    name, _, inner = path.removeprefix(virtual.FOLDER).partition("/")
    root = (qmd_roots(answered.settings) or {}).get(name)
    is_virtual = path.startswith(virtual.FOLDER) and root is not None
    return f"{root}/{inner}" if is_virtual else path


def merged(answered: Sequence[Answered]) -> list[AgentHit]:
    """All hits, best first, what several agents share once; a single list keeps its order."""
    found: dict[tuple[object, ...], AgentHit] = {}
    for each in comparable(answered):
        for hit in each.answer.hits if each.answer is not None else ():
            chunk = hit.chunk
            location = f"{each.settings.agent_id}:{chunk.path}"
            if chunk.source != "sessions":
                location = os.path.normpath(each.settings.workspace / _path(each, chunk.path))
            place = (location, chunk.start_line, chunk.end_line, chunk.hash)
            better = found.get(place)
            if better is None or hit.score > better.hit.score:
                found[place] = AgentHit(each.settings.agent_id, hit)
    if len(answered) == 1:
        return list(found.values())
    return sorted(found.values(), key=lambda each: -each.hit.score)
