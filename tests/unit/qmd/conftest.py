"""A home with notes, and a fake QMD that is asked about them."""

from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.fake_qmd import FakeQmd, is_running
from tests.unit.qmd.driven import Driven

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
