"""Batch jobs of the fake: from the upload to the vectors, and what can become of them."""

import json

import pytest

from tests.fake_provider import FOREVER, FakeProvider, JobScript, word_vector
from tests.fake_provider.batch_wire import Style
from tests.unit.fake_batches import (
    BATCH_SERVICES,
    content,
    create,
    file_id,
    finish,
    jsonl,
    output_id,
    results,
    state,
    status,
    submit,
    upload,
)
from tests.unit.fake_client import Answer

ALL = (*BATCH_SERVICES, "gemini-custom")
FOX = word_vector("red fox", 8)
OWL = word_vector("grey owl", 8)
OPERATIONS = ["file_upload", "batch_create", *["batch_status"] * 3, "file_content"]


def job_with(fake: FakeProvider, service: str = "openai") -> Answer:
    return submit(fake, service, a="red fox", b="grey owl")


@pytest.mark.parametrize("service", ALL)
def test_a_job_gives_the_vectors_of_its_file(service: str) -> None:
    with FakeProvider(dims=8) as fake:
        output = finish(fake, service, job_with(fake, service))

    assert results(output) == [("a", FOX), ("b", OWL)]
    assert [request.operation for request in fake.requests] == OPERATIONS
    assert fake.texts() == ["red fox", "grey owl"]
    assert fake.requests[0].custom_ids == ["a", "b"]
    assert (fake.violations(), fake.abandoned_jobs(), fake.unused_files()) == ([], [], [])


@pytest.mark.parametrize("style", ["flat", "flat-metadata", "operation"])
def test_google_answers_in_three_styles(style: Style) -> None:
    with FakeProvider(jobs=JobScript(style=style)) as fake:
        job = job_with(fake, "gemini")
        polls = [status(fake, "gemini", job) for _ in range(3)]
        output = finish(fake, "gemini", job)

    prefix = "BATCH_STATE_" if style == "operation" else ""
    words = [f"{prefix}PENDING", f"{prefix}RUNNING", f"{prefix}SUCCEEDED"]
    assert [state(poll) for poll in polls] == words
    assert [poll.json.get("done") for poll in polls] == (
        [None, None, True] if style == "operation" else [None] * 3
    )
    assert ("outputConfig" in polls[-1].json) == (style == "flat")
    assert ("response" in polls[-1].json) == (style == "operation")
    assert len(results(output)) == 2


def test_polls_follow_the_script_and_its_last_state_repeats() -> None:
    with FakeProvider() as fake:
        fake.job_states = ["odd", None, "in_progress"]
        job = job_with(fake)
        polls = [status(fake, "openai", job) for _ in range(5)]

    assert state(job) == "validating"
    assert [state(poll) for poll in polls] == ["odd", None] + ["in_progress"] * 3
    assert "status" not in polls[1].json
    assert fake.abandoned_jobs() == [job.json["id"]]


@pytest.mark.parametrize("service", BATCH_SERVICES)
def test_a_job_may_be_done_when_it_is_created(service: str) -> None:
    with FakeProvider(jobs=JobScript(created="completed")) as fake:
        job = job_with(fake, service)
        output = finish(fake, service, job)

    assert fake.count(service, "batch_status") == 0
    assert len(results(output)) == 2


def test_lines_may_come_in_another_order() -> None:
    texts = {name: name for name in "abcdefgh"}
    orders = []
    for script in (JobScript(order="reversed"), *[JobScript(order="shuffled", seed=3)] * 2):
        with FakeProvider(jobs=script) as fake:
            output = finish(fake, "voyage", submit(fake, "voyage", **texts))
            orders.append([known for known, _ in results(output)])

    assert orders[0] == [*"hgfedcba"]
    assert orders[1] == orders[2] != sorted(orders[1])
    assert sorted(orders[1]) == [*"abcdefgh"]


def test_what_is_left_behind_is_known() -> None:
    with FakeProvider() as fake:
        unused = upload(fake, "openai", jsonl("openai", a="x"))
        submitted = submit(fake, "openai", a="x")
        read = submit(fake, "gemini", a="x")
        finish(fake, "gemini", read)

    assert fake.unused_files() == [file_id(unused)]
    assert fake.abandoned_jobs() == [submitted.json["id"]]


@pytest.mark.parametrize("service", BATCH_SERVICES)
@pytest.mark.parametrize(("kind", "word"), [("job_fail", "failed"), ("job_expire", "expired")])
def test_a_job_may_fail_or_expire(service: str, kind: str, word: str) -> None:
    with FakeProvider() as fake:
        fake.add_fault("job_fail" if kind == "job_fail" else "job_expire", body="so sorry")
        fake.job_states = ["completed"]
        job = job_with(fake, service)
        told = status(fake, service, job)

    assert (state(told) or "").lower().endswith(word)
    assert output_id(told) is None
    assert b"so sorry" in told.body
    assert fake.abandoned_jobs() == []
    assert [request.fault for request in fake.requests] == [None, kind, None]


def test_a_failed_job_has_an_error_file_unless_told() -> None:
    with FakeProvider() as fake:
        fake.job_states = ["completed"]
        fake.add_fault("job_fail", code=400, body="too long")
        fake.add_fault("job_expire", body="too late")
        fake.add_fault("job_error_file_404")
        fake.add_fault("job_fail", error_file=False)
        told = [status(fake, "openai", job_with(fake)).json for _ in range(4)]
        errors = [content(fake, "openai", each["error_file_id"]) for each in told[:3]]

    (failed,) = results(errors[0])
    assert failed == ("b", {"error": {"message": "too long", "type": "invalid_request_error"}})
    assert results(errors[1]) == [("a", "too late"), ("b", "too late")]
    assert errors[2].status == 404
    assert told[3]["error_file_id"] is None
    assert fake.count("openai", "error_content") == 3
    assert fake.violations() == []


