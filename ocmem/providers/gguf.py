"""The head of a GGUF file: what must be known about a model before it is loaded."""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ocmem.errors import EmbedderError

_MAGIC = b"GGUF"
_FORMATS = "<B <b <H <h <I <i <f <? - - <Q <q <d".split()  # by type number
_STRING, _ARRAY = 8, 9
_LONGEST_STRING = 1 << 24
_UNSPECIFIED = -1


@dataclass(frozen=True, slots=True)
class Head:
    architecture: str
    context_length: int | None  # as trained
    pooling: int  # llama.cpp's number; below 0 where the file does not say


def check_magic(data: bytes) -> None:
    """Raise if a file that begins like this is something else."""
    if data[:4] != _MAGIC:
        got = data[:4].decode("latin-1")
        raise EmbedderError(f'Invalid GGUF magic. Expected "GGUF" but got "{got}"')


def read_head(path: Path) -> Head:
    """Reads no further than it must: after the numbers come vocabularies of a million words."""
    try:
        with path.open("rb") as file:
            check_magic(file.read(4))
            return _read(file)
    except OSError as error:
        raise EmbedderError(f"{path} cannot be read: {error.strerror}") from error
    except (struct.error, ValueError, LookupError) as error:
        raise EmbedderError(f"{path} is not a complete GGUF file: {error}") from error


def _read(file: BinaryIO) -> Head:
    version, _, count = _unpack(file, "<IQQ")
    if version not in (2, 3):
        raise EmbedderError(f"GGUF version {version} is not supported")
    values: dict[str, object] = {}
    for _ in range(count):
        key = _string(file)
        (kind,) = _unpack(file, "<I")
        values[key] = _value(file, kind)
        head = _head(values)
        if head.context_length is not None and head.pooling != _UNSPECIFIED:
            return head
    return _head(values)


def _head(values: dict[str, object]) -> Head:
    architecture = str(values.get("general.architecture", ""))
    context = values.get(f"{architecture}.context_length")
    pooling = values.get(f"{architecture}.pooling_type")
    return Head(
        architecture,
        context if isinstance(context, int) and context > 0 else None,
        pooling if isinstance(pooling, int) else _UNSPECIFIED,
    )


def _value(file: BinaryIO, kind: int) -> object:
    if kind == _STRING:
        return _string(file)
    if kind != _ARRAY:
        return _unpack(file, _FORMATS[kind])[0]
    item, count = _unpack(file, "<IQ")
    if item in (_STRING, _ARRAY):
        for _ in range(count):
            _value(file, item)
    else:
        file.seek(count * struct.calcsize(_FORMATS[item]), 1)
    return None  # no list is of interest here


def _string(file: BinaryIO) -> str:
    (size,) = _unpack(file, "<Q")
    if size > _LONGEST_STRING:
        raise ValueError("a text in it is too long")
    data = file.read(size)
    if len(data) < size:
        raise ValueError("it ends early")
    return data.decode("utf-8", "replace")


def _unpack(file: BinaryIO, layout: str) -> tuple[int, ...]:
    data = file.read(struct.calcsize(layout))
    if len(data) < struct.calcsize(layout):
        raise ValueError("it ends early")
    return struct.unpack(layout, data)
