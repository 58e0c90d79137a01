"""Transcripts to be exported, and who reads them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ocmem.core import session_markdown
from ocmem.core.transcript import Transcript
from tests.unit.qmd.exports import Exports


@pytest.fixture
def exports(tmp_path: Path) -> Exports:
    return Exports(tmp_path)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the transcripts that are read, in order."""
    sizes: list[int] = []

    class Watched(Transcript):
        def lines(self) -> Iterator[bytes]:
            sizes.append(self._size)
            return super().lines()

    monkeypatch.setattr(session_markdown, "Transcript", Watched)
    return sizes
