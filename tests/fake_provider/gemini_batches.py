"""Google's batch API. Its answers come in three styles, since its documentation has as many."""

import json
import re
from collections.abc import Collection, Iterator
from typing import Any, Final

from tests.fake_provider.batch_wire import (
    Job,
    State,
    StoredFile,
    Style,
    at_lines,
    is_dead,
    is_done,
    line_problems,
)
from tests.fake_provider.checks import content_type_problems, size_problems, unknown_keys
from tests.fake_provider.faults import Rule
from tests.fake_provider.gemini_contents import MAX_TEXT_BYTES, content_text
from tests.fake_provider.multipart import Part, json_lines, parts_of
from tests.fake_provider.record import Recorded
from tests.fake_provider.vectors import utf8

JSONL: Final = "application/jsonl"
TASK: Final = "RETRIEVAL_DOCUMENT"
_CREATE: Final = re.compile(r"/models/[^/:]+:asyncBatchEmbedContent")
_STATUS: Final = re.compile(r"/(batches/[^/:]+)")
_DOWNLOAD: Final = re.compile(r"(?:download:)?/(files/[^/:]+):download")
_STATES: Final = {
    "validating": "PENDING",
    "in_progress": "RUNNING",
    "finalizing": "RUNNING",
    "completed": "SUCCEEDED",
    "failed": "FAILED",
    "expired": "EXPIRED",
    "cancelled": "CANCELLED",
}


class GeminiBatches:
    def operation(self, method: str, route: str) -> tuple[str, str] | None:
        if method == "POST" and route == "upload:/files":
            return "file_upload", ""
        if method == "POST" and _CREATE.fullmatch(route):
            return "batch_create", ""
        if method == "GET":
            if asked := _STATUS.fullmatch(route):
                return "batch_status", asked[1]
            if asked := _DOWNLOAD.fullmatch(route):
                return "file_content", asked[1]
        return None

    def read_upload(self, request: Recorded) -> None:
        try:
            parts = _parts(request)
        except ValueError:
            return
        lines = json_lines(parts[-1].text) if parts else []
        request.body = {"parts": [part.as_json() for part in parts], "lines": lines}
        for line in lines:
            match line:
                case {"key": str(key), "request": content} if content_text(content) is not None:
                    request.custom_ids.append(key)
                    request.texts.append(content_text(content) or "")

    def uploaded(self, request: Recorded) -> str:
        return _parts(request)[-1].text

    def input_id(self, request: Recorded) -> str:
        match request.body:
            case {"batch": {"inputConfig": {"file_name": str(name)}}}:
                return name
        return ""

    def problems(self, request: Recorded, *, extra_keys: Collection[str]) -> Iterator[str]:
        if request.operation == "file_upload":
            yield from _upload_problems(request, extra_keys)
        elif request.operation == "batch_create":
            yield from content_type_problems(request.header_values("content-type"))
            yield from _create_problems(request.body)

    def file_id(self, number: int) -> str:
        return f"files/gemini-{number}"

    def job_id(self, number: int) -> str:
        return f"batches/gemini-{number}"

    def file_answer(self, file: StoredFile, *, style: Style) -> dict[str, Any]:
        told = {"name": file.id, "mimeType": JSONL, "sizeBytes": f"{len(utf8(file.text))}"}
        return told if style == "flat" else {"file": told}

    def job_answer(self, job: Job, state: State, *, style: Style) -> dict[str, Any]:
        word = None if state is None else _STATES.get(state, state)
        error = {"error": {"code": 3, "message": job.failure}} if job.failure else {}
        file = None if job.output is None else job.output.id
        if style == "operation":
            return (
                {"name": job.id}
                | _operation(word, file, is_over=is_done(state) or is_dead(state))
                | error
            )
        answer = {"name": job.id} | ({} if word is None else {"state": word}) | error
        if file is None:
            return answer
        if style == "flat":
            return answer | {"outputConfig": {"file": file}}
        return answer | {"metadata": {"output": {"responsesFile": file}}}

    def result_line(self, custom_id: str, embedding: object, *, style: Style) -> dict[str, Any]:
        told = {} if embedding is None else {"embedding": {"values": embedding}}
        if style == "flat":
            return {"key": custom_id} | told
        return {"key": custom_id, "response": told}

    def error_line(self, custom_id: str, rule: Rule, *, style: Style) -> dict[str, Any]:
        """With a code it is the answer that was refused, else the line itself failed."""
        error = {"code": rule.code or 3, "message": rule.body or "the request failed"}
        if rule.code is None:
            return {"key": custom_id, "error": error}
        return {"key": custom_id, "response": {"error": error}}


