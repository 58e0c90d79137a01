"""Voyage AI: OpenAI's API, with a word on whether a text is a query or a document."""

from ocmem.core.embedder import Notice, no_notice
from ocmem.providers.openai import OpenAIDialect
from ocmem.providers.patience import Clock
from ocmem.providers.remote import RemoteEmbedder, caller_of
from ocmem.settings import Settings


def connect(
    settings: Settings, *, notice: Notice = no_notice, clock: Clock | None = None
) -> RemoteEmbedder:
    choice = settings.provider
    dialect = OpenAIDialect(
        choice.id,
        choice.model,
        choice.dimensions,
        dimensions_field="output_dimension",
        document_type="document",
        query_type="query",
    )
    return RemoteEmbedder(caller_of(settings, notice=notice, clock=clock), dialect)
