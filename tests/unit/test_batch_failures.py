"""Jobs that fail, wholly or in part: plain requests step in, and nothing is lost."""

from typing import Any

import pytest

from ocmem.core import batch
from tests.fake_provider import FOREVER, AnyKind, FakeProvider
from tests.unit.backfill import SERVICES, Backfill
from tests.unit.place import NOTES, ids_in_step

TEXTS = sorted(NOTES.values())


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(
    ("kind", "options", "plainly"),
    [
        ("job_partial", {}, 1),
        ("job_line_error", {}, 1),
        ("job_line_error", {"code": 400}, 1),
        ("job_line_error", {"code": 400, "is_plain": True}, 1),
        ("job_broken_line", {}, 1),
        ("job_fail", {}, 3),
        ("job_fail", {"error_file": False}, 3),
        ("job_error_file_404", {}, 3),
        ("job_expire", {}, 3),
        ("job_no_output", {}, 3),
    ],
)
def test_what_a_job_does_not_bring_is_asked_for_plainly(
    backfill: Backfill,
    fake: FakeProvider,
    service: str,
    kind: AnyKind,
    options: dict[str, Any],
    plainly: int,
) -> None:
    backfill.use(service)
    fake.add_fault(kind, **options)

    report = backfill.run()

    assert len(backfill.in_plain_requests()) == plainly
    assert (report.changed, report.embedded, report.batch.failures) == (3, 3, 1)
    assert ids_in_step(backfill.rows())
    assert not backfill.ledger.exists()
    (notice,) = backfill.notices
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
    backfill: Backfill, fake: FakeProvider, kind: AnyKind, options: dict[str, Any], told: str
) -> None:
    fake.add_fault(kind, **options)

    assert told in str(backfill.run().batch.last_error)


@pytest.mark.parametrize("code", [None, 400])
def test_results_that_nobody_asked_for_are_harmless(
    backfill: Backfill, fake: FakeProvider, code: int | None
) -> None:
    fake.add_fault("job_unknown_id", code=code)

    report = backfill.run()

    assert (report.embedded, report.batch.failures, backfill.notices) == (3, 0, [])
    assert backfill.in_plain_requests() == []


@pytest.mark.parametrize(
    "kind", ["null_value", "overflow", "string_value", "base64", "empty_vector", "wrong_dim"]
)
def test_a_vector_that_is_none_is_asked_for_again(
    backfill: Backfill, fake: FakeProvider, kind: AnyKind
) -> None:
    fake.add_fault(kind, operation="file_content", position=1)

    report = backfill.run()

    assert len(backfill.in_plain_requests()) == 1
    assert report.batch.failures == 1
    assert ids_in_step(backfill.rows())


def test_two_failures_in_a_row_switch_batch_off_for_the_run(
    backfill: Backfill, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MOST_LINES", 1)
    backfill.configure(batch={"concurrency": 1})
    fake.add_fault("job_fail", times=2)

    report = backfill.run()

    assert fake.count("openai", "batch_create") == 2
    assert sorted(backfill.in_plain_requests()) == TEXTS
    assert (report.batch.failures, report.batch.is_off) == (2, True)
    assert "(2/2); disabling batch; falling back" in backfill.notices[1]
    assert backfill.run().batch.failures == 0


def test_a_success_forgives_a_failure(
    backfill: Backfill, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MOST_LINES", 1)
    backfill.configure(batch={"concurrency": 1})
    fake.add_fault("job_fail", nth=1)
    fake.add_fault("job_fail", nth=3)

    report = backfill.run()

    assert (report.batch.failures, report.batch.is_off) == (1, False)
    assert len(backfill.in_plain_requests()) == 2


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_without_a_batch_api_is_asked_once(
    backfill: Backfill, fake: FakeProvider, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MOST_LINES", 1)
    backfill.use(service)
    fake.add_fault("batch_unavailable")

    report = backfill.run()

    assert fake.count(service, "batch_create") == 1
    assert (report.batch.failures, report.batch.is_off, report.embedded) == (2, True, 3)
    assert sorted(backfill.in_plain_requests()) == TEXTS
    assert "(2/2); disabling batch" in backfill.notices[0]
    if service == "gemini":
        assert "asyncBatchEmbedContent not available" in backfill.notices[0]


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(
    ("operation", "times"), [("file_upload", 2), ("batch_create", 2), ("batch_status", 4)]
)
def test_a_service_that_is_out_of_order_for_a_moment_is_asked_again(
    backfill: Backfill, fake: FakeProvider, service: str, operation: str, times: int
) -> None:
    backfill.use(service)
    fake.add_fault("status", code=503, operation=operation, times=times)

    report = backfill.run()

    assert (report.embedded, report.batch.failures) == (3, 0)
    assert backfill.in_plain_requests() == []


@pytest.mark.parametrize("service", SERVICES)
def test_results_that_break_off_are_read_again_and_none_twice(
    backfill: Backfill, fake: FakeProvider, service: str
) -> None:
    backfill.use(service)
    fake.add_fault("close_early", operation="file_content", position=300)

    report = backfill.run()

    assert fake.count(service, "file_content") == 2
    assert (report.embedded, report.batch.failures) == (3, 0)
    assert backfill.in_plain_requests() == []


def test_a_job_that_cannot_be_asked_about_is_kept_for_the_next_run(
    backfill: Backfill, fake: FakeProvider
) -> None:
    backfill.configure(batch={"timeoutMinutes": 2})
    rule = fake.add_fault("status", code=500, operation="batch_status", times=FOREVER)
    first = backfill.run()
    told = list(backfill.notices)
    rule.times = 0

    report = backfill.run()

    assert first.pending is not None
    assert sum("still waiting for batch jobs" in text for text in told) == 1

    assert (report.embedded, backfill.in_plain_requests()) == (3, [])
    assert fake.count("openai", "batch_create") == 1


def test_results_that_cannot_be_read_are_kept_for_the_next_run(
    backfill: Backfill, fake: FakeProvider
) -> None:
    backfill.configure(batch={"timeoutMinutes": 2})
    rule = fake.add_fault("status", code=500, operation="file_content", times=FOREVER)
    assert backfill.run().pending is not None
    rule.times = 0

    assert backfill.run().embedded == 3
    assert fake.count("openai", "batch_create") == 1
    assert backfill.in_plain_requests() == []


def test_a_job_that_the_service_has_forgotten_counts_as_failed(
    backfill: Backfill, fake: FakeProvider
) -> None:
    fake.add_fault("status", code=404, body="no such batch", operation="batch_status")

    report = backfill.run()

    assert (report.embedded, report.batch.failures) == (3, 1)
    assert sorted(backfill.in_plain_requests()) == TEXTS
    assert not backfill.ledger.exists()
