"""Google's Gemini API: other paths, other shapes, and a key in a header of its own."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ocmem.core import jsjson
from ocmem.core.embedder import Notice, no_notice
from ocmem.model import Vector
from ocmem.providers import answers
from ocmem.providers.patience import Clock
from ocmem.providers.remote import RemoteEmbedder, caller_of, prefix_of
from ocmem.settings import Settings

NAME = "gemini"
_PREFIX = prefix_of(NAME)


@dataclass(frozen=True, slots=True)
class GeminiDialect:
    model: str
    dimensions: int | None = None

    def request(self, texts: Sequence[str], *, is_query: bool) -> tuple[str, bytes]:
        path = f"/models/{self.model}"
        if is_query:
            return f"{path}:embedContent", f"{{{self._part(texts[0], 'RETRIEVAL_QUERY')}}}".encode()
        model = jsjson.string(f"models/{self.model}")
        parts = [f'{{"model":{model},{self._part(text, "RETRIEVAL_DOCUMENT")}}}' for text in texts]
        return f"{path}:batchEmbedContents", f'{{"requests":[{",".join(parts)}]}}'.encode()

    def vectors(self, answer: bytes, *, count: int, is_query: bool) -> list[Vector]:
        found = answers.parsed(answer, prefix=_PREFIX)
        if is_query:
            embedding = found.get("embedding") if isinstance(found, dict) else None
            items = [embedding if isinstance(embedding, dict) else {}]
        else:
            items = answers.items_of(found, "embeddings", count=count, prefix=_PREFIX)
        return answers.vectors([item.get("values") for item in items], prefix=_PREFIX)

    def _part(self, text: str, task: str) -> str:
        part = f'"content":{{"parts":[{{"text":{jsjson.string(text)}}}]}},"taskType":"{task}"'
        if self.dimensions is not None:
            part += f',"outputDimensionality":{self.dimensions}'
        return part


def signature(key: str) -> Mapping[str, str]:
    """The header for a key; one that is a JSON object with a `token` is an OAuth login."""
    if key.startswith("{"):
        try:
            token = json.loads(key).get("token")
        except (ValueError, RecursionError):
            token = None
        if isinstance(token, str) and token:
            return {"Authorization": f"Bearer {token}"}
    return {"x-goog-api-key": key} if key else {}


def connect(
    settings: Settings, *, notice: Notice = no_notice, clock: Clock | None = None
) -> RemoteEmbedder:
    choice = settings.provider
    caller = caller_of(settings, signature=signature, notice=notice, clock=clock)
    return RemoteEmbedder(caller, GeminiDialect(choice.model, choice.dimensions))
