"""Parameters of a tool, read as leniently as the reference reads what a model wrote."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from ocmem.core import utf16
from ocmem.errors import ToolInputError

Parameters = Mapping[str, Any]

_LEADING_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def from_json(text: str) -> Parameters:
    """A JSON object, and nothing that only Python takes for JSON."""
    try:
        # Every number is a double, as in JavaScript: one of 5,000 digits is infinite, not an error.
        found = json.loads(text, parse_int=float, parse_constant=_refuse)
    except RecursionError:
        raise ToolInputError("the parameters are nested too deeply") from None
    except ValueError as error:
        raise ToolInputError(f"the parameters are not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ToolInputError('the parameters must be a JSON object, such as {"name": "value"}')
    return found


def required_text(parameters: Parameters, name: str) -> str:
    """A string, trimmed; blank or of another type, it is missing."""
    found = _raw(parameters, name)
    text = utf16.trim(found) if isinstance(found, str) else ""
    if not text:
        raise ToolInputError(f"{name} required")
    return text


def number(parameters: Parameters, name: str) -> float | None:
    """A finite number, or the one that a string begins with; anything else counts as absent."""
    found = _raw(parameters, name)
    if isinstance(found, str):
        match = _LEADING_NUMBER.match(utf16.trim(found))
        found = float(match.group()) if match else None
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    try:
        value = float(found)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None


def integer(parameters: Parameters, name: str) -> int | None:
    """A number without its fraction."""
    value = number(parameters, name)
    return None if value is None else math.trunc(value)


def _raw(parameters: Parameters, name: str) -> object:
    """The value under the name, or under its snake-case form if the name is not there at all."""
    if name in parameters:
        return parameters[name]
    return parameters.get(re.sub("[A-Z]", lambda match: f"_{match.group().lower()}", name))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a value")
