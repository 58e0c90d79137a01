"""`ocmem config`: the settings as they were resolved, and why."""

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from ocmem.cli import common, table, wire
from ocmem.cli.common import Given
from ocmem.core import jsjson
from ocmem.errors import UsageError
from ocmem.settings import Settings, explain
from ocmem.settings.explain import Setting
from ocmem.settings.origin import Origin

_PLACE_NAMES = {
    "stateDir": "State directory",
    "configFile": "Config file",
    "ownConfigFile": "ocmem's own file",
    "workspace": "Workspace",
    "store": "Store",
    "sessionsDir": "Sessions",
    "agentDir": "Agent directory",
    "qmdConfigHome": "QMD config home",
    "qmdCacheHome": "QMD cache home",
}
# OCMEM_CONFIG is among them because ocmem's own file would otherwise move with XDG_CONFIG_HOME.
_VARIABLES = {
    "OPENCLAW_STATE_DIR": "stateDir",
    "OPENCLAW_CONFIG_PATH": "configFile",
    "OCMEM_CONFIG": "ownConfigFile",
    "OCMEM_WORKSPACE": "workspace",
    "OCMEM_STORE": "store",
    "OCMEM_SESSIONS_DIR": "sessionsDir",
    "XDG_CONFIG_HOME": "qmdConfigHome",
    "XDG_CACHE_HOME": "qmdCacheHome",
}
_PROFILE = "OPENCLAW_PROFILE"  # the default workspace is named after it


_LONG = 40  # cells; longer values are the exception, and do not push the origins away


def run(what: str, *, as_json: bool, export: bool, only_set: bool, given: Given) -> int:
    if export and (what != "paths" or as_json):
        raise UsageError("--export goes with `ocmem config paths`, without --json")
    if only_set and what == "paths":
        raise UsageError("--changed goes with the settings; leave out `paths`")
    settings = common.one_agent(given)
    places = {name: str(path) for name, path in explain.places_of(settings).items()}
    if export:
        _export(settings, places)
    elif what == "paths":
        print(wire.document(places) if as_json else _places(settings))
    else:
        found = [
            setting
            for setting in explain.settings_of(settings)
            if not only_set or setting.origin.kind != "default"
        ]
        if as_json:
            print(wire.document(_fields(settings, places, found)))
        else:
            print(_report(settings, found))
    return 0


def _export(settings: Settings, places: dict[str, str]) -> None:
    values = {variable: places[name] for variable, name in _VARIABLES.items()}
    profile = settings.env.get(_PROFILE, "").strip()
    if profile:
        values[_PROFILE] = profile
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in values.items()]
    # A path is bytes, and a shell takes it as such: print() would replace what is not UTF-8.
    sys.stdout.flush()
    sys.stdout.buffer.write(os.fsencode("".join(lines)))


def _report(settings: Settings, found: Sequence[Setting]) -> str:
    parts = [f"Agent {_cell(settings.agent_id)}", _places(settings)]
    if found:
        parts.append(_table(settings, found))
    return "\n\n".join([*parts, *settings.notes])


def _places(settings: Settings) -> str:
    why = explain.place_origins(settings)
    rows = []
    for name, path in explain.places_of(settings).items():
        origin = why.get(name, "")
        if "not there" not in origin and not os.path.lexists(path):
            origin = f"{origin}, not there" if origin else "not there"
        rows.append((_PLACE_NAMES[name], _cell(settings.shown(path)), _cell(origin)))
    return table.aligned(rows, most=2 * _LONG)


def _table(settings: Settings, found: Sequence[Setting]) -> str:
    rows = [
        (setting.key, _value(setting.value), _cell(_origin(settings, setting))) for setting in found
    ]
    text = table.aligned([("SETTING", "VALUE", "FROM"), *rows], most=_LONG)
    is_narrow = sys.stdout.isatty() and shutil.get_terminal_size().columns < max(
        map(table.width, text.split("\n"))
    )
    return _stacked(found, rows) if is_narrow else text


def _stacked(found: Sequence[Setting], rows: Sequence[tuple[str, str, str]]) -> str:
    """For a narrow terminal: where a value came from stands below it, unless nobody set it."""
    stacked = []
    for setting, (key, value, origin) in zip(found, rows, strict=True):
        stacked.append((key, value))
        if setting.origin.kind != "default":
            stacked.append((f"  from {origin}", ""))
    return table.aligned(stacked, most=_LONG)


def _value(value: object) -> str:
    """For people; a list has an item a line."""
    if value is None or value in ("", [], {}):
        return "–"
    if isinstance(value, list):
        return "\n".join(map(_value, value))
    if isinstance(value, str):
        return _cell(value)
    return jsjson.compact(value) if isinstance(value, dict) else jsjson.pretty(value)


def _cell(text: str) -> str:
    return table.one_line(common.harmless(text))


def _origin(settings: Settings, setting: Setting) -> str:
    text = _place(settings, setting.origin)
    for other in setting.also_from:
        text += f", and {_place(settings, other)}"
    if setting.key == "provider":
        if setting.configured != setting.value:
            text += f" ({setting.configured})"
    elif setting.configured is not None:
        text += f" (adjusted from {jsjson.compact(setting.configured)})"
    if setting.note:
        text += f"; {' '.join(setting.note.split())}"
    return text


def _place(settings: Settings, origin: Origin) -> str:
    text = origin.key or origin.kind
    if origin.file is not None:
        text = f"{settings.shown(origin.file)}: {origin.key}"
    via = (f"${{{name}}} ({settings.shown(place)})" for name, place in origin.via)
    return " via ".join([text, *via])


def _fields(settings: Settings, places: dict[str, str], found: Sequence[Setting]) -> dict[str, Any]:
    return {
        "agentId": settings.agent_id,
        "dialect": settings.config.dialect,
        "paths": places,
        "pathOrigins": explain.place_origins(settings),
        "sharesIndex": settings.shares_index,
        "settings": [_setting(each) for each in found],
        "notes": list(settings.notes),
    }


def _setting(setting: Setting) -> dict[str, Any]:
    fields = {"key": setting.key, "value": setting.value, "origin": _origin_fields(setting.origin)}
    if setting.also_from:
        fields["alsoFrom"] = [_origin_fields(origin) for origin in setting.also_from]
    if setting.configured is not None and setting.configured != setting.value:
        fields["configured"] = setting.configured
    if setting.note is not None:
        fields["note"] = setting.note
    return fields


def _origin_fields(origin: Origin) -> dict[str, Any]:
    fields: dict[str, Any] = {"kind": origin.kind, "file": origin.file, "key": origin.key}
    fields["via"] = dict(origin.via) or None
    return {name: value for name, value in fields.items() if value is not None}
