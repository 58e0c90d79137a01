"""Google's batch API: files go to another address, and answers come in two shapes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ocmem.core import jsjson, utf16
from ocmem.core.embedder import Notice, no_notice
from ocmem.core.jobs import Ask, JobState, Take
from ocmem.providers import answers, gemini, jobs
from ocmem.providers.http import Caller
from ocmem.providers.jobs import Failed, Line, Reader, at
from ocmem.providers.patience import Clock
from ocmem.providers.remote import caller_of
from ocmem.settings import Settings

_VERSION = "/v1beta"
_GOOGLE = f"https://generativelanguage.googleapis.com{_VERSION}"
_DONE = ("SUCCEEDED", "COMPLETED", "DONE")
_OVER = ("FAILED", "CANCELLED", "CANCELED", "EXPIRED")
_OUTPUTS = (
    "outputConfig.file",
    "outputConfig.fileId",
    "metadata.output.responsesFile",
    "response.responsesFile",
    "response.output.responsesFile",
)
_MOST_FRAME_BYTES = 300  # of a line without its text


@dataclass(frozen=True, slots=True)
class GeminiJobs:
    caller: Caller
    model: str
    agent: str
    dimensions: int | None = None

    @property
    def name(self) -> str:
        return self.caller.name

    def line_bytes(self, ask: Ask) -> int:
        return jobs.text_bytes(ask) + _MOST_FRAME_BYTES

    def submit(self, asks: Sequence[Ask]) -> tuple[str, JobState]:
        file = self._upload(jobs.jsonl([self._line(ask) for ask in asks]))
        order = {"displayName": f"memory-embeddings-{self.agent}", "inputConfig": {}}
        order["inputConfig"] = {"file_name": _below("files", file)}
        prefix = f"{self.name} batch create failed"
        with jobs.needing_api(self.caller, "asyncBatchEmbedContent"):
            answer = self.caller.post(
                f"/models/{self.model}:asyncBatchEmbedContent",
                jsjson.compact({"batch": order}).encode(),
                effort=jobs.CREATE,
                prefix=prefix,
            )
        job_id = jobs.named(answer, "name", prefix=prefix, missing="batch name")
        return job_id, self._state(job_id, answers.parsed(answer, prefix=prefix))

    def poll(self, job_id: str) -> JobState:
        prefix = f"{self.name} batch status failed"
        path = f"/{_below('batches', job_id)}"
        answer = self.caller.get(path, effort=jobs.STATUS, prefix=prefix)
        return self._state(job_id, answers.parsed(answer, prefix=prefix))

    def results(self, state: JobState, take: Take) -> None:
        root, more = None, ""
        if self.caller.base_url == _GOOGLE:
            root, more = _GOOGLE.replace(_VERSION, f"/download{_VERSION}"), "?alt=media"
        Reader(self.caller, _read, root=root).results(
            state, lambda file: f"/{_below('files', file)}:download{more}", take
        )

    def _upload(self, lines: bytes) -> str:
        display = f"memory-embeddings-{utf16.sha256(str(int(self.caller.clock.time() * 1000)))}"
        boundary = f"openclaw-{utf16.sha256(display)}"
        about = {"file": {"displayName": display, "mimeType": "application/jsonl"}}
        head = (
            f"--{boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n"
            f"{jsjson.compact(about)}\r\n"
            f"--{boundary}\r\nContent-Type: application/jsonl; charset=UTF-8\r\n\r\n"
        )
        prefix = f"{self.name} batch file upload failed"
        with jobs.needing_api(self.caller, "file upload"):
            answer = self.caller.post(
                "/files?uploadType=multipart",
                b"".join([head.encode(), lines, f"\r\n--{boundary}--\r\n".encode()]),
                effort=jobs.UPLOAD,
                prefix=prefix,
                content_type=f"multipart/related; boundary={boundary}",
                root=upload_root(self.caller.base_url),
            )
        return jobs.named(answer, "name", "file.name", prefix=prefix, missing="file name")

    def _line(self, ask: Ask) -> str:
        more = ""
        if self.dimensions is not None:
            more = f',"output_dimensionality":{self.dimensions}'
        return (
            f'{{"key":"{ask.custom_id}","request":{{"content":{{"parts":'
            f'[{{"text":{jsjson.string(ask.text)}}}]}},"task_type":"RETRIEVAL_DOCUMENT"{more}}}}}'
        )

    def _state(self, job_id: str, answer: object) -> JobState:
        """Flat, or an operation: `done`, and a state with a prefix in the metadata."""
        word = at(answer, "state") or at(answer, "metadata.state") or ""
        state = str(word).removeprefix("BATCH_STATE_").removeprefix("JOB_STATE_").upper()
        files = tuple(
            found for path in _OUTPUTS if isinstance(found := at(answer, path), str) and found
        )[:1]
        message = at(answer, "error.message")
        is_over = at(answer, "done") is True
        if state in _OVER or (is_over and message is not None):
            told = message if isinstance(message, str) else "unknown error"
            detail = f"{self.name} batch {job_id} {state or 'FAILED'}: {self.caller.redacted(told)}"
            return JobState("failed", files, detail)
        if state not in _DONE and not is_over:
            return JobState("pending")
        if not files:
            return JobState(
                "failed", detail=f"{self.name} batch {job_id} completed without output file"
            )
        return JobState("done", files)


def connect(
    settings: Settings, *, notice: Notice = no_notice, clock: Clock | None = None
) -> GeminiJobs:
    choice = settings.provider
    if choice.endpoint is not None:  # a file or job belongs to the key that it was made with
        choice = replace(choice, endpoint=replace(choice.endpoint, more_keys=()))
        settings = replace(settings, provider=choice)
    caller = caller_of(settings, signature=gemini.signature, notice=notice, clock=clock)
    return GeminiJobs(caller, choice.model, settings.agent_id, choice.dimensions)


def upload_root(base_url: str) -> str:
    """Where files go: `/upload` before the version, or at the end where there is none."""
    if base_url.endswith(_VERSION):
        return f"{base_url.removesuffix(_VERSION)}/upload{_VERSION}"
    return f"{base_url}/upload"


def _below(folder: str, name: str) -> str:
    return name if name.startswith(f"{folder}/") else f"{folder}/{name}"


def _read(line: Line) -> tuple[str, object]:
    names = (line.get(key) for key in ("key", "custom_id", "request_id"))
    name = next((text for text in names if isinstance(text, str) and text), "")
    for path in ("error.message", "response.error.message"):
        message = at(line, path)
        if isinstance(message, str):
            return name, Failed(message)
    return name, at(line, "embedding.values") or at(line, "response.embedding.values")
