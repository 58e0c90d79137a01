"""Places with notes in them, one embedded by a fake provider; and a shelf without vectors."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ocmem.core import indexer
from tests.fake_provider import FakeProvider
from tests.unit.backfill import Backfill
from tests.unit.place import NOTES, Place
from tests.unit.shelf import Shelf
from tests.unit.tool_caller import Caller


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    for name, text in NOTES.items():
        (place.memory / name).write_text(text)
    return place


@pytest.fixture
def call(place: Place) -> Caller:
    place.write(one="alpha beta\n\n", two="gamma\nalpha\n")
    return Caller(place)


@pytest.fixture
def small_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is large comes in parts, also where little is large."""
    monkeypatch.setattr(indexer, "_WINDOW_BYTES", 400_000)


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    shelf = Shelf(tmp_path / "index.sqlite")
    yield shelf
    shelf.close()


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider(dims=8) as fake:
        yield fake
        assert fake.leaks() == []
        assert fake.violations() == []


@pytest.fixture
def backfill(fake: FakeProvider, tmp_path: Path) -> Backfill:
    place = Backfill(tmp_path, fake)
    for name, text in NOTES.items():
        (place.memory / name).write_text(text)
    return place
