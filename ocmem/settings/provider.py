"""Which embedding provider a search uses, and with which endpoint and key."""

import importlib.util
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ocmem.settings.credentials import Credentials, cleaned
from ocmem.settings.origin import DEFAULT, Origin
from ocmem.settings.search import Local, Remote

DEFAULT_MODELS = {
    "openai": "text-embedding-3-small",
    "gemini": "gemini-embedding-001",
    "voyage": "voyage-4-large",
    "mistral": "mistral-embed",
    "local": "hf:ggml-org/embeddinggemma-300m-qat-q8_0-GGUF/embeddinggemma-300m-qat-Q8_0.gguf",
    "builtin": "l2_supercat_256",
    "none": "fts-only",
}
KEYWORDS_ONLY = "none"
_GEMINI_VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")  # as remote.apiKey: read that variable
AUTO_ORDER = ("openai", "gemini", "voyage", "mistral", "builtin")
_NEWER_AUTO_ORDER = ("openai", "builtin")


@dataclass(frozen=True, slots=True)
class Service:
    """A service behind a URL. Without a `variable` it needs no key."""

    url: str
    model: str
    variable: str | None = None
    filed_as: str | None = None  # the name that its keys go by, where that is another
    is_ollama: bool = False  # its own API is at the root, the one that is spoken here below `/v1`


