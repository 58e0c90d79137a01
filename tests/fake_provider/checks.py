"""What strict mode looks for in every dialect. Each check yields one note per departure."""

from collections.abc import Iterator
from typing import Any, Final

MAX_BYTES: Final = 8000
"""The most that the texts of one request may have together, and a text in most dialects."""


def bearer_problems(values: list[str]) -> Iterator[str]:
    keys = bearer_keys(values)
    if not keys:
        yield "no Authorization header"
    elif len(keys) > 1:
        yield "more than one Authorization value"
    elif not values[0].startswith("Bearer "):
        yield "the Authorization header is not a Bearer one"


def bearer_keys(values: list[str]) -> list[str]:
    """Clients join doubled headers with a comma, so one value may hold several keys."""
    parts = (part.strip() for part in ",".join(values).split(","))
    return [part.removeprefix("Bearer ") for part in parts if part]


def content_type_problems(values: list[str]) -> Iterator[str]:
    if len(values) != 1 or values[0].partition(";")[0].strip().lower() != "application/json":
        yield f"the content type is {values}, not one application/json"


def unknown_keys(found: dict[str, Any], allowed: set[str], *, where: str = "") -> Iterator[str]:
    if unknown := sorted(found.keys() - allowed):
        yield f"unknown keys {unknown}{where}"


def size_problems(sizes: list[int], *, max_text: int = MAX_BYTES) -> Iterator[str]:
    if sizes and max(sizes) > max_text:
        yield f"a text of {max(sizes)} bytes"
    if len(sizes) > 1 and sum(sizes) > MAX_BYTES:
        yield f"a group of {len(sizes)} texts with {sum(sizes)} bytes together"
