"""What a batch API is to ocmem: texts handed in together, vectors fetched much later."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Literal, Protocol, cast

from ocmem.core.embedder import Notice, no_notice
from ocmem.errors import EmbedderError
from ocmem.model import Vector
from ocmem.settings import Settings
from ocmem.settings.provider import SERVICES as KNOWN_SERVICES

SERVICES = {
    "openai": "ocmem.providers.openai_jobs",
    "voyage": "ocmem.providers.openai_jobs",
    "gemini": "ocmem.providers.gemini_jobs",
}

FAILURE_LIMIT = 2  # in a row; then no more jobs are made in that run
LARGE_BACKFILL = 5000  # chunks

Take = Callable[[str, Vector | str], None]  # a custom id, and its vector or why there is none


@dataclass(frozen=True, slots=True)
class Ask:
    """One line of a job."""

    custom_id: str
    text: str


@dataclass(frozen=True, slots=True)
class JobState:
    """How far a job is. `files` hold its results, and a failed one may have some as well."""

    kind: Literal["pending", "done", "failed"]
    files: tuple[str, ...] = ()
    detail: str = ""  # what went wrong, beginning with the job's name
    completed: int = 0  # lines, where the service says so


class JobService(Protocol):
    """A service's batch API. Raises EmbedderError and nothing else when it is in trouble."""

    name: str

    def line_bytes(self, ask: Ask) -> int:
        """How long its line will be at most."""
        ...

    def submit(self, asks: Sequence[Ask]) -> tuple[str, JobState]:
        """Start a job; from here on it is paid for. Returns its id and how far it is already."""
        ...

    def poll(self, job_id: str) -> JobState: ...

    def results(self, state: JobState, take: Take) -> None:
        """Hand over every result of a job as it arrives; an id may be unknown, or empty."""
        ...


@dataclass(frozen=True, slots=True)
class Time:
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic
    epoch_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Batching:
    """What a run may do with batch jobs; `wanted` is an option that beats the settings."""

    wanted: bool | None = None
    polls: bool = True  # a search only looks at the list, and asks nobody
    service: JobService | None = None  # connected when first needed, unless given
    time: Time = field(default_factory=Time)


AS_CONFIGURED = Batching()
ONLY_LOOKING = Batching(polls=False)


def ledger_path(index: Path) -> Path:
    """Where the jobs of an index are remembered."""
    return index.with_name(f"{index.name}.jobs.json")


def may_be_used(settings: Settings, batching: Batching) -> bool:
    """Whether a run has to think of batch jobs at all."""
    is_wanted = batching.wanted or (batching.polls and settings.search.remote.batch.enabled)
    return is_wanted or ledger_path(settings.index_path).exists()


def would_be_cheaper(settings: Settings, batching: Batching) -> bool:
    """Whether jobs are off where they would work; of a compatible server nobody knows."""
    choice = settings.provider
    is_off = batching.wanted is None and not settings.search.remote.batch.enabled
    if choice.id not in SERVICES or choice.endpoint is None or not is_off:
        return False
    return choice.endpoint.base_url.rstrip("/") == KNOWN_SERVICES[choice.id].url


def connect(settings: Settings, notice: Notice = no_notice) -> JobService:
    """The batch API of the provider in use."""
    choice = settings.provider
    if choice.missing is not None:
        raise EmbedderError(choice.missing)
    if settings.offline:
        raise EmbedderError(f"--offline: {choice.id} was not asked")
    module = import_module(SERVICES[choice.id])
    return cast(JobService, module.connect(settings, notice=notice))
