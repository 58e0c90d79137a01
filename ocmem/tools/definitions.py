"""What the tools are called, and what an agent's model is told about them."""

from dataclasses import dataclass
from typing import Final

from ocmem.tools.reply import Json


@dataclass(frozen=True, slots=True)
class Definition:
    """`parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: Json

    @property
    def fields(self) -> Json:
        return {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }


def _object(*, required: list[str], **properties: tuple[str, str]) -> Json:
    fields = {
        name: {"type": kind, "description": text} for name, (kind, text) in properties.items()
    }
    return {"type": "object", "properties": fields, "required": required}


MEMORY_SEARCH: Final = Definition(
    "memory_search",
    "Recall. Always run this first when a question touches earlier work, decisions, dates, people, "
    "preferences or todos. It searches MEMORY.md and memory/*.md, and session transcripts where "
    "these are indexed, by meaning and by keyword, and returns the best snippets with their paths "
    "and lines. If the answer says disabled: true, tell the user that recall is unavailable.",
    _object(
        required=["query"],
        query=("string", "What to look for."),
        maxResults=("number", "Most results, 1 or more."),
        minScore=("number", "Lowest score of a result."),
    ),
)
MEMORY_GET: Final = Definition(
    "memory_get",
    "Read a memory file, or only some of its lines, after memory_search has told where to look: "
    "MEMORY.md, a Markdown file below memory/, or one of the extra paths. Ask for just the lines "
    "that are needed. A file that is not there has empty text.",
    _object(
        required=["path"],
        path=("string", "The path as memory_search gives it."),
        **{"from": ("number", "First line, from 1."), "lines": ("number", "How many lines.")},
    ),
)
DEFINITIONS: Final = (MEMORY_SEARCH, MEMORY_GET)