SERVICES = {
    "openai": Service("https://api.openai.com/v1", DEFAULT_MODELS["openai"], "OPENAI_API_KEY"),
    "gemini": Service(
        "https://generativelanguage.googleapis.com/v1beta",
        DEFAULT_MODELS["gemini"],
        "GEMINI_API_KEY",
        filed_as="google",
    ),
    "voyage": Service("https://api.voyageai.com/v1", DEFAULT_MODELS["voyage"], "VOYAGE_API_KEY"),
    "mistral": Service("https://api.mistral.ai/v1", DEFAULT_MODELS["mistral"], "MISTRAL_API_KEY"),
}
OLLAMA = Service("http://127.0.0.1:11434/v1", "nomic-embed-text", is_ollama=True)
LM_STUDIO = Service("http://127.0.0.1:1234/v1", "text-embedding-nomic-embed-text-v1.5")
# Names of the newer dialect for servers that speak the same language.
COMPATIBLE = {
    "openai-compatible": Service("", DEFAULT_MODELS["openai"]),
    "ollama": OLLAMA,
    "lmstudio": LM_STUDIO,
    "lm-studio": LM_STUDIO,
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A remote service. `headers` are the configured ones; the key stays out of every repr."""

    base_url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    api_key: str = field(repr=False)
    url_origin: Origin = DEFAULT
    key_origin: Origin | None = None
    more_keys: tuple[str, ...] = field(default=(), repr=False)  # tried when the first is used up


@dataclass(frozen=True, slots=True)
class Fallback:
    """The provider that was asked for and could not be had, and why."""

    origin: str
    reason: str
    is_lasting: bool = False  # ocmem does not have that provider at all


@dataclass(frozen=True, slots=True)
class ProviderChoice:
    """The provider in use. `missing` says why it cannot embed right now, if it cannot."""

    id: str
    requested: str
    model: str
    endpoint: Endpoint | None = None
    dimensions: int | None = None  # asked for, where the model's own number is not wanted
    missing: str | None = None
    fallback: Fallback | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """What the settings say about the provider, before anything is looked up."""

    provider: str
    fallback: str
    model: str
    remote: Remote
    local: Local
    is_newer: bool = False  # the provider is named in the newer dialect, which knows more of them
    is_fallback_newer: bool = False
    guards_keys: bool = False  # the URL is: there, keys meant for a service go to no other address
    failure: str | None = None  # why the provider could not be used when it was tried


def choose(request: Request, credentials: Credentials) -> ProviderChoice:
    """The provider for a request. A name is kept, unless its configured fallback steps in."""
    asked = _name(request.provider, request, "auto")
    choice: ProviderChoice | None
    if asked == "auto":
        choice = _auto(request, credentials)
        if request.failure is None:
            return choice
    else:
        choice = _named(asked, request, credentials)
    if choice is not None and choice.missing is None and request.failure is None:
        return choice
    first = asked if asked != "auto" or choice is None else choice.id
    reason = (choice.missing if choice else None) or request.failure
    reason = reason or f'ocmem has no provider "{first}"'
    # Only its own defaults: a key or URL meant for one service must not reach another.
    own = replace(request, model="", remote=Remote(), is_newer=request.is_fallback_newer)
    second_name = _name(request.fallback, own, "none")
    if second_name not in ("none", first):
        second = _named(second_name, own, credentials)
        if second is not None and second.missing is None:
            return replace(second, requested=asked, fallback=Fallback(first, reason))
        why = second.missing if second else f'ocmem has no provider "{second_name}"'
        reason = f"{reason}\n\nFallback to {second_name} failed: {why}"
        if choice is not None:
            return replace(choice, missing=reason, fallback=Fallback(first, reason))
    if choice is not None:
        return choice
    # Nothing that costs, or tells anybody anything, steps in for a service we do not know.
    builtin = _automatic(request, credentials, ("builtin",))
    stands_in = Fallback(asked, reason, is_lasting=True)
    return replace(builtin, requested=asked, fallback=stands_in)


def builtin_files() -> tuple[Path, Path] | None:
    """The weights and the tokenizer inside the installed wordllama package, never imported."""
    spec = importlib.util.find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        return None
    root = Path(spec.submodule_search_locations[0])
    weights = root / "weights" / "l2_supercat_256.safetensors"
    tokenizer = root / "tokenizers" / "l2_supercat_tokenizer_config.json"
    return (weights, tokenizer) if weights.is_file() and tokenizer.is_file() else None


def _auto(request: Request, credentials: Credentials) -> ProviderChoice:
    """The provider where none is named: a model that is there, else the first that has a key."""
    local = _local(request) if _has_local_model(request) else None
    if local is not None and local.missing is None:
        return replace(local, requested="auto")
    order = _NEWER_AUTO_ORDER if request.is_newer else AUTO_ORDER
    chosen = _automatic(request, credentials, order)
    if local is None or local.missing is None:
        return chosen
    # OpenClaw would take it: the index it shares must not be built with another.
    missing = chosen.missing and f"{chosen.missing}\n\n{local.missing}"
    return replace(chosen, missing=missing, fallback=Fallback("local", local.missing))


def _automatic(request: Request, credentials: Credentials, order: Sequence[str]) -> ProviderChoice:
    reasons = []
    for name in order:
        choice = _named(name, request, credentials)
        if choice is not None and choice.missing is None:
            return replace(choice, requested="auto")
        reasons.append(choice.missing or "" if choice else "")
    return ProviderChoice(
        KEYWORDS_ONLY, "auto", DEFAULT_MODELS[KEYWORDS_ONLY], missing="\n\n".join(reasons)
    )


def _name(given: str, request: Request, default: str) -> str:
    """A provider's name; the newer dialect compares it trimmed and in lower case."""
    return (given.strip().lower() or default) if request.is_newer else given


def _named(name: str, request: Request, credentials: Credentials) -> ProviderChoice | None:
    """The provider of that name, usable or not; None if there is no such thing."""
    if name == "builtin":
        missing = None if builtin_files() else "the data files of the wordllama package are missing"
        return ProviderChoice(name, name, DEFAULT_MODELS[name], missing=missing)
    if name == KEYWORDS_ONLY:
        return ProviderChoice(name, name, DEFAULT_MODELS[name])
    if name == "local":
        return _local(request)
    service = SERVICES.get(name) or _compatible(name, request, credentials)
    return None if service is None else _remote(name, service, request, credentials)


def has_local_engine() -> bool:
    """Whether the `local` extra is installed; it is not imported for that."""
    return importlib.util.find_spec("xllamacpp") is not None


def local_guidance(reason: str) -> str:
    """Why there are no local embeddings, and what to do, in the reference's form."""
    remote = [
        f'Or set agents.defaults.memorySearch.provider = "{name}" (remote).'
        for name in ("openai", "gemini", "voyage", "mistral")
    ]
    return "\n".join(
        [
            "Local embeddings unavailable.",
            f"Reason: {reason}",
            "To enable local embeddings:",
            "1) Install ocmem with its extra: pip install 'ocmem[local]'",
            "2) If no wheel fits this machine, have pip build one: it needs CMake, a C++ compiler"
            " and Rust",
            *remote,
        ]
    )


def _local(request: Request) -> ProviderChoice:
    """The model is whatever the configured path says, as OpenClaw has it in its index."""
    model = (request.local.model_path or "").strip() or DEFAULT_MODELS["local"]
    missing = None if has_local_engine() else local_guidance("xllamacpp is not installed")
    return ProviderChoice("local", "local", model, missing=missing)


def _has_local_model(request: Request) -> bool:
    path = request.local.model_path or ""
    is_remote = path.lower().startswith(("hf:", "http:", "https:"))
    # Not Path.is_file(): it raises where a folder above may not be entered.
    is_file = os.path.isfile(path)  # noqa: PTH113
    return not request.is_newer and is_file and not is_remote


def _compatible(name: str, request: Request, credentials: Credentials) -> Service | None:
    if not request.is_newer:
        return None
    known = COMPATIBLE.get(name)
    shared = credentials.shared(name)
    if known is None and shared.get("baseUrl"):
        known = OLLAMA if shared.get("api") == "ollama" else COMPATIBLE["openai-compatible"]
    return known


def _remote(
    name: str, service: Service, request: Request, credentials: Credentials
) -> ProviderChoice:
    remote, filed_as = request.remote, service.filed_as or name
    shared = credentials.shared(filed_as)
    shared_url = cleaned(shared.get("baseUrl"))
    own_url, url_origin = shared_url or service.url, DEFAULT
    if shared_url:
        url_origin = Origin("file", f"models.providers.{filed_as}.baseUrl")
    url = cleaned(remote.base_url) or own_url
    if cleaned(remote.base_url):
        url_origin = Origin("file", "remote.baseUrl")
    inherits = not request.guards_keys or url.rstrip("/") == own_url.rstrip("/")
    variable = service.variable or ""
    configured = remote.api_key
    if name == "gemini" and configured in _GEMINI_VARIABLES:
        configured = credentials.variables.get(configured)
    key = credentials.key(filed_as, variable=variable, configured=configured, inherits=inherits)
    headers = {**(_strings(shared.get("headers")) if inherits else {}), **remote.headers}
    is_signed = request.is_newer and "authorization" in map(str.lower, headers)
    more_keys: tuple[str, ...] = ()
    # Not to a server that has a key of its own: it need not be Google's.
    if name == "gemini" and key and (url == service.url or key.origin.kind == "environment"):
        more_keys = _gemini_keys(credentials.variables) if inherits else ()
    missing = None
    if not url:
        missing = f'provider "{name}" needs remote.baseUrl'
    elif key is None and service.variable is not None and not is_signed:
        missing = credentials.missing(filed_as)
        if not inherits:
            missing += " Keys from elsewhere are not sent to another remote.baseUrl."
    return ProviderChoice(
        name if name in SERVICES else "openai",
        name,
        _model(name, request.model) or service.model,
        endpoint=Endpoint(
            _normalized_url(name, service, url),
            headers,
            key.text if key else "",
            url_origin,
            key.origin if key else None,
            more_keys,
        ),
        dimensions=remote.dimensions,
        missing=missing,
    )


def _model(name: str, configured: str) -> str:
    """A model's name without the prefix that says whose it is."""
    model = configured.strip()
    if name != "gemini":
        return model.removeprefix(f"{name}/")
    model = model.removeprefix("models/")
    whose = next((prefix for prefix in ("gemini/", "google/") if model.startswith(prefix)), "")
    return model.removeprefix(whose)


def _normalized_url(name: str, service: Service, url: str) -> str:
    if name == "gemini":
        return url.rstrip("/").partition("/openai")[0]
    return _below_v1(url) if service.is_ollama else url


def _gemini_keys(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Further keys of the same owner, for when the first is rate limited."""
    live = cleaned(variables.get("OPENCLAW_LIVE_GEMINI_KEY"))
    if live:
        return (live,)
    listed = re.split(r"[\s,;]+", variables.get("GEMINI_API_KEYS", ""))
    names = [name for name in variables if name.startswith("GEMINI_API_KEY_")]
    single = [variables.get(name) for name in ("GEMINI_API_KEY", *names, "GOOGLE_API_KEY")]
    return tuple(filter(None, dict.fromkeys(map(cleaned, [*listed, *single]))))


def _below_v1(url: str) -> str:
    trimmed = url.rstrip("/")
    return trimmed if trimmed.endswith("/v1") or not trimmed else f"{trimmed}/v1"


def _strings(value: object) -> dict[str, str]:
    entries = value.items() if isinstance(value, dict) else ()
    return {name: text for name, text in entries if isinstance(text, str)}
