"""Static word-piece embedding from the data files of the wordllama wheel: no key, no network.

A text's vector is the mean of its tokens' rows, scaled to length one. It is an English model.
"""

import contextlib
import json
import math
import mmap
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ocmem.core import utf16
from ocmem.core.embedder import Notice, no_notice
from ocmem.errors import EmbedderError
from ocmem.model import Vector
from ocmem.settings import Settings
from ocmem.settings.provider import builtin_files

_TEXTS_PER_BATCH = 256
_FEW_TOKENS = 2000


class BuiltinEmbedder:
    group_bytes = 1_000_000
    concurrency = 1

    def __init__(self, weights: Path, tokenizer: Path) -> None:
        self._weights = weights
        self._tokenizer_file = tokenizer
        self._tokenizer: Any = None
        self._matrix: Any = None

    def embed_query(self, text: str, *, timeout_s: float) -> Vector:
        (vector,) = self._few(self._encode([text]))
        return vector

    def embed_documents(self, texts: Sequence[str], *, timeout_s: float) -> list[Vector]:
        vectors: list[Vector] = []
        for at in range(0, len(texts), _TEXTS_PER_BATCH):
            encoded = self._encode(texts[at : at + _TEXTS_PER_BATCH])
            if self._matrix is None and sum(map(len, encoded)) <= _FEW_TOKENS:
                vectors += self._few(encoded)
                continue
            with _weights_read():
                vectors += map(self._mean, encoded)
        return vectors

    def _few(self, encoded: Sequence[list[int]]) -> list[Vector]:
        """A handful of tokens: their rows are read alone, which is over before numpy is loaded.

        To the last bit what `_mean` gives: sums of 16-bit floats have no rounding errors here.
        """
        with (
            _weights_read(),
            self._weights.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            start, dims = _layout(data)
            row = struct.Struct(f"<{dims}e")
            return [
                _mean_of([row.unpack_from(data, start + token * row.size) for token in tokens])
                for tokens in encoded
            ]

    def _mean(self, tokens: list[int]) -> Vector:
        if not tokens:
            return []
        if self._matrix is None:
            self._matrix = self._mapped()
        mean = self._matrix[tokens].sum(axis=0, dtype="float64") / len(tokens)
        norm = math.sqrt(math.fsum((mean * mean).tolist()))
        vector: Vector = (mean / norm).astype("float32").tolist() if norm else []
        return vector

    def _mapped(self) -> Any:  # noqa: ANN401
        import numpy as np

        with self._weights.open("rb") as file:
            start, dims = _layout(file.read(_HEADER_ROOM))
        flat = np.memmap(self._weights, dtype="<f2", mode="r", offset=start)
        return flat.reshape(-1, dims)

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        if self._tokenizer is None:
            from tokenizers import Tokenizer

            try:
                self._tokenizer = Tokenizer.from_file(str(self._tokenizer_file))
            except Exception as error:  # the library has no narrower one
                raise EmbedderError(f"the wordllama tokenizer cannot be read: {error}") from error
        safe = [utf16.well_formed(text) for text in texts]
        return [
            encoding.ids
            for encoding in self._tokenizer.encode_batch(safe, add_special_tokens=False)
        ]


def connect(settings: Settings, *, notice: Notice = no_notice) -> BuiltinEmbedder:
    files = builtin_files()
    if files is None:
        raise EmbedderError("the data files of the wordllama package are missing")
    return BuiltinEmbedder(*files)


_HEADER_ROOM = 4096


@contextlib.contextmanager
def _weights_read() -> Iterator[None]:
    """A file that is gone, cut short or something else, as an error that names it."""
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError, struct.error) as error:
        raise EmbedderError(f"the wordllama weights cannot be read: {error}") from error


def _layout(data: mmap.mmap | bytes) -> tuple[int, int]:
    """Where the matrix starts in a safetensors file, and how many columns it has."""
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    tensors = [entry for name, entry in header.items() if name != "__metadata__"]
    if len(tensors) != 1 or tensors[0]["dtype"] != "F16":
        raise EmbedderError("the wordllama weights are not the 16-bit matrix that was expected")
    return 8 + size + tensors[0]["data_offsets"][0], tensors[0]["shape"][1]


def _mean_of(rows: Sequence[tuple[float, ...]]) -> Vector:
    if not rows:
        return []
    sums = (sum(column) for column in zip(*rows, strict=True))
    return _rounded(_unit([total / len(rows) for total in sums]))


def _unit(values: list[float]) -> list[float]:
    norm = math.sqrt(math.fsum(value * value for value in values))
    return [value / norm for value in values] if norm else []


def _rounded(values: list[float]) -> Vector:
    return list(struct.unpack(f"<{len(values)}f", struct.pack(f"<{len(values)}f", *values)))
