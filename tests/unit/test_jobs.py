"""The batch APIs on the wire: exact requests, every shape of answer, and no key in any message."""

import json
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ocmem.core import fingerprint, jobs, utf16
from ocmem.core.jobs import Ask, JobState
from ocmem.errors import EmbedderError, NoBatchApi, ServiceRefused
from ocmem.model import Vector
from ocmem.providers import gemini_jobs
from tests.fake_provider import FOREVER, FakeProvider, JobScript, word_vector
from tests.fake_provider.batch_wire import Style
from tests.fake_provider.record import Recorded
from tests.unit.backfill import SERVICES, Clock
from tests.unit.test_services import settings_of

ASKS = [Ask("a", "red fox\n"), Ask("b", 'grey "owl" é')]
DIGEST = utf16.sha256("1767225600000")
Service = Any  # OpenAIJobs or GeminiJobs, both with a caller


@dataclass
class Connect:
    """The jobs of a service of the fake; what it opens is closed after the test."""

    fake: FakeProvider
    folder: Path
    clock: Clock = field(default_factory=Clock)
    opened: list[Service] = field(default_factory=list)

    def __call__(
        self, name: str, *, base: str = "", own: dict[str, Any] | None = None, **remote: object
    ) -> Service:
        url = self.fake.base_url(base or name)
        remote = {"baseUrl": url, "apiKey": self.fake.key(name), **remote}
        settings = settings_of(self.folder, name, own=own, **remote)
        module = import_module(jobs.SERVICES[name])
        self.opened.append(module.connect(settings, clock=self.clock.http()))
        return self.opened[-1]


@pytest.fixture
def connect(fake: FakeProvider, tmp_path: Path) -> Iterator[Connect]:
    factory = Connect(fake, tmp_path)
    yield factory
    for service in factory.opened:
        service.caller.close()


def finished(service: Service, job_id: str) -> JobState:
    while (state := service.poll(job_id)).kind == "pending":
        pass
    assert isinstance(state, JobState)
    return state


def results(service: Service, state: JobState) -> dict[str, Vector | str]:
    found: dict[str, Vector | str] = {}
    service.results(state, found.__setitem__)
    return found


def operations(fake: FakeProvider) -> list[str | None]:
    return [request.operation for request in fake.requests]


def parts_of(upload: Recorded) -> list[dict[str, Any]]:
    assert isinstance(upload.body, dict)
    return list(upload.body["parts"])


# What is sent


def test_the_custom_id_of_the_reference() -> None:
    custom_id = fingerprint.custom_id(
        source="memory",
        path="MEMORY.md",
        start_line=1,
        end_line=4,
        text_hash=utf16.sha256("# Long\n\nAlpha fact about café.\n"),
        position=0,
    )

    assert custom_id == "2ef8214e103a09f419c61cb4cd8bcacb9eb1cda82a7b8a1f63d06ce830ad968d"


def test_openai_gets_a_file_and_an_order(fake: FakeProvider, connect: Connect) -> None:
    job_id, _ = connect("openai").submit(ASKS)

    upload, order = fake.requests
    purpose, file = parts_of(upload)
    url = '"method":"POST","url":"/v1/embeddings"'
    model = '"model":"text-embedding-3-small"'
    assert job_id == "batch-openai-1"
    assert purpose["text"] == "batch"
    assert file["text"] == (
        f'{{"custom_id":"a",{url},"body":{{{model},"input":"red fox\\n"}}}}\n'
        f'{{"custom_id":"b",{url},"body":{{{model},"input":"grey \\"owl\\" é"}}}}'
    )
    assert f'filename="memory-embeddings.{DIGEST}.jsonl"' in str(file["headers"])
    assert upload.header_values("content-type")[0].startswith("multipart/form-data; boundary=")
    assert order.raw.decode() == (
        '{"input_file_id":"file-openai-1","endpoint":"/v1/embeddings","completion_window":"24h",'
        '"metadata":{"source":"openclaw-memory","agent":"main"}}'
    )


def test_voyage_says_the_model_in_the_order(fake: FakeProvider, connect: Connect) -> None:
    connect("voyage").submit(ASKS)

    upload, order = fake.requests
    assert parts_of(upload)[1]["text"] == (
        '{"custom_id":"a","body":{"input":"red fox\\n"}}\n'
        '{"custom_id":"b","body":{"input":"grey \\"owl\\" é"}}'
    )
    assert order.raw.decode() == (
        '{"input_file_id":"file-voyage-1","endpoint":"/v1/embeddings","completion_window":"12h",'
        '"request_params":{"model":"voyage-4-large","input_type":"document"},'
        '"metadata":{"source":"clawdbot-memory","agent":"main"}}'
    )


