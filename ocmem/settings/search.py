"""The layers of `memorySearch` -> one frozen MemorySearch, defaults filled and values clamped."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from ocmem.model import Source
from ocmem.settings.schema import OWN_PROVIDERS, Json, default_of, lookup


@dataclass(frozen=True, slots=True)
class Layer:
    """One place that settings come from, with the name of its `where`. Earlier beats later."""

    origin: Literal["option", "own agent", "agent", "own defaults", "defaults"]
    values: Json = field(repr=False)
    file: str = ""
    where: str = ""  # the key under which the values stand in that file
    is_newer: bool = False  # which dialect that file speaks
    place: tuple[str | int, ...] = ()  # the same key in the shape that both dialects end in

    @property
    def is_own(self) -> bool:
        return self.origin.startswith(("own", "option"))


@dataclass(frozen=True, slots=True)
class Query:
    max_results: int
    min_score: float
    own_min_score: float | None  # set in ocmem's own file: holds for the fused ranker too
    ranker: str
    snippet: str | None
    hybrid: bool
    vector_weight: float
    text_weight: float
    weights_are_set: bool
    candidate_multiplier: int
    multiplier_is_set: bool
    mmr: bool
    mmr_lambda: float
    decay: bool
    half_life_days: float


@dataclass(frozen=True, slots=True)
class Batch:
    enabled: bool = False
    wait: bool = True
    concurrency: int = 2
    poll_interval_ms: int = 2000
    timeout_minutes: int = 60


@dataclass(frozen=True, slots=True)
class Remote:
    """What is configured about the service; the defaults of a provider are not in here."""

    base_url: str | None = field(default=None, repr=False)  # some put a password there
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    max_items: int | None = None
    dimensions: int | None = None
    requests_per_minute: int | None = None
    batch: Batch = field(default_factory=Batch)


@dataclass(frozen=True, slots=True)
class Local:
    model_path: str | None = None
    model_cache_dir: str | None = None


@dataclass(frozen=True, slots=True)
class Watch:
    """When a watcher acts; the deltas are what transcripts must grow by."""

    enabled: bool
    debounce_ms: int
    interval_minutes: int
    delta_bytes: int
    delta_messages: int


@dataclass(frozen=True, slots=True)
class MemorySearch:
    enabled: bool
    sources: tuple[Source, ...]
    extra_paths: tuple[str, ...]
    extra_patterns: Mapping[str, str]  # by extra path, where one is given
    exclude: tuple[str, ...]
    provider: str
    fallback: str
    model: str
    remote: Remote
    local: Local
    store_path: str | None
    vector_enabled: bool
    vector_extension_path: str | None
    chunk_tokens: int
    chunk_overlap: int
    syncs_on_search: bool
    watch: Watch
    cache_enabled: bool
    cache_max_entries: int | None
    query: Query


@dataclass(frozen=True, slots=True)
class Found:
    """A setting as it was found; `layer` is None where nothing but the default says anything."""

    value: Any = field(repr=False)  # it may be a key
    layer: Layer | None


def find(layers: Sequence[Layer], path: str) -> Found:
    """The first layer that has the setting, else its default."""
    for layer in layers:
        value = lookup(layer.values, path)
        if value is not None:
            return Found(value, layer)
    return Found(default_of(path), None)


def resolve(layers: Sequence[Layer]) -> MemorySearch:
    def value(path: str) -> Any:  # noqa: ANN401
        return find(layers, path).value

    def is_set(path: str) -> bool:
        return find(layers, path).layer is not None

    speaking = endpoint_layers(layers)
    tokens = max(1, int(value("chunking.tokens")))
    weights = _weights(value("query.hybrid.vectorWeight"), value("query.hybrid.textWeight"))
    max_entries = value("cache.maxEntries")
    own_floor = find([layer for layer in layers if layer.is_own], "query.minScore")
    paths = _extra_paths(layers)
    return MemorySearch(
        enabled=value("enabled"),
        sources=_sources(value("sources"), with_sessions=value("experimental.sessionMemory")),
        extra_paths=tuple(paths),
        extra_patterns={path: pattern for path, pattern in paths.items() if pattern},
        exclude=tuple(value("exclude")),
        provider=value("provider"),
        fallback=value("fallback"),
        model=find(speaking, "model").value,
        remote=_remote(speaking),
        local=Local(value("local.modelPath"), value("local.modelCacheDir")),
        store_path=value("store.path"),
        vector_enabled=value("store.vector.enabled"),
        vector_extension_path=value("store.vector.extensionPath"),
        chunk_tokens=tokens,
        chunk_overlap=min(max(0, int(value("chunking.overlap"))), tokens - 1),
        syncs_on_search=value("sync.onSearch"),
        watch=Watch(
            enabled=value("sync.watch"),
            debounce_ms=int(value("sync.watchDebounceMs")),
            interval_minutes=int(value("sync.intervalMinutes")),
            delta_bytes=int(value("sync.sessions.deltaBytes")),
            delta_messages=int(value("sync.sessions.deltaMessages")),
        ),
        cache_enabled=value("cache.enabled"),
        cache_max_entries=None if max_entries is None else max(1, math.floor(max_entries)),
        query=Query(
            max_results=int(value("query.maxResults")),
            min_score=float(value("query.minScore")),
            own_min_score=None if own_floor.layer is None else own_floor.value,
            ranker=value("query.ranker"),
            snippet=value("query.snippet"),
            hybrid=value("query.hybrid.enabled"),
            vector_weight=weights[0],
            text_weight=weights[1],
            weights_are_set=is_set("query.hybrid.vectorWeight")
            or is_set("query.hybrid.textWeight"),
            candidate_multiplier=min(20, int(value("query.hybrid.candidateMultiplier"))),
            multiplier_is_set=is_set("query.hybrid.candidateMultiplier"),
            mmr=value("query.hybrid.mmr.enabled"),
            mmr_lambda=float(value("query.hybrid.mmr.lambda")),
            decay=value("query.hybrid.temporalDecay.enabled"),
            half_life_days=float(value("query.hybrid.temporalDecay.halfLifeDays")),
        ),
    )


def endpoint_layers(layers: Sequence[Layer]) -> Sequence[Layer]:
    """The layers that may speak about the provider's model and endpoint."""
    for at, layer in enumerate(layers):
        provider = lookup(layer.values, "provider")
        if provider is None:
            continue
        if not layer.is_own:
            return layers
        above = layers[: at + 1]
        if provider in OWN_PROVIDERS:
            return above
        # A key or URL that was meant for one service must not follow to another that only ocmem
        # was told to use.
        below = range(at + 1, len(layers))
        return [*above, *(layers[n] for n in below if _addressee(layers[n:]) == provider)]
    return layers


