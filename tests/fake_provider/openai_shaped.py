"""The OpenAI embeddings call, and the two services that took it over with small changes."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tests.fake_provider.batch_wire import BATCH_OPERATIONS, BatchWire, read_batch_call
from tests.fake_provider.checks import (
    bearer_keys,
    bearer_problems,
    content_type_problems,
    size_problems,
    unknown_keys,
)
from tests.fake_provider.dialects import Item
from tests.fake_provider.openai_batches import OpenAIBatches, VoyageBatches
from tests.fake_provider.record import Recorded
from tests.fake_provider.vectors import utf8


class OpenAI:
    """Queries and documents look the same here, so both are the operation `embed`."""

    name = "openai"
    prefixes: Mapping[str, str] = {"/openai/v1": ""}
    batches: BatchWire | None = OpenAIBatches()
    fields = frozenset({"model", "input"})

    def read(self, request: Recorded, route: str) -> None:
        if self.batches is not None and read_batch_call(self.batches, request, route):
            return
        if (request.method, route) == ("POST", "/embeddings"):
            request.operation = "embed"
            request.texts = _texts(request.body)

    def keys(self, request: Recorded) -> list[str]:
        return bearer_keys(request.header_values("authorization"))

    def secret(self, key: str) -> str:
        return key

    def auth_problems(self, request: Recorded) -> Iterator[str]:
        return bearer_problems(request.header_values("authorization"))

    def problems(self, request: Recorded, *, extra_keys: Collection[str]) -> Iterator[str]:
        if self.batches is not None and request.operation in BATCH_OPERATIONS:
            yield from self.batches.problems(request, extra_keys=extra_keys)
            return
        yield from content_type_problems(request.header_values("content-type"))
        if not isinstance(request.body, dict):
            yield "the body is not a JSON object in UTF-8"
            return
        yield from unknown_keys(request.body, {*self.fields, *extra_keys})
        yield from _field_problems(request.body)
        if request.operation != "embed_query":  # which is as long as the user made it
            yield from size_problems([len(utf8(text)) for text in request.texts])

    def render(self, items: Sequence[Item] | None, request: Recorded) -> dict[str, Any]:
        answer: dict[str, Any] = {"object": "list"}
        if items is not None:
            answer["data"] = [
                {"object": "embedding", "index": item.index, "embedding": item.embedding}
                for item in items
            ]
        model = request.body.get("model") if isinstance(request.body, dict) else None
        return answer | {"model": model, "usage": {"prompt_tokens": 0, "total_tokens": 0}}

    def error(
        self, message: str, *, status: int, code: str, details: Sequence[object] = ()
    ) -> dict[str, Any]:
        return {"error": {"message": message, "type": code, "param": None, "code": code}}


class Mistral(OpenAI):
    name = "mistral"
    prefixes: Mapping[str, str] = {"/mistral/v1": ""}
    batches = None

    def render(self, items: Sequence[Item] | None, request: Recorded) -> dict[str, Any]:
        return {"id": "fake"} | super().render(items, request)

    def error(
        self, message: str, *, status: int, code: str, details: Sequence[object] = ()
    ) -> dict[str, Any]:
        return {"object": "error", "message": message, "type": code, "param": None, "code": None}


class Voyage(OpenAI):
    """Has to be told whether a text is a query or a document."""

    name = "voyage"
    prefixes: Mapping[str, str] = {"/voyage/v1": ""}
    batches = VoyageBatches()
    fields = frozenset({"model", "input", "input_type"})

    def read(self, request: Recorded, route: str) -> None:
        super().read(request, route)
        kind = request.body.get("input_type") if isinstance(request.body, dict) else None
        if request.operation == "embed" and kind in ("query", "document"):
            request.operation = "embed_query" if kind == "query" else "embed_documents"

    def problems(self, request: Recorded, *, extra_keys: Collection[str]) -> Iterator[str]:
        yield from super().problems(request, extra_keys=extra_keys)
        if request.operation == "embed":
            yield "input_type is neither query nor document"

    def error(
        self, message: str, *, status: int, code: str, details: Sequence[object] = ()
    ) -> dict[str, Any]:
        return {"detail": message}


def _texts(body: object) -> list[str]:
    texts = body.get("input") if isinstance(body, dict) else None
    return [t for t in texts if isinstance(t, str)] if isinstance(texts, list) else []


def _field_problems(body: dict[str, Any]) -> Iterator[str]:
    if not (isinstance(body.get("model"), str) and body["model"]):
        yield "no model"
    texts = body.get("input")
    if not isinstance(texts, list):
        yield "input is not an array"
    elif not texts or not all(isinstance(text, str) for text in texts):
        yield "input is empty, or has something other than strings"
