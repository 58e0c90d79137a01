"""Which embedding provider a search uses, and with which endpoint and key."""

import importlib.util
import os
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
AUTO_ORDER = ("openai", "builtin")
GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta"
_UNFINISHED = ("gemini", "voyage", "mistral")


@dataclass(frozen=True, slots=True)
class Service:
    """A service that speaks OpenAI's embeddings API. Without a `variable` it needs no key."""

    url: str
    model: str
    variable: str | None = None
    is_ollama: bool = False  # its own API is at the root, the one that is spoken here below `/v1`


OPENAI = Service("https://api.openai.com/v1", DEFAULT_MODELS["openai"], "OPENAI_API_KEY")
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


@dataclass(frozen=True, slots=True)
class Fallback:
    """The provider that was asked for and could not be had, and why."""

    origin: str
    reason: str


@dataclass(frozen=True, slots=True)
class ProviderChoice:
    """The provider in use. `missing` says why it cannot embed right now, if it cannot."""

    id: str
    requested: str
    model: str
    endpoint: Endpoint | None = None
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
    is_newer: bool = False  # the newer dialect names services that this one does not


def choose(request: Request, credentials: Credentials) -> ProviderChoice:
    """The provider for a request. A name is kept, unless its configured fallback steps in."""
    asked = _name(request.provider, request, "auto")
    if asked == "auto":
        local = _local(request) if _has_local_model(request) else None
        if local is not None and local.missing is None:
            return replace(local, requested="auto")
        chosen = _automatic(request, credentials, AUTO_ORDER)
        if local is None or local.missing is None:
            return chosen
        # OpenClaw would take it: the index it shares must not be built with another.
        missing = chosen.missing and f"{chosen.missing}\n\n{local.missing}"
        return replace(chosen, missing=missing, fallback=Fallback("local", local.missing))
    choice = _named(asked, request, credentials)
    if choice is not None and choice.missing is None:
        return choice
    reason = choice.missing if choice else None
    reason = reason or f'ocmem has no provider "{asked}"'
    second_name = _name(request.fallback, request, "none")
    if second_name not in ("none", asked):
        # Only its own defaults: a key or URL meant for one service must not reach another.
        own = replace(request, model="", remote=Remote())
        second = _named(second_name, own, credentials)
        if second is not None and second.missing is None:
            return replace(second, requested=asked, fallback=Fallback(asked, reason))
        why = second.missing if second else f'ocmem has no provider "{second_name}"'
        reason = f"{reason}\n\nFallback to {second_name} failed: {why}"
        if choice is not None:
            return replace(choice, missing=reason, fallback=Fallback(asked, reason))
    if choice is not None:
        return choice
    # Nothing that costs, or tells anybody anything, steps in for a service we do not know.
    builtin = _automatic(request, credentials, ("builtin",))
    return replace(builtin, requested=asked, fallback=Fallback(asked, reason))


def builtin_files() -> tuple[Path, Path] | None:
    """The weights and the tokenizer inside the installed wordllama package, never imported."""
    spec = importlib.util.find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        return None
    root = Path(spec.submodule_search_locations[0])
    weights = root / "weights" / "l2_supercat_256.safetensors"
    tokenizer = root / "tokenizers" / "l2_supercat_tokenizer_config.json"
    return (weights, tokenizer) if weights.is_file() and tokenizer.is_file() else None


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
    if name == "gemini":
        return _gemini(request, credentials)
    if name == "local":
        return _local(request)
    if name in _UNFINISHED:
        model = request.model.strip().removeprefix(f"{name}/") or DEFAULT_MODELS[name]
        return ProviderChoice(name, name, model, missing=_unfinished(name))
    service = OPENAI if name == "openai" else _compatible(name, request, credentials)
    return None if service is None else _openai(name, service, request, credentials)


def _gemini(request: Request, credentials: Credentials) -> ProviderChoice:
    """Enough to recognise an index that OpenClaw built: its endpoint is part of its identity."""
    remote, shared = request.remote, credentials.shared("google")
    url = cleaned(remote.base_url) or cleaned(shared.get("baseUrl")) or GEMINI_URL
    model = request.model.strip().removeprefix("models/")
    for prefix in ("gemini/", "google/"):
        if model.startswith(prefix):
            model = model.removeprefix(prefix)
            break
    return ProviderChoice(
        "gemini",
        "gemini",
        model or DEFAULT_MODELS["gemini"],
        endpoint=Endpoint(
            url.rstrip("/").partition("/openai")[0],
            {**_strings(shared.get("headers")), **remote.headers},
            "",
            DEFAULT,
        ),
        missing=_unfinished("gemini"),
    )


def _unfinished(name: str) -> str:
    return f'this version of ocmem has no provider "{name}" yet'


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


def _openai(
    name: str, service: Service, request: Request, credentials: Credentials
) -> ProviderChoice:
    remote, shared = request.remote, credentials.shared(name)
    shared_url = cleaned(shared.get("baseUrl"))
    own_url, url_origin = shared_url or service.url, DEFAULT
    if shared_url:
        url_origin = Origin("file", f"models.providers.{name}.baseUrl")
    url = cleaned(remote.base_url) or own_url
    if cleaned(remote.base_url):
        url_origin = Origin("file", "remote.baseUrl")
    # Newer releases keep what belongs to a service from every other address.
    inherits = not request.is_newer or url.rstrip("/") == own_url.rstrip("/")
    variable = service.variable or ""
    key = credentials.key(name, variable=variable, configured=remote.api_key, inherits=inherits)
    headers = {**(_strings(shared.get("headers")) if inherits else {}), **remote.headers}
    is_signed = request.is_newer and "authorization" in map(str.lower, headers)
    missing = None
    if not url:
        missing = f'provider "{name}" needs remote.baseUrl'
    elif key is None and service.variable is not None and not is_signed:
        missing = credentials.missing(name)
        if not inherits:
            missing += " Keys from elsewhere are not sent to another remote.baseUrl."
    return ProviderChoice(
        "openai",
        name,
        request.model.strip().removeprefix(f"{name}/") or service.model,
        endpoint=Endpoint(
            _below_v1(url) if service.is_ollama else url,
            headers,
            key.text if key else "",
            url_origin,
            key.origin if key else None,
        ),
        missing=missing,
    )


def _below_v1(url: str) -> str:
    trimmed = url.rstrip("/")
    return trimmed if trimmed.endswith("/v1") or not trimmed else f"{trimmed}/v1"


def _strings(value: object) -> dict[str, str]:
    entries = value.items() if isinstance(value, dict) else ()
    return {name: text for name, text in entries if isinstance(text, str)}
