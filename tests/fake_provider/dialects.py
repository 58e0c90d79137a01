"""The wire formats the fake speaks, each a prefix of its base URL.

A further service is a further class with these methods and a place in `DIALECTS`.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from tests.fake_provider.record import Recorded
from tests.fake_provider.vectors import utf8

MAX_BYTES: Final = 8000


@dataclass(slots=True)
class Item:
    """One vector of an answer; a fault may put anything in it."""

    index: int
    embedding: list[object] | str


class Dialect(Protocol):
    name: str
    prefix: str

    def operation(self, method: str, route: str) -> str | None:
        """What a request asks for; None for a route the service does not have."""

    def texts(self, body: object) -> list[str]:
        """The texts to embed, as far as they can be read."""

    def keys(self, request: Recorded) -> list[str]:
        """Every key in the place where this service looks for one."""

    def problems(self, request: Recorded, *, extra_keys: Collection[str]) -> Iterator[str]:
        """How the request departs from what this service is documented to take."""

    def render(self, items: Sequence[Item] | None, body: object) -> dict[str, Any]:
        """A successful answer; None leaves the list of vectors out."""

    def error(self, message: str, *, code: str) -> dict[str, Any]:
        """The service's own shape of an error body."""


class OpenAI:
    """Queries and documents look the same here, so both are the operation `embed`."""

    name = "openai"
    prefix = "/openai/v1"

    def operation(self, method: str, route: str) -> str | None:
        return {("POST", "/embeddings"): "embed"}.get((method, route))

    def texts(self, body: object) -> list[str]:
        texts = body.get("input") if isinstance(body, dict) else None
        return [t for t in texts if isinstance(t, str)] if isinstance(texts, list) else []

    def keys(self, request: Recorded) -> list[str]:
        values = ",".join(request.header_values("authorization")).split(",")
        return [value.strip().removeprefix("Bearer ") for value in values if value.strip()]

    def problems(self, request: Recorded, *, extra_keys: Collection[str]) -> Iterator[str]:
        yield from _auth_problems(self.keys(request), request.header_values("authorization"))
        yield from _content_type_problems(request.header_values("content-type"))
        if not isinstance(request.body, dict):
            yield "the body is not a JSON object in UTF-8"
            return
        yield from _field_problems(request.body, allowed={"model", "input", *extra_keys})
        yield from _size_problems([len(utf8(text)) for text in request.texts])

    def render(self, items: Sequence[Item] | None, body: object) -> dict[str, Any]:
        answer: dict[str, Any] = {"object": "list"}
        if items is not None:
            answer["data"] = [
                {"object": "embedding", "index": item.index, "embedding": item.embedding}
                for item in items
            ]
        model = body.get("model") if isinstance(body, dict) else None
        return answer | {"model": model, "usage": {"prompt_tokens": 0, "total_tokens": 0}}

    def error(self, message: str, *, code: str) -> dict[str, Any]:
        return {"error": {"message": message, "type": code, "param": None, "code": code}}


DIALECTS: Final[tuple[Dialect, ...]] = (OpenAI(),)


def dialect_at(path: str) -> tuple[Dialect | None, str]:
    """The dialect whose prefix `path` begins with, and the rest of the path without its query."""
    plain = path.partition("?")[0]
    for dialect in DIALECTS:
        if plain.startswith(dialect.prefix + "/"):
            return dialect, plain.removeprefix(dialect.prefix)
    return None, plain


def _auth_problems(keys: list[str], values: list[str]) -> Iterator[str]:
    if not keys:
        yield "no Authorization header"
    elif len(keys) > 1:
        yield "more than one Authorization value"
    elif not values[0].startswith("Bearer "):
        yield "the Authorization header is not a Bearer one"


def _content_type_problems(values: list[str]) -> Iterator[str]:
    if len(values) != 1 or values[0].partition(";")[0].strip().lower() != "application/json":
        yield f"the content type is {values}, not one application/json"


def _field_problems(body: dict[str, Any], *, allowed: set[str]) -> Iterator[str]:
    if unknown := sorted(body.keys() - allowed):
        yield f"unknown keys {unknown}"
    if not (isinstance(body.get("model"), str) and body["model"]):
        yield "no model"
    texts = body.get("input")
    if not isinstance(texts, list):
        yield "input is not an array"
    elif not texts or not all(isinstance(text, str) for text in texts):
        yield "input is empty, or has something other than strings"


def _size_problems(sizes: list[int]) -> Iterator[str]:
    if sizes and max(sizes) > MAX_BYTES:
        yield f"a text of {max(sizes)} bytes"
    if len(sizes) > 1 and sum(sizes) > MAX_BYTES:
        yield f"a group of {len(sizes)} texts with {sum(sizes)} bytes together"
