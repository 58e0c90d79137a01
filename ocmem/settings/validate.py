"""Is a settings file usable? Problems stop the command; oddities become notes."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from ocmem.settings import checks, paths, schema
from ocmem.settings.checks import Check, at, expected
from ocmem.settings.document import Document, invalid, normalized_id
from ocmem.settings.schema import Json

_MOVED = "top-level memorySearch was moved; use {place} instead."
_ROOT_KEYS = "$schema agents memory memorySearch models auth env meta plugins".split()
_ENTRY_KEYS = "id name default workspace agentDir".split()
_MEMORY_SETTINGS = {key.path.partition(".")[0] for key in schema.KEYS}
_SHELL_KEYS = {"enabled": checks.a_bool, "timeoutMs": checks.whole(least=0)}


def check(document: Document) -> None:
    """Raise SettingsError for what memory uses and cannot understand."""
    problems = list(_problems(document))
    if problems:
        raise invalid(
            document.file,
            problems,
            own=document.own,
            variables=document.variables,
            hint=_hint(document),
        )


def notes(document: Document) -> list[str]:
    """Keys of a newer release that mean nothing here."""
    if document.dialect == "older" or document.own:
        return []
    found = []
    for where, search in _searches(document):
        unused = list(schema.unknown_keys(search, schema.USED_NEWER, own=False))
        if unused:
            found.append(f"{where}: not used here: {', '.join(unused)}")
    return found


def _hint(document: Document) -> str | None:
    """What to do about mistakes that are easily made."""
    if document.own:
        strays = [name for _, names in _strays(document) for name in names]
        misplaced = [name for name in strays if name in _MEMORY_SETTINGS]
        place = "memory.search" if document.dialect == "newer" else "agents.defaults.memorySearch"
        return f"{', '.join(misplaced)}: put that under {place}" if misplaced else None
    asked = [_object(search).get("provider") for _, search in _searches(document)]
    if document.dialect == "newer" or not any(name in schema.OWN_PROVIDERS for name in asked):
        return None
    home = paths.home_dir(document.variables)
    own_file = paths.overlay_file(document.variables, home)
    shown = paths.shorten(own_file, env=document.variables, home=home)
    return f"{' and '.join(schema.OWN_PROVIDERS)} go into {shown}"


def _problems(document: Document) -> Iterator[str]:
    written = document.written
    if "memorySearch" in written:
        is_newer = document.dialect == "newer"
        place = "memory.search" if is_newer else "agents.defaults.memorySearch"
        yield f"memorySearch: {_MOVED.format(place=place)}"
    for name in ("agents", "memory", "models", "env", "auth"):
        if not isinstance(written.get(name), dict | None):
            yield f"{name}: {expected('object', written[name])}"
    yield from _agent_problems(document)
    yield from _memory_problems(document)
    yield from _model_problems(document)
    yield from _env_problems(written.get("env"))
    yield from _auth_problems(_object(written.get("auth")))
    for where, names in _strays(document):
        yield from _unrecognized(where, names)


def _strays(document: Document) -> Iterator[tuple[str, list[str]]]:
    """What ocmem's own file has outside the memory settings and should not; inner places first."""
    if not document.own:
        return
    agents = _object(document.written.get("agents"))
    is_newer = document.dialect == "newer"
    search = "memory" if is_newer else "memorySearch"
    other_search = "memorySearch" if is_newer else "memory"  # reported as misplaced
    place = "entries" if is_newer else "list"
    entries = agents.get(place)
    if isinstance(entries, list):
        entries = {str(at): entry for at, entry in enumerate(entries)}
    for name, entry in _object(entries).items():
        where = f"agents.{place}.{name}"
        yield where, _others(entry, *_ENTRY_KEYS, search, other_search)
    yield "agents.defaults", _others(agents.get("defaults"), "workspace", "memorySearch")
    yield "agents", _others(agents, "defaults", "list", "entries")
    yield "<root>", _others(document.written, *_ROOT_KEYS)


def _others(holder: object, *known: str) -> list[str]:
    return [name for name in _object(holder) if name not in known]


def _agent_problems(document: Document) -> Iterator[str]:
    agents = _object(document.written.get("agents"))
    table = schema.OLDER
    if document.dialect == "newer":
        table = schema.OWN_NEWER if document.own else schema.NEWER
    for where, search in _searches(document):
        yield from schema.problems(search, table, where=where, own=document.own)
    defaults = agents.get("defaults")
    if not isinstance(defaults, dict | None):
        yield f"agents.defaults: {expected('object', defaults)}"
    yield from _fields(_object(defaults), "agents.defaults", workspace=checks.a_path)
    if document.dialect == "newer":
        yield from _newer_entry_problems(agents)
        yield from _misplaced(_object(defaults), "agents.defaults", "memorySearch")
        yield from _misplaced(agents, "agents", "list")
    else:
        yield from _older_entry_problems(agents.get("list"))
    yield from _shared_agent_dirs(document)


def _older_entry_problems(entries: object) -> Iterator[str]:
    if not isinstance(entries, list | None):
        yield f"agents.list: {expected('array', entries)}"
    for index, entry in enumerate(entries if isinstance(entries, list) else []):
        where = f"agents.list.{index}"
        if isinstance(entry, dict):
            yield from at(f"{where}.id", checks.a_path(entry.get("id", checks.UNDEFINED)))
        yield from _entry_problems(entry, where)
        yield from _misplaced(_object(entry), where, "memory")


