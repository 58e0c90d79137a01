"""A home per test; a provider where one is asked for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.program import Program, permissions_hold
from tests.cli.qmd_program import QmdProgram
from tests.fake_provider import FakeProvider
from tests.fake_qmd import is_running, wait_until


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


@pytest.fixture
def qmd(tmp_path: Path) -> Iterator[QmdProgram]:
    """The program with the fake QMD, of which nothing may be left running."""
    program = QmdProgram(tmp_path)
    yield program
    pids = [int(run["pid"]) for run in program.fake.runs]
    wait_until(lambda: not any(map(is_running, pids)))
