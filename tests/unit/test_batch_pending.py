"""Runs that end before their jobs: the next one collects, and no text is paid for twice."""

import json
import stat

import pytest

from ocmem.core import batch, indexer
from tests.fake_provider import FakeProvider
from tests.unit.backfill import SERVICES, Backfill, Killed
from tests.unit.place import NOTES, ids_in_step

TEXTS = sorted(NOTES.values())

# A run that ends before its jobs


def interrupted(backfill: Backfill) -> None:
    """A run that is killed at its first pause."""

    def kill() -> None:
        raise Killed

    backfill.time.at = kill
    with pytest.raises(Killed):
        backfill.run()
    backfill.time.at = lambda: None


@pytest.mark.parametrize("service", SERVICES)
def test_a_run_that_is_killed_while_waiting_does_not_pay_twice(
    backfill: Backfill, fake: FakeProvider, service: str
) -> None:
    backfill.use(service)
    interrupted(backfill)
    assert backfill.ledger.exists()
    assert fake.abandoned_jobs() != []

    report = backfill.run()

    assert sorted(backfill.in_jobs()) == TEXTS
    assert backfill.in_plain_requests() == []
    assert (report.changed, report.embedded, report.cached) == (3, 3, 0)
    assert fake.abandoned_jobs() == []
    assert not backfill.ledger.exists()


@pytest.mark.parametrize("service", SERVICES)
def test_without_wait_the_job_is_collected_by_a_later_run(
    backfill: Backfill, fake: FakeProvider, service: str
) -> None:
    backfill.use(service, batch={"wait": False})

    reports = [backfill.run() for _ in range(4)]

    pending = [(r.pending.jobs, r.pending.chunks) if r.pending else None for r in reports]
    assert pending == [(1, 3), (1, 3), (1, 3), None]
    assert backfill.time.slept == []
    assert sorted(backfill.in_jobs()) == TEXTS
    assert backfill.in_plain_requests() == []
    assert reports[-1].embedded == 3
    assert all(report.batch.failures == 0 for report in reports)


def test_a_first_index_that_is_pending_leaves_nothing_half_done(
    backfill: Backfill, fake: FakeProvider
) -> None:
    backfill.configure(batch={"wait": False})

    report = backfill.run()

    assert (report.scanned, report.changed, report.chunks) == (3, 0, 0)
    assert backfill.sql("SELECT count(*) FROM meta") == [(0,)]
    names = {path.name for path in backfill.index_path.parent.iterdir()}
    assert names == {"main.sqlite", "main.sqlite.lock", "main.sqlite.jobs.json"}


def test_a_stuck_job_is_left_after_the_timeout(backfill: Backfill, fake: FakeProvider) -> None:
    fake.job_states = ["in_progress"]
    backfill.configure(batch={"timeoutMinutes": 2})

    report = backfill.run()

    assert 120 <= sum(backfill.time.slept) < 180
    assert report.pending is not None
    assert (report.pending.jobs, report.pending.chunks, report.pending.waiting) == (1, 3, 0)
    assert (report.batch.failures, backfill.in_plain_requests(), backfill.notices) == (0, [], [])


def test_a_job_that_never_ends_is_given_up_after_two_days(
    backfill: Backfill, fake: FakeProvider
) -> None:
    fake.job_states = ["in_progress"]
    backfill.configure(batch={"timeoutMinutes": 1, "concurrency": 1})
    backfill.run()
    backfill.time.slept.append(48 * 3600.0)
    fake.job_states = ["completed"]
    fake.add_fault("job_stuck", nth=1)

    report = backfill.run()

    assert report.pending is None
    assert report.embedded == 3
    assert "did not end in two days" in "".join(backfill.notices)


def test_an_old_job_whose_texts_nobody_wants_takes_no_place(
    backfill: Backfill, fake: FakeProvider
) -> None:
    fake.job_states = ["in_progress"]
    backfill.configure(batch={"timeoutMinutes": 1, "concurrency": 1})
    backfill.run()
    backfill.run(batch=False)
    fake.job_states = ["completed"]
    backfill.write(new="eta theta")

    report = backfill.run()

    assert report.pending is None
    assert fake.count("openai", "batch_create") == 2