def _newer_entry_problems(agents: Json) -> Iterator[str]:
    entries = agents.get("entries")
    if not isinstance(entries, dict | None):
        yield f"agents.entries: {expected('object', entries)}"
    for id, entry in _object(entries).items():
        where = f"agents.entries.{id}"
        yield from at(where, checks.a_path(id))
        memory = _object(entry).get("memory")
        if not isinstance(memory, dict | None):
            yield f"{where}.memory: {expected('object', memory)}"
        yield from _entry_problems(entry, where)
        yield from _misplaced(_object(entry), where, "memorySearch")


def _entry_problems(entry: object, where: str) -> Iterator[str]:
    if not isinstance(entry, dict):
        yield f"{where}: {expected('object', entry)}"
    yield from _fields(
        _object(entry),
        where,
        default=checks.a_bool,
        workspace=checks.a_path,
        agentDir=checks.a_path,
    )


def _misplaced(holder: Json, where: str, *names: str) -> Iterator[str]:
    """Keys of the other dialect: valid for no release, and half would be silently lost."""
    yield from _unrecognized(where, [name for name in names if name in holder])


def _unrecognized(where: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"{where}: {checks.unrecognized(names)}"


def _searches(document: Document) -> Iterator[tuple[str, object]]:
    """Every object of memory settings in the file, with the key it stands under."""
    written = document.written
    agents = _object(written.get("agents"))
    if document.dialect == "newer":
        yield "memory.search", _object(written.get("memory")).get("search")
        for id, entry in _object(agents.get("entries")).items():
            memory = _object(_object(entry).get("memory"))
            yield f"agents.entries.{id}.memory.search", memory.get("search")
        return
    yield "agents.defaults.memorySearch", _object(agents.get("defaults")).get("memorySearch")
    entries = agents.get("list")
    for index, entry in enumerate(entries if isinstance(entries, list) else []):
        yield f"agents.list.{index}.memorySearch", _object(entry).get("memorySearch")


def _memory_problems(document: Document) -> Iterator[str]:
    memory = _object(document.values.get("memory"))
    if document.dialect == "newer" and not document.own:
        yield from _fields(memory, "memory", citations=schema.MEMORY.by_path["citations"].check)
        yield from _misplaced(memory, "memory", "backend", "qmd")
        return
    yield from schema.problems(memory, schema.MEMORY, where="memory", own=document.own)


def _model_problems(document: Document) -> Iterator[str]:
    providers = _object(document.written.get("models")).get("providers")
    if not isinstance(providers, dict | None):
        yield f"models.providers: {expected('object', providers)}"
    if document.dialect == "newer":
        return
    for id, entry in _object(providers).items():
        where = f"models.providers.{id}"
        if not isinstance(entry, dict):
            yield f"{where}: {expected('object', entry)}"
            continue
        if not document.own:
            yield from at(
                f"{where}.baseUrl", checks.a_string(entry.get("baseUrl", checks.UNDEFINED))
            )
            models = checks.list_of(checks.anything)
            yield from at(f"{where}.models", models(entry.get("models", checks.UNDEFINED)))
        headers = checks.map_of(checks.a_key)
        yield from _fields(entry, where, apiKey=checks.a_key, headers=headers)


def _env_problems(block: object) -> Iterator[str]:
    for name, value in _object(block).items():
        where = f"env.{name}"
        if name == "vars":
            yield from at(where, checks.map_of(checks.a_string)(value))
        elif name == "shellEnv":
            yield from at(where, checks.map_of(checks.anything)(value))
            yield from _fields(_object(value), where, **_SHELL_KEYS)
        else:
            yield from at(where, checks.a_string(value))


def _auth_problems(auth: Json) -> Iterator[str]:
    orders = checks.map_of(checks.list_of(checks.a_string))
    profiles = checks.map_of(checks.map_of(checks.anything))
    yield from _fields(auth, "auth", order=orders, profiles=profiles)


def _fields(values: Json, where: str, **wanted: Check) -> Iterator[str]:
    """Problems of the fields that matter; others are none of our business."""
    for name, is_right in wanted.items():
        if values.get(name) is not None:
            yield from at(f"{where}.{name}", is_right(values[name]))


def _shared_agent_dirs(document: Document) -> Iterator[str]:
    entries = _object(document.values.get("agents")).get("list")
    home = paths.home_dir(document.variables)
    agents = paths.state_dir(document.variables, home) / "agents"
    seen: dict[Path, str] = {}
    for entry in map(_object, entries if isinstance(entries, list) else []):
        written, id = entry.get("agentDir"), normalized_id(str(entry.get("id", "")))
        if isinstance(written, str) and written.strip():
            folder = paths.expand(written, home)
        elif document.own:
            continue  # OpenClaw's config may say more about that agent
        else:
            folder = agents / id / "agent"
        other = seen.setdefault(folder, id)
        if other != id:
            shown = paths.shorten(folder, env=document.variables, home=home)
            yield (
                "agents.list: Duplicate agentDir detected (multi-agent config). "
                f'"{other}" and "{id}" share {shown}'
            )


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}
