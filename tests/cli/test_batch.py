"""Large backfills by batch jobs, as a person at the shell sees them."""

import os
import signal
import time
from typing import Any

import pytest

from tests.cli.program import Program, indexed
from tests.fake_provider import FakeProvider

HINT = "hint: run ocmem index later to fetch what is done"


@pytest.fixture
def notes(ocmem: Program) -> Program:
    ocmem.note("MEMORY.md", "Prefers tea.\n")
    ocmem.note("memory/a.md", "The heron stood.\n")
    ocmem.note("memory/b.md", "The otter swam.\n")
    return ocmem


def use(ocmem: Program, fake: FakeProvider, service: str = "openai", **batch: object) -> None:
    remote = {
        "baseUrl": fake.base_url(service),
        "apiKey": fake.key(service),
        "batch": {"enabled": True, "pollIntervalMs": 0, **batch},
    }
    ocmem.configure(provider=service, remote=remote)


def batch_of(ocmem: Program, *args: str) -> dict[str, Any]:
    found: dict[str, Any] = ocmem("status", *args, "--json").json[0]["status"]["batch"]
    return found


@pytest.mark.parametrize("service", ["openai", "voyage", "gemini"])
def test_a_backfill_by_one_job(notes: Program, fake: FakeProvider, service: str) -> None:
    use(notes, fake, service)

    done = notes("index")

    assert (done.code, done.out) == (0, "Memory index updated (main).\n")
    assert "3 embedded, 0 from cache" in done.err
    assert fake.count(service, "batch_create") == 1
    assert fake.count(service, "embed") == 0
    assert "a.md" in notes("search", "heron").out
    assert fake.violations() == []


def test_batch_and_no_batch_are_for_one_run(notes: Program, fake: FakeProvider) -> None:
    notes.use(fake)
    notes("index", "--batch")
    assert fake.count("openai", "batch_create") == 1
    use(notes, fake)
    notes.note("memory/c.md", "A kingfisher.\n")

    notes("index", "--no-batch")

    assert fake.count("openai", "batch_create") == 1
    assert fake.count("openai", "embed") == 1


def test_without_wait_it_says_what_is_under_way_and_collects_it_later(
    notes: Program, fake: FakeProvider
) -> None:
    use(notes, fake, wait=False)
    fake.job_states = ["in_progress", "completed"]

    first = notes("index")
    status = notes("status")
    second = notes("index", "--json")
    third = notes("index", "--json")

    told = "Memory index pending (main): 1 batch job with 3 chunks is under way.\n"
    assert (first.code, first.out) == (0, told)
    assert HINT in first.err
    assert "Batch: enabled (failures 0/2)\nBatch jobs: 1 pending (3 chunks)\n" in status.out
    assert second.code == 0
    assert second.json[0]["pending"] == {"jobs": 1, "chunks": 3}
    assert "pending" not in third.json[0]
    assert third.json[0]["embedded"] == 3
    assert len(indexed(notes.shared_index)) == 3
    assert fake.count("openai", "embed") == 0
    assert fake.count("openai", "batch_create") == 1


def test_status_shows_jobs_only_while_there_are_some(notes: Program, fake: FakeProvider) -> None:
    use(notes, fake, wait=False)
    before = batch_of(notes)
    notes("index")

    during = batch_of(notes)

    assert "pending" not in before
    assert during == before | {"pending": {"jobs": 1, "chunks": 3}}
    assert "Batch jobs" in notes("status").out


@pytest.mark.parametrize(
    ("service", "is_enabled"),
    [("openai", True), ("gemini", True), ("voyage", True), ("mistral", False)],
)
def test_status_says_where_batch_works(
    notes: Program, fake: FakeProvider, service: str, is_enabled: bool
) -> None:
    use(notes, fake, service)

    assert batch_of(notes)["enabled"] == is_enabled


def test_status_after_a_failure_in_its_own_run(notes: Program, fake: FakeProvider) -> None:
    use(notes, fake)
    fake.add_fault("job_fail", body="no room")

    done = notes("status", "--index")

    assert "Batch: enabled (failures 1/2)\nBatch error: openai batch batch-openai-1 failed" in (
        done.out
    )
    assert "[memory] embeddings: openai batch failed (1/2); keeping batch enabled;" in done.err
    notes.note("memory/c.md", "A kingfisher.\n")
    fake.add_fault("batch_unavailable")
    batch = batch_of(notes, "--index")
    assert (batch["enabled"], batch["failures"], batch["lastProvider"]) == (False, 2, "openai")
    assert "not available" in batch["lastError"]


def test_a_run_that_is_killed_while_waiting_has_paid_once(
    notes: Program, fake: FakeProvider
) -> None:
    use(notes, fake, pollIntervalMs=60_000)
    fake.job_states = ["completed"]
    process = notes.start("index")
    ledger = notes.shared_index.with_name("main.sqlite.jobs.json")
    deadline = time.monotonic() + 30
    while not ledger.exists() and time.monotonic() < deadline:
        time.sleep(0.01)  # for another process; there is no clock to turn
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert fake.abandoned_jobs() == ["batch-openai-1"]

    done = notes("index", "--json")

    assert done.json[0]["embedded"] == 3
    assert fake.count("openai", "batch_create") == 1
    assert fake.count("openai", "embed") == 0
    assert not ledger.exists()


def test_an_echoed_key_is_not_shown(notes: Program, fake: FakeProvider) -> None:
    use(notes, fake)
    fake.add_fault("echo_key", operation="file_upload", code=400)

    done = notes("index")

    assert done.code == 0
    assert "openai batch file upload failed: 400" in done.err
    assert "key-openai" not in done.out + done.err


def test_offline_leaves_jobs_alone(notes: Program, fake: FakeProvider) -> None:
    use(notes, fake)
    notes("index")
    use(notes, fake, wait=False)
    notes.note("memory/c.md", "A kingfisher.\n")
    notes("index")
    before = fake.count()

    done = notes("index", "--offline")

    assert done.code == 0
    assert "Memory index pending (main): 1 batch job with 1 chunk is under way." in done.out
    assert "--offline: openai was not asked" in done.err
    assert fake.count() == before