@pytest.mark.parametrize("service", BATCH_SERVICES)
def test_a_job_may_never_end_or_end_without_output(service: str) -> None:
    with FakeProvider() as fake:
        fake.add_fault("job_stuck")
        fake.add_fault("job_no_output")
        stuck, empty = job_with(fake, service), job_with(fake, service)
        last = [[status(fake, service, job) for _ in range(4)][-1] for job in (stuck, empty)]

    words = ("in_progress", "running"), ("completed", "succeeded")
    for told, expected in zip(last, words, strict=True):
        assert (state(told) or "").lower().endswith(expected)
        assert output_id(told) is None
    assert len(fake.abandoned_jobs()) == 1


@pytest.mark.parametrize("service", BATCH_SERVICES)
def test_one_line_of_the_output_may_be_wrong(service: str) -> None:
    with FakeProvider(dims=8) as fake:
        fake.add_fault("job_partial", custom_id="a")
        fake.add_fault("job_line_error", position=0, body="no such text")
        fake.add_fault("job_line_error", code=413, body="too long")
        fake.add_fault("job_unknown_id")
        outputs = [finish(fake, service, job_with(fake, service)) for _ in range(4)]

    partial, failed, refused, unknown = (results(output) for output in outputs)
    assert partial == [("b", OWL)]
    assert failed == [("a", "no such text"), ("b", OWL)]
    assert refused[0] == ("a", FOX) and "too long" in str(refused[1])
    assert [known for known, _ in unknown] == ["a", "b", "an-id-nobody-sent"]


def test_a_line_may_be_broken_and_a_refusal_may_be_plain_text() -> None:
    with FakeProvider() as fake:
        fake.add_fault("job_broken_line")
        fake.add_fault("job_line_error", code=500, body="oops", is_plain=True)
        broken, plain = (finish(fake, "openai", job_with(fake)) for _ in range(2))

    sound, cut = broken.body.decode().splitlines()
    json.loads(sound)
    with pytest.raises(json.JSONDecodeError):
        json.loads(cut)
    assert results(plain)[1] == ("b", "oops")


def test_the_error_of_a_line_may_be_in_the_error_file_of_a_completed_job() -> None:
    with FakeProvider() as fake:
        fake.job_states = ["completed"]
        fake.add_fault("job_line_error", code=400, error_file=True)
        told = status(fake, "openai", job_with(fake))
        output = content(fake, "openai", told.json["output_file_id"])
        errors = content(fake, "openai", told.json["error_file_id"])

    assert state(told) == "completed"
    assert [known for known, _ in results(output)] == ["a"]
    assert [known for known, _ in results(errors)] == ["b"]


@pytest.mark.parametrize("service", BATCH_SERVICES)
def test_faults_in_the_vectors_strike_the_output_too(service: str) -> None:
    with FakeProvider(dims=8) as fake:
        fake.add_fault("wrong_dim", custom_id="b")
        fake.add_fault("fewer")
        outputs = [finish(fake, service, job_with(fake, service)) for _ in range(2)]

    dims, fewer = (results(output) for output in outputs)
    assert [len(vector) for _, vector in dims] == [8, 9]
    assert fewer == [("a", FOX)]


def test_a_service_may_have_no_batches() -> None:
    with FakeProvider() as fake:
        fake.add_fault("batch_unavailable", dialect="gemini")
        answers = [job_with(fake, service) for service in ("gemini", "gemini", "openai")]

    assert [answer.status for answer in answers] == [404, 404, 200]
    assert answers[0].json["error"]["status"] == "NOT_FOUND"
    assert len(fake.unused_files()) == 2


def test_a_fault_may_come_before_or_after_the_job_was_created() -> None:
    with FakeProvider() as fake:
        fake.add_fault("status", code=500, operation="batch_create")
        fake.add_fault("status", code=500, operation="batch_create", when="after")
        uploaded = file_id(upload(fake, "openai", jsonl("openai", a="x")))
        before = create(fake, "openai", uploaded)
        assert fake.abandoned_jobs() == []
        after = create(fake, "openai", uploaded)

    assert (before.status, after.status) == (500, 500)
    assert len(fake.abandoned_jobs()) == 1


def test_text_and_id_are_matched_in_every_call_about_a_job() -> None:
    with FakeProvider() as fake:
        for operation in ("batch_status", "file_content"):
            fake.add_fault("status", code=500, operation=operation, text="owl")
        fake.add_fault("status", code=501, operation="batch_create", custom_id="z")
        fake.job_states = ["completed"]
        fox, owl = submit(fake, "openai", a="fox"), submit(fake, "openai", b="owl")
        other = submit(fake, "openai", z="bee")
        polls = [status(fake, "openai", job) for job in (fox, owl, owl)]
        files = [content(fake, "openai", output_id(poll) or "") for poll in (polls[0], polls[2])]

    assert [poll.status for poll in polls] == [200, 500, 200]
    assert [file.status for file in files] == [200, 500]
    assert other.status == 501


def test_a_job_fault_waits_for_a_job_and_others_may_go_on_for_ever() -> None:
    with FakeProvider() as fake:
        fake.job_states = ["completed"]
        fake.add_fault("job_fail", times=FOREVER)
        words = [state(status(fake, "voyage", job_with(fake, "voyage"))) for _ in range(2)]

    assert words == ["failed", "failed"]
    assert [r.fault for r in fake.requests if r.operation == "file_upload"] == [None, None]
