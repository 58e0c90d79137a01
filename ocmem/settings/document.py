"""A settings file -> its values in one shape: parsed, includes followed, `${VAR}` filled in."""

import contextlib
import errno
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from ocmem.errors import SettingsError
from ocmem.settings import checks, dialect, include, paths
from ocmem.settings.dialect import Dialect
from ocmem.settings.environment import Variables, config_variables
from ocmem.settings.reading import regular_bytes
from ocmem.settings.schema import Json

_MOST_BYTES = 16 * 1024 * 1024
_VARIABLE = re.compile(r"\$(\$?)\{([A-Z_][A-Z0-9_]*)\}")
_JSON5_PLACE = re.compile(r"<string>:(\d+) Unexpected (.*) at column (\d+)", re.DOTALL)
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Document:
    """One settings file. `values` has the older shape, whichever dialect it is written in."""

    file: Path
    own: bool  # ocmem's file, not OpenClaw's
    exists: bool
    dialect: Dialect
    written: Json = field(repr=False)  # as the file has it, for checks that name its own keys
    values: Json = field(repr=False)
    variables: Variables
    unfilled: Json = field(repr=False)  # as written, before `${VAR}` is filled in
    files: Json | None = field(repr=False)  # of the same shape: the included file of each value


def load(file: Path, variables: Variables, *, own: bool = False) -> Document:
    """The file's settings; a missing file is an empty one."""
    hint = None
    try:
        text = _text(file)
        found = _with_includes(file, parse("{}" if text is None else text))
        if isinstance(found.value, dict):
            return _document(file, found, variables, own=own, exists=text is not None)
        problem = checks.expected("object", found.value)
    except OSError as error:
        problem = f"read failed: {_as_node_says(error, file)}"
        if isinstance(error, PermissionError):
            hint = f'chown "$(id -un)" {file}'
    except include.IncludeError as error:
        problem = str(error)
    except RecursionError:
        problem = "JSON5 parse failed: nested too deeply"
    except ValueError as error:
        problem = f"JSON5 parse failed: {error}"
    raise invalid(file, [f"<root>: {problem}"], own=own, variables=variables, hint=hint)


def merge(base: Json, over: Json) -> Json:
    """`over` leaf by leaf on `base`; `agents.list` merges by id, other arrays replace."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            merged[key] = merge(old, value)
        elif value is not None:
            merged[key] = value
    agents, base_agents = over.get("agents"), base.get("agents")
    if isinstance(agents, dict) and isinstance(base_agents, dict):
        old_list, new_list = base_agents.get("list"), agents.get("list")
        if isinstance(old_list, list) and isinstance(new_list, list):
            merged["agents"]["list"] = _merge_entries(old_list, new_list)
    return merged


def normalized_id(agent_id: str) -> str:
    """The reference's form of an agent id: `Alpha One` is `alpha-one`, nothing is `main`."""
    lowered = agent_id.strip().lower()
    if re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,63}", lowered):
        return lowered
    return re.sub(r"[^a-z0-9_-]+", "-", lowered).strip("-")[:64] or "main"


def invalid(
    file: Path, problems: list[str], *, own: bool, variables: Variables, hint: str | None = None
) -> SettingsError:
    """The reference's layout for a broken config, one problem a line."""
    shown = paths.shorten(file, env=variables, home=paths.home_dir(variables))
    lines = "\n".join(f"  - {_visible(problem)}" for problem in problems)
    remedy = f"Edit: {shown}" if own else "Run: openclaw doctor --fix"
    return SettingsError(f"Config invalid\nFile: {shown}\nProblem:\n{lines}\n\n{remedy}", hint=hint)


def parse(text: str) -> object:
    """JSON5; raises ValueError in the reference's words, with line and column."""
    # Most files are plain JSON, or nearly, which is parsed sixty times faster than JSON5.
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text)
    from ocmem.settings import relaxed_json

    with contextlib.suppress(ValueError, RecursionError):
        return relaxed_json.loads(text)
    import json5

    try:
        return json5.loads(text)
    except ValueError as error:
        raise ValueError(f"SyntaxError: JSON5: {_syntax_problem(str(error), text)}") from None


