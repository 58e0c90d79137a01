"""Vectors that depend on the text alone, so that a test can predict them."""

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

Vector = list[float]
Mode = Literal["hash", "words", "unit", "golden", "fixed"]

GOLDEN_DIMS: Final = 128
WORD: Final = re.compile(r"\w+")


class NoVector(LookupError):
    """The table of `fixed` mode has no row for a text."""


def utf8(text: str) -> bytes:
    """UTF-8 in which a lone surrogate, legal in JSON, takes three bytes instead of raising."""
    return text.encode("utf-8", "surrogatepass")


def hash_vector(text: str, dims: int) -> Vector:
    """Noise in [-1, 1), in steps of 1/128; deliberately not of unit length."""
    blocks = range(math.ceil(dims / 32))
    noise = b"".join(hashlib.sha256(utf8(text) + n.to_bytes(4, "big")).digest() for n in blocks)
    return [(byte - 128) / 128 for byte in noise[:dims]]


def word_vector(text: str, dims: int) -> Vector:
    """How often each coordinate's words occur; a text without words gets the zero vector."""
    vector = [0.0] * dims
    for word in WORD.findall(text.lower()):
        vector[int.from_bytes(hashlib.sha256(utf8(word)).digest()[:4], "big") % dims] += 1.0
    return vector


def golden_vector(text: str) -> Vector:
    """The embedding behind the golden cases: signed words, and a constant in the last place."""
    vector = [0.0] * GOLDEN_DIMS
    vector[-1] = 0.5
    for word in WORD.findall(text.lower()):
        digest = hashlib.sha256(utf8(word)).digest()
        slot = int.from_bytes(digest[:4], "big") % (GOLDEN_DIMS - 1)
        vector[slot] += 1.0 if digest[4] & 1 else -1.0
    return vector


def unit(vector: Sequence[float]) -> Vector:
    """`vector` at length one; the zero vector stays as it is."""
    length = math.sqrt(sum(x * x for x in vector))
    return [x / length for x in vector] if length else list(vector)


def embedder(
    mode: Mode, *, dims: int | None, fixed: Mapping[str, Sequence[float]] | None
) -> Callable[[str], Vector]:
    """The function that `mode` names; `dims` is 8 unless told, and 128 in `golden` mode."""
    if (mode == "fixed") != (fixed is not None):
        raise ValueError("a table of vectors belongs to fixed mode, and fixed mode needs one")
    if mode == "golden" and dims not in (None, GOLDEN_DIMS):
        raise ValueError(f"golden mode has {GOLDEN_DIMS} dimensions, not {dims}")
    size = dims or 8
    table = dict(fixed or {})

    def look_up(text: str) -> Vector:
        if text not in table:
            raise NoVector(f"no fixed vector for {text!r}")
        return list(table[text])

    modes: dict[Mode, Callable[[str], Vector]] = {
        "hash": lambda text: hash_vector(text, size),
        "words": lambda text: word_vector(text, size),
        "unit": lambda text: unit(word_vector(text, size)),
        "golden": golden_vector,
        "fixed": look_up,
    }
    return modes[mode]
