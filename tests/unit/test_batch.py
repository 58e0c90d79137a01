"""Batch jobs from the notes to the index: many files, few jobs, the same vectors."""

from typing import Any

import pytest

from ocmem.backends.builtin import BuiltinBackend
from ocmem.core import batch, indexer, jobs
from ocmem.core.jobs import Batching
from tests.fake_provider import FakeProvider
from tests.unit.backfill import SERVICES, Backfill
from tests.unit.place import NOTES, Place, ids_in_step

TEXTS = sorted(NOTES.values())

# All goes well


@pytest.mark.parametrize("service", SERVICES)
def test_one_job_embeds_all_files(backfill: Backfill, fake: FakeProvider, service: str) -> None:
    backfill.use(service)

    report = backfill.run()

    assert sorted(backfill.in_jobs()) == TEXTS
    assert backfill.in_plain_requests() == []
    assert (report.full, report.changed, report.embedded, report.cached) == (True, 3, 3, 0)
    assert (report.pending, report.batch.failures, backfill.notices) == (None, 0, [])
    assert ids_in_step(backfill.rows())
    assert not backfill.ledger.exists()
    assert fake.count(service, "batch_create") == 1
    assert fake.abandoned_jobs() == []


@pytest.mark.parametrize("service", SERVICES)
def test_jobs_and_plain_requests_make_the_same_index(backfill: Backfill, service: str) -> None:
    backfill.use(service)
    backfill.run()
    by_jobs = backfill.rows()
    for file in backfill.index_path.parent.glob("main.sqlite*"):
        file.unlink()

    backfill.run(batch=False)

    assert backfill.rows() == by_jobs
    assert sorted(backfill.in_plain_requests()) == TEXTS


def test_only_what_is_new_is_in_the_next_job(backfill: Backfill) -> None:
    backfill.run()
    backfill.write(four="eta theta", five="alpha beta")

    report = backfill.run()

    assert backfill.in_jobs()[3:] == ["eta theta"]
    assert (report.full, report.changed, report.embedded, report.cached) == (False, 2, 1, 1)


def test_nothing_to_do_makes_no_job_and_no_request(backfill: Backfill, fake: FakeProvider) -> None:
    backfill.run()
    before = fake.count()

    backfill.run()

    assert fake.count() == before


def test_results_may_come_in_any_order(backfill: Backfill, fake: FakeProvider) -> None:
    fake.job_script.order = "reversed"

    backfill.run()
    rows = backfill.rows()
    backfill.run(batch=False, force=True)

    assert backfill.rows() == rows
    assert backfill.in_plain_requests() == ["ping"]


def test_equal_texts_are_one_line_of_a_job(backfill: Backfill) -> None:
    backfill.write(copy="alpha beta")

    report = backfill.run()

    assert sorted(backfill.in_jobs()) == TEXTS
    assert (report.changed, report.embedded) == (4, 3)


