"""A home per test; a provider where one is asked for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.program import Program, permissions_hold
from tests.fake_provider import FakeProvider


@pytest.fixture
def ocmem(tmp_path: Path) -> Program:
    return Program(tmp_path)


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider(dims=16, mode="words") as provider:
        yield provider


@pytest.fixture
def permissions(tmp_path: Path) -> None:
    """Skips where nothing can be refused to the child."""
    if not permissions_hold(tmp_path / "probe"):
        pytest.skip("this user cannot be refused a file")
