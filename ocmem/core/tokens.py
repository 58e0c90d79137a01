"""How many tokens a text has: counted where the model's vocabulary is at hand, else estimated."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

ESTIMATE = "characters / 4"
_COMMON_MODEL = "gpt-4o"


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """`method` is the vocabulary's name, or how the number was guessed."""

    count: Callable[[str], int]
    method: str

    @property
    def is_exact(self) -> bool:
        return self.method != ESTIMATE


def counter_for(model: str) -> TokenCounter:
    """For a model of OpenAI's, and for others as a guess. Nothing is fetched for it."""
    import tiktoken.load

    # It would download a vocabulary that it does not have.
    setattr(tiktoken.load, "read_file", _refuse)  # noqa: B010
    try:
        encoding = tiktoken.encoding_for_model(model)
    except (KeyError, OSError, ValueError):
        return TokenCounter(_estimated, ESTIMATE)
    return TokenCounter(lambda text: len(encoding.encode_ordinary(text)), encoding.name)


def nearest_counter(model: str | None) -> TokenCounter:
    """For a model of anybody's: with its own vocabulary, else with a common one as a guess."""
    own = counter_for((model or _COMMON_MODEL).rpartition("/")[2])
    return own if own.is_exact else counter_for(_COMMON_MODEL)


def _estimated(text: str) -> int:
    return -(-len(text) // 4)


def _refuse(address: str) -> NoReturn:
    raise FileNotFoundError("the vocabulary is not at hand")
