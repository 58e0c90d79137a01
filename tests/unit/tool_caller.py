"""The tool `memory_search`, called as an agent would."""

from ocmem.backends.answer import Answer
from ocmem.backends.builtin import BuiltinBackend
from ocmem.core.search import Wanted
from ocmem.settings import Settings
from ocmem.tools.memory_search import memory_search
from ocmem.tools.reply import Reply
from tests.unit.place import Place


class Caller:
    """Calls the tool over the embedder that counts words, and remembers what was asked."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.asked: list[tuple[Wanted, bool]] = []

    def __call__(
        self,
        query: str = "alpha",
        *,
        session_key: str | None = None,
        settings: Settings | None = None,
        **more: object,
    ) -> Reply:
        return memory_search(
            {"query": query, **more},
            settings or self.place.settings,
            now_ms=0.0,
            session_key=session_key,
            ask=self.ask,
        )

    def ask(self, settings: Settings, wanted: Wanted, *, sync: bool) -> Answer:
        self.asked.append((wanted, sync))
        embedder = None if settings.provider.missing else self.place.embedder
        backend = BuiltinBackend(settings, clock_ns=self.place.clock, embedder=embedder)
        return backend.search(wanted, sync=sync)

    @property
    def wanted(self) -> Wanted:
        return self.asked[-1][0]
