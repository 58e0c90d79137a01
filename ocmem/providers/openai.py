"""The OpenAI embeddings API, which many other servers speak as well."""

from collections.abc import Sequence
from dataclasses import dataclass

from ocmem.core import jsjson
from ocmem.core.embedder import Notice, no_notice
from ocmem.model import Vector
from ocmem.providers import answers
from ocmem.providers.patience import Clock
from ocmem.providers.remote import RemoteEmbedder, caller_of, prefix_of
from ocmem.settings import Settings


@dataclass(frozen=True, slots=True)
class OpenAIDialect:
    """`POST /embeddings` with a list of texts. Most services make no difference for queries."""

    name: str
    model: str
    dimensions: int | None = None
    dimensions_field: str = "dimensions"
    document_type: str | None = None
    query_type: str | None = None

    def request(self, texts: Sequence[str], *, is_query: bool) -> tuple[str, bytes]:
        inputs = ",".join(map(jsjson.string, texts))
        body = f'"model":{jsjson.string(self.model)},"input":[{inputs}]'
        kind = self.query_type if is_query else self.document_type
        if kind is not None:
            body += f',"input_type":{jsjson.string(kind)}'
        if self.dimensions is not None:
            body += f',"{self.dimensions_field}":{self.dimensions}'
        return "/embeddings", f"{{{body}}}".encode()

    def vectors(self, answer: bytes, *, count: int, is_query: bool) -> list[Vector]:
        prefix = prefix_of(self.name)
        items = answers.numbered(answers.parsed(answer, prefix=prefix), count=count, prefix=prefix)
        return answers.vectors([item.get("embedding") for item in items], prefix=prefix)


def connect(
    settings: Settings, *, notice: Notice = no_notice, clock: Clock | None = None
) -> RemoteEmbedder:
    choice = settings.provider
    dialect = OpenAIDialect(choice.id, choice.model, choice.dimensions)
    return RemoteEmbedder(caller_of(settings, notice=notice, clock=clock), dialect)
