"""A place with three notes in it."""

from pathlib import Path

import pytest

from tests.unit.place import NOTES, Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    for name, text in NOTES.items():
        (place.memory / name).write_text(text)
    return place
