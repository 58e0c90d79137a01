"""The Embedder protocol, the provider registry, and the way texts travel to a provider."""

import contextlib
import math
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from ocmem.core import utf16
from ocmem.core.fingerprint import (
    endpoint_provider_key,
    plain_provider_key,
    shortened_provider_key,
)
from ocmem.core.store.rows import CacheKey
from ocmem.errors import EmbedderError, OutOfTime
from ocmem.model import Vector
from ocmem.settings import ProviderChoice, Settings

PROVIDERS = {
    name: f"ocmem.providers.{name}"
    for name in ("openai", "gemini", "voyage", "mistral", "local", "builtin")
}
Notice = Callable[[str], None]  # told what a person who waits should know
Progress = Callable[[str, int, int], None]  # what is done, how far, and how far it goes

_MOST_BYTES = 8000
_KEY_HEADERS = ("authorization", "x-goog-api-key")  # a key is no part of an index's identity
_SMALLER_LIMITS = {"gemini": 2048, "local": 2048}


class Embedder(Protocol):
    """Turns texts into vectors. Raises EmbedderError and nothing else when it cannot."""

    group_bytes: int  # how much text one call takes
    concurrency: int  # how many calls may run at once

    def embed_documents(self, texts: Sequence[str], *, timeout_s: float) -> list[Vector]:
        """One vector a text, in order; an empty one where the text has no meaning."""
        ...

    def embed_query(self, text: str, *, timeout_s: float) -> Vector: ...


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose vectors an index holds. Known without a key and without loading the provider."""

    cache_key: CacheKey
    max_bytes: int  # the longest text that is embedded in one piece, in UTF-8
    has_vectors: bool
    costs: bool  # every answer is paid for in money or minutes

    @property
    def provider(self) -> str:
        return self.cache_key.provider

    @property
    def model(self) -> str:
        return self.cache_key.model


def max_bytes(provider: str) -> int:
    """The longest text that the provider embeds in one piece, in UTF-8."""
    return _SMALLER_LIMITS.get(provider, _MOST_BYTES)


def query_timeout_s(provider: str) -> float:
    """How long a query may take, all attempts together."""
    return 300.0 if provider == "local" else 30.0


def document_timeout_s(provider: str) -> float:
    """The same for a group of documents: nobody looks on, and services have bad minutes."""
    return 600.0 if provider == "local" else 300.0


def probe_timeout_s(provider: str) -> float:
    """The same for one line, to see whether the provider works."""
    return 600.0 if provider == "local" else 120.0


def identity_of(choice: ProviderChoice) -> Identity:
    if choice.id in ("openai", "gemini") and choice.endpoint is not None:
        sent = {"Content-Type": "application/json"} if choice.id == "openai" else {}
        given = {**sent, **choice.endpoint.headers}
        headers = {name: text for name, text in given.items() if name.lower() not in _KEY_HEADERS}
        key = endpoint_provider_key(
            choice.id, base_url=choice.endpoint.base_url, model=choice.model, headers=headers
        )
    else:
        key = plain_provider_key(choice.id, choice.model)
    if choice.dimensions is not None:
        key = shortened_provider_key(key, choice.dimensions)
    return Identity(
        cache_key=CacheKey(choice.id, choice.model, key),
        max_bytes=max_bytes(choice.id),
        has_vectors=choice.id != "none",
        costs=choice.id not in ("builtin", "none"),
    )


def provider_in_use(choice: ProviderChoice) -> str:
    """The provider that embeds; `none` where the chosen one cannot."""
    return choice.id if choice.missing is None else "none"


def no_notice(text: str) -> None: ...


def connect(
    settings: Settings, notice: Notice = no_notice, progress: Progress | None = None
) -> Embedder:
    """The provider in use, loaded; says why if it cannot be had. `notice` hears of retries.

    Without a `progress` that somebody watches, no model is downloaded.
    """
    choice = settings.provider
    if choice.missing is not None:
        raise unavailable(choice, choice.missing)
    if settings.offline and choice.endpoint is not None:
        raise EmbedderError(f"--offline: {choice.id} was not asked")
    module = import_module(PROVIDERS[choice.id])
    watched = {"progress": progress} if choice.id == "local" else {}
    return cast(Embedder, module.connect(settings, notice=notice, **watched))


def unavailable(choice: ProviderChoice, reason: str) -> EmbedderError:
    """Why a provider cannot be had, and what can be done about it."""
    if choice.id == "builtin":
        return EmbedderError(reason, hint="install ocmem again; wordllama comes with it")
    key = f"set {choice.id.upper()}_API_KEY or remote.apiKey, or " if choice.endpoint else ""
    return EmbedderError(reason, hint=f'{key}use provider "builtin", which needs no key')


def groups_of(texts: Sequence[str], *, group_bytes: int) -> list[list[int]]:
    """Positions of `texts` in runs that fit one call; a longer text goes alone."""
    groups: list[list[int]] = []
    size = 0
    for at, text in enumerate(texts):
        width = utf16.utf8_length(text)
        if not groups or size + width > group_bytes:
            groups.append([])
            size = 0
        groups[-1].append(at)
        size += width
    return groups


def embed_groups(
    embedder: Embedder,
    groups: Sequence[Sequence[str]],
    *,
    timeout_s: float,
    deadline: float | None = None,
) -> Iterator[tuple[int, list[Vector]]]:
    """Each group's position and vectors, as they arrive, several calls at once.

    An answer counts as under way until the caller comes back for the next: never is more paid
    for than can be stored. After the first failure no new call is made, but those under way are
    still waited for and handed over, and so is the part of a group that came before its failure.
    Then that is raised. `deadline` is in monotonic time.
    """
    time_left = _TimeLeft(timeout_s, deadline)
    if embedder.concurrency <= 1 or len(groups) <= 1:
        for at, group in enumerate(groups):
            try:
                with time_left.spent() as allowed_s:
                    vectors = embedder.embed_documents(group, timeout_s=allowed_s)
            except EmbedderError as error:
                if error.done:
                    yield at, list(error.done)
                raise
            yield at, vectors
        return
    waiting: queue.SimpleQueue[tuple[int, Sequence[str]]] = queue.SimpleQueue()
    answers: queue.SimpleQueue[tuple[int, list[Vector] | BaseException]] = queue.SimpleQueue()
    for item in enumerate(groups):
        waiting.put(item)
    is_over = threading.Event()
    room = threading.Semaphore(embedder.concurrency)

    def work() -> None:
        while True:
            room.acquire()
            try:
                if is_over.is_set():
                    break
                at, group = waiting.get_nowait()
            except queue.Empty:
                break
            try:
                with time_left.spent() as allowed_s:
                    vectors = embedder.embed_documents(group, timeout_s=allowed_s)
                answers.put((at, vectors))
            except BaseException as error:  # handed to the main thread, which raises it
                is_over.set()
                answers.put((at, error))
        room.release()  # the next worker is to find that out as well
        answers.put((-1, []))

    # Daemons: an interrupted run must not wait for a slow server before it may end.
    count = min(embedder.concurrency, len(groups))
    for _ in range(count):
        threading.Thread(target=work, daemon=True).start()
    first: BaseException | None = None
    try:
        while count:
            at, answer = answers.get()
            if at < 0:
                count -= 1
                continue
            if isinstance(answer, BaseException):
                first = first or answer
                if isinstance(answer, EmbedderError) and answer.done:
                    yield at, list(answer.done)
            else:
                yield at, answer
            room.release()
    finally:
        is_over.set()  # also when the caller gives up: nothing more is to be paid for
        room.release(embedder.concurrency)
    if first is not None:
        raise first


@dataclass(slots=True)
class _TimeLeft:
    """How long a call may take. None is begun that would hardly end before the deadline."""

    timeout_s: float
    deadline: float | None
    slowest_s: float = 0.0

    @contextlib.contextmanager
    def spent(self) -> Iterator[float]:
        began = time.monotonic()
        left_s = math.inf if self.deadline is None else self.deadline - began
        if left_s <= self.slowest_s:
            raise OutOfTime("the time for embedding before a search is used up")
        yield min(self.timeout_s, left_s)
        self.slowest_s = max(self.slowest_s, time.monotonic() - began)
