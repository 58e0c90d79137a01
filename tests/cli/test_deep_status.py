"""`status --deep` looks for itself."""

import json
import sqlite3
from contextlib import closing

from tests.cli.program import Program
from tests.fake_provider import FOREVER, FakeProvider


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


def test_a_fallback_at_work_is_shown_until_the_first_provider_indexes_again(
    ocmem: Program,
) -> None:
    ocmem.note("MEMORY.md", "The dentist is on Thursday.\n")
    with FakeProvider(dims=16) as fake:
        remote = {"baseUrl": fake.base_url("openai"), "apiKey": fake.key("openai")}
        ocmem.configure_own(provider="openai", fallback="builtin", remote=remote)
        fault = fake.add_fault("status", code=401, body="no", times=FOREVER)
        ocmem.index()
        (during,) = json.loads(ocmem("status", "--json").out)
        fault.times = 0
        ocmem.index()
        (afterwards,) = json.loads(ocmem("status", "--json").out)

    assert during["status"]["provider"] == "builtin"
    assert during["status"]["requestedProvider"] == "openai"
    assert during["status"]["fallback"] == {
        "from": "openai",
        "reason": "openai embeddings failed: 401 no",
    }
    assert afterwards["status"]["provider"] == "openai"
    assert "fallback" not in afterwards["status"]
