"""The batch API of OpenAI, and that of Voyage, which says some things in other places."""

from collections.abc import Sequence
from dataclasses import dataclass

from ocmem.core import jsjson, utf16
from ocmem.core.embedder import Notice, no_notice
from ocmem.core.jobs import Ask, JobState, Take
from ocmem.providers import answers, jobs
from ocmem.providers.http import Caller
from ocmem.providers.jobs import Failed, Line, Reader, at
from ocmem.providers.patience import Clock
from ocmem.providers.remote import caller_of
from ocmem.settings import Settings

_ENDPOINT = "/v1/embeddings"  # whatever the base URL is
_OVER = ("failed", "expired", "cancelled", "canceled")
_MOST_FRAME_BYTES = 400  # of a line without its text and model


@dataclass(frozen=True, slots=True)
class OpenAIJobs:
    """`window` is how long a job may take; `names_model` says that every line does so itself."""

    caller: Caller
    model: str
    agent: str
    source: str
    window: str
    names_model: bool
    dimensions: int | None = None

    @property
    def name(self) -> str:
        return self.caller.name

    def line_bytes(self, ask: Ask) -> int:
        return jobs.text_bytes(ask) + len(self.model) + _MOST_FRAME_BYTES

    def submit(self, asks: Sequence[Ask]) -> tuple[str, JobState]:
        file = self._upload(jobs.jsonl([self._line(ask) for ask in asks]))
        prefix = f"{self.name} batch create failed"
        with jobs.needing_api(self.caller, "/batches"):
            body = jsjson.compact(self._order(file)).encode()
            answer = self.caller.post("/batches", body, effort=jobs.CREATE, prefix=prefix)
        job_id = jobs.named(answer, "id", prefix=prefix, missing="batch id")
        return job_id, self._state(job_id, answers.parsed(answer, prefix=prefix))

    def poll(self, job_id: str) -> JobState:
        prefix = f"{self.name} batch status failed"
        answer = self.caller.get(f"/batches/{job_id}", effort=jobs.STATUS, prefix=prefix)
        return self._state(job_id, answers.parsed(answer, prefix=prefix))

    def results(self, state: JobState, take: Take) -> None:
        Reader(self.caller, _read).results(state, _content, take)

    def _upload(self, lines: bytes) -> str:
        digest = utf16.sha256(str(int(self.caller.clock.time() * 1000)))
        boundary = f"ocmem-{digest}"
        head = (
            f"--{boundary}\r\n"
            'Content-Disposition: form-data; name="purpose"\r\n\r\n'
            f"batch\r\n--{boundary}\r\n"
            'Content-Disposition: form-data; name="file"; '
            f'filename="memory-embeddings.{digest}.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        )
        prefix = f"{self.name} batch file upload failed"
        with jobs.needing_api(self.caller, "/files"):
            answer = self.caller.post(
                "/files",
                b"".join([head.encode(), lines, f"\r\n--{boundary}--\r\n".encode()]),
                effort=jobs.UPLOAD,
                prefix=prefix,
                content_type=f"multipart/form-data; boundary={boundary}",
            )
        return jobs.named(answer, "id", prefix=prefix, missing="file id")

    def _line(self, ask: Ask) -> str:
        text = jsjson.string(ask.text)
        if not self.names_model:
            return f'{{"custom_id":"{ask.custom_id}","body":{{"input":{text}}}}}'
        more = f',"dimensions":{self.dimensions}' if self.dimensions is not None else ""
        return (
            f'{{"custom_id":"{ask.custom_id}","method":"POST","url":"{_ENDPOINT}",'
            f'"body":{{"model":{jsjson.string(self.model)},"input":{text}{more}}}}}'
        )

    def _order(self, file: str) -> dict[str, object]:
        order: dict[str, object] = {
            "input_file_id": file,
            "endpoint": _ENDPOINT,
            "completion_window": self.window,
        }
        if not self.names_model:
            params: dict[str, object] = {"model": self.model, "input_type": "document"}
            if self.dimensions is not None:
                params["output_dimension"] = self.dimensions
            order["request_params"] = params
        return order | {"metadata": {"source": self.source, "agent": self.agent}}

    def _state(self, job_id: str, answer: object) -> JobState:
        status = at(answer, "status")
        files = [at(answer, key) for key in ("output_file_id", "error_file_id")]
        output, errors = (name if isinstance(name, str) and name else None for name in files)
        completed = at(answer, "request_counts.completed")
        count = completed if type(completed) is int else 0
        if status == "completed" and output:
            return JobState("done", tuple(filter(None, (output, errors))), completed=count)
        what = "completed without output file" if status == "completed" else str(status)
        if status == "completed" or status in _OVER:
            detail = f"{self.name} batch {job_id} {what}"
            why = self._why(answer, errors)
            # What was done before the end is paid for.
            done = (output,) if output else ()
            return JobState("failed", done, f"{detail}: {why}" if why else detail)
        return JobState("pending", completed=count)

    def _why(self, answer: object, errors: str | None) -> str:
        if errors is not None:
            prefix = f"{self.name} batch error file content failed"
            found = Reader(self.caller, _read).first_failure(_content(errors), prefix=prefix)
            if found:
                return found
        reasons = at(answer, "errors.data")
        first = at(reasons[0], "message") if isinstance(reasons, list) and reasons else None
        return self.caller.redacted(first) if isinstance(first, str) else ""


def connect(
    settings: Settings, *, notice: Notice = no_notice, clock: Clock | None = None
) -> OpenAIJobs:
    choice = settings.provider
    is_voyage = choice.id == "voyage"
    return OpenAIJobs(
        caller_of(settings, notice=notice, clock=clock),
        model=choice.model,
        agent=settings.agent_id,
        source="clawdbot-memory" if is_voyage else "openclaw-memory",
        window="12h" if is_voyage else "24h",
        names_model=not is_voyage,
        dimensions=choice.dimensions,
    )


def _content(file: str) -> str:
    return f"/files/{file}/content"


def _read(line: Line) -> tuple[str, object]:
    custom_id = line.get("custom_id")
    name = custom_id if isinstance(custom_id, str) else ""
    message = at(line, "error.message")
    if isinstance(message, str):
        return name, Failed(message)
    status, body = at(line, "response.status_code"), at(line, "response.body")
    if isinstance(status, int) and status >= 400:
        told = body if isinstance(body, str) else at(body, "error.message")
        return name, Failed(told if isinstance(told, str) and told else "unknown error")
    data = at(body, "data")
    return name, at(data[0], "embedding") if isinstance(data, list) and data else None
