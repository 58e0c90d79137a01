"""Plain HTTP calls for the tests of the fake provider."""

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any
from urllib.parse import urlsplit

from tests.fake_provider import FakeProvider

JSON_TYPE = {"Content-Type": "application/json"}
BEARERS = ("openai", "mistral", "voyage")


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Message
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401
        return json.loads(self.body)


def auth(service: str) -> dict[str, str]:
    """The credentials that `service` wants, with the key it has in a fresh fake."""
    if service in BEARERS:
        return {"Authorization": f"Bearer key-{service}"}
    return {"x-goog-api-key": "key-gemini"}


def call(
    url: str,
    body: object = None,
    *,
    method: str | None = None,
    headers: Mapping[str, str] = JSON_TYPE,
) -> Answer:
    """One request on a connection of its own, redirects not followed; JSON unless bytes."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    target = url.partition(parts.netloc)[2]
    try:
        connection.request(method or ("GET" if body is None else "POST"), target, data, headers)
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()


def embed(fake: FakeProvider, service: str, *texts: str, query: bool = False) -> Answer:
    """The texts as documents, or the only one as a query, in the form that `service` wants."""
    path, body = embed_call(service, *texts, query=query)
    return call(fake.base_url(service) + path, body, headers=JSON_TYPE | auth(service))


def embed_call(service: str, *texts: str, query: bool = False) -> tuple[str, dict[str, Any]]:
    if service in ("gemini", "gemini-custom"):
        task = "RETRIEVAL_QUERY" if query else "RETRIEVAL_DOCUMENT"
        contents: list[dict[str, Any]] = [
            {"content": {"parts": [{"text": text}]}, "taskType": task} for text in texts
        ]
        if query:
            return "/models/m:embedContent", contents[0]
        requests = [{"model": "models/m"} | content for content in contents]
        return "/models/m:batchEmbedContents", {"requests": requests}
    kind = {"input_type": "query" if query else "document"} if service == "voyage" else {}
    return "/embeddings", {"model": "m", "input": list(texts)} | kind
