"""Notes that are embedded by batch jobs of the fake provider, with time that never passes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from ocmem.backends.answer import Answer
from ocmem.backends.builtin import BuiltinBackend
from ocmem.core import embedder, jobs
from ocmem.core.jobs import Batching, JobService, Time
from ocmem.core.search import Wanted
from ocmem.model import SyncReport
from ocmem.providers import patience
from ocmem.settings import Settings
from tests.fake_provider import FakeProvider
from tests.unit.place import Place

NOW_S = 1_767_225_600.0
SERVICES = ("openai", "voyage", "gemini")


class Killed(BaseException):
    """The run ends here, as by a signal."""


@dataclass
class Clock:
    """Time that passes only while somebody sleeps; `at` may say what happens meanwhile."""

    slept: list[float] = field(default_factory=list)
    at: Callable[[], object] = lambda: None

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at()

    def http(self) -> patience.Clock:
        return patience.Clock(
            sleep=self.slept.append,
            monotonic=lambda: sum(self.slept),
            time=lambda: NOW_S + sum(self.slept),
            random=lambda: 0.0,
        )

    def time(self) -> Time:
        return Time(
            sleep=self.sleep,
            monotonic=lambda: sum(self.slept),
            epoch_ms=lambda: int((NOW_S + sum(self.slept)) * 1000),
        )


class Backfill(Place):
    """A place whose provider is a service of the fake, with batch jobs switched on."""

    def __init__(self, root: Path, fake: FakeProvider) -> None:
        self.fake = fake
        self.service = "openai"
        super().__init__(root)
        self.time = Clock()
        self.notices: list[str] = []
        self.shown: list[tuple[str, int, int]] = []

    def configure(self, *, own: dict[str, Any] | None = None, **memory_search: Any) -> None:  # noqa: ANN401
        batch = {"enabled": True, **memory_search.pop("batch", {})}
        remote = {
            "baseUrl": self.fake.base_url(self.service),
            "apiKey": self.fake.key(self.service),
            "batch": batch,
            **memory_search.pop("remote", {}),
        }
        super().configure(own=own, provider=self.service, remote=remote, **memory_search)

    def use(self, service: str, **memory_search: Any) -> None:  # noqa: ANN401
        self.service = service
        self.configure(**memory_search)

    def run(self, *, batch: bool | None = None, force: bool = False) -> SyncReport:
        """One `ocmem index`."""
        self.notices, self.shown = [], []
        with _Connected(self.settings, self.time) as (plain, service):
            backend = self._backend(plain)
            batching = Batching(wanted=batch, service=service, time=self.time.time())
            return backend.index(force=force, wait_s=0, batching=batching)

    def ask(self, query: str) -> Answer:
        """One `ocmem search`."""
        self.notices = []
        wanted = Wanted(
            query=query,
            max_results=10,
            min_score=-1.0,
            fused_min_score=None,
            ranker="openclaw",
            strict=True,
            half_life_days=None,
            mmr_lambda=None,
            sources=("memory",),
            snippet=None,
            now_ms=0.0,
        )
        with _Connected(self.settings, self.time) as (plain, _):
            return self._backend(plain).search(wanted, sync=True)

    @property
    def ledger(self) -> Path:
        return jobs.ledger_path(self.index_path)

    def indexed(self) -> list[str]:
        return [Path(path).name for path, *_ in self.rows()["files"]]

    def in_jobs(self) -> list[str]:
        """The texts that were handed in as jobs."""
        return self._texts("file_upload")

    def in_plain_requests(self) -> list[str]:
        return self._texts("embed")

    def _texts(self, operation: str) -> list[str]:
        requests = (r for r in self.fake.requests if (r.operation or "").startswith(operation))
        return [text.strip() for request in requests for text in request.texts]

    def _backend(self, plain: embedder.Embedder) -> BuiltinBackend:
        return BuiltinBackend(
            self.settings,
            lambda *shown: self.shown.append(shown),
            self.clock,
            embedder=plain,
            notice=self.notices.append,
        )


@dataclass
class _Connected:
    """Both ways to the provider, on the same clock."""

    settings: Settings
    time: Clock

    def __enter__(self) -> tuple[embedder.Embedder, JobService]:
        name, clock = self.settings.provider.id, self.time.http()
        self.plain = import_module(embedder.PROVIDERS[name]).connect(self.settings, clock=clock)
        self.service = import_module(jobs.SERVICES[name]).connect(self.settings, clock=clock)
        return self.plain, self.service

    def __exit__(self, *_: object) -> None:
        self.plain.close()
        self.service.caller.close()