def test_gemini_gets_a_file_at_its_upload_address(fake: FakeProvider, connect: Connect) -> None:
    connect("gemini").submit(ASKS)

    upload, order = fake.requests
    display = f"memory-embeddings-{DIGEST}"
    about, lines = (part["text"] for part in parts_of(upload))
    assert upload.path == "/gemini/upload/v1beta/files?uploadType=multipart"
    assert upload.header_values("content-type") == [
        f"multipart/related; boundary=openclaw-{utf16.sha256(display)}"
    ]
    assert about == f'{{"file":{{"displayName":"{display}","mimeType":"application/jsonl"}}}}'
    task = '"task_type":"RETRIEVAL_DOCUMENT"'
    assert lines == (
        f'{{"key":"a","request":{{"content":{{"parts":[{{"text":"red fox\\n"}}]}},{task}}}}}\n'
        f'{{"key":"b","request":{{"content":{{"parts":[{{"text":"grey \\"owl\\" é"}}]}},{task}}}}}'
    )
    assert order.path == "/gemini/v1beta/models/gemini-embedding-001:asyncBatchEmbedContent"
    assert order.raw.decode() == (
        '{"batch":{"displayName":"memory-embeddings-main",'
        '"inputConfig":{"file_name":"files/gemini-1"}}}'
    )


@pytest.mark.parametrize(
    ("base_url", "root"),
    [
        ("https://h/v1beta", "https://h/upload/v1beta"),
        ("https://h/custom", "https://h/custom/upload"),
    ],
)
def test_where_google_wants_files(base_url: str, root: str) -> None:
    assert gemini_jobs.upload_root(base_url) == root


def test_a_gemini_server_without_a_version_in_its_url(connect: Connect) -> None:
    service = connect("gemini", base="gemini-custom")

    job_id, _ = service.submit(ASKS)

    assert set(results(service, finished(service, job_id))) == {"a", "b"}


@pytest.mark.parametrize("name", SERVICES)
def test_every_call_carries_the_key(fake: FakeProvider, connect: Connect, name: str) -> None:
    service = connect(name)

    job_id, _ = service.submit(ASKS)
    results(service, finished(service, job_id))

    assert operations(fake) == [
        "file_upload",
        "batch_create",
        *["batch_status"] * 3,
        "file_content",
    ]
    assert {key for request in fake.requests for key in request.keys} == {f"key-{name}"}
    assert all(request.keys for request in fake.requests)


def test_all_calls_of_a_job_use_one_key_of_several(tmp_path: Path) -> None:
    with FakeProvider(dims=8, keys={"gemini": ["first-key", "second-key"]}) as fake:
        url = fake.base_url("gemini")
        settings = settings_of(tmp_path, "gemini", baseUrl=url, apiKey="first-key")
        assert settings.provider.endpoint is not None
        endpoint = replace(settings.provider.endpoint, more_keys=("second-key",))
        settings = replace(settings, provider=replace(settings.provider, endpoint=endpoint))
        fake.add_fault("rate_limit", operation="batch_create")
        service = gemini_jobs.connect(settings, clock=Clock().http())
        finished(service, service.submit(ASKS)[0])
        service.caller.close()

    assert {key for request in fake.requests for key in request.keys} == {"first-key"}


@pytest.mark.parametrize("name", SERVICES)
def test_configured_headers_go_along_and_the_content_type_stays_right(
    fake: FakeProvider, connect: Connect, name: str
) -> None:
    service = connect(name, headers={"X-Team": "notes", "content-type": "application/json"})

    job_id, _ = service.submit(ASKS)
    finished(service, job_id)

    assert all(request.header_values("x-team") == ["notes"] for request in fake.requests)
    assert all(len(request.header_values("content-type")) == 1 for request in fake.requests)