def test_many_texts_become_several_jobs_with_so_many_at_once(
    backfill: Backfill, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MOST_LINES", 1)
    backfill.configure(batch={"concurrency": 2})

    report = backfill.run()

    operations = [request.operation for request in fake.requests]
    third = [at for at, name in enumerate(operations) if name == "batch_create"][2]
    assert operations[:third].count("file_content") >= 1
    assert report.embedded == 3
    assert backfill.shown.count(("Waiting for 2 batch jobs…", 0, 3)) >= 1
    assert backfill.shown.count(("Waiting for 1 batch job…", 2, 3)) >= 1


def test_a_job_holds_no_more_bytes_than_a_service_takes(
    backfill: Backfill, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MOST_BYTES", 800)

    backfill.run()

    assert fake.count("openai", "batch_create") == 3
    assert all(len(r.raw) < 1500 for r in fake.requests if r.operation == "file_upload")


def test_more_text_than_fits_in_memory_goes_window_by_window(
    backfill: Backfill, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "_JOB_WINDOW_BYTES", 1)

    report = backfill.run()

    assert fake.count("openai", "batch_create") == 3
    assert (report.changed, report.embedded, report.cached) == (3, 3, 0)
    assert ids_in_step(backfill.rows())


def test_polls_are_an_interval_apart_and_become_rarer(
    backfill: Backfill, fake: FakeProvider
) -> None:
    fake.job_states = ["in_progress"] * 300 + ["completed"]
    backfill.configure(batch={"pollIntervalMs": 5000, "timeoutMinutes": 600})

    backfill.run()

    slept = backfill.time.slept
    assert slept[:20] == [5.0] * 20
    assert slept == sorted(slept)
    assert slept[-1] == 60.0


@pytest.mark.parametrize(
    ("elapsed_s", "least_s", "pause_s"),
    [(0, 2, 2), (40, 2, 2), (100, 2, 5), (1e6, 2, 60), (1e6, 90, 90), (0, 0, 0.1)],
)
def test_the_pause_between_two_looks(elapsed_s: float, least_s: float, pause_s: float) -> None:
    assert batch.pause_s(elapsed_s, least_s=least_s) == pause_s


def test_a_job_that_is_done_at_once_is_not_asked_about(
    backfill: Backfill, fake: FakeProvider
) -> None:
    fake.job_script.created = "completed"

    backfill.run()

    assert fake.count("openai", "batch_status") == 0
    assert backfill.time.slept == []


# Switched off, while jobs are under way


def test_a_plain_run_collects_jobs_and_does_not_pay_for_them_again(
    backfill: Backfill, fake: FakeProvider
) -> None:
    backfill.configure(batch={"wait": False})
    backfill.run()
    backfill.configure(batch={"enabled": False})
    backfill.write(four="eta theta")

    reports = [backfill.run() for _ in range(3)]

    assert [bool(report.pending) for report in reports] == [True, True, False]
    assert backfill.in_plain_requests() == ["eta theta"]
    assert fake.count("openai", "batch_create") == 1


def test_no_batch_embeds_at_once_what_is_under_way(backfill: Backfill) -> None:
    backfill.configure(batch={"wait": False})
    backfill.run()

    report = backfill.run(batch=False)

    assert (report.pending, report.changed) == (None, 3)
    assert sorted(backfill.in_plain_requests()) == TEXTS
    assert backfill.ledger.exists()


def test_no_batch_takes_what_is_done(backfill: Backfill, fake: FakeProvider) -> None:
    fake.job_states = ["completed"]
    backfill.configure(batch={"wait": False})
    backfill.run()

    assert backfill.run(batch=False).embedded == 3
    assert backfill.in_plain_requests() == []


def test_batch_for_once(backfill: Backfill) -> None:
    backfill.configure(batch={"enabled": False})

    backfill.run(batch=True)

    assert sorted(backfill.in_jobs()) == TEXTS


def test_without_the_cache_there_are_plain_requests(backfill: Backfill) -> None:
    backfill.configure(cache={"enabled": False})

    backfill.run()

    assert backfill.notices == ["embeddings: batch jobs need cache.enabled; using plain requests"]
    assert sorted(backfill.in_plain_requests()) == TEXTS


def test_a_provider_without_jobs_says_so_to_those_who_asked(backfill: Backfill) -> None:
    Place.configure(backfill, provider="mistral", remote={"batch": {"enabled": True}})
    found: list[str] = []

    for wanted in (None, True):
        made = batch.batches_of(
            backfill.settings,
            Batching(wanted=wanted),
            progress=lambda label, done, total: None,
            notice=found.append,
            log=found.append,
        )
        assert made is None

    assert found == ["embeddings: mistral has no batch API; using plain requests"]


# The hint


@pytest.mark.parametrize(
    ("wanted", "settings", "is_hinted"),
    [
        (None, {"provider": "openai"}, True),
        (None, {"provider": "gemini"}, True),
        (None, {"provider": "voyage"}, True),
        (None, {"provider": "mistral"}, False),
        (False, {"provider": "openai"}, False),
        (None, {"provider": "openai", "remote": {"batch": {"enabled": True}}}, False),
        (None, {"provider": "openai", "remote": {"baseUrl": "http://127.0.0.1:9/v1"}}, False),
    ],
)
def test_a_hint_is_given_where_jobs_are_known_to_work(
    backfill: Backfill, wanted: bool | None, settings: dict[str, Any], is_hinted: bool
) -> None:
    remote = {"apiKey": "k", **settings.pop("remote", {})}
    Place.configure(backfill, remote=remote, **settings)

    assert jobs.would_be_cheaper(backfill.settings, Batching(wanted=wanted)) == is_hinted


def test_the_hint_comes_once_before_much_is_paid_for(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "LARGE_BACKFILL", 2)
    monkeypatch.setattr(indexer, "_WINDOW_BYTES", 1)
    place.configure(remote={"apiKey": "k"})
    place.write(four="eta theta", five="iota kappa")
    notices: list[str] = []
    asked: list[int] = []

    def notice(text: str) -> None:
        notices.append(text)
        asked.append(len(place.embedder.asked))

    backend = BuiltinBackend(place.settings, embedder=place.embedder, notice=notice)
    backend.index(force=False, wait_s=0)

    (text,) = notices
    assert text.endswith("cheaper and slower, and what is embedded stays: ocmem index --batch")
    assert asked == [2]
