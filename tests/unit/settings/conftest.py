"""A home per test."""

from pathlib import Path

import hypothesis
import pytest

from tests.unit.settings.home import Home

# Laws about files take as long as the disk does.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)