def test_what_finds_no_place_in_time_goes_out_plainly(
    backfill: Backfill, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MOST_LINES", 1)
    fake.job_states = ["in_progress"]
    backfill.configure(batch={"timeoutMinutes": 1, "concurrency": 1})

    report = backfill.run()

    assert report.pending is not None
    assert (report.pending.jobs, report.pending.chunks, report.pending.waiting) == (1, 1, 0)
    assert len(backfill.in_plain_requests()) == 2


def test_an_old_index_stays_while_its_successor_is_pending(
    backfill: Backfill, fake: FakeProvider
) -> None:
    backfill.run()
    before = backfill.rows()
    backfill.configure(model="text-embedding-3-large", batch={"wait": False})

    reports = [backfill.run() for _ in range(3)]

    assert all(report.full and report.pending and report.changed == 0 for report in reports)
    assert backfill.rows() == before
    assert backfill.run().pending is None
    assert backfill.meta()["model"] == "text-embedding-3-large"
    assert len(backfill.in_jobs()) == 6


def test_files_whose_vectors_are_there_are_written_and_the_others_left(
    backfill: Backfill, fake: FakeProvider
) -> None:
    backfill.run()
    backfill.configure(batch={"wait": False})
    backfill.write(known="alpha beta", new="eta theta", one="iota kappa")

    report = backfill.run()

    assert (report.full, report.changed) == (False, 1)
    assert backfill.indexed() == ["known.md", "one.md", "three.md", "two.md"]
    assert ("memory/one.md", "alpha beta") in [
        (path, text.strip()) for _, path, text, _ in backfill.rows()["chunks"]
    ]
    assert report.pending is not None
    assert report.pending.chunks == 2


def test_a_pending_rebuild_keeps_what_has_arrived(
    backfill: Backfill, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MOST_LINES", 1)
    backfill.configure(batch={"concurrency": 3, "timeoutMinutes": 1})
    fake.add_fault("job_stuck", nth=2)

    report = backfill.run()

    assert report.pending is not None
    assert (report.pending.jobs, report.pending.chunks, report.embedded) == (1, 1, 2)
    assert backfill.cached() == 2


def test_more_jobs_than_may_run_at_once_wait_for_the_next_run(
    backfill: Backfill, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MOST_LINES", 1)
    fake.job_states = ["completed"]
    backfill.configure(batch={"concurrency": 2, "wait": False})

    first, second, third = (backfill.run() for _ in range(3))

    assert first.pending is not None
    assert (first.pending.jobs, first.pending.chunks, first.pending.waiting) == (2, 2, 1)
    assert second.pending is not None
    assert (second.pending.jobs, second.pending.chunks, second.pending.waiting) == (1, 1, 0)
    assert third.pending is None
    assert sorted(backfill.in_jobs()) == TEXTS
    assert backfill.in_plain_requests() == []


def test_a_text_that_is_gone_meanwhile_is_collected_all_the_same(
    backfill: Backfill, fake: FakeProvider
) -> None:
    backfill.configure(batch={"wait": False})
    backfill.run()
    (backfill.memory / "three.md").unlink()

    for _ in range(3):
        report = backfill.run()

    assert (report.pending, report.changed, report.embedded) == (None, 2, 3)
    assert backfill.cached() == 3
    assert not backfill.ledger.exists()


# Search


def test_a_search_makes_no_jobs(backfill: Backfill, fake: FakeProvider) -> None:
    answer = backfill.ask("alpha")

    assert len(answer.hits) == 3
    assert backfill.in_jobs() == []


def test_a_search_neither_polls_nor_pays_for_what_is_under_way(
    backfill: Backfill, fake: FakeProvider
) -> None:
    backfill.run()
    backfill.configure(batch={"wait": False})
    backfill.write(four="eta theta")
    backfill.run()
    polls = fake.count("openai", "batch_status")

    answer = backfill.ask("eta")

    assert answer.stale
    assert "the index is out of date; run: ocmem index" in answer.warnings
    assert fake.count("openai", "batch_status") == polls
    assert backfill.in_plain_requests() == ["eta"]  # the query


def test_a_search_leaves_a_first_index_to_its_jobs(backfill: Backfill, fake: FakeProvider) -> None:
    backfill.configure(batch={"wait": False})
    backfill.run()

    answer = backfill.ask("alpha")

    assert (answer.hits, answer.stale) == ([], True)
    assert backfill.in_plain_requests() in ([], ["alpha"])


# The list


def test_the_list_says_what_is_needed_to_fetch_a_job(backfill: Backfill) -> None:
    backfill.configure(batch={"wait": False})
    backfill.run()

    found = json.loads(backfill.ledger.read_text())

    (job,) = found["jobs"]
    assert found["version"] == 1
    assert (job["provider"], job["model"]) == ("openai", "text-embedding-3-small")
    assert (job["id"], job["createdAt"]) == ("batch-openai-1", 1_767_225_600_000)
    ids = backfill.fake.requests[0].custom_ids
    assert sorted(job["chunks"]) == sorted(ids)
    assert stat.S_IMODE(backfill.ledger.stat().st_mode) == 0o600
    assert "key-openai" not in backfill.ledger.read_text()


def test_jobs_of_another_model_are_left_alone_and_mentioned(
    backfill: Backfill, fake: FakeProvider
) -> None:
    backfill.configure(batch={"wait": False})
    backfill.run()
    backfill.configure(model="text-embedding-3-large")

    backfill.run()

    (notice,) = backfill.notices
    assert "a batch job of openai (text-embedding-3-small) may still be under way" in notice
    (job,) = json.loads(backfill.ledger.read_text())["jobs"]
    assert job["model"] == "text-embedding-3-small"


@pytest.mark.parametrize(
    "text", ["{nonsense", "[]", '{"version": 2, "jobs": []}', '{"version": 1, "jobs": [{}]}', "\0"]
)
def test_a_broken_list_is_put_aside(backfill: Backfill, text: str) -> None:
    backfill.run()
    backfill.ledger.write_text(text)
    backfill.write(four="eta theta")

    report = backfill.run()

    assert (report.changed, report.embedded) == (1, 1)
    assert "could not be read and was kept as ~/" in backfill.notices[0]
    (aside,) = backfill.ledger.parent.glob("*.jobs.json.broken-*")
    assert aside.read_text() == text


def test_a_note_too_large_for_one_transaction_waits_for_all_its_parts(
    backfill: Backfill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "_WINDOW_BYTES", 4000)
    monkeypatch.setattr(indexer, "_JOB_WINDOW_BYTES", 4000)
    backfill.configure(batch={"wait": False})
    while backfill.run().pending is not None:
        pass
    backfill.write(large="".join(f"turn{n} {'lorem ' * 200}\n\n" for n in range(12)))

    reports = [backfill.run()]
    while reports[-1].pending is not None:
        assert [h for path, _, h in backfill.rows()["files"] if "large" in path] in ([], [""])
        reports.append(backfill.run())

    assert len(reports) > 2
    assert reports[-1].changed_paths == ["memory/large.md"]
    assert [report.changed for report in reports[:-1]] == [0] * (len(reports) - 1)
    assert backfill.in_plain_requests() == []
    assert len(backfill.in_jobs()) == len(set(backfill.in_jobs()))
    assert ids_in_step(backfill.rows())
