"""OpenClaw moved its settings in 2026.8. Both dialects are read, and both end in one shape."""

import re
from typing import Literal

from ocmem.settings import schema
from ocmem.settings.schema import Json

Dialect = Literal["older", "newer"]

_NEWER_SINCE = (2026, 8)


def recognised(values: Json) -> Dialect:
    """By the keys that only one of them has; failing that, by the version that wrote the file."""
    agents, memory = _object(values.get("agents")), _object(values.get("memory"))
    if "entries" in agents or "search" in memory:
        return "newer"
    if "list" in agents or "memorySearch" in _object(agents.get("defaults")):
        return "older"
    if memory.keys() & {"backend", "qmd"}:
        return "older"
    version = str(_object(values.get("meta")).get("lastTouchedVersion") or "")
    numbers = re.match(r"v?(\d{4})\.(\d{1,2})(?!\d)", version)
    is_newer = numbers is not None and (int(numbers[1]), int(numbers[2])) >= _NEWER_SINCE
    return "newer" if is_newer else "older"


def translated(values: Json, *, own: bool) -> Json:
    """Newer settings in the older places: `memory.search` and `agents.entries` move.

    What newer releases have removed is dropped, except from ocmem's own file.
    """
    memory = _object(values.get("memory"))
    agents = _object(values.get("agents"))
    entries = agents.get("entries")
    older_agents: Json = {key: item for key, item in agents.items() if key != "entries"}
    search = memory.get("search")
    if search is not None:
        defaults = _object(agents.get("defaults"))
        older_agents["defaults"] = {**defaults, "memorySearch": _older_search(search, own=own)}
    if isinstance(entries, dict):
        older_agents["list"] = [_older_entry(id, entry, own=own) for id, entry in entries.items()]
    return {
        **values,
        "memory": {key: item for key, item in memory.items() if key != "search"},
        "agents": older_agents,
    }


def _older_entry(id: str, entry: object, *, own: bool) -> object:
    if not isinstance(entry, dict):
        return entry
    memory = _object(entry.get("memory"))
    moved: Json = {}
    if "search" in memory:
        moved["memorySearch"] = _older_search(memory["search"], own=own)
    return {**entry, "id": id, **moved}


def _older_search(search: object, *, own: bool) -> object:
    if not isinstance(search, dict):
        return search
    older = schema.only_known(search, schema.OWN_NEWER if own else schema.USED_NEWER)
    dimensions = older.pop("outputDimensionality", None)
    if dimensions is not None:
        older["remote"] = {"dimensions": dimensions, **_object(older.get("remote"))}
    return older


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}
