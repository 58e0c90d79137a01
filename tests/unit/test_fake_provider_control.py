"""The fake as seen from outside: what it recorded, and how another process drives it."""

import base64
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.fake_provider import FakeProvider, closed_port
from tests.unit.fake_batches import finish, get, output_id, state, status, submit
from tests.unit.fake_client import Answer, call, embed

ROOT = Path(__file__).parents[2]


def control(fake: FakeProvider, name: str, body: object = None) -> Answer:
    return call(f"http://127.0.0.1:{fake.port}/__ctl/{name}", body)


@pytest.fixture
def process() -> Iterator[dict[str, Any]]:
    """What a fake in another process says of itself."""
    options = ["--auth", "reference", "--query-shift", "2", "--extra-key", "dimensions"]
    command = [sys.executable, "-m", "tests.fake_provider", "--dims", "8", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        yield json.loads(running.stdout.readline())
        running.terminate()
    assert running.returncode == 0


def test_questions_can_be_narrowed_to_a_dialect_and_an_operation() -> None:
    with FakeProvider() as fake:
        embed(fake, "openai", "a", "bc")
        embed(fake, "voyage", "def", query=True)
        finish(fake, "gemini", submit(fake, "gemini", x="ghij"))

    assert fake.texts() == ["a", "bc", "def", "ghij"]
    assert fake.texts("openai") == ["a", "bc"]
    assert fake.groups() == [3, 3, 4]
    assert fake.groups(operation="embed") == [3, 3]
    assert fake.count("gemini", "batch_status") == len(fake.delays("gemini", "batch_status")) + 1
    assert fake.operations()[:3] == ["openai embed", "voyage embed_query", "gemini file_upload"]


def test_jobs_are_scripted_from_outside() -> None:
    script = {"states": ["completed"], "created": None, "order": "reversed", "style": "flat"}
    with FakeProvider() as fake:
        assert control(fake, "jobs", script).status == 200
        job = submit(fake, "gemini", a="x", b="y")
        told = status(fake, "gemini", job)
        summary = control(fake, "summary").json
        finish(fake, "gemini", job)

    assert (state(job), state(told)) == (None, "SUCCEEDED")
    assert output_id(told) is not None and "outputConfig" in told.json
    assert summary["abandoned_jobs"] == [job.json["name"]]
    operations = ["file_upload", "batch_create", "batch_status"]
    assert summary["operations"] == [f"gemini {operation}" for operation in operations]


def test_a_hub_is_filled_from_outside() -> None:
    content = base64.b64encode(b"model").decode()
    with FakeProvider() as fake:
        control(fake, "hub", {"models": {"u/r/m.gguf": content}, "uses_cdn": True})
        told = call(fake.base_url("hub") + "/u/r/resolve/main/m.gguf")
        got = call(told.headers["Location"])

    assert (told.status, got.body) == (302, b"model")


def test_a_reset_forgets_requests_rules_and_jobs() -> None:
    with FakeProvider() as fake:
        control(fake, "rules", [{"kind": "too_many_items", "limit": 1}])
        assert fake.faults[0].times is None
        submit(fake, "openai", a="x")
        control(fake, "reset", {})
        embed(fake, "openai", "a", "b")

    assert fake.operations() == ["openai embed"]
    assert (fake.abandoned_jobs(), fake.unused_files(), fake.faults) == ([], [], [])


def test_the_record_of_a_request_can_be_read_from_outside() -> None:
    with FakeProvider() as fake:
        submit(fake, "voyage", a="x")
        upload, created = control(fake, "requests").json

    assert upload["custom_ids"] == ["a"]
    assert upload["body"]["lines"] == [{"custom_id": "a", "body": {"input": "x"}}]
    assert created["body"]["completion_window"] == "12h"
    assert created["keys"] == ["key-voyage"]


def test_another_process_serves_every_dialect(process: dict[str, Any]) -> None:
    bases = {name: base for name, base in process.items() if name != "port"}

    assert sorted(bases) == ["gemini", "gemini-custom", "hub", "mistral", "openai", "voyage"]
    for base in bases.values():
        assert str(base).startswith(f"http://127.0.0.1:{process['port']}/")
        assert call(f"{base}/nothing").status == 404


def test_a_fake_without_a_start_has_no_address() -> None:
    with pytest.raises(RuntimeError, match="not been started"):
        FakeProvider().base_url("openai")


def test_a_vector_function_that_waits_does_not_stop_the_recording() -> None:
    may_answer = threading.Event()

    def wait(text: str) -> None:
        may_answer.wait(10)

    with FakeProvider(vector=wait) as fake, ThreadPoolExecutor(1) as pool:
        job = pool.submit(submit, fake, "openai", a="x")
        while fake.count("openai", "batch_create") < 1:
            threading.Event().wait(0.01)
        assert fake.texts() == ["x"]
        may_answer.set()
        assert get(fake, "openai", f"/batches/{job.result().json['id']}").status == 200


def test_nobody_listens_at_a_closed_port() -> None:
    with pytest.raises(ConnectionRefusedError):
        call(f"http://127.0.0.1:{closed_port()}/openai/v1/embeddings")