def _addressee(layers: Sequence[Layer]) -> str:
    """The provider that a key or URL in the first of these layers was meant for."""
    provider = str(find(layers, "provider").value)
    return "openai" if provider == "auto" else provider


def _remote(layers: Sequence[Layer]) -> Remote:
    def value(name: str) -> Any:  # noqa: ANN401
        return find(layers, f"remote.{name}").value

    key = value("apiKey")
    return Remote(
        base_url=value("baseUrl"),
        api_key=key if isinstance(key, str) else None,
        headers=_headers(layers),
        max_items=value("maxItems"),
        dimensions=value("dimensions"),
        requests_per_minute=value("requestsPerMinute"),
        batch=Batch(
            enabled=value("batch.enabled"),
            wait=value("batch.wait"),
            concurrency=int(value("batch.concurrency")),
            poll_interval_ms=int(value("batch.pollIntervalMs")),
            timeout_minutes=int(value("batch.timeoutMinutes")),
        ),
    )


def _headers(layers: Sequence[Layer]) -> dict[str, str]:
    """The agent's, else the defaults'; ocmem's own file adds to either, one by one."""
    for origins in (("agent", "own agent"), ("defaults", "own defaults")):
        found = [
            headers
            for origin in origins
            for layer in layers
            if layer.origin == origin
            and (headers := lookup(layer.values, "remote.headers")) is not None
        ]
        if found:
            merged = {name: text for headers in found for name, text in headers.items()}
            return {name: text for name, text in merged.items() if isinstance(text, str)}
    return {}


def _sources(configured: list[str], *, with_sessions: bool) -> tuple[Source, ...]:
    kept = [name for name in dict.fromkeys(configured) if name != "sessions" or with_sessions]
    return cast(tuple[Source, ...], tuple(kept) or ("memory",))


def extra_path_layers(layers: Sequence[Layer]) -> list[Layer]:
    """The defaults' list and the agent's are both used; within each, ocmem's own file replaces."""
    found = []
    for origins in (("own defaults", "defaults"), ("own agent", "agent")):
        several = [layer for layer in layers if layer.origin in origins]
        layer = find(several, "extraPaths").layer
        if layer is not None:
            found.append(layer)
    return found


def _extra_paths(layers: Sequence[Layer]) -> dict[str, str]:
    entries = [
        entry for layer in extra_path_layers(layers) for entry in lookup(layer.values, "extraPaths")
    ]
    found: dict[str, str] = {}
    for entry in entries:
        named = entry if isinstance(entry, dict) else {"path": entry}
        path = named["path"].strip()
        if path:
            found.setdefault(path, str(named.get("pattern") or "").strip())
    return found


def _weights(vector: float, text: float) -> tuple[float, float]:
    total = vector + text
    return (vector / total, text / total) if total > 0 else (0.7, 0.3)
