"""Where every setting came from, for `ocmem config`. Secrets are only ever set or not set."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ocmem.settings import Settings, paths, schema
from ocmem.settings.address import shown_url
from ocmem.settings.environment import Variables
from ocmem.settings.origin import DEFAULT, Origin
from ocmem.settings.search import Layer, endpoint_layers, find

_ENDPOINT_KEYS = ("model", "remote.")
_MODELS = "models.providers."


@dataclass(frozen=True, slots=True)
class Setting:
    """One resolved value. `configured` is what was asked for, where that was not used as it is."""

    key: str
    value: Any
    origin: Origin
    configured: Any = None
    note: str | None = None


def settings_of(settings: Settings) -> list[Setting]:
    """Every memory setting of one agent, in the order of the schema."""
    found = (*_provider(settings), *_keys(settings), *_memory(settings))
    return [
        replace(each, value=_shown(each.value), configured=_shown(each.configured))
        for each in found
    ]


def places_of(settings: Settings) -> dict[str, Path]:
    """The folders and files that a script may want, by the name that JSON uses."""
    qmd = settings.state_dir / "agents" / settings.agent_dir_name / "qmd"
    return {
        "stateDir": settings.state_dir,
        "configFile": settings.config.file,
        "ownConfigFile": settings.overlay.file,
        "workspace": settings.workspace,
        "store": settings.index_path,
        "sessionsDir": settings.sessions_dir,
        "agentDir": settings.agent_dir,
        "qmdConfigHome": qmd / "xdg-config",
        "qmdCacheHome": qmd / "xdg-cache",
    }


def place_origins(settings: Settings) -> dict[str, str]:
    """Why those places, in a few words each, where there is something to say."""
    variables = settings.config.variables
    config = settings.config
    return {
        "stateDir": _variable(variables, "OPENCLAW_STATE_DIR", "CLAWDBOT_STATE_DIR")
        or ("default" if settings.state_dir.name == paths.STATE_DIR_NAMES[0] else "legacy folder"),
        "configFile": f"{config.dialect} dialect" if config.exists else "not there: all defaults",
        "ownConfigFile": "read" if settings.overlay.exists else "not there",
        "workspace": settings.workspace_origin,
        "store": "shared with OpenClaw" if settings.shares_index else "ocmem's own",
    }


def _provider(settings: Settings) -> Iterator[Setting]:
    choice = settings.provider
    asked = find(settings.layers, "provider")
    note = None
    if choice.fallback is not None:
        note = f"in place of {choice.fallback.origin}: {choice.fallback.reason}"
        if choice.missing is not None:
            note = choice.fallback.reason
    elif choice.missing is not None:
        note = choice.missing
    origin = _origin(asked.layer, "provider")
    yield Setting("provider", choice.id, origin, choice.requested, note)
    model = find(endpoint_layers(settings.layers), "model")
    used = choice.model if choice.id != "none" else None
    configured = model.value if model.layer and model.value != used else None
    yield Setting("model", used, _origin(model.layer, "model"), configured)
    endpoint = choice.endpoint
    if endpoint is not None:
        origin = _placed(endpoint.url_origin, settings)
        yield Setting("remote.baseUrl", endpoint.base_url, origin)
        origin = _placed(endpoint.key_origin, settings) if endpoint.key_origin else DEFAULT
        yield Setting("remote.apiKey", "set" if endpoint.api_key else "not set", origin)


def _keys(settings: Settings) -> Iterator[Setting]:
    shown = {"provider", "model"}
    if settings.provider.endpoint is not None:
        shown |= {"remote.baseUrl", "remote.apiKey"}
    final = _final(settings)
    for key in schema.KEYS:
        if key.path in shown:
            continue
        is_endpoint = key.path.startswith(_ENDPOINT_KEYS)
        layers = endpoint_layers(settings.layers) if is_endpoint else settings.layers
        found = find(layers, key.path)
        value = final.get(key.path, found.value)
        configured = found.value if value != found.value and found.layer is not None else None
        if key.path == "remote.apiKey":
            value, configured = ("set" if value else "not set"), None
        elif key.path == "remote.headers":
            value, configured = dict.fromkeys(value or {}, "set"), None
        elif key.path == "extraPaths":
            configured = None  # lists add up, so that the nearest one alone says little
        yield Setting(key.path, value, _origin(found.layer, key.path), configured)


def _final(settings: Settings) -> dict[str, Any]:
    """The values that differ from what a file says, once clamped and combined."""
    search, query = settings.search, settings.search.query
    patterns = search.extra_patterns
    return {
        "sources": list(search.sources),
        "extraPaths": [
            {"path": path, "pattern": patterns[path]} if path in patterns else path
            for path in search.extra_paths
        ],
        "chunking.tokens": search.chunk_tokens,
        "chunking.overlap": search.chunk_overlap,
        "cache.maxEntries": search.cache_max_entries,
        "query.hybrid.vectorWeight": query.vector_weight,
        "query.hybrid.textWeight": query.text_weight,
        "query.hybrid.candidateMultiplier": query.candidate_multiplier,
    }


def _memory(settings: Settings) -> Iterator[Setting]:
    for name, value in (("citations", settings.citations), ("backend", settings.backend)):
        origin = _placed(Origin("file", f"memory.{name}"), settings)
        yield Setting(f"memory.{name}", value, origin if origin.file else DEFAULT)


def _placed(origin: Origin, settings: Settings) -> Origin:
    """The origin with its file: keys outside an agent's memory settings do not know theirs."""
    if origin.kind != "file" or origin.key is None or origin.file is not None:
        return origin
    if origin.key.startswith("remote."):
        return _origin(find(endpoint_layers(settings.layers), origin.key).layer, origin.key)
    for document in (settings.overlay, settings.config):
        if _has(document.values, origin.key):
            return replace(origin, file=str(document.file))
    return origin


def _has(values: schema.Json, key: str) -> bool:
    if not key.startswith(_MODELS):
        return schema.lookup(values, key) is not None
    wanted, _, leaf = key.removeprefix(_MODELS).rpartition(".")
    providers = schema.lookup(values, _MODELS.rstrip("."))
    return any(
        name.strip().lower() == wanted and isinstance(entry, dict) and entry.get(leaf)
        for name, entry in (providers.items() if isinstance(providers, dict) else ())
    )


def _origin(layer: Layer | None, path: str) -> Origin:
    if layer is None:
        return DEFAULT
    if layer.origin == "option":
        return Origin("option", layer.where)
    if path == "remote.dimensions" and not layer.is_own:
        path = "outputDimensionality"  # what newer releases call it, and older ones have not
    return Origin("file", f"{layer.where}.{path}", layer.file)


def _shown(value: Any) -> Any:  # noqa: ANN401
    """A setting's value with nothing secret left in the addresses that it has."""
    if isinstance(value, str):
        return shown_url(value)
    if isinstance(value, list):
        return [*map(_shown, value)]
    if isinstance(value, dict):
        return {name: _shown(item) for name, item in value.items()}
    return value


def _variable(variables: Variables, *names: str) -> str | None:
    for name in names:
        if variables.get(name, "").strip():
            return f"{name} ({variables.origin(name)})"
    return None
