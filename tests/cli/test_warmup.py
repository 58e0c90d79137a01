"""`ocmem warmup`: made for scripts that want the first search to be quick."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.program import Program
from tests.fake_provider import FOREVER, FakeProvider


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider(dims=16) as fake:
        yield fake


def warmed(ocmem: Program, *, code: int = 0) -> dict[str, Any]:
    done = ocmem("warmup", "--json")
    assert done.code == code, done.err
    (entry,) = json.loads(done.out)
    fields: dict[str, Any] = entry
    return fields


def steps(entry: dict[str, Any]) -> dict[str, str]:
    return {step["step"]: step.get("detail") or step["error"] for step in entry["steps"]}


def test_the_builtin_model_is_ready_at_once(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "The dentist is on Thursday.\n")
    ocmem.index()

    entry = warmed(ocmem)

    assert (entry["ready"], entry["provider"]) == (True, "builtin")
    assert steps(entry) == {
        "provider": "on this machine",
        "load": "256 dimensions",
        "embed": "256 dimensions",
        "search": "1 chunks",
    }
    assert all(step["ok"] and step["seconds"] >= 0 for step in entry["steps"])


def test_people_get_a_line_for_each_step(ocmem: Program) -> None:
    done = ocmem("warmup")

    assert done.code == 0
    first, *_, search, last = done.out.splitlines()
    assert first == "Memory Warm-up (main)"
    assert search.startswith("  search    ready")
    assert search.endswith("no index yet; run: ocmem index")
    assert last == "Ready."


def test_keywords_alone_have_nothing_to_load(ocmem: Program) -> None:
    ocmem.configure_own(provider="none")

    assert list(steps(warmed(ocmem))) == ["search"]


def test_a_service_is_asked_for_one_line_and_one_search(ocmem: Program, fake: FakeProvider) -> None:
    ocmem.note("MEMORY.md", "The dentist is on Thursday.\n")
    ocmem.use(fake)
    ocmem.index()
    before = fake.count()

    entry = warmed(ocmem)

    assert entry["ready"]
    assert fake.count() == before + 3


def test_a_service_that_refuses_is_not_ready(ocmem: Program, fake: FakeProvider) -> None:
    ocmem.use(fake)
    fake.add_fault("echo_key", times=FOREVER)

    entry = warmed(ocmem, code=1)
    told = ocmem("warmup")

    assert not entry["ready"]
    assert steps(entry)["provider"] == fake.base_url("openai")
    assert list(steps(entry)) == ["provider", "load"]
    assert steps(entry)["load"].startswith("openai embeddings failed: 401")
    assert told.code == 1
    assert told.out.splitlines()[-1] == "Not ready."
    assert fake.key("openai") not in told.out + told.err
    assert "hint: check the key" in told.err


def test_without_a_key_it_is_not_ready(ocmem: Program) -> None:
    ocmem.configure(provider="mistral")

    entry = warmed(ocmem, code=1)

    assert steps(entry)["provider"].startswith('No API key found for provider "mistral".')


def test_a_fallback_is_warmed_in_its_place(ocmem: Program, fake: FakeProvider) -> None:
    ocmem.configure_own(
        provider="openai",
        fallback="builtin",
        remote={"baseUrl": fake.base_url("openai"), "apiKey": "wrong"},
    )

    done = ocmem("warmup", "--json")

    (entry,) = json.loads(done.out)
    assert done.code == 0, done.err
    assert (entry["ready"], entry["provider"]) == (True, "builtin")
    assert entry["fallback"]["from"] == "openai"
    assert "switched to fallback provider (builtin)" in done.err


def test_an_index_of_another_model_is_not_ready(ocmem: Program, fake: FakeProvider) -> None:
    ocmem.note("MEMORY.md", "The dentist is on Thursday.\n")
    ocmem.use(fake)
    ocmem.index()
    ocmem.use(fake, model="another")

    entry = warmed(ocmem, code=1)

    assert steps(entry)["search"].startswith("the index was built with openai (text-embedding-3")
