"""A home with notes and a fake QMD that is asked about them; transcripts, and who reads them."""

from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from ocmem.core import session_markdown
from ocmem.core.transcript import Transcript
from tests.fake_qmd import FakeQmd, is_running
from tests.unit.qmd.driven import Driven
from tests.unit.qmd.exports import Exports

# Laws about files take as long as the disk does.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeQmd]:
    fake = FakeQmd(tmp_path / "fake")
    yield fake
    left = [pid for pid in (int(run["pid"]) for run in fake.runs) if is_running(pid)]
    assert left == [], "a run of qmd was left behind"


@pytest.fixture
def driven(tmp_path: Path, fake: FakeQmd) -> Driven:
    return Driven(tmp_path, fake)


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
