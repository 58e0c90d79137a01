"""A query of any length is answered in good time."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ocmem.core.store import Connection
from ocmem.core.store.connection import Row
from tests.unit.notes import Notes

WORDS = [f"word{at}" for at in range(5_000)]


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    notes = Notes(tmp_path)
    notes.without_vectors()
    notes.keep(**{f"n{at}": f"word{at} and word{at + 1}" for at in range(20)})
    return notes


@pytest.mark.parametrize("ranker", ["fused", "openclaw"])
def test_a_whole_file_as_a_query_costs_no_look_up_for_each_word(
    notes: Notes, ranker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: list[str] = []
    rows = Connection.rows

    def spy(db: Connection, statement: str, values: Mapping[str, Any] | None = None) -> list[Row]:
        statements.append(statement)
        return rows(db, statement, values)

    monkeypatch.setattr(Connection, "rows", spy)
    hits = notes.hits(" ".join(WORDS), ranker=ranker)

    assert len(hits) == 6
    assert len(statements) < 500


def test_a_short_list_of_keyword_matches_is_the_beginning_of_a_long_one(notes: Notes) -> None:
    query = " ".join(reversed(WORDS[:20]))
    longest = notes.found(query, ranker="openclaw", strict=True, max_results=50)

    assert len(longest) == 20
    for count in range(1, 20):
        found = notes.found(query, ranker="openclaw", strict=True, max_results=count)
        assert found == longest[:count]
