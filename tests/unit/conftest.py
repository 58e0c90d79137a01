"""A place with three notes in it; a shelf without any vectors on it yet."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.place import NOTES, Place
from tests.unit.shelf import Shelf


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    for name, text in NOTES.items():
        (place.memory / name).write_text(text)
    return place


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    shelf = Shelf(tmp_path / "index.sqlite")
    yield shelf
    shelf.close()
