"""What a tool call comes to."""

from dataclasses import dataclass
from typing import Any

from ocmem.core import jsjson, utf16
from ocmem.errors import OcmemError
from ocmem.settings import Settings
from ocmem.settings.schema import lookup

Json = dict[str, Any]

_OWN_PLUGIN = "memory-core"


@dataclass(frozen=True, slots=True)
class Reply:
    """`answer` is what the agent gets; the rest is for people who look on."""

    answer: Json
    remarks: tuple[str, ...] = ()
    hint: str | None = None
    error: OcmemError | None = None  # why the answer is marked `disabled`

    @property
    def text(self) -> str:
        """The answer as the agent's model reads it, to the letter."""
        return jsjson.pretty(self.answer)

    @property
    def envelope(self) -> Json:
        """The answer as a tool hands it over."""
        return {"content": [{"type": "text", "text": self.text}], "details": self.answer}


def citation_mode(settings: Settings) -> str:
    """As configured; what is no mode counts as the default."""
    return settings.citations if settings.citations in ("on", "off") else "auto"


def with_source(snippet: str, cited: str) -> str:
    return f"{utf16.trim(snippet)}\n\nSource: {cited}"


def why_disabled(settings: Settings) -> OcmemError | None:
    """Why an agent has no such tools in the reference; None if it has them."""
    if not settings.search.enabled:
        return OcmemError(
            f"memory search is disabled for agent {settings.agent_id}",
            hint="see memorySearch.enabled",
        )
    slot = lookup(settings.config.values, "plugins.slots.memory")
    if isinstance(slot, str) and slot.strip() not in ("", _OWN_PLUGIN):
        return OcmemError(
            f"the agent's memory belongs to another plugin ({slot.strip()})",
            hint=f"these tools come with {_OWN_PLUGIN}; see plugins.slots.memory",
        )
    return None
