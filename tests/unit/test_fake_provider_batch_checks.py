"""What the fake calls a mistake in a batch file, in an upload and in the creation of a job."""

import json
from typing import Any

import pytest

from tests.fake_provider import FakeProvider
from tests.fake_provider.batch_wire import line_problems
from tests.unit.fake_batches import (
    BATCH_SERVICES,
    content,
    create,
    create_call,
    file_id,
    finish,
    get,
    jsonl,
    line,
    output_id,
    submit,
    upload,
    upload_url,
)
from tests.unit.fake_client import JSON_TYPE, Answer, auth, call


def refused(fake: FakeProvider, answer: Answer) -> str:
    """The only note about the only refusal."""
    assert answer.status == 400
    (note,) = fake.violations()
    return note


@pytest.mark.parametrize("service", BATCH_SERVICES)
@pytest.mark.parametrize(
    ("spoil", "note"),
    [
        (lambda text: text + "\n", "ends with a newline"),
        (lambda text: text.replace("\n", "\n\n"), "line 2: not a JSON object"),
        (lambda text: text + "\n{", "line 3: not a JSON object"),
        (lambda text: text + "\n" + text.split("\n")[0], "a custom_id occurs twice"),
        (lambda text: text.replace("fox", "x" * 8001), "a text of 8001 bytes"),
    ],
)
def test_a_batch_file_must_be_clean(service: str, spoil: Any, note: str) -> None:  # noqa: ANN401
    text = jsonl(service, a="fox", b="owl")
    with FakeProvider() as fake:
        answer = upload(fake, service, spoil(text))

    assert note in refused(fake, answer)


def test_a_file_may_have_fifty_thousand_lines_and_no_more() -> None:
    lines = [json.dumps(line("voyage", f"{number}", "x")) for number in range(50_001)]
    with FakeProvider() as fake:
        answer = upload(fake, "voyage", "\n".join(lines))

    assert "50001 lines" in refused(fake, answer)
    assert list(line_problems("\n".join(lines[1:]), [])) == []


@pytest.mark.parametrize(
    ("service", "change", "note"),
    [
        ("openai", {"method": "GET"}, "the method is GET"),
        ("openai", {"url": "/openai/v1/embeddings"}, "the url is /openai/v1/embeddings"),
        ("openai", {"body": {"model": "m", "input": ["x"]}}, "input is not a string"),
        ("openai", {"body": {"model": "other", "input": "x"}}, "['m', 'other'], not one"),
        ("openai", {"body": {"model": "m", "input": "x", "dimensions": 8}}, "['dimensions'] in"),
        ("openai", {"custom_id": ""}, "no custom_id"),
        ("voyage", {"body": {"input": ["x"]}}, "input is not a string"),
        ("voyage", {"body": {"model": "m", "input": "x"}}, "unknown keys ['model'] in the body"),
        ("voyage", {"method": "POST"}, "unknown keys ['method']"),
        ("gemini", {"key": 7}, "no key"),
        ("gemini", {"request": None}, "no request"),
    ],
)
def test_a_line_must_have_the_form_of_its_service(
    service: str, change: dict[str, Any], note: str
) -> None:
    lines = [line(service, "a", "fox"), line(service, "b", "owl") | change]
    with FakeProvider() as fake:
        answer = upload(fake, service, "\n".join(json.dumps(each) for each in lines))

    assert note in refused(fake, answer)


@pytest.mark.parametrize(
    ("field", "value", "notes"),
    [
        ("taskType", "RETRIEVAL_DOCUMENT", ["unknown keys ['taskType']", "task_type is None"]),
        ("task_type", "RETRIEVAL_QUERY", ["task_type is RETRIEVAL_QUERY"]),
    ],
)
def test_google_spells_the_task_differently_in_batch_files(
    field: str, value: str, notes: list[str]
) -> None:
    request = {"content": {"parts": [{"text": "x"}]}, field: value}
    with FakeProvider() as fake:
        upload(fake, "gemini", json.dumps({"key": "a", "request": request}))

    found = fake.violations()
    assert [note in each for note, each in zip(notes, found, strict=True)] == [True] * len(notes)


@pytest.mark.parametrize(
    ("service", "change", "note"),
    [
        ("openai", {"completion_window": "12h"}, "the completion_window is 12h"),
        ("voyage", {"completion_window": "24h"}, "the completion_window is 24h"),
        ("openai", {"endpoint": "/embeddings"}, "the endpoint is /embeddings"),
        ("openai", {"metadata": {"source": "me", "agent": "main"}}, "the metadata is"),
        ("openai", {"metadata": {"source": "ocmem"}}, "the metadata is"),
        ("openai", {"request_params": {}}, "unknown keys ['request_params']"),
        ("openai", {"input_file_id": "file-9"}, "no such input file: file-9"),
        ("voyage", {"request_params": None}, "no request_params"),
        (
            "voyage",
            {"request_params": {"model": "m", "input_type": "query"}},
            "input_type is query",
        ),
        ("gemini", {"batch": {"displayName": "x", "inputConfig": {}}}, "the body is"),
        ("gemini", {"model": "models/m"}, "the body is"),
    ],
)
def test_a_job_must_be_created_in_the_form_of_its_service(
    service: str, change: dict[str, Any], note: str
) -> None:
    with FakeProvider() as fake:
        uploaded = file_id(upload(fake, service, jsonl(service, a="x")))
        path, body = create_call(service, uploaded)
        url = fake.base_url(service) + path
        answer = call(url, body | change, headers=JSON_TYPE | auth(service))

    assert note in refused(fake, answer)
    assert fake.unused_files() == [uploaded]