def _syntax_problem(message: str, text: str) -> str:
    if not text:
        return "invalid end of input at 1:1"
    place = _JSON5_PLACE.fullmatch(message)
    if place is None:
        return message
    line, what, column = place.groups()
    if what.startswith('"'):
        what = f"character '{_visible(what[1:-1])}'"
    return f"invalid {what} at {line}:{column}"


def _visible(text: str) -> str:
    """Control characters as escapes: a key may hold anything, and a problem is one line."""
    return _CONTROL.sub(lambda match: ascii(match.group())[1:-1], text)


def _text(file: Path) -> str | None:
    """What the file says, decoded as the reference does; None if there is no file."""
    try:
        data = regular_bytes(file, most=_MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(data) > _MOST_BYTES:
        raise OSError(errno.EFBIG, f"larger than {_MOST_BYTES} bytes")
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def variables_in(value: object) -> tuple[str, ...]:
    """The names of the variables that a string asks for."""
    if not isinstance(value, str) or "${" not in value:
        return ()
    return tuple(dict.fromkeys(name for escaped, name in _VARIABLE.findall(value) if not escaped))


def _document(
    file: Path, found: include.Resolved, variables: Variables, *, own: bool, exists: bool
) -> Document:
    value = cast(Json, found.value)
    # First what stands there in plain words, so that other values may refer to it.
    plain = config_variables(value.get("env"))
    plain = {name: text for name, text in plain.items() if not _VARIABLE.search(text)}
    variables = variables.filled(plain, str(file))
    problems: list[str] = []
    filled = cast(Json, _fill(value, variables, "", problems))
    if problems:
        raise invalid(file, problems, own=own, variables=variables)
    variables = variables.filled(config_variables(filled.get("env")), str(file))
    spoken = dialect.recognised(filled)
    values = dialect.translated(filled, own=own) if spoken == "newer" else filled
    return Document(
        file=file,
        own=own,
        exists=exists,
        dialect=spoken,
        written=filled,
        values=values,
        variables=variables,
        unfilled=value,
        files=cast("Json | None", found.files),
    )


def _with_includes(file: Path, value: object) -> include.Resolved:
    if not include.has_directive(value):
        return include.Resolved(value, files=None)
    return include.Includer(file.parent, parse).resolve(value, file)


def _as_node_says(error: OSError, file: Path) -> str:
    code = errno.errorcode.get(error.errno or 0, "EIO")
    return f"Error: {code}: {(error.strerror or str(error)).lower()}, open '{file}'"


def _fill(value: object, variables: Variables, where: str, problems: list[str]) -> object:
    """`value` with `${VAR}` replaced in every string; `$${VAR}` stands for itself."""
    if isinstance(value, dict):
        return {
            _well_formed(key): _fill(item, variables, f"{where}.{key}" if where else key, problems)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_fill(item, variables, f"{where}[{at}]", problems) for at, item in enumerate(value)]
    if not isinstance(value, str):
        return value

    def substitute(match: re.Match[str]) -> str:
        escaped, name = match.groups()
        if escaped:
            return match.group()[1:]
        return variables.get(name, "")

    problems += (
        f'<root>: Missing env var "{name}" referenced at config path: {where}'
        for name in variables_in(value)
        if not variables.get(name)
    )
    return _well_formed(_VARIABLE.sub(substitute, value) if "${" in value else value)


def _well_formed(text: str) -> str:
    """Half a surrogate pair has no UTF-8 form: neither files nor SQLite take it."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _merge_entries(base: list[object], over: list[object]) -> list[object]:
    merged = list(base)
    places: dict[str, int] = {}
    for at, entry in enumerate(base):
        places.setdefault(_entry_id(entry), at)  # as when an agent is looked up
    for entry in over:
        at = places.setdefault(_entry_id(entry), len(merged))
        if at == len(merged):
            merged.append(entry)
        elif isinstance(entry, dict) and isinstance(old := merged[at], dict):
            # The shared file is named after the id as OpenClaw's own config writes it.
            merged[at] = {**merge(old, entry), "id": old.get("id", "main")}
    return merged


def _entry_id(entry: object) -> str:
    return normalized_id(str(entry.get("id", ""))) if isinstance(entry, dict) else ""
