"""The embedding that every case was indexed with: deterministic, 128 dimensions."""

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ocmem.model import Vector

DIMS = 128
_WORD = re.compile(r"\w+")


@dataclass(slots=True)
class RuleEmbedder:
    """Counts what it is asked, so that a test can see whether anything was embedded."""

    is_unit: bool = False
    group_bytes: int = 8000
    concurrency: int = 1
    documents: int = 0

    def embed_documents(self, texts: Sequence[str], *, timeout_s: float) -> list[Vector]:
        self.documents += len(texts)
        return [self.embed_query(text, timeout_s=timeout_s) for text in texts]

    def embed_query(self, text: str, *, timeout_s: float) -> Vector:
        vector = embed(text)
        if not self.is_unit:
            return vector
        length = math.sqrt(sum(number * number for number in vector))
        return [number / length for number in vector]


def embed(text: str) -> Vector:
    """Each word adds or takes one in a dimension of its own; the last one is never zero."""
    vector = [0.0] * DIMS
    vector[-1] = 0.5
    for word in _WORD.findall(text.lower()):
        digest = hashlib.sha256(word.encode()).digest()
        slot = int.from_bytes(digest[:4], "big") % (DIMS - 1)
        vector[slot] += 1.0 if digest[4] & 1 else -1.0
    return vector
