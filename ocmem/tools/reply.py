"""What a tool call comes to."""

from dataclasses import dataclass
from typing import Any

from ocmem.core import jsjson
from ocmem.errors import OcmemError

Json = dict[str, Any]


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


def disabled(agent_id: str) -> OcmemError:
    """An agent without memory search has no such tools in the reference."""
    return OcmemError(
        f"memory search is disabled for agent {agent_id}", hint="see memorySearch.enabled"
    )
