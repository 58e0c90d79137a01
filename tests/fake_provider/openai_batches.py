"""The batch API of OpenAI, and that of Voyage, which differs in small ways."""

import re
from collections.abc import Collection, Iterator
from typing import Any, Final

from tests.fake_provider.batch_wire import (
    Job,
    State,
    StoredFile,
    Style,
    at_lines,
    line_problems,
    metadata_problems,
)
from tests.fake_provider.checks import (
    MAX_BYTES,
    content_type_problems,
    size_problems,
    unknown_keys,
)
from tests.fake_provider.faults import Rule
from tests.fake_provider.multipart import Part, json_lines, parts_of
from tests.fake_provider.record import Recorded
from tests.fake_provider.vectors import utf8

ENDPOINT: Final = "/v1/embeddings"
CREATED: Final = 1_772_064_000
_STATUS: Final = re.compile(r"/batches/([^/]+)")
_CONTENT: Final = re.compile(r"/files/([^/]+)/content")


class OpenAIBatches:
    name = "openai"
    window = "24h"
    line_fields = frozenset({"custom_id", "method", "url", "body"})
    body_fields = frozenset({"model", "input"})
    create_fields = frozenset({"input_file_id", "endpoint", "completion_window", "metadata"})

    def operation(self, method: str, route: str) -> tuple[str, str] | None:
        if method == "POST":
            kinds = {"/files": "file_upload", "/batches": "batch_create"}
            return (kinds[route], "") if route in kinds else None
        if method == "GET":
            if asked := _STATUS.fullmatch(route):
                return "batch_status", asked[1]
            if asked := _CONTENT.fullmatch(route):
                return "file_content", asked[1]
        return None

    def read_upload(self, request: Recorded) -> None:
        try:
            parts = _parts(request)
        except ValueError:
            return
        lines = json_lines(_named(parts, "file").text)
        request.body = {"parts": [part.as_json() for part in parts], "lines": lines}
        for line in lines:
            match line:
                case {"custom_id": str(custom_id), "body": {"input": str(text)}}:
                    request.custom_ids.append(custom_id)
                    request.texts.append(text)

    def uploaded(self, request: Recorded) -> str:
        return _named(_parts(request), "file").text

    def input_id(self, request: Recorded) -> str:
        return str(request.body.get("input_file_id")) if isinstance(request.body, dict) else ""

    def problems(self, request: Recorded, *, extra_keys: Collection[str]) -> Iterator[str]:
        if request.operation == "file_upload":
            yield from self._upload_problems(request, extra_keys)
        elif request.operation == "batch_create":
            yield from content_type_problems(request.header_values("content-type"))
            if isinstance(request.body, dict):
                yield from self._create_problems(request.body, extra_keys)
            else:
                yield "the body is not a JSON object in UTF-8"

    def _upload_problems(self, request: Recorded, extra_keys: Collection[str]) -> Iterator[str]:
        try:
            parts = _parts(request)
        except ValueError as error:
            yield f"not a multipart/form-data body: {error}"
            return
        names = [part.param("content-disposition", "name") for part in parts]
        if sorted(names) != ["file", "purpose"]:
            yield f"the parts are {names}, not purpose and file"
            return
        if (purpose := _named(parts, "purpose").text) != "batch":
            yield f"the purpose is {purpose}, not batch"
        file = _named(parts, "file")
        if file.content_type != "application/jsonl":
            yield f"the file is of the type {file.content_type}, not application/jsonl"
        if not file.param("content-disposition", "filename").endswith(".jsonl"):
            yield "the file has no name that ends in .jsonl"
        lines = json_lines(file.text.removesuffix("\n"))
        notes = [(at, x) for at, line in enumerate(lines) for x in self._line(line, extra_keys)]
        yield from line_problems(file.text, request.custom_ids)
        yield from at_lines(notes)
        yield from self._file_problems(lines)

    def _line(self, line: object, extra_keys: Collection[str]) -> Iterator[str]:
        if not isinstance(line, dict):
            yield "not a JSON object"
            return
        yield from unknown_keys(line, {*self.line_fields})
        yield from self._address_problems(line)
        if not (isinstance(line.get("custom_id"), str) and line["custom_id"]):
            yield "no custom_id"
        body = line.get("body")
        if not isinstance(body, dict):
            yield "no body"
            return
        yield from unknown_keys(body, {*self.body_fields, *extra_keys}, where=" in the body")
        if not isinstance(text := body.get("input"), str):
            yield "input is not a string"
        else:
            yield from size_problems([len(utf8(text))], max_text=MAX_BYTES)

    def _address_problems(self, line: dict[str, Any]) -> Iterator[str]:
        if line.get("method") != "POST":
            yield f"the method is {line.get('method')}"
        if line.get("url") != ENDPOINT:
            yield f"the url is {line.get('url')}"

    def _file_problems(self, lines: list[object]) -> Iterator[str]:
        bodies = [line["body"] for line in lines if isinstance(line, dict) and "body" in line]
        models = {str(body.get("model")) for body in bodies if isinstance(body, dict)}
        if len(models) != 1 or models & {"", "None"}:
            yield f"the models of the lines are {sorted(models)}, not one"

    def _create_problems(self, body: dict[str, Any], extra_keys: Collection[str]) -> Iterator[str]:
        yield from unknown_keys(body, {*self.create_fields})
        if body.get("endpoint") != ENDPOINT:
            yield f"the endpoint is {body.get('endpoint')}"
        if body.get("completion_window") != self.window:
            yield f"the completion_window is {body.get('completion_window')}"
        yield from metadata_problems(body.get("metadata"))

    def file_id(self, number: int) -> str:
        return f"file-{self.name}-{number}"

    def job_id(self, number: int) -> str:
        return f"batch-{self.name}-{number}"

    def file_answer(self, file: StoredFile, *, style: Style) -> dict[str, Any]:
        return {
            "id": file.id,
            "object": "file",
            "bytes": len(utf8(file.text)),
            "created_at": CREATED,
            "filename": "input.jsonl",
            "purpose": "batch",
        }

    def job_answer(self, job: Job, state: State, *, style: Style) -> dict[str, Any]:
        failed = [{"code": "failed", "message": job.failure, "param": None, "line": None}]
        answer = {
            "id": job.id,
            "object": "batch",
            "endpoint": ENDPOINT,
            "errors": {"object": "list", "data": failed} if job.failure else None,
            "input_file_id": job.request.get("input_file_id"),
            "completion_window": self.window,
            "status": state,
            "output_file_id": None if job.output is None else job.output.id,
            "error_file_id": None if job.error is None else job.error.id,
            "created_at": CREATED,
            "request_counts": {"total": len(job.lines), "completed": 0, "failed": 0},
            "metadata": job.request.get("metadata"),
        }
        return {name: value for name, value in answer.items() if name != "status" or value}

    def result_line(self, custom_id: str, embedding: object, *, style: Style) -> dict[str, Any]:
        item = {"object": "embedding", "index": 0, "embedding": embedding}
        body = {"object": "list"} | ({} if embedding is None else {"data": [item]})
        response = {"status_code": 200, "request_id": f"req-{custom_id}", "body": body}
        return _line(custom_id, response=response)

    def error_line(self, custom_id: str, rule: Rule, *, style: Style) -> dict[str, Any]:
        """With a code it is the answer that was refused, else the line itself failed."""
        message = rule.body or "the request could not be executed"
        if rule.code is None:
            return _line(custom_id, error={"code": "batch_expired", "message": message})
        body: object = {"error": {"message": message, "type": "invalid_request_error"}}
        if rule.is_plain:
            body = message
        response = {"status_code": rule.code, "request_id": f"req-{custom_id}", "body": body}
        return _line(custom_id, response=response)