@pytest.mark.parametrize("source", ["openclaw-memory", "clawdbot-memory"])
def test_the_names_of_the_reference_are_welcome_as_a_source(source: str) -> None:
    with FakeProvider() as fake:
        path, body = create_call("openai", file_id(upload(fake, "openai", jsonl("openai", a="x"))))
        body["metadata"]["source"] = source
        url = fake.base_url("openai") + path
        answer = call(url, body, headers=JSON_TYPE | auth("openai"))

    assert (answer.status, fake.violations()) == (200, [])


def test_extra_keys_are_welcome_in_batches_when_announced() -> None:
    extra = ["dimensions", "output_dimension", "output_dimensionality"]
    with FakeProvider(extra_keys=extra) as fake:
        openai, gemini = line("openai", "a", "x"), line("gemini", "a", "x")
        openai["body"]["dimensions"] = 8
        gemini["request"]["output_dimensionality"] = 8
        upload(fake, "openai", json.dumps(openai))
        upload(fake, "gemini", json.dumps(gemini))
        path, body = create_call("voyage", file_id(upload(fake, "voyage", jsonl("voyage", a="x"))))
        body["request_params"]["output_dimension"] = 8
        call(fake.base_url("voyage") + path, body, headers=JSON_TYPE | auth("voyage"))

    assert fake.violations() == []


@pytest.mark.parametrize(
    ("headers", "body", "note"),
    [
        (JSON_TYPE, b"{}", "the content type is application/json"),
        ({"Content-Type": "multipart/form-data"}, b"", "names no boundary"),
        ({"Content-Type": "multipart/form-data; boundary=B"}, b"--C--", "begin or end"),
        ({"Content-Type": "multipart/form-data; boundary=B"}, b"--B\r\nx\r\n--B--", "blank line"),
        ({"Content-Type": "multipart/form-data; boundary=B"}, b"--B--", "the parts are []"),
    ],
)
def test_an_upload_must_be_multipart(headers: dict[str, str], body: bytes, note: str) -> None:
    with FakeProvider() as fake:
        answer = call(upload_url(fake, "openai"), body, headers=headers | auth("openai"))

    assert note in refused(fake, answer)


def test_an_upload_to_google_has_its_own_address_and_query() -> None:
    text = jsonl("gemini", a="x")
    with FakeProvider() as fake:
        right = upload_url(fake, "gemini")
        for wrong in (
            right.replace("/upload/v1beta", "/v1beta"),
            right.replace("/upload/v1beta", "/v1beta/upload"),
            upload_url(fake, "gemini-custom").replace("gemini-custom/upload", "gemini-custom"),
        ):
            assert call(wrong, text.encode(), headers=auth("gemini")).status == 404
        answer = call(right.partition("?")[0], text.encode(), headers=auth("gemini"))

    assert answer.status == 400
    assert "does not say uploadType=multipart" in fake.violations()[0]


@pytest.mark.parametrize("service", BATCH_SERVICES)
def test_every_call_needs_the_key(service: str) -> None:
    with FakeProvider() as fake:
        uploaded = file_id(upload(fake, service, jsonl(service, a="x")))
        answers = [
            upload(fake, service, jsonl(service, a="x"), with_key=False),
            create(fake, service, uploaded, with_key=False),
            get(fake, service, "/batches/b1", with_key=False),
        ]
        before = fake.violations()

    assert [answer.status for answer in answers] == [400, 400, 400]
    assert len(before) == 3


def test_the_reference_may_forget_googles_key_but_not_mistake_it() -> None:
    with FakeProvider(auth="reference", dims=8) as fake:
        uploaded = upload(fake, "gemini", jsonl("gemini", a="x"), with_key=False)
        job = create(fake, "gemini", file_id(uploaded), with_key=False)
        finish(fake, "gemini", job)
        openai = upload(fake, "openai", jsonl("openai", a="x"), with_key=False)
        wrong = {"x-goog-api-key": "key-openai"}
        foreign = call(f"{fake.base_url('gemini')}/{job.json['name']}", headers=wrong)

    assert [answer.status for answer in (uploaded, job, openai, foreign)] == [200, 200, 400, 401]
    assert fake.leaks() == ["the openai key went to gemini in x-goog-api-key"]
    assert len(fake.violations()) == 2


def test_unknown_jobs_and_files_are_not_found() -> None:
    with FakeProvider() as fake:
        answers = [
            get(fake, "openai", "/batches/b9"),
            get(fake, "gemini", "/batches/b9"),
            content(fake, "voyage", "file-9"),
        ]

    assert [answer.status for answer in answers] == [404, 404, 404]
    assert fake.violations() == []


def test_an_upload_is_recorded_in_parts_and_lines() -> None:
    with FakeProvider() as fake:
        upload(fake, "openai", jsonl("openai", a="fox", b="owl"))

    (request,) = fake.requests
    assert isinstance(request.body, dict)
    assert request.body["parts"][0]["text"] == "batch"
    assert request.body["lines"][1]["custom_id"] == "b"
    assert (fake.texts(), fake.groups()) == (["fox", "owl"], [6])
    json.dumps(request.as_json())


def test_a_download_may_use_googles_other_address() -> None:
    with FakeProvider() as fake:
        fake.job_script.created = "completed"
        known = output_id(submit(fake, "gemini", a="x"))
        base = fake.base_url("gemini").replace("/v1beta", "/download/v1beta")
        answer = call(f"{base}/{known}:download?alt=media", headers=auth("gemini"))

    assert answer.status == 200
    assert fake.abandoned_jobs() == []
