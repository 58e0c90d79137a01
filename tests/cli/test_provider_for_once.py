"""`--provider` for one search leaves the index of the usual one alone."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.program import Program, digest
from tests.fake_provider import FakeProvider


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider(dims=16) as fake:
        yield fake


@pytest.fixture
def notes(ocmem: Program) -> list[str]:
    """A folder of notes that is nobody's workspace, as options."""
    folder = ocmem.home / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("The dentist is on Thursday.\n")
    return ["--workspace", str(folder)]


def found(ocmem: Program, *args: str) -> dict[str, Any]:
    done = ocmem("search", "dentist", "--json", *args)
    assert (done.code, done.err) == (0, "")
    answer: dict[str, Any] = json.loads(done.out)
    assert [each["path"] for each in answer["results"]] == ["a.md"]
    return answer


def test_in_a_folder(ocmem: Program, fake: FakeProvider, notes: list[str]) -> None:
    ocmem.use(fake)

    once = found(ocmem, *notes, "--provider", "builtin")
    usual = found(ocmem, *notes)
    asked = fake.count()
    again = found(ocmem, *notes, "--provider", "builtin")
    still = found(ocmem, *notes)

    assert (once["provider"], once["mode"]) == (again["provider"], again["mode"])
    assert (once["provider"], once["mode"]) == ("builtin", "hybrid")
    assert (usual["provider"], usual["mode"]) == (still["provider"], still["mode"])
    assert (usual["provider"], usual["mode"]) == ("openai", "hybrid")
    assert fake.count() == asked + 1  # the last query, and no note again


def test_beside_an_index_of_our_own(ocmem: Program, fake: FakeProvider) -> None:
    ocmem.note("MEMORY.md", "The dentist is on Thursday.\n")
    ocmem.use(fake)
    ocmem.configure_own(exclude=["x.md"])
    ocmem.index()
    before = digest(ocmem.own_index)

    done = ocmem("search", "dentist", "--provider", "builtin", "--json")

    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["mode"] == "hybrid"
    assert digest(ocmem.own_index) == before


def test_what_is_said_to_run_can_be_run(ocmem: Program, fake: FakeProvider) -> None:
    ocmem.note("MEMORY.md", "The dentist is on Thursday.\n")
    ocmem.use(fake)
    ocmem.configure_own(provider="builtin")
    ocmem("search", "dentist", "--provider", "openai")
    ocmem.note("MEMORY.md", "The dentist is on Friday.\n")

    stale = ocmem("search", "dentist", "--provider", "openai", "--no-sync")
    done = ocmem("index", "--provider", "openai")
    fresh = ocmem("search", "dentist", "--provider", "openai", "--no-sync")

    assert stale.err == (
        "[memory] files changed since the index was made; run: ocmem index --provider openai\n"
    )
    assert done.code == 0, done.err
    assert "Friday" in fresh.out
    assert fresh.err == ""
