"""`status --deep` looks for itself."""

import json
import sqlite3
from contextlib import closing

from tests.cli.program import Program


def test_a_vector_table_that_cannot_be_searched_is_not_ready(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "The dentist is on Thursday.\n")
    ocmem.index()
    with closing(sqlite3.connect(ocmem.own_index)) as db:
        db.execute("DELETE FROM chunks_vec_vector_chunks00")
        db.commit()

    (plain,) = json.loads(ocmem("status", "--json").out)
    done = ocmem("status", "--deep", "--json")

    (deep,) = json.loads(done.out)
    assert done.code == 0
    assert plain["status"]["vector"]["available"]
    assert not deep["status"]["vector"]["available"]
    assert deep["status"]["vector"]["loadError"]