@pytest.mark.parametrize(
    ("name", "key", "place"),
    [
        ("openai", "dimensions", "file_upload"),
        ("voyage", "output_dimension", "batch_create"),
        ("gemini", "output_dimensionality", "file_upload"),
    ],
)
def test_shorter_vectors_are_asked_for(name: str, key: str, place: str, tmp_path: Path) -> None:
    with FakeProvider(dims=8, extra_keys={key}) as fake:
        service = Connect(fake, tmp_path)(name, own={"remote": {"dimensions": 4}})
        service.submit(ASKS)
        service.caller.close()

    (request,) = [request for request in fake.requests if request.operation == place]
    assert f'"{key}":4' in request.raw.decode()
    assert fake.violations() == []


def test_google_itself_serves_results_at_another_address(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = connect("gemini", baseUrl="https://generativelanguage.googleapis.com/v1beta")
    asked: list[str] = []
    lines = "ocmem.providers.http.Caller.lines"
    monkeypatch.setattr(
        lines, lambda caller, path, take, *, root, **_: asked.append(f"{root}{path}")
    )

    service.results(JobState("done", ("files/x",)), lambda custom_id, answer: None)

    root = "https://generativelanguage.googleapis.com/download/v1beta"
    assert asked == [f"{root}/files/x:download?alt=media"]


# What comes back


@pytest.mark.parametrize("name", SERVICES)
def test_vectors_come_back_by_their_ids(connect: Connect, name: str) -> None:
    service = connect(name)

    job_id, state = service.submit(ASKS)

    assert state.kind == "pending"
    assert results(service, finished(service, job_id)) == {
        ask.custom_id: list(word_vector(ask.text, 8)) for ask in ASKS
    }


@pytest.mark.parametrize("created", ["validating", "completed"])
@pytest.mark.parametrize("style", ["flat", "flat-metadata", "operation"])
def test_google_may_answer_in_any_of_three_styles(
    tmp_path: Path, style: Style, created: str
) -> None:
    with FakeProvider(dims=8, jobs=JobScript(style=style, created=created)) as fake:
        service = Connect(fake, tmp_path)("gemini")
        job_id, state = service.submit(ASKS)
        assert state.kind == ("done" if created == "completed" else "pending")
        found = results(service, finished(service, job_id))
        service.caller.close()

    assert set(found) == {"a", "b"}
    assert all(isinstance(answer, list) for answer in found.values())


@pytest.mark.parametrize("style", ["flat", "flat-metadata", "operation"])
@pytest.mark.parametrize("word", ["failed", "expired", "cancelled", "canceled"])
def test_google_may_fail_in_any_of_three_styles(tmp_path: Path, style: Style, word: str) -> None:
    with FakeProvider(jobs=JobScript(style=style, states=[word])) as fake:
        service = Connect(fake, tmp_path)("gemini")
        job_id, _ = service.submit(ASKS)
        state = service.poll(job_id)
        service.caller.close()

    assert state.kind == "failed"
    assert state.detail.startswith(f"gemini batch batches/gemini-1 {word.upper()}: ")


@pytest.mark.parametrize("name", ["openai", "voyage"])
@pytest.mark.parametrize("word", ["failed", "expired", "cancelled", "canceled"])
def test_a_job_that_is_over_is_told_by_its_word(
    fake: FakeProvider, connect: Connect, name: str, word: str
) -> None:
    fake.job_states = [word]
    service = connect(name)
    job_id, _ = service.submit(ASKS)

    state = service.poll(job_id)

    assert (state.kind, state.files) == ("failed", ())
    assert state.detail.startswith(f"{name} batch batch-{name}-1 {word}")


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize("word", ["queued", None])
def test_a_word_that_nobody_knows_means_to_wait(
    fake: FakeProvider, connect: Connect, name: str, word: str | None
) -> None:
    fake.job_states = [word]
    service = connect(name)
    job_id, _ = service.submit(ASKS)

    assert service.poll(job_id).kind == "pending"


def test_what_an_expired_job_has_done_is_fetched(fake: FakeProvider, connect: Connect) -> None:
    state = connect("openai")._state(
        "b1", {"status": "expired", "output_file_id": "f1", "request_counts": {"completed": 7}}
    )

    assert (state.kind, state.files) == ("failed", ("f1",))


@pytest.mark.parametrize("name", ["openai", "voyage"])
def test_the_errors_of_a_completed_job_are_read(
    fake: FakeProvider, connect: Connect, name: str
) -> None:
    fake.add_fault("job_line_error", error_file=True, body="too odd", position=0)
    service = connect(name)
    job_id, _ = service.submit(ASKS)

    found = results(service, finished(service, job_id))

    assert found == {"a": "too odd", "b": list(word_vector(ASKS[1].text, 8))}


# Refusals


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize(
    ("operation", "told"),
    [("file_upload", "file upload"), ("batch_create", "create"), ("batch_status", "status")],
)
def test_a_refusal_says_what_was_refused(
    fake: FakeProvider, connect: Connect, name: str, operation: str, told: str
) -> None:
    fake.add_fault("status", code=400, body="no", operation=operation)
    service = connect(name)

    with pytest.raises(ServiceRefused, match=f"^{name} batch {told} failed: 400 no$"):
        service.poll(service.submit(ASKS)[0])


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize("operation", ["file_upload", "batch_create"])
@pytest.mark.parametrize("code", [404, 405, 501])
def test_an_unknown_address_means_that_there_is_no_batch_api(
    fake: FakeProvider, connect: Connect, name: str, operation: str, code: int
) -> None:
    fake.add_fault("status", code=code, operation=operation, times=FOREVER)

    with pytest.raises(NoBatchApi, match="not available"):
        connect(name).submit(ASKS)


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize("operation", ["file_upload", "batch_create"])
def test_an_answer_without_an_id_is_refused(
    fake: FakeProvider, connect: Connect, name: str, operation: str
) -> None:
    fake.add_fault("status", code=200, body="{}", operation=operation)

    with pytest.raises(EmbedderError, match=r"missing (file|batch) (id|name)"):
        connect(name).submit(ASKS)


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize(
    "operation", ["file_upload", "batch_create", "batch_status", "file_content"]
)
def test_a_key_that_a_service_repeats_is_in_no_message(
    fake: FakeProvider, connect: Connect, name: str, operation: str
) -> None:
    fake.add_fault("echo_key", operation=operation)
    service = connect(name)

    with pytest.raises(EmbedderError) as caught:
        results(service, finished(service, service.submit(ASKS)[0]))

    assert f"key-{name}" not in "".join(traceback.format_exception(caught.value))
    assert "***" in str(caught.value)


def test_a_key_in_the_errors_of_a_line_is_in_no_message(
    fake: FakeProvider, connect: Connect
) -> None:
    fake.add_fault("job_line_error", body="wrong key key-openai", position=0)
    fake.add_fault("job_fail", body="wrong key key-openai", nth=2)
    service = connect("openai")

    line = results(service, finished(service, service.submit(ASKS)[0]))["a"]
    detail = finished(service, service.submit(ASKS)[0]).detail

    assert line == "wrong key ***"
    assert detail.endswith("failed: wrong key ***")


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize(
    "operation", ["file_upload", "batch_create", "batch_status", "file_content"]
)
def test_a_redirect_to_another_server_gets_no_key(
    fake: FakeProvider, connect: Connect, name: str, operation: str
) -> None:
    fake.add_fault("redirect", code=307, to="port", operation=operation)
    service = connect(name)

    with pytest.raises(EmbedderError, match="redirects to"):
        results(service, finished(service, service.submit(ASKS)[0]))

    assert fake.leaks() == []


@pytest.mark.parametrize("name", SERVICES)
def test_a_redirect_on_the_same_server_is_followed(
    fake: FakeProvider, connect: Connect, name: str
) -> None:
    fake.add_fault("redirect", code=307, operation="file_content")
    service = connect(name)

    assert len(results(service, finished(service, service.submit(ASKS)[0]))) == 2


def test_a_busy_service_is_given_time(fake: FakeProvider, connect: Connect) -> None:
    fake.add_fault("status", code=503, operation="batch_create", times=2)
    fake.add_fault("rate_limit", operation="batch_status", retry_after=7)
    service = connect("openai")

    finished(service, service.submit(ASKS)[0])

    assert connect.clock.slept == [0.5, 1.0, 7.0]


def test_an_answer_of_megabytes_is_read_to_its_end(fake: FakeProvider, connect: Connect) -> None:
    line = json.dumps({"custom_id": "x", "error": {"message": "m" * 1000}})
    fake.add_fault("status", code=200, body="\n".join([line] * 3000), operation="file_content")
    service = connect("openai")
    state = finished(service, service.submit(ASKS)[0])
    lengths: list[int] = []

    service.results(state, lambda custom_id, answer: lengths.append(len(answer)))

    assert len(lengths) == 3000
