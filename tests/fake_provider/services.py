"""The services that the fake plays, all at once, and where each of them lives."""

from typing import Final

from tests.fake_provider.dialects import Dialect
from tests.fake_provider.gemini import Gemini
from tests.fake_provider.hub import Hub
from tests.fake_provider.openai_shaped import Mistral, OpenAI, Voyage

DIALECTS: Final[tuple[Dialect, ...]] = (OpenAI(), Mistral(), Voyage(), Gemini(), Hub())

BASES: Final = {
    "openai": "/openai/v1",
    "mistral": "/mistral/v1",
    "voyage": "/voyage/v1",
    "gemini": "/gemini/v1beta",
    "gemini-custom": "/gemini-custom",
    "hub": "/hub",
}
"""The base URLs to configure, without their origin; two of them are Gemini's."""


def dialect_at(path: str) -> tuple[Dialect | None, str]:
    """The dialect whose prefix `path` begins with, and the route there, without its query."""
    plain = path.partition("?")[0]
    for dialect in DIALECTS:
        for prefix, instead in dialect.prefixes.items():
            if plain.startswith(prefix + "/"):
                return dialect, instead + plain.removeprefix(prefix)
    return None, plain
