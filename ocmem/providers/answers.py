"""What services answer, checked before anybody relies on it: count, order, numbers, lengths."""

import json
from collections.abc import Sequence
from typing import Any, NoReturn

from ocmem.errors import EmbedderError
from ocmem.model import Vector

_FLOAT32_MAX = (2 - 2**-23) * 2.0**127


def parsed(data: bytes, *, prefix: str) -> object:
    # The answer itself is not quoted: it may hold anything.
    try:
        return json.loads(data.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        what = "the answer is not JSON" if data else "the answer is empty"
        hint = "check remote.baseUrl; most servers want it to end in /v1"
        raise EmbedderError(f"{prefix}: {what}", hint=hint) from None


def numbered(answer: object, *, count: int, prefix: str) -> list[dict[str, Any]]:
    """The items of an OpenAI-shaped answer, in the order of the texts."""
    items = items_of(answer, "data", count=count, prefix=prefix)
    places: list[Any] = [item.get("index") for item in items]
    if places == [None] * count:
        return items
    if any(type(place) is not int for place in places) or sorted(places) != list(range(count)):
        raise bad("the numbering of the vectors is not that of the texts", prefix)
    return sorted(items, key=lambda item: int(item["index"]))


def items_of(answer: object, key: str, *, count: int, prefix: str) -> list[dict[str, Any]]:
    items = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise bad("the answer has no list of vectors", prefix)
    if len(items) != count:
        raise bad(f"{len(items)} vectors for {count} texts", prefix)
    return items


def vectors(found: Sequence[object], *, prefix: str) -> list[Vector]:
    """Lists of numbers as vectors, all of one length."""
    checked = [vector(values, at=at, prefix=prefix) for at, values in enumerate(found)]
    if len({len(values) for values in checked}) > 1:
        raise bad("the vectors differ in length", prefix)
    return checked


def vector(values: object, *, at: int, prefix: str) -> Vector:
    if not isinstance(values, list) or not values:
        raise bad(f"vector {at} is not a list of numbers, or empty", prefix)
    # Not isinstance: True is an int to Python.
    is_numeric = {type(value) for value in values} <= {int, float}
    # The index keeps float32; a comparison with NaN is false, so it is refused too.
    if not (is_numeric and all(abs(value) <= _FLOAT32_MAX for value in values)):
        raise bad(f"vector {at} holds something other than finite numbers", prefix)
    return [float(value) for value in values]


def bad(what: str, prefix: str) -> EmbedderError:
    return EmbedderError(f"{prefix}: {what}")


def _refuse(token: str) -> NoReturn:
    raise ValueError(token)