class VoyageBatches(OpenAIBatches):
    """The model and the kind of the texts are said once, when the job is created."""

    name = "voyage"
    window = "12h"
    line_fields = frozenset({"custom_id", "body"})
    body_fields = frozenset({"input"})
    create_fields = OpenAIBatches.create_fields | {"request_params"}

    def _address_problems(self, line: dict[str, Any]) -> Iterator[str]:
        return iter(())

    def _file_problems(self, lines: list[object]) -> Iterator[str]:
        return iter(())

    def _create_problems(self, body: dict[str, Any], extra_keys: Collection[str]) -> Iterator[str]:
        yield from super()._create_problems(body, extra_keys)
        params = body.get("request_params")
        if not isinstance(params, dict):
            yield "no request_params"
            return
        allowed = {"model", "input_type", *extra_keys}
        yield from unknown_keys(params, allowed, where=" in request_params")
        if not (isinstance(params.get("model"), str) and params["model"]):
            yield "no model in request_params"
        if params.get("input_type") != "document":
            yield f"the input_type is {params.get('input_type')}, not document"


def _parts(request: Recorded) -> list[Part]:
    kind = "".join(request.header_values("content-type"))
    if not kind.lower().startswith("multipart/form-data"):
        raise ValueError(f"the content type is {kind}")
    return parts_of(kind, request.raw)


def _named(parts: list[Part], name: str) -> Part:
    found = (part for part in parts if part.param("content-disposition", "name") == name)
    return next(found, Part({}, ""))


def _line(custom_id: str, *, response: object = None, error: object = None) -> dict[str, Any]:
    return {
        "id": f"line-{custom_id}",
        "custom_id": custom_id,
        "response": response,
        "error": error,
    }
