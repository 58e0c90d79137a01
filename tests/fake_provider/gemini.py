"""Google's embedContent calls. A query is one content, documents are a batch of them."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from tests.fake_provider.batch_wire import BATCH_OPERATIONS, read_batch_call
from tests.fake_provider.checks import (
    bearer_keys,
    bearer_problems,
    content_type_problems,
    size_problems,
    unknown_keys,
)
from tests.fake_provider.dialects import Item
from tests.fake_provider.gemini_batches import GeminiBatches
from tests.fake_provider.gemini_contents import MAX_TEXT_BYTES, content_text
from tests.fake_provider.record import Recorded
from tests.fake_provider.vectors import utf8

_CALL: Final = re.compile(r"/(models/[^/:]+):(\w+)")
_OPERATIONS: Final = {"embedContent": "embed_query", "batchEmbedContents": "embed_documents"}
_STATUSES: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}


class Gemini:
    """Uploads and downloads have addresses of their own, which are made from the base URL."""

    name = "gemini"
    batches = GeminiBatches()
    prefixes: Mapping[str, str] = {
        "/gemini/upload/v1beta": "upload:",
        "/gemini/download/v1beta": "download:",
        "/gemini/v1beta": "",
        "/gemini-custom/upload": "upload:",
        "/gemini-custom": "",
    }

    def read(self, request: Recorded, route: str) -> None:
        if read_batch_call(self.batches, request, route):
            return
        called = _CALL.fullmatch(route)
        if called is not None and request.method == "POST":
            request.operation = _OPERATIONS.get(called[2])
            contents = _contents(request)
            request.texts = [text for text in map(content_text, contents) if text is not None]

    def keys(self, request: Recorded) -> list[str]:
        bearer = bearer_keys(request.header_values("authorization"))
        return [*_api_keys(request), *bearer]

    def secret(self, key: str) -> str:
        """A key that is a JSON object with a token stands for that token."""
        token = _token(key)
        return key if token is None else token

    def auth_problems(self, request: Recorded) -> Iterator[str]:
        bearer = request.header_values("authorization")
        if len(self.keys(request)) > 1:
            yield "more than one key"
        elif bearer:
            yield from bearer_problems(bearer)
        elif not _api_keys(request):
            yield "neither an x-goog-api-key nor an Authorization header"

    def problems(self, request: Recorded, *, extra_keys: Collection[str]) -> Iterator[str]:
        if request.operation in BATCH_OPERATIONS:
            yield from self.batches.problems(request, extra_keys=extra_keys)
            return
        yield from content_type_problems(request.header_values("content-type"))
        body = request.body
        if not isinstance(body, dict):
            yield "the body is not a JSON object in UTF-8"
        elif request.operation == "embed_query":
            yield from unknown_keys(body, {"content", "taskType", *extra_keys})
            yield from _content_problems(body, task="RETRIEVAL_QUERY")
        else:
            yield from unknown_keys(body, {"requests"})
            yield from _requests_problems(request, body.get("requests"), extra_keys)
            sizes = [len(utf8(text)) for text in request.texts]
            yield from size_problems(sizes, max_text=MAX_TEXT_BYTES)

    def render(self, items: Sequence[Item] | None, request: Recorded) -> dict[str, Any]:
        """There is no index, so a fault in the numbering leaves this answer as it is."""
        if items is None:
            return {}
        vectors = [{"values": item.embedding} for item in items]
        if request.operation == "embed_documents":
            return {"embeddings": vectors}
        return {"embedding": vectors[0]} if vectors else {}

    def error(
        self, message: str, *, status: int, code: str, details: Sequence[object] = ()
    ) -> dict[str, Any]:
        name = _STATUSES.get(status, "INTERNAL")
        told = {"code": status, "message": message, "status": name, "details": list(details)}
        return {"error": told}


def _contents(request: Recorded) -> list[object]:
    if request.operation == "embed_query":
        return [request.body]
    contents = request.body.get("requests") if isinstance(request.body, dict) else None
    return contents if isinstance(contents, list) else []


def _requests_problems(
    request: Recorded, contents: object, extra_keys: Collection[str]
) -> Iterator[str]:
    if not isinstance(contents, list) or not contents:
        yield "requests is not an array, or empty"
        return
    for at, content in enumerate(contents):
        if not isinstance(content, dict):
            yield f"request {at} is not an object"
            continue
        allowed = {"model", "content", "taskType", *extra_keys}
        yield from unknown_keys(content, allowed, where=f" in request {at}")
        yield from _content_problems(content, task="RETRIEVAL_DOCUMENT")
        if content.get("model") != model_in(request.path):
            yield f"request {at} is for the model {content.get('model')}, the path for another"


def _content_problems(content: dict[str, Any], *, task: str) -> Iterator[str]:
    if content_text(content) is None:
        yield "a content is not one part with a text"
    if content.get("taskType") != task:
        yield f"taskType is {content.get('taskType')}, not {task}"


def model_in(path: str) -> str | None:
    """The `models/name` that a path speaks of."""
    called = _CALL.search(path)
    return None if called is None else called[1]


def _api_keys(request: Recorded) -> list[str]:
    values = ",".join(request.header_values("x-goog-api-key")).split(",")
    return [value.strip() for value in values if value.strip()]


def _token(key: str) -> str | None:
    try:
        token = json.loads(key)["token"] if key.startswith("{") else None
    except (ValueError, KeyError):
        return None
    return token if isinstance(token, str) and token else None
