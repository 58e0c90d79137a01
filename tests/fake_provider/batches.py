"""Batch jobs, which move on when they are asked about, not as time goes by."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from tests.fake_provider.batch_wire import (
    BatchWire,
    Job,
    State,
    StoredFile,
    Style,
    is_dead,
    is_done,
)
from tests.fake_provider.dialects import Item
from tests.fake_provider.faults import Rule
from tests.fake_provider.record import Line, Recorded
from tests.fake_provider.reply import Reply, json_reply, json_text
from tests.fake_provider.spoil import spoil_items

UNKNOWN_ID: Final = "an-id-nobody-sent"
_FATES: Final[dict[str, State]] = {
    "job_fail": "failed",
    "job_error_file_404": "failed",
    "job_expire": "expired",
    "job_stuck": "in_progress",
}
_FAILURES: Final = {
    "failed": "the job has failed",
    "expired": "the job was not done in time",
}


class Refused(Exception):
    """A request that no server could fulfil, whatever its form; a violation unless 404."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(slots=True)
class JobScript:
    """How jobs go from now on. `states` are the answers to successive polls; the last repeats.

    The words are OpenAI's, and put into Google's where needed; other words are told as they
    are, and None leaves the state out. `created` is the state in the answer to the creation.
    """

    states: list[State] = field(default_factory=lambda: ["validating", "in_progress", "completed"])
    created: State = "validating"
    order: Literal["same", "reversed", "shuffled"] = "same"
    seed: int = 0
    style: Style = "operation"


