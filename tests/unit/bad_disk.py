"""A disk that gives up in the middle of a file."""

import errno
from typing import Any

import pytest

from ocmem.core import files


class BadDisk:
    """Lets a file be read once, and then only so many lines of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, *, lines: int) -> None:
        self.is_bad = True
        self._name = name
        self._lines = lines
        monkeypatch.setattr(files, "open", self._open, raising=False)

    def _open(self, location: str, mode: str) -> Any:  # noqa: ANN401
        assert mode == "rb"
        file = open(location, mode)  # noqa: PTH123, SIM115
        return _Scratched(file, self._lines) if self._is_hurt(location) else file

    def _is_hurt(self, location: str) -> bool:
        return self.is_bad and location.endswith(f"/{self._name}.jsonl")


class _Scratched:
    def __init__(self, file: Any, lines: int) -> None:  # noqa: ANN401
        self._file = file
        self._left = lines
        self._passes = 0

    def __enter__(self) -> "_Scratched":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def fileno(self) -> int:
        return int(self._file.fileno())

    def seek(self, position: int) -> int:
        self._passes += 1
        return int(self._file.seek(position))

    def readline(self, most: int) -> bytes:
        if self._passes > 1:
            self._left -= 1
            if self._left < 0:
                raise OSError(errno.EIO, "Input/output error")
        return bytes(self._file.readline(most))
