"""A plain client of the batch APIs, for the tests of the fake provider."""

import json
from typing import Any

from tests.fake_provider import FakeProvider
from tests.unit.fake_client import JSON_TYPE, Answer, auth, call

BATCH_SERVICES = ("openai", "voyage", "gemini")


def line(service: str, custom_id: str, text: str) -> dict[str, Any]:
    if service.startswith("gemini"):
        content = {"content": {"parts": [{"text": text}]}, "task_type": "RETRIEVAL_DOCUMENT"}
        return {"key": custom_id, "request": content}
    if service == "voyage":
        return {"custom_id": custom_id, "body": {"input": text}}
    body = {"model": "m", "input": text}
    return {"custom_id": custom_id, "method": "POST", "url": "/v1/embeddings", "body": body}


def jsonl(service: str, **texts: str) -> str:
    """A batch file whose ids are the names of the arguments."""
    lines = [line(service, custom_id, text) for custom_id, text in texts.items()]
    return "\n".join(json.dumps(each) for each in lines)


def upload(fake: FakeProvider, service: str, text: str, *, with_key: bool = True) -> Answer:
    if service.startswith("gemini"):
        about = {"file": {"displayName": "notes", "mimeType": "application/jsonl"}}
        parts = [
            ("Content-Type: application/json; charset=UTF-8", json.dumps(about)),
            ("Content-Type: application/jsonl; charset=UTF-8", text),
        ]
        kind = "multipart/related"
    else:
        disposition = "Content-Disposition: form-data; name="
        file = f'{disposition}"file"; filename="notes.jsonl"\r\nContent-Type: application/jsonl'
        parts = [(f'{disposition}"purpose"', "batch"), (file, text)]
        kind = "multipart/form-data"
    body = "".join(f"--B\r\n{head}\r\n\r\n{content}\r\n" for head, content in parts) + "--B--\r\n"
    headers = {"Content-Type": f"{kind}; boundary=B"} | (auth(service) if with_key else {})
    return call(upload_url(fake, service), body.encode(), headers=headers)


def upload_url(fake: FakeProvider, service: str) -> str:
    base = fake.base_url(service)
    if service == "gemini":
        return base.replace("/v1beta", "/upload/v1beta") + "/files?uploadType=multipart"
    return f"{base}/upload/files?uploadType=multipart" if "gemini" in service else f"{base}/files"


def create_call(service: str, file_id: str) -> tuple[str, dict[str, Any]]:
    if service.startswith("gemini"):
        batch = {"displayName": "memory-embeddings-main", "inputConfig": {"file_name": file_id}}
        return "/models/m:asyncBatchEmbedContent", {"batch": batch}
    body: dict[str, Any] = {
        "input_file_id": file_id,
        "endpoint": "/v1/embeddings",
        "completion_window": "12h" if service == "voyage" else "24h",
        "metadata": {"source": "ocmem", "agent": "main"},
    }
    if service == "voyage":
        body["request_params"] = {"model": "m", "input_type": "document"}
    return "/batches", body


def create(fake: FakeProvider, service: str, file_id: str, *, with_key: bool = True) -> Answer:
    path, body = create_call(service, file_id)
    headers = JSON_TYPE | (auth(service) if with_key else {})
    return call(fake.base_url(service) + path, body, headers=headers)


def file_id(answer: Answer) -> str:
    found = answer.json
    return str(found.get("id") or found.get("name") or found["file"]["name"])


def submit(fake: FakeProvider, service: str, **texts: str) -> Answer:
    """Uploads the texts and creates a job of them."""
    uploaded = upload(fake, service, jsonl(service, **texts))
    return create(fake, service, file_id(uploaded))


def get(fake: FakeProvider, service: str, route: str, *, with_key: bool = True) -> Answer:
    headers = auth(service) if with_key else {}
    return call(fake.base_url(service) + route, headers=headers)


def status(fake: FakeProvider, service: str, job: Answer) -> Answer:
    known = job.json.get("id") or job.json["name"].removeprefix("batches/")
    return get(fake, service, f"/batches/{known}")


def state(answer: Answer) -> str | None:
    """The state in whatever place the style of the answer has it."""
    told = answer.json
    word = told.get("status") or told.get("state") or told.get("metadata", {}).get("state")
    return word if word is None else str(word)


def content(fake: FakeProvider, service: str, known: str) -> Answer:
    if service.startswith("gemini"):
        return get(fake, service, f"/{known}:download")
    return get(fake, service, f"/files/{known}/content")


def output_id(answer: Answer) -> str | None:
    told = answer.json
    places = (
        told.get("output_file_id"),
        told.get("outputConfig", {}).get("file"),
        (told.get("metadata") or {}).get("output", {}).get("responsesFile"),
    )
    return next((str(place) for place in places if place), None)


def finish(fake: FakeProvider, service: str, job: Answer) -> Answer:
    """Polls until there is an output file, and reads it."""
    answer = job
    while (known := output_id(answer)) is None:
        answer = status(fake, service, job)
    return content(fake, service, known)


def results(output: Answer) -> list[tuple[str, Any]]:
    """The id and the vector of each line; an error in place of the vector."""
    return [_result(json.loads(each)) for each in output.body.decode().splitlines()]


def _result(told: dict[str, Any]) -> tuple[str, Any]:
    known = told.get("custom_id") or told["key"]
    if told.get("error"):
        return known, told["error"]["message"]
    if "custom_id" in told:
        response = told["response"]
        if response["status_code"] >= 400:
            return known, response["body"]
        return known, response["body"]["data"][0]["embedding"]
    response = told.get("response", told)
    return known, response.get("error") or response["embedding"]["values"]