class Batches:
    """All files and jobs. Whoever calls holds the lock of the jobs."""

    def __init__(
        self, script: JobScript, embed: Callable[[str, Sequence[str]], list[Item]]
    ) -> None:
        self.script = script
        self._embed = embed
        self._files: dict[str, StoredFile] = {}
        self._jobs: dict[str, Job] = {}
        self._items: dict[str, list[Item]] = {}

    def abandoned(self) -> list[str]:
        return [job.id for job in self._jobs.values() if not job.is_read]

    def unused(self) -> list[str]:
        files = self._files.values()
        return [file.id for file in files if file.role == "input" and not file.is_used]

    def forget(self) -> None:
        self._files.clear()
        self._jobs.clear()
        self._items.clear()

    def settle_operation(self, request: Recorded) -> None:
        """Error files have the same address as others, but an operation of their own."""
        file = self._files.get(request.target)
        if file is not None and file.role == "error":
            request.operation = "error_content"

    def lines_about(self, request: Recorded, wire: BatchWire) -> list[Line]:
        """The lines of the file or job that a request is about."""
        if request.operation == "file_upload":
            return lines_of(request)
        if request.operation == "batch_create":
            file = self._files.get(wire.input_id(request))
            return [] if file is None else file.lines
        if request.operation == "batch_status":
            job = self._jobs.get(request.target)
        else:
            job = self._job_of(request.target)
        return [] if job is None else job.lines

    def perform(self, request: Recorded, wire: BatchWire, rule: Rule | None) -> Reply:
        match request.operation:
            case "file_upload":
                return json_reply(200, self._upload(request, wire))
            case "batch_create":
                return json_reply(200, self._create(request, wire, rule))
            case "batch_status":
                return json_reply(200, self._status(request.target, wire))
            case _:
                return self._content(request.target, wire, rule)

    def _upload(self, request: Recorded, wire: BatchWire) -> dict[str, Any]:
        try:
            text = wire.uploaded(request)
        except (ValueError, IndexError):
            raise Refused("the upload cannot be read") from None
        file = self._store(wire, "input", text, lines_of(request))
        return wire.file_answer(file, style=self.script.style)

    def _create(self, request: Recorded, wire: BatchWire, rule: Rule | None) -> dict[str, Any]:
        file = self._files.get(wire.input_id(request))
        if file is None or file.role != "input":
            raise Refused(f"no such input file: {wire.input_id(request)}")
        items = self._embed(request.dialect or "", [line.text for line in file.lines])
        file.is_used = True
        body = request.body if isinstance(request.body, dict) else {}
        fate = rule if rule is not None and rule.kind.startswith("job_") else None
        job = Job(
            id=wire.job_id(len(self._jobs) + 1),
            lines=file.lines,
            request=body,
            states=list(self.script.states),
            rule=fate,
        )
        self._jobs[job.id] = job
        self._items[job.id] = items
        return self._told(job, self.script.created, wire)

    def _status(self, job_id: str, wire: BatchWire) -> dict[str, Any]:
        job = self._jobs.get(job_id)
        if job is None:
            raise Refused(f"no such job: {job_id}", status=404)
        state = job.states[min(job.polls, len(job.states) - 1)]
        job.polls += 1
        return self._told(job, state, wire)

    def _told(self, job: Job, state: State, wire: BatchWire) -> dict[str, Any]:
        """The job in `state`, or in the one that its fault has put in place of success."""
        kind = "" if job.rule is None else job.rule.kind
        if is_done(state):
            state = _FATES.get(kind, state)
        if is_done(state) and kind != "job_no_output":
            job.output = job.output or self._store(wire, "output")
        if is_dead(state):
            told = "" if job.rule is None else job.rule.body
            job.failure = told or _FAILURES.get(str(state), "")
        if self._has_error_file(job, state):
            job.error = job.error or self._store(wire, "error")
        job.is_read = job.is_read or is_dead(state) or (is_done(state) and job.output is None)
        return wire.job_answer(job, state, style=self.script.style)

    def _has_error_file(self, job: Job, state: State) -> bool:
        if job.rule is None:
            return False
        if job.rule.kind == "job_line_error":
            return is_done(state) and bool(job.rule.error_file)
        return is_dead(state) and job.rule.error_file is not False

    def _content(self, file_id: str, wire: BatchWire, rule: Rule | None) -> Reply:
        file, job = self._files.get(file_id), self._job_of(file_id)
        if file is None:
            raise Refused(f"no such file: {file_id}", status=404)
        if job is None:
            return Reply(200, file.text.encode(), content_type="application/octet-stream")
        if file.role == "error" and job.rule is not None and job.rule.kind == "job_error_file_404":
            raise Refused(f"no such file: {file_id}", status=404)
        job.is_read = True
        lines = self._error(job, wire) if file.role == "error" else self._output(job, wire, rule)
        text = "".join(f"{line}\n" for line in lines)
        body = text.encode("utf-8", "surrogatepass")
        return Reply(200, body, content_type="application/octet-stream")

    def _output(self, job: Job, wire: BatchWire, rule: Rule | None) -> list[str]:
        items = self._items[job.id]
        spoilt = items if rule is None else spoil_items(_aimed(rule, job), items)
        vectors: list[tuple[str, object]] = [(line.id, None) for line in job.lines]
        if spoilt is not None:
            vectors = [(_id_at(job, item.index), item.embedding) for item in spoilt]
        lines = [line for pair in vectors for line in self._lines(job, wire, *pair)]
        if job.rule is not None and job.rule.kind == "job_unknown_id":
            lines.append(self._unknown(job, wire, job.rule))
        return self._ordered(lines)

    def _lines(self, job: Job, wire: BatchWire, custom_id: str, embedding: object) -> list[str]:
        """The lines of one result: one, unless the fault of the job takes it away."""
        style = self.script.style
        line = json_text(wire.result_line(custom_id, embedding, style=style))
        if job.rule is None or custom_id != _hit(job, job.rule):
            return [line]
        match job.rule.kind:
            case "job_partial":
                return []
            case "job_broken_line":
                return [line[: len(line) // 2]]
            case "job_line_error" if job.rule.error_file:
                return []
            case "job_line_error":
                return [json_text(wire.error_line(custom_id, job.rule, style=style))]
        return [line]

    def _unknown(self, job: Job, wire: BatchWire, rule: Rule) -> str:
        style = self.script.style
        if rule.code is not None:
            return json_text(wire.error_line(UNKNOWN_ID, rule, style=style))
        vector = self._items[job.id][0].embedding
        return json_text(wire.result_line(UNKNOWN_ID, vector, style=style))

    def _error(self, job: Job, wire: BatchWire) -> list[str]:
        """An expired job reports every line, any other the one that is to blame."""
        if job.rule is None:
            return []
        guilty = [_hit(job, job.rule)]
        if job.rule.kind == "job_expire":
            guilty = [line.id for line in job.lines]
        style = self.script.style
        return [json_text(wire.error_line(each, job.rule, style=style)) for each in guilty]

    def _ordered(self, lines: list[str]) -> list[str]:
        if self.script.order == "reversed":
            return lines[::-1]
        if self.script.order == "shuffled":
            return random.Random(self.script.seed).sample(lines, len(lines))
        return lines

    def _store(
        self,
        wire: BatchWire,
        role: Literal["input", "output", "error"],
        text: str = "",
        lines: Sequence[Line] = (),
    ) -> StoredFile:
        file = StoredFile(wire.file_id(len(self._files) + 1), role, text, list(lines))
        self._files[file.id] = file
        return file

    def _job_of(self, file_id: str) -> Job | None:
        """The job that a file is the outcome of."""
        for job in self._jobs.values():
            if file_id in [file.id for file in (job.output, job.error) if file is not None]:
                return job
        return None


def lines_of(request: Recorded) -> list[Line]:
    ids = request.custom_ids or [""] * len(request.texts)
    return [Line(custom_id, text) for custom_id, text in zip(ids, request.texts, strict=True)]


def _hit(job: Job, rule: Rule) -> str:
    """The id of the line that a fault of the job is about: the last, unless it says another."""
    if rule.custom_id is not None:
        return rule.custom_id
    return _id_at(job, len(job.lines) - 1 if rule.position is None else rule.position)


def _id_at(job: Job, index: int) -> str:
    return job.lines[index].id if index < len(job.lines) else UNKNOWN_ID


def _aimed(rule: Rule, job: Job) -> Rule:
    """The rule with its custom_id turned into a position."""
    ids = [line.id for line in job.lines]
    return rule if rule.custom_id is None else replace(rule, position=ids.index(rule.custom_id))
