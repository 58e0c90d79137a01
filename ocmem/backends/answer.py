"""What every backend answers."""

from dataclasses import dataclass

from ocmem.core.merge import Evidence, Yardstick
from ocmem.core.search import Mode
from ocmem.errors import EmbedderError
from ocmem.model import Hit
from ocmem.settings import Fallback


@dataclass(frozen=True, slots=True)
class Answer:
    """The hits, and everything a person should know about how they were found."""

    hits: list[Hit]
    ranker: str
    mode: Mode
    degraded: str | None = None
    stale: bool = False
    warnings: tuple[str, ...] = ()
    why_empty: str | None = None
    advice: str | None = None  # what to try then, in words of `ocmem search`
    hint: str | None = None
    failure: EmbedderError | None = None  # the provider was asked, and could not answer
    backend: str = "builtin"
    instead_of: Fallback | None = None  # the backend that was to answer, and could not
    yardstick: Yardstick | None = None  # with `evidence`, where hits are to be compared
    evidence: tuple[Evidence, ...] = ()  # one for each hit
