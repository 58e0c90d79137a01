"""Batch jobs over many files: handed in, waited for, and put into the embedding cache."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ocmem.core import embedding, jobs, ledger
from ocmem.core.embedder import Notice
from ocmem.core.embedding import Embedding
from ocmem.core.jobs import FAILURE_LIMIT, Ask, Batching, JobService, JobState, Time
from ocmem.core.ledger import Entry, Ledger, Owner
from ocmem.errors import EmbedderError, IndexReadOnly, NoBatchApi, ServiceRefused
from ocmem.model import BatchState, Pending, Vector
from ocmem.settings import Settings
from ocmem.settings.search import Batch

MOST_LINES = 50_000
MOST_BYTES = 190_000_000
_LONGEST_PAUSE_S = 60.0
_SHORTEST_PAUSE_S = 0.1
_VECTORS_PER_WRITE = 200
_SHOWN_PROBLEMS = 3
_GONE = (404, 410)
_LONGEST_JOB_MS = 48 * 3_600_000  # twice what the services promise

Fresh = Sequence[tuple[str, Embedding]]  # text hashes and their vectors


class Shelf(Protocol):
    """Where vectors go."""

    def check(self, fresh: Fresh) -> None:
        """Raises EmbedderError if they do not fit beside the others."""
        ...

    def keep(self, fresh: Fresh) -> None:
        """Afterwards they are safe, even if the run is killed."""
        ...


@dataclass(slots=True)
class _Job:
    entry: Entry
    since: float  # monotonic; when this run began to wait for it
    is_new: bool = False  # made by this run
    completed: int = 0
    hashes: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.hashes = frozenset(self.entry.chunks.values())


@dataclass(slots=True)
class Batches:
    """The jobs of one run. `submits`: makes new ones; `holds`: never pays twice for a text."""

    connect: Callable[[], JobService]
    ledger: Ledger
    owner: Owner
    limits: Batch
    submits: bool
    holds: bool
    polls: bool
    time: Time
    progress: Callable[[str, int, int], None]
    notice: Notice
    log: Callable[[str], None]
    state: BatchState = field(default_factory=BatchState)
    _shelf: Shelf = field(init=False)
    _under_way: list[_Job] = field(default_factory=list)
    _held: set[str] = field(default_factory=set)
    _told: str = ""  # the last trouble with looking at jobs

    def begin(self, shelf: Shelf) -> None:
        """Fetch what earlier runs have left."""
        self._shelf = shelf
        self._held.clear()
        now = self.time.monotonic()
        self._under_way = [_Job(entry, now) for entry in self.ledger.of(self.owner)]
        if not self.polls:
            return
        try:
            for job in list(self._under_way):
                self._look(job)
        except EmbedderError as error:
            self.notice(f"embeddings: {error}; batch jobs under way are left for the next run")
            return
        for job in [job for job in self._under_way if self._is_hopeless(job)]:
            self._forget(job)
            self.notice(f"embeddings: batch job {job.entry.id} did not end in two days; given up")

    def embed(self, wanted: Mapping[str, Ask]) -> set[str]:
        """Vectors for texts by their hashes; returns those that have to wait for a later run.

        What is neither cached afterwards nor returned is for plain requests.
        """
        if not self.holds:
            return set()
        under_way = self._hashes()
        queue = deque((digest, ask) for digest, ask in wanted.items() if digest not in under_way)
        while True:
            self._submit(queue, wanted)
            waiting = wanted.keys() & self._hashes()
            if not self._is_worth_waiting(waiting, queue):
                # What found no place in time is not paid for yet: plain requests may have it.
                is_late = self.submits and self.limits.wait
                held = waiting | (set() if is_late else {digest for digest, _ in queue})
                self._held |= held
                return held
            self._show(waiting, len(queue), len(wanted))
            self._pause()
            self._look_at_all()

    def pending(self) -> Pending | None:
        """Why some texts have no vector yet."""
        if not self._held:
            return None
        holding = [job for job in self._under_way if job.hashes & self._held]
        chunks = len(self._held & self._hashes())
        return Pending(len(holding), chunks, waiting=len(self._held) - chunks)

    # --- waiting ---------------------------------------------------------------------------------

    def _is_worth_waiting(self, waiting: set[str], queue: deque[tuple[str, Ask]]) -> bool:
        if not (self.submits and self.limits.wait):
            return False
        hopeful = [job for job in self._under_way if not self._is_late(job)]
        return any(queue or not job.hashes.isdisjoint(waiting) for job in hopeful)

    def _is_late(self, job: _Job) -> bool:
        return self.time.monotonic() - job.since >= self.limits.timeout_minutes * 60

    def _is_hopeless(self, job: _Job) -> bool:
        return self.time.epoch_ms() - job.entry.created_ms > _LONGEST_JOB_MS

    def _pause(self) -> None:
        youngest = max(job.since for job in self._under_way)
        elapsed_s = self.time.monotonic() - youngest
        self.time.sleep(pause_s(elapsed_s, least_s=self.limits.poll_interval_ms / 1000))

    def _show(self, waiting: set[str], queued: int, total: int) -> None:
        needed = [job for job in self._under_way if job.hashes & waiting]
        done = total - queued - len(waiting) + sum(job.completed for job in needed)
        count = len(needed)
        self.progress(
            f"Waiting for {count} batch job{'s' * (count != 1)}…", min(done, total), total
        )

    def _hashes(self) -> set[str]:
        return {digest for job in self._under_way for digest in job.hashes}

    # --- handing in ------------------------------------------------------------------------------

    def _submit(self, queue: deque[tuple[str, Ask]], wanted: Mapping[str, Ask]) -> None:
        """Fill the places that are free; without a batch API, plain requests get the queue.

        An old job whose texts nobody wants any more takes no place.
        """
        while queue and self.submits and self._busy(wanted) < self.limits.concurrency:
            self._create(self._lines(queue))
        if not self.submits:
            queue.clear()

    def _busy(self, wanted: Mapping[str, Ask]) -> int:
        return sum(
            job.is_new or not job.hashes.isdisjoint(wanted.keys()) for job in self._under_way
        )

    def _lines(self, queue: deque[tuple[str, Ask]]) -> list[tuple[str, Ask]]:
        service = self.connect()
        lines: list[tuple[str, Ask]] = []
        size = 0
        while queue and len(lines) < MOST_LINES:
            size += service.line_bytes(queue[0][1])
            if lines and size > MOST_BYTES:
                break
            lines.append(queue.popleft())
        return lines

    def _create(self, lines: list[tuple[str, Ask]]) -> None:
        self.ledger.save()  # if that cannot be written, better to know before paying
        try:
            job_id, state = self.connect().submit([ask for _, ask in lines])
        except NoBatchApi as error:
            return self._fail(str(error), by=FAILURE_LIMIT)
        except EmbedderError as error:
            return self._fail(str(error))
        chunks = {ask.custom_id: digest for digest, ask in lines}
        entry = Entry(job_id, self.owner, self.time.epoch_ms(), chunks)
        try:
            self.ledger.add(entry)
        except IndexReadOnly as error:
            self.notice(f"embeddings: batch job {job_id} is under way, but {error}")
        self.log(f"embeddings: batch job {job_id} submitted, {len(lines)} chunks")
        job = _Job(entry, self.time.monotonic(), is_new=True)
        self._under_way.append(job)
        return self._heed(job, state)

    # --- fetching --------------------------------------------------------------------------------

    def _look_at_all(self) -> None:
        """A service that cannot be asked now may be asked later: its jobs are paid for."""
        try:
            for job in list(self._under_way):
                self._look(job)
        except EmbedderError as error:
            if str(error) != self._told:
                self._told = str(error)
                self.notice(f"embeddings: {error}; still waiting for batch jobs")

    def _look(self, job: _Job) -> None:
        try:
            state = self.connect().poll(job.entry.id)
        except ServiceRefused as error:
            if error.status not in _GONE:
                raise
            state = JobState("failed", detail=str(error))
        self._heed(job, state)

    def _heed(self, job: _Job, state: JobState) -> None:
        if state.kind == "pending":
            job.completed = state.completed
            return
        found = _Results(job.entry.chunks, self._shelf)
        try:
            if state.files:
                self.connect().results(state, found.take)
        except ServiceRefused as error:
            if error.status not in _GONE:
                raise
            found.problems.append(str(error))
        found.flush()
        self._forget(job)
        self.log(f"embeddings: batch job {job.entry.id} brought {len(found.brought)} vectors")
        self._judge(job, state, found)

    def _forget(self, job: _Job) -> None:
        self._under_way.remove(job)
        self.ledger.remove(job.entry)

    def _judge(self, job: _Job, state: JobState, found: "_Results") -> None:
        name = f"{self.owner.cache_key.provider} batch {job.entry.id}"
        missing = len(job.entry.chunks) - len(found.brought)
        if state.kind == "failed":
            self._fail(state.detail)
        elif missing and found.problems:
            more = len(found.problems) - _SHOWN_PROBLEMS
            shown = found.problems[:_SHOWN_PROBLEMS] + ([f"{more} more"] if more > 0 else [])
            self._fail(f"{name} failed: {'; '.join(shown)}")
        elif missing:
            self._fail(f"{name} missing {missing} embedding responses")
        elif not self.state.is_off:
            self.state = BatchState()

    def _fail(self, message: str, *, by: int = 1) -> None:
        count = self.state.failures + (0 if self.state.is_off else by)
        is_off = count >= FAILURE_LIMIT
        self.state = BatchState(count, message, is_off)
        self.submits = self.submits and not is_off
        self.notice(
            f"embeddings: {self.owner.cache_key.provider} batch failed ({count}/{FAILURE_LIMIT}); "
            f"{'disabling batch' if is_off else 'keeping batch enabled'}; "
            f"falling back to non-batch embeddings: {message}"
        )


class _Results:
    """Takes in what a job brings, some vectors at a time."""

    def __init__(self, chunks: Mapping[str, str], shelf: Shelf) -> None:
        self._chunks = chunks
        self._shelf = shelf
        self._fresh: list[tuple[str, Embedding]] = []
        self.brought: set[str] = set()  # custom ids
        self.problems: list[str] = []

    def take(self, custom_id: str, answer: Vector | str) -> None:
        digest = self._chunks.get(custom_id)
        if isinstance(answer, str):
            if digest is not None or not custom_id:
                self.problems.append(f"{custom_id}: {answer}" if custom_id else answer)
            return
        if digest is None or custom_id in self.brought:
            return
        fresh = (digest, embedding.from_values(answer))
        try:
            self._shelf.check([fresh])
        except EmbedderError as error:
            self.problems.append(f"{custom_id}: {error}")
            return
        self.brought.add(custom_id)
        self._fresh.append(fresh)
        if len(self._fresh) >= _VECTORS_PER_WRITE:
            self.flush()

    def flush(self) -> None:
        if self._fresh:
            self._shelf.keep(self._fresh)
            self._fresh = []


def pause_s(elapsed_s: float, *, least_s: float) -> float:
    """How long until the next look: a twentieth of the time so far, within limits."""
    return max(least_s, _SHORTEST_PAUSE_S, min(elapsed_s / 20, _LONGEST_PAUSE_S))


def batches_of(
    settings: Settings,
    batching: Batching,
    *,
    progress: Callable[[str, int, int], None],
    notice: Notice,
    log: Callable[[str], None],
) -> Batches | None:
    """The jobs of a run; None where there are none and none may be made."""
    choice, limits = settings.provider, settings.search.remote.batch
    is_wanted = limits.enabled if batching.wanted is None else batching.wanted
    submits = is_wanted and batching.polls
    book = _open_ledger(settings, batching, notice)
    owner = ledger.owner_of(choice)
    if batching.polls:
        _mention_foreign(book, owner, notice)
    if choice.id not in jobs.SERVICES:
        if batching.wanted:
            notice(f"embeddings: {choice.id} has no batch API; using plain requests")
        return None
    if not settings.search.cache_enabled:
        if submits:
            notice("embeddings: batch jobs need cache.enabled; using plain requests")
        return None
    if not submits and not book.of(owner):
        return None
    service = batching.service

    def connect() -> JobService:
        nonlocal service
        if service is None:
            service = jobs.connect(settings, notice)
        return service

    return Batches(
        connect=connect,
        ledger=book,
        owner=owner,
        limits=limits,
        submits=submits,
        holds=batching.wanted is not False,
        polls=batching.polls,
        time=batching.time,
        progress=progress,
        notice=notice,
        log=log,
    )


def _open_ledger(settings: Settings, batching: Batching, notice: Notice) -> Ledger:
    path = jobs.ledger_path(settings.index_path)
    entries = ledger.read(path)
    if entries is None and batching.polls:
        aside = settings.shown(ledger.put_aside(path))
        notice(f"embeddings: the list of batch jobs could not be read and was kept as {aside}")
    return Ledger(path, entries or [])


def _mention_foreign(book: Ledger, owner: Owner, notice: Notice) -> None:
    keys = [entry.owner.cache_key for entry in book.entries if entry.owner != owner]
    if keys:
        names = ", ".join(sorted({f"{key.provider} ({key.model})" for key in keys}))
        what = "a batch job" if len(keys) == 1 else f"{len(keys)} batch jobs"
        notice(
            f"embeddings: {what} of {names} may still be under way, to be fetched when that "
            "provider and endpoint are configured again"
        )
