"""A vector in the two forms the index keeps: JSON text and a float32 blob."""

import json
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from ocmem.core import jsjson

UNIT_TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True)
class Embedding:
    json: str
    blob: bytes

    @property
    def dims(self) -> int:
        return len(self.blob) // 4


EMPTY = Embedding("[]", b"")


def from_values(values: Sequence[float]) -> Embedding:
    return Embedding(jsjson.vector(values), float32_blob(values)) if values else EMPTY


def from_json(text: str) -> Embedding:
    """What was stored, its text kept to the letter."""
    return Embedding(text, float32_blob(json.loads(text)))


def float32_blob(values: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def float32_values(blob: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(blob) // 4}f", blob)


def has_unit_length(norm: float) -> bool:
    """Whether ranking by distance and ranking by angle agree for such a vector."""
    return math.isclose(norm, 1.0, abs_tol=UNIT_TOLERANCE)
