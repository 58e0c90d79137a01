"""An embedder for every service behind a URL; what differs between them is their dialect."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from ocmem.core.embedder import Notice
from ocmem.errors import EmbedderError, ServiceRefused
from ocmem.model import Vector
from ocmem.providers import patience
from ocmem.providers.http import Caller
from ocmem.providers.patience import Clock, Effort
from ocmem.settings import Settings

Signature = Callable[[str], Mapping[str, str]]  # a key -> the headers that carry it


class Dialect(Protocol):
    """How one service wants to be asked for vectors, and how it answers."""

    def request(self, texts: Sequence[str], *, is_query: bool) -> tuple[str, bytes]:
        """The path below the base URL, and the body."""
        ...

    def vectors(self, answer: bytes, *, count: int, is_query: bool) -> list[Vector]:
        """The vectors in the order of the texts; whatever is wrong with them is an error."""
        ...


class RemoteEmbedder:
    """Safe to use from several threads."""

    group_bytes = 8000
    concurrency = 4

    def __init__(self, caller: Caller, dialect: Dialect) -> None:
        self.caller = caller
        self.dialect = dialect
        self._most: int | None = None  # texts in one call, once the service has named a limit
        self._lock = threading.Lock()

    def embed_documents(self, texts: Sequence[str], *, timeout_s: float) -> list[Vector]:
        """As the protocol says; an error has `done`, the vectors that came before it."""
        deadline = self.caller.clock.monotonic() + timeout_s
        vectors: list[Vector] = []
        while len(vectors) < len(texts):
            some = texts[len(vectors) :][: self._most]
            left_s = deadline - self.caller.clock.monotonic()
            try:
                vectors += self._ask(some, is_query=False, effort=patience.for_documents(left_s))
            except EmbedderError as error:
                names_size = isinstance(error, ServiceRefused) and error.names_size
                if names_size and len(some) > 1:
                    self._halve(len(some))
                    continue
                if names_size:
                    error.hint = "lower chunking.tokens, or choose a model with a longer context"
                error.done = vectors
                raise
        return vectors

    def _halve(self, count: int) -> None:
        with self._lock:
            half = count // 2
            self._most = half if self._most is None else min(self._most, half)

    def embed_query(self, text: str, *, timeout_s: float) -> Vector:
        if not text.strip():
            return []
        return self._ask([text], is_query=True, effort=patience.for_query(timeout_s))[0]

    def close(self) -> None:
        """Closes the connections; a later call opens new ones."""
        self.caller.close()

    def _ask(self, texts: Sequence[str], *, is_query: bool, effort: Effort) -> list[Vector]:
        path, body = self.dialect.request(texts, is_query=is_query)
        prefix = prefix_of(self.caller.name)
        answer = self.caller.post(path, body, effort=effort, prefix=prefix)
        return self.dialect.vectors(answer, count=len(texts), is_query=is_query)


def prefix_of(name: str) -> str:
    return f"{name} embeddings failed"


def bearer(key: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def caller_of(
    settings: Settings, *, signature: Signature = bearer, notice: Notice, clock: Clock | None
) -> Caller:
    """The service that the settings name, with its keys."""
    choice = settings.provider
    endpoint = choice.endpoint
    if endpoint is None:
        raise EmbedderError(f"{choice.id} has no endpoint")
    keys = list(dict.fromkeys([endpoint.api_key, *endpoint.more_keys]))
    return Caller(
        choice.id,
        base_url=endpoint.base_url,
        headers=endpoint.headers,
        signatures=[signature(key) for key in keys],
        secrets=keys,
        requests_per_minute=settings.search.remote.requests_per_minute,
        notice=notice,
        clock=clock,
    )
