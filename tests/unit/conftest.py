"""A place with three notes in it, and one whose notes a fake provider embeds in batch jobs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fake_provider import FakeProvider
from tests.unit.backfill import Backfill
from tests.unit.place import NOTES, Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    for name, text in NOTES.items():
        (place.memory / name).write_text(text)
    return place


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
