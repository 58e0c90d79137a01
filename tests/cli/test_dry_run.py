"""`ocmem index --dry-run` says what a run would cost, and does nothing."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.program import Program, everything
from tests.fake_provider import FakeProvider


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider(dims=16) as fake:
        yield fake


@pytest.fixture
def notes(ocmem: Program) -> Program:
    """Two long notes, so that each takes several chunks and requests."""
    for name in ("a", "b"):
        lines = [f"{name} line {at} of a long note about herons and piers" for at in range(400)]
        ocmem.note(f"memory/{name}.md", "\n".join(lines))
    return ocmem


def planned(ocmem: Program, *args: str) -> dict[str, Any]:
    done = ocmem("index", "--dry-run", "--json", *args)
    assert done.code == 0, done.err
    (entry,) = json.loads(done.out)
    assert entry["dryRun"] is True
    fields: dict[str, Any] = entry
    return fields


def indexed(ocmem: Program, *args: str) -> dict[str, Any]:
    done = ocmem("index", "--json", *args)
    assert done.code == 0, done.err
    (entry,) = json.loads(done.out)
    fields: dict[str, Any] = entry
    return fields


def test_what_it_says_is_what_then_happens(notes: Program, fake: FakeProvider) -> None:
    notes.use(fake)

    plan = planned(notes)
    assert fake.count() == 0
    done = indexed(notes)

    assert plan["files"] == {"scanned": 2, "changed": 2, "removed": 0}
    assert plan["fullRebuild"]
    assert plan["reason"] == "there is no index yet"
    assert (plan["toEmbed"], plan["cached"]) == (done["embedded"], 0)
    assert plan["chunks"] == done["chunks"]
    assert plan["requests"] == fake.count()
    assert plan["endpoint"] == fake.base_url("openai")


def test_after_a_change_only_that_counts(notes: Program, fake: FakeProvider) -> None:
    notes.use(fake)
    notes.index()
    notes.note("memory/c.md", "A short note.\n")
    (notes.workspace / "memory/b.md").unlink()
    before = fake.count()

    plan = planned(notes)
    done = indexed(notes)

    assert plan["files"] == {"scanned": 2, "changed": 1, "removed": 1}
    assert not plan["fullRebuild"]
    assert (plan["toEmbed"], plan["requests"]) == (1, 1)
    assert plan["tokens"] == 4  # fourteen characters
    assert plan["tokenMethod"] == "characters / 4"
    assert (done["embedded"], fake.count()) == (1, before + 1)


def test_a_rebuild_finds_in_the_cache_what_was_paid_for(notes: Program, fake: FakeProvider) -> None:
    notes.use(fake)
    notes.index()

    plan = planned(notes, "--force")

    assert (plan["reason"], plan["toEmbed"], plan["requests"]) == ("--force", 0, 0)
    assert plan["cached"] == plan["chunks"]


def test_it_touches_nothing(notes: Program, fake: FakeProvider) -> None:
    notes.use(fake)
    before = everything(notes.home)

    planned(notes)

    assert everything(notes.home) == before


def test_a_cap_on_items_makes_more_requests(notes: Program, fake: FakeProvider) -> None:
    notes.use(fake)
    usual = planned(notes)
    notes.configure_own(remote={"maxItems": 1})

    capped = planned(notes)
    indexed(notes)

    assert capped["requests"] == capped["toEmbed"] > usual["requests"]
    assert fake.count() == capped["requests"]


def test_a_model_on_this_machine_costs_nothing(notes: Program) -> None:
    done = notes("index", "--dry-run")

    assert done.code == 0
    assert done.out == (
        "Would index 2 of 2 files (main).\n"
        "Full rebuild: there is no index yet\n"
        "Chunks: 32 · 32 to embed, 0 from the cache\n"
        "Cost: none; no text leaves this machine\n"
    )


def test_people_read_where_the_text_would_go(notes: Program, fake: FakeProvider) -> None:
    notes.use(fake)

    out = notes("index", "--dry-run").out

    assert "Tokens: about " in out
    assert "(characters / 4, as the model's vocabulary is not at hand)" in out
    assert f"Sent to: {fake.base_url('openai')} (openai, text-embedding-3-small)\n" in out


def test_without_a_key_the_plan_says_so(notes: Program) -> None:
    notes.configure(provider="voyage")

    done = notes("index", "--dry-run", "--json")

    (entry,) = json.loads(done.out)
    assert done.code == 0
    assert entry["unavailable"].startswith('No API key found for provider "voyage".')
    assert "it could not be done now" in done.err


def test_batch_jobs_are_counted_in_place_of_requests(notes: Program, fake: FakeProvider) -> None:
    notes.use(fake)

    plan = planned(notes, "--batch")
    told = notes("index", "--dry-run", "--batch").out

    assert (plan["batchJobs"], plan["requests"]) == (1, 0)
    assert "Batch jobs: 1\n" in told
    assert "Requests" not in told


def test_jobs_that_are_under_way_are_mentioned(notes: Program, fake: FakeProvider) -> None:
    fake.job_states = ["in_progress"]
    remote = {"baseUrl": fake.base_url("openai"), "apiKey": fake.key("openai")}
    notes.configure(provider="openai", remote={**remote, "batch": {"enabled": True, "wait": False}})
    notes("index")

    assert planned(notes)["pending"] == {"jobs": 1, "chunks": 32}
