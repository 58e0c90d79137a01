"""Where every setting came from, for `ocmem config`. Secrets are only ever set or not set."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ocmem.settings import Settings, paths, schema
from ocmem.settings.address import shown_url
from ocmem.settings.document import Document
from ocmem.settings.environment import Variables
from ocmem.settings.origin import DEFAULT, Origin
from ocmem.settings.provenance import Place, mark_at, marks_of
from ocmem.settings.search import Layer, endpoint_layers, extra_path_layers, find

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
    also_from: tuple[Origin, ...] = ()  # where several places add up: the others


def settings_of(settings: Settings) -> list[Setting]:
    """Every memory setting of one agent, in the order of the schema."""
    origins = _Origins(settings)
    found = (
        *_provider(settings, origins),
        *_keys(settings, origins),
        *_memory(settings, origins),
    )
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
        "configFile": ", ".join(
            [
                _variable(variables, "OPENCLAW_CONFIG_PATH", "CLAWDBOT_CONFIG_PATH")
                or _config_place(settings),
                f"{config.dialect} dialect" if config.exists else "not there: all defaults",
            ]
        ),
        "ownConfigFile": ", ".join(
            [
                _variable(variables, "OCMEM_CONFIG") or "default",
                "read" if settings.overlay.exists else "not there",
            ]
        ),
        "workspace": settings.workspace_origin,
        "store": ", ".join(_store_origin(settings)),
    }


def _config_place(settings: Settings) -> str:
    """Which of the usual places the config was found in."""
    file = settings.config.file
    if file.parent.name in paths.STATE_DIR_NAMES[1:]:
        return "legacy folder"
    if file.name in paths.CONFIG_NAMES[1:]:
        return "legacy name"
    is_default = file.parent == settings.home / paths.STATE_DIR_NAMES[0]
    return "default" if is_default else "in the state directory"


def _store_origin(settings: Settings) -> Iterator[str]:
    layer = find(settings.layers, "store.path").layer
    if layer is not None and not settings.is_folder and (settings.search.store_path or "").strip():
        yield f"{layer.where}.store.path"
    yield "shared with OpenClaw" if settings.shares_index else "ocmem's own"


def _provider(settings: Settings, origins: "_Origins") -> Iterator[Setting]:
    choice = settings.provider
    asked = find(settings.layers, "provider")
    note = None
    if choice.fallback is not None:
        note = f"in place of {choice.fallback.origin}: {choice.fallback.reason}"
        if choice.missing is not None:
            note = choice.fallback.reason
    elif choice.missing is not None:
        note = choice.missing
    origin = origins.of(asked.layer, "provider")
    yield Setting("provider", choice.id, origin, choice.requested, note)
    model = find(endpoint_layers(settings.layers), "model")
    used = choice.model if choice.id != "none" else None
    configured = model.value if model.layer and model.value != used else None
    yield Setting("model", used, origins.of(model.layer, "model"), configured)
    endpoint = choice.endpoint
    if endpoint is not None:
        origin = origins.placed(endpoint.url_origin)
        yield Setting("remote.baseUrl", endpoint.base_url, origin)
        origin = origins.placed(endpoint.key_origin) if endpoint.key_origin else DEFAULT
        yield Setting("remote.apiKey", "set" if endpoint.api_key else "not set", origin)


def _keys(settings: Settings, origins: "_Origins") -> Iterator[Setting]:
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
        also_from: tuple[Origin, ...] = ()
        if key.path == "remote.apiKey":
            value, configured = ("set" if value else "not set"), None
        elif key.path == "remote.headers":
            value, configured = dict.fromkeys(value or {}, "set"), None
        elif key.path == "extraPaths":
            configured = None  # lists add up, so that the nearest one alone says little
            others = [layer for layer in extra_path_layers(layers) if layer is not found.layer]
            also_from = tuple(origins.of(layer, key.path) for layer in others)
        origin = origins.of(found.layer, key.path)
        yield Setting(key.path, value, origin, configured, also_from=also_from)


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


def _memory(settings: Settings, origins: "_Origins") -> Iterator[Setting]:
    for name, value in (("citations", settings.citations), ("backend", settings.backend)):
        origin = origins.placed(Origin("file", f"memory.{name}"))
        yield Setting(f"memory.{name}", value, origin if origin.file else DEFAULT)


class _Origins:
    """Where values stand, down to the included file and the variables in the text."""

    def __init__(self, settings: Settings) -> None:
        self._layers = endpoint_layers(settings.layers)
        self._documents = (settings.overlay, settings.config)
        self._marks = {document.own: marks_of(document) for document in self._documents}

    def of(self, layer: Layer | None, path: str) -> Origin:
        """The origin of a memory setting that a layer has."""
        if layer is None:
            return DEFAULT
        if layer.origin == "option":
            return Origin("option", layer.where)
        place = (*layer.place, *path.split("."))
        if path == "remote.dimensions" and not layer.is_own:
            path = "outputDimensionality"  # what newer releases call it, and older ones have not
        document = next(each for each in self._documents if each.own == layer.is_own)
        return self._marked(Origin("file", f"{layer.where}.{path}", layer.file), document, place)

    def placed(self, origin: Origin) -> Origin:
        """With its file: keys outside an agent's memory settings do not know theirs."""
        if origin.kind != "file" or origin.key is None or origin.file is not None:
            return origin
        if origin.key.startswith("remote."):
            return self.of(find(self._layers, origin.key).layer, origin.key)
        for document in self._documents:
            place = _place_of(document.values, origin.key)
            if place is not None:
                found = replace(origin, file=str(document.file))
                return self._marked(found, document, place)
        return origin

    def _marked(self, origin: Origin, document: Document, place: Place) -> Origin:
        mark = mark_at(self._marks[document.own], place)
        if mark is None:
            return origin
        via = ((name, document.variables.origin(name) or "") for name in mark.variables)
        return replace(origin, file=mark.file, via=tuple(via))


def _place_of(values: schema.Json, key: str) -> Place | None:
    """Where a document has a key, if it does; the ids of services are compared in lower case."""
    if not key.startswith(_MODELS):
        return key.split(".") if schema.lookup(values, key) is not None else None
    wanted, _, leaf = key.removeprefix(_MODELS).rpartition(".")
    providers = schema.lookup(values, _MODELS.rstrip("."))
    for name, entry in providers.items() if isinstance(providers, dict) else ():
        if name.strip().lower() == wanted and isinstance(entry, dict) and entry.get(leaf):
            return ("models", "providers", name, leaf)
    return None


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
            place = variables.origin(name) or ""
            return place if place.startswith("--") else f"{name} ({place})"
    return None
