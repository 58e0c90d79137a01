"""Batch jobs from the notes to the index; every text is paid for once, whatever happens."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ocmem.core import batch, jobs
from ocmem.core.jobs import Batching
from ocmem.errors import EmbedderError
from tests.fake_provider import FOREVER, AnyKind, FakeProvider
from tests.unit.backfill import SERVICES, Backfill, Killed
from tests.unit.place import NOTES, ids_in_step

TEXTS = sorted(NOTES.values())


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider(dims=8) as fake:
        yield fake
        assert fake.leaks() == []
        assert fake.violations() == []


@pytest.fixture
def place(fake: FakeProvider, tmp_path: Path) -> Backfill:
    place = Backfill(tmp_path, fake)
    for name, text in NOTES.items():
        (place.memory / name).write_text(text)
    return place


# All goes well


@pytest.mark.parametrize("service", SERVICES)
def test_one_job_embeds_all_files(place: Backfill, fake: FakeProvider, service: str) -> None:
    place.use(service)

    report = place.run()

    assert sorted(place.in_jobs()) == TEXTS
    assert place.in_plain_requests() == []
    assert (report.full, report.changed, report.embedded, report.cached) == (True, 3, 3, 0)
    assert (report.pending, report.batch.failures, place.notices) == (None, 0, [])
    assert ids_in_step(place.rows())
    assert not place.ledger.exists()
    assert fake.count(service, "batch_create") == 1
    assert fake.abandoned_jobs() == []


@pytest.mark.parametrize("service", SERVICES)
def test_jobs_and_plain_requests_make_the_same_index(place: Backfill, service: str) -> None:
    place.use(service)
    place.run()
    by_jobs = place.rows()
    for file in place.index_path.parent.glob("main.sqlite*"):
        file.unlink()

    place.run(batch=False)

    assert place.rows() == by_jobs
    assert sorted(place.in_plain_requests()) == TEXTS


def test_only_what_is_new_is_in_the_next_job(place: Backfill) -> None:
    place.run()
    place.write(four="eta theta", five="alpha beta")

    report = place.run()

    assert place.in_jobs()[3:] == ["eta theta"]
    assert (report.full, report.changed, report.embedded, report.cached) == (False, 2, 1, 1)


def test_nothing_to_do_makes_no_job_and_no_request(place: Backfill, fake: FakeProvider) -> None:
    place.run()
    before = fake.count()

    place.run()

    assert fake.count() == before


def test_results_may_come_in_any_order(place: Backfill, fake: FakeProvider) -> None:
    fake.job_script.order = "reversed"

    place.run()
    rows = place.rows()
    place.run(batch=False, force=True)

    assert place.rows() == rows
    assert place.in_plain_requests() == ["ping"]


def test_equal_texts_are_one_line_of_a_job(place: Backfill) -> None:
    place.write(copy="alpha beta")

    report = place.run()

    assert sorted(place.in_jobs()) == TEXTS
    assert (report.changed, report.embedded) == (4, 3)


def test_many_texts_become_several_jobs_with_so_many_at_once(
    place: Backfill, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MOST_LINES", 1)
    place.configure(batch={"concurrency": 2})

    report = place.run()

    operations = [request.operation for request in fake.requests]
    third = [at for at, name in enumerate(operations) if name == "batch_create"][2]
    assert operations[:third].count("file_content") >= 1
    assert report.embedded == 3
    assert place.shown.count(("Waiting for 2 batch jobs…", 0, 3)) >= 1
    assert place.shown.count(("Waiting for 1 batch job…", 2, 3)) >= 1


def test_a_job_holds_no_more_bytes_than_a_service_takes(
    place: Backfill, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MOST_BYTES", 1000)

    place.run()

    assert fake.count("openai", "batch_create") == 3
    assert all(len(r.raw) < 1500 for r in fake.requests if r.operation == "file_upload")


def test_polls_are_an_interval_apart_and_become_rarer(place: Backfill, fake: FakeProvider) -> None:
    fake.job_states = ["in_progress"] * 300 + ["completed"]
    place.configure(batch={"pollIntervalMs": 5000, "timeoutMinutes": 600})

    place.run()

    slept = place.time.slept
    assert slept[:20] == [5.0] * 20
    assert slept == sorted(slept)
    assert slept[-1] == 60.0


@pytest.mark.parametrize(
    ("elapsed_s", "least_s", "pause_s"),
    [(0, 2, 2), (40, 2, 2), (100, 2, 5), (1e6, 2, 60), (1e6, 90, 90), (0, 0, 0.1)],
)
def test_the_pause_between_two_looks(elapsed_s: float, least_s: float, pause_s: float) -> None:
    assert batch.pause_s(elapsed_s, least_s=least_s) == pause_s


def test_a_job_that_is_done_at_once_is_not_asked_about(place: Backfill, fake: FakeProvider) -> None:
    fake.job_script.created = "completed"

    place.run()

    assert fake.count("openai", "batch_status") == 0
    assert place.time.slept == []


# Something fails


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(
    ("kind", "options", "plainly"),
    [
        ("job_partial", {}, 1),
        ("job_line_error", {}, 1),
        ("job_line_error", {"code": 400}, 1),
        ("job_line_error", {"code": 400, "is_plain": True}, 1),
        ("job_line_error", {"error_file": True}, 1),
        ("job_broken_line", {}, 1),
        ("job_fail", {}, 3),
        ("job_fail", {"error_file": False}, 3),
        ("job_error_file_404", {}, 3),
        ("job_expire", {}, 3),
        ("job_no_output", {}, 3),
    ],
)
def test_what_a_job_does_not_bring_is_asked_for_plainly(
    place: Backfill,
    fake: FakeProvider,
    service: str,
    kind: AnyKind,
    options: dict[str, Any],
    plainly: int,
) -> None:
    if service == "gemini" and options.get("error_file"):
        pytest.skip("Google has no error files")
    place.use(service)
    fake.add_fault(kind, **options)

    report = place.run()

    assert len(place.in_plain_requests()) == plainly
    assert (report.changed, report.embedded, report.batch.failures) == (3, 3, 1)
    assert ids_in_step(place.rows())
    assert not place.ledger.exists()
    (notice,) = place.notices
    start = f"embeddings: {service} batch failed (1/2); keeping batch enabled; "
    assert notice.startswith(f"{start}falling back to non-batch embeddings: ")
    assert report.batch.last_error is not None
    assert notice.endswith(report.batch.last_error)


@pytest.mark.parametrize(
    ("kind", "options", "told"),
    [
        ("job_partial", {}, "openai batch batch-openai-1 missing 1 embedding responses"),
        ("job_line_error", {"body": "too odd"}, ": too odd"),
        ("job_line_error", {"body": "too odd", "code": 400, "is_plain": True}, ": too odd"),
        ("job_line_error", {"body": "too odd", "error_file": True}, ": too odd"),
        ("job_broken_line", {}, "a line of the results is not JSON"),
        ("job_fail", {"body": "no room"}, "batch-openai-1 failed: no room"),
        ("job_fail", {"body": "no room", "error_file": False}, "batch-openai-1 failed: no room"),
        ("job_expire", {}, "batch-openai-1 expired: "),
        ("job_error_file_404", {}, "failed: error file unavailable: openai batch error file"),
        ("job_no_output", {}, "batch-openai-1 completed without output file"),
    ],
)
def test_a_failure_is_told_as_the_service_told_it(
    place: Backfill, fake: FakeProvider, kind: AnyKind, options: dict[str, Any], told: str
) -> None:
    fake.add_fault(kind, **options)

    assert told in str(place.run().batch.last_error)


@pytest.mark.parametrize("code", [None, 400])
def test_results_that_nobody_asked_for_are_harmless(
    place: Backfill, fake: FakeProvider, code: int | None
) -> None:
    fake.add_fault("job_unknown_id", code=code)

    report = place.run()

    assert (report.embedded, report.batch.failures, place.notices) == (3, 0, [])
    assert place.in_plain_requests() == []


@pytest.mark.parametrize(
    "kind", ["null_value", "overflow", "string_value", "base64", "empty_vector", "wrong_dim"]
)
def test_a_vector_that_is_none_is_asked_for_again(
    place: Backfill, fake: FakeProvider, kind: AnyKind
) -> None:
    fake.add_fault(kind, operation="file_content", position=1)

    report = place.run()

    assert len(place.in_plain_requests()) == 1
    assert report.batch.failures == 1
    assert ids_in_step(place.rows())


def test_two_failures_in_a_row_switch_batch_off_for_the_run(
    place: Backfill, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MOST_LINES", 1)
    place.configure(batch={"concurrency": 1})
    fake.add_fault("job_fail", times=2)

    report = place.run()

    assert fake.count("openai", "batch_create") == 2
    assert sorted(place.in_plain_requests()) == TEXTS
    assert (report.batch.failures, report.batch.is_off) == (2, True)
    assert "(2/2); disabling batch; falling back" in place.notices[1]
    assert place.run().batch.failures == 0


def test_a_success_forgives_a_failure(
    place: Backfill, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MOST_LINES", 1)
    place.configure(batch={"concurrency": 1})
    fake.add_fault("job_fail", nth=1)
    fake.add_fault("job_fail", nth=3)

    report = place.run()

    assert (report.batch.failures, report.batch.is_off) == (1, False)
    assert len(place.in_plain_requests()) == 2


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_without_a_batch_api_is_asked_once(
    place: Backfill, fake: FakeProvider, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MOST_LINES", 1)
    place.use(service)
    fake.add_fault("batch_unavailable")

    report = place.run()

    assert fake.count(service, "batch_create") == 1
    assert (report.batch.failures, report.batch.is_off, report.embedded) == (2, True, 3)
    assert sorted(place.in_plain_requests()) == TEXTS
    assert "(2/2); disabling batch" in place.notices[0]
    if service == "gemini":
        assert "asyncBatchEmbedContent not available" in place.notices[0]


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(
    ("operation", "times"), [("file_upload", 2), ("batch_create", 2), ("batch_status", 4)]
)
def test_a_service_that_is_out_of_order_for_a_moment_is_asked_again(
    place: Backfill, fake: FakeProvider, service: str, operation: str, times: int
) -> None:
    place.use(service)
    fake.add_fault("status", code=503, operation=operation, times=times)

    report = place.run()

    assert (report.embedded, report.batch.failures) == (3, 0)
    assert place.in_plain_requests() == []


@pytest.mark.parametrize("service", SERVICES)
def test_results_that_break_off_are_read_again_and_none_twice(
    place: Backfill, fake: FakeProvider, service: str
) -> None:
    place.use(service)
    fake.add_fault("close_early", operation="file_content", position=700)

    report = place.run()

    assert fake.count(service, "file_content") == 2
    assert (report.embedded, report.batch.failures) == (3, 0)
    assert place.in_plain_requests() == []


def test_a_job_that_cannot_be_asked_about_is_kept_for_the_next_run(
    place: Backfill, fake: FakeProvider
) -> None:
    rule = fake.add_fault("status", code=500, operation="batch_status", times=FOREVER)
    with pytest.raises(EmbedderError, match="openai batch status failed: 500"):
        place.run()
    rule.times = 0

    report = place.run()

    assert (report.embedded, place.in_plain_requests()) == (3, [])
    assert fake.count("openai", "batch_create") == 1


def test_results_that_cannot_be_read_are_kept_for_the_next_run(
    place: Backfill, fake: FakeProvider
) -> None:
    rule = fake.add_fault("status", code=500, operation="file_content", times=FOREVER)
    with pytest.raises(EmbedderError, match="openai batch file content failed: 500"):
        place.run()
    rule.times = 0

    assert place.run().embedded == 3
    assert fake.count("openai", "batch_create") == 1
    assert place.in_plain_requests() == []


def test_a_job_that_the_service_has_forgotten_counts_as_failed(
    place: Backfill, fake: FakeProvider
) -> None:
    fake.add_fault("status", code=404, body="no such batch", operation="batch_status")

    report = place.run()

    assert (report.embedded, report.batch.failures) == (3, 1)
    assert sorted(place.in_plain_requests()) == TEXTS
    assert not place.ledger.exists()


# A run that ends before its jobs


def interrupted(place: Backfill) -> None:
    """A run that is killed at its first pause."""

    def kill() -> None:
        raise Killed

    place.time.at = kill
    with pytest.raises(Killed):
        place.run()
    place.time.at = lambda: None


@pytest.mark.parametrize("service", SERVICES)
def test_a_run_that_is_killed_while_waiting_does_not_pay_twice(
    place: Backfill, fake: FakeProvider, service: str
) -> None:
    place.use(service)
    interrupted(place)
    assert place.ledger.exists()
    assert fake.abandoned_jobs() != []

    report = place.run()

    assert sorted(place.in_jobs()) == TEXTS
    assert place.in_plain_requests() == []
    assert (report.changed, report.embedded, report.cached) == (3, 3, 0)
    assert fake.abandoned_jobs() == []
    assert not place.ledger.exists()


@pytest.mark.parametrize("service", SERVICES)
def test_without_wait_the_job_is_collected_by_a_later_run(
    place: Backfill, fake: FakeProvider, service: str
) -> None:
    place.use(service, batch={"wait": False})

    reports = [place.run() for _ in range(4)]

    pending = [(r.pending.jobs, r.pending.chunks) if r.pending else None for r in reports]
    assert pending == [(1, 3), (1, 3), (1, 3), None]
    assert place.time.slept == []
    assert sorted(place.in_jobs()) == TEXTS
    assert place.in_plain_requests() == []
    assert reports[-1].embedded == 3
    assert all(report.batch.failures == 0 for report in reports)


def test_a_first_index_that_is_pending_leaves_nothing_half_done(
    place: Backfill, fake: FakeProvider
) -> None:
    place.configure(batch={"wait": False})

    report = place.run()

    assert (report.scanned, report.changed, report.chunks) == (3, 0, 0)
    assert place.sql("SELECT count(*) FROM meta") == [(0,)]
    names = {path.name for path in place.index_path.parent.iterdir()}
    assert names == {"main.sqlite", "main.sqlite.lock", "main.sqlite.jobs.json"}


def test_a_stuck_job_is_left_after_the_timeout(place: Backfill, fake: FakeProvider) -> None:
    fake.job_states = ["in_progress"]
    place.configure(batch={"timeoutMinutes": 2})

    report = place.run()

    assert 120 <= sum(place.time.slept) < 180
    assert report.pending is not None
    assert (report.pending.jobs, report.pending.chunks, report.pending.waiting) == (1, 3, 0)
    assert (report.batch.failures, place.in_plain_requests(), place.notices) == (0, [], [])


def test_an_old_index_stays_while_its_successor_is_pending(
    place: Backfill, fake: FakeProvider
) -> None:
    place.run()
    before = place.rows()
    place.configure(model="text-embedding-3-large", batch={"wait": False})

    reports = [place.run() for _ in range(3)]

    assert all(report.full and report.pending and report.changed == 0 for report in reports)
    assert place.rows() == before
    assert place.run().pending is None
    assert place.meta()["model"] == "text-embedding-3-large"
    assert len(place.in_jobs()) == 6


def test_files_whose_vectors_are_there_are_written_and_the_others_left(
    place: Backfill, fake: FakeProvider
) -> None:
    place.run()
    place.configure(batch={"wait": False})
    place.write(known="alpha beta", new="eta theta", one="iota kappa")

    report = place.run()

    assert (report.full, report.changed) == (False, 1)
    assert place.indexed() == ["known.md", "one.md", "three.md", "two.md"]
    assert ("memory/one.md", "alpha beta") in [
        (path, text.strip()) for _, path, text, _ in place.rows()["chunks"]
    ]
    assert report.pending is not None
    assert report.pending.chunks == 2


def test_a_pending_rebuild_keeps_what_has_arrived(
    place: Backfill, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MOST_LINES", 1)
    place.configure(batch={"concurrency": 3, "timeoutMinutes": 1})
    fake.add_fault("job_stuck", nth=2)

    report = place.run()

    assert report.pending is not None
    assert (report.pending.jobs, report.pending.chunks, report.embedded) == (1, 1, 2)
    assert place.cached() == 2


def test_more_jobs_than_may_run_at_once_wait_for_the_next_run(
    place: Backfill, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MOST_LINES", 1)
    fake.job_states = ["completed"]
    place.configure(batch={"concurrency": 2, "wait": False})

    first, second, third = (place.run() for _ in range(3))

    assert first.pending is not None
    assert (first.pending.jobs, first.pending.chunks, first.pending.waiting) == (2, 2, 1)
    assert second.pending is not None
    assert (second.pending.jobs, second.pending.chunks, second.pending.waiting) == (1, 1, 0)
    assert third.pending is None
    assert sorted(place.in_jobs()) == TEXTS
    assert place.in_plain_requests() == []


def test_a_text_that_is_gone_meanwhile_is_collected_all_the_same(
    place: Backfill, fake: FakeProvider
) -> None:
    place.configure(batch={"wait": False})
    place.run()
    (place.memory / "three.md").unlink()

    for _ in range(3):
        report = place.run()

    assert (report.pending, report.changed, report.embedded) == (None, 2, 3)
    assert place.cached() == 3
    assert not place.ledger.exists()


# Switched off, while jobs are under way


def test_a_plain_run_collects_jobs_and_does_not_pay_for_them_again(
    place: Backfill, fake: FakeProvider
) -> None:
    place.configure(batch={"wait": False})
    place.run()
    place.configure(batch={"enabled": False})
    place.write(four="eta theta")

    reports = [place.run() for _ in range(3)]

    assert [bool(report.pending) for report in reports] == [True, True, False]
    assert place.in_plain_requests() == ["eta theta"]
    assert fake.count("openai", "batch_create") == 1


def test_no_batch_embeds_at_once_what_is_under_way(place: Backfill) -> None:
    place.configure(batch={"wait": False})
    place.run()

    report = place.run(batch=False)

    assert (report.pending, report.changed) == (None, 3)
    assert sorted(place.in_plain_requests()) == TEXTS
    assert place.ledger.exists()


def test_no_batch_takes_what_is_done(place: Backfill, fake: FakeProvider) -> None:
    fake.job_states = ["completed"]
    place.configure(batch={"wait": False})
    place.run()

    assert place.run(batch=False).embedded == 3
    assert place.in_plain_requests() == []


def test_batch_for_once(place: Backfill) -> None:
    place.configure(batch={"enabled": False})

    place.run(batch=True)

    assert sorted(place.in_jobs()) == TEXTS


def test_without_the_cache_there_are_plain_requests(place: Backfill) -> None:
    place.configure(cache={"enabled": False})

    place.run()

    assert place.notices == ["embeddings: batch jobs need cache.enabled; using plain requests"]
    assert sorted(place.in_plain_requests()) == TEXTS


def test_a_provider_without_jobs_says_so_to_those_who_asked(place: Backfill) -> None:
    settings_of_mistral = {"provider": "mistral"}
    Backfill.__mro__[1].configure(
        place,
        provider="mistral",
        remote={
            "baseUrl": place.fake.base_url("mistral"),
            "apiKey": "key-mistral",
            "batch": {"enabled": True},
        },
    )
    found: list[str] = []

    for wanted in (None, True):
        made = batch.batches_of(
            place.settings,
            Batching(wanted=wanted),
            progress=lambda label, done, total: None,
            notice=found.append,
            log=found.append,
        )
        assert made is None

    assert settings_of_mistral["provider"] == place.settings.provider.id
    assert found == ["embeddings: mistral has no batch API; using plain requests"]


# Search


def test_a_search_makes_no_jobs(place: Backfill, fake: FakeProvider) -> None:
    answer = place.ask("alpha")

    assert len(answer.hits) == 3
    assert place.in_jobs() == []


def test_a_search_neither_polls_nor_pays_for_what_is_under_way(
    place: Backfill, fake: FakeProvider
) -> None:
    place.run()
    place.configure(batch={"wait": False})
    place.write(four="eta theta")
    place.run()
    polls = fake.count("openai", "batch_status")

    answer = place.ask("eta")

    assert answer.stale
    assert "the index is out of date; run: ocmem index" in answer.warnings
    assert fake.count("openai", "batch_status") == polls
    assert place.in_plain_requests() == ["eta"]  # the query


def test_a_search_leaves_a_first_index_to_its_jobs(place: Backfill, fake: FakeProvider) -> None:
    place.configure(batch={"wait": False})
    place.run()

    answer = place.ask("alpha")

    assert (answer.hits, answer.stale) == ([], True)
    assert place.in_plain_requests() in ([], ["alpha"])


# The list


def test_the_list_says_what_is_needed_to_fetch_a_job(place: Backfill) -> None:
    place.configure(batch={"wait": False})
    place.run()

    found = json.loads(place.ledger.read_text())

    (job,) = found["jobs"]
    assert found["version"] == 1
    assert (job["provider"], job["model"]) == ("openai", "text-embedding-3-small")
    assert (job["id"], job["createdAt"]) == ("batch-openai-1", 1_767_225_600_000)
    ids = [request.custom_ids for request in place.fake.requests][0]
    assert sorted(job["chunks"]) == sorted(ids)
    assert stat.S_IMODE(place.ledger.stat().st_mode) == 0o600
    assert "key-openai" not in place.ledger.read_text()


def test_jobs_of_another_model_are_left_alone_and_mentioned(
    place: Backfill, fake: FakeProvider
) -> None:
    place.configure(batch={"wait": False})
    place.run()
    place.configure(model="text-embedding-3-large")

    place.run()

    (notice,) = place.notices
    assert "1 batch jobs of openai (text-embedding-3-small) are still under way" in notice
    (job,) = json.loads(place.ledger.read_text())["jobs"]
    assert job["model"] == "text-embedding-3-small"


@pytest.mark.parametrize(
    "text", ["{nonsense", "[]", '{"version": 2, "jobs": []}', '{"version": 1, "jobs": [{}]}', "\0"]
)
def test_a_broken_list_is_put_aside(place: Backfill, text: str) -> None:
    place.run()
    place.ledger.write_text(text)
    place.write(four="eta theta")

    report = place.run()

    assert (report.changed, report.embedded) == (1, 1)
    assert "could not be read and was kept as ~/" in place.notices[0]
    (aside,) = place.ledger.parent.glob("*.jobs.json.broken-*")
    assert aside.read_text() == text


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
    place: Backfill, wanted: bool | None, settings: dict[str, Any], is_hinted: bool
) -> None:
    remote = {"apiKey": "k", **settings.pop("remote", {})}
    Backfill.__mro__[1].configure(place, remote=remote, **settings)

    assert jobs.would_be_cheaper(place.settings, Batching(wanted=wanted)) == is_hinted