def _operation(word: str | None, file: str | None, *, is_over: bool) -> dict[str, Any]:
    kind = "type.googleapis.com/google.ai.generativelanguage.v1main.EmbedContentBatch"
    metadata: dict[str, Any] = {"@type": kind}
    if word is not None:
        metadata["state"] = f"BATCH_STATE_{word}"
    answer: dict[str, Any] = {"metadata": metadata}
    if is_over:
        answer["done"] = True
    if file is not None:
        metadata["output"] = {"responsesFile": file}
        answer["response"] = {"@type": kind + "Output", "responsesFile": file}
    return answer


def _upload_problems(request: Recorded, extra_keys: Collection[str]) -> Iterator[str]:
    if "uploadType=multipart" not in request.path.partition("?")[2].split("&"):
        yield "the query does not say uploadType=multipart"
    try:
        parts = _parts(request)
    except ValueError as error:
        yield f"not a multipart/related body: {error}"
        return
    if [part.content_type for part in parts] != ["application/json", JSONL]:
        yield f"the parts are of the types {[part.content_type for part in parts]}"
        return
    yield from _about_problems(parts[0].text)
    text = parts[1].text
    lines = json_lines(text.removesuffix("\n"))
    notes = [(at, x) for at, line in enumerate(lines) for x in _line_problems(line, extra_keys)]
    yield from line_problems(text, request.custom_ids)
    yield from at_lines(notes)


def _about_problems(text: str) -> Iterator[str]:
    match json_lines(text):
        case [{"file": {"displayName": str(name)}}] if name:
            expected: object = {"file": {"displayName": name, "mimeType": JSONL}}
        case _:
            expected = None
    if json_lines(text) != [expected]:
        yield f"the description of the file is {text}"


def _line_problems(line: object, extra_keys: Collection[str]) -> Iterator[str]:
    if not isinstance(line, dict):
        yield "not a JSON object"
        return
    yield from unknown_keys(line, {"key", "request"})
    if not (isinstance(line.get("key"), str) and line["key"]):
        yield "no key"
    content = line.get("request")
    if not isinstance(content, dict):
        yield "no request"
        return
    yield from unknown_keys(content, {"content", "task_type", *extra_keys}, where=" in the request")
    if content.get("task_type") != TASK:
        yield f"task_type is {content.get('task_type')}, not {TASK}"
    text = content_text(content)
    if text is None:
        yield "a content is not one part with a text"
    else:
        yield from size_problems([len(utf8(text))], max_text=MAX_TEXT_BYTES)


def _create_problems(body: object) -> Iterator[str]:
    match body:
        case {"batch": {"displayName": str(name), "inputConfig": {"file_name": str(file)}}} if name:
            expected: object = {"displayName": name, "inputConfig": {"file_name": file}}
        case _:
            expected = None
    if body != {"batch": expected}:
        yield f"the body is {json.dumps(body)}"


def _parts(request: Recorded) -> list[Part]:
    kind = "".join(request.header_values("content-type"))
    if not kind.lower().startswith("multipart/related"):
        raise ValueError(f"the content type is {kind}")
    return parts_of(kind, request.raw)
