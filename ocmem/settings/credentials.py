"""API keys: where they may be, and which one counts. Read only, and never printed."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ocmem.settings import environment
from ocmem.settings.environment import Variables
from ocmem.settings.origin import Origin
from ocmem.settings.reading import regular_bytes
from ocmem.settings.schema import Json

STORE_NAME = "auth-profiles.json"
OLD_STORE_NAME = "auth.json"
_KINDS = ("oauth", "token", "api_key")  # in the order in which they are preferred
_SECRET_FIELDS = {"oauth": ("access",), "token": ("token",), "api_key": ("key", "apiKey")}
_MOST_BYTES = 16 * 1024 * 1024
_NEVER_MS = float("inf")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key and the place it came from. The key stays out of every repr."""

    text: str = field(repr=False)
    origin: Origin


@dataclass(frozen=True, slots=True)
class Profile:
    """One entry of an auth store. An `expires_ms` in the past makes it useless."""

    file: Path
    id: str
    provider: str
    kind: str
    secret: str = field(repr=False)
    expires_ms: float
    last_used_ms: float = 0.0
    cooldown_until_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Credentials:
    """Everything that may name a key, for one agent."""

    config: Json = field(repr=False)
    variables: Variables = field(repr=False)
    agent_dir: Path
    main_agent_dir: Path
    now_ms: float

    def key(
        self, provider: str, *, variable: str, configured: object, inherits: bool = True
    ) -> ApiKey | None:
        """remote.apiKey, auth profiles, the environment, models.providers: the first that has it.

        `provider` is the name that credentials go by: Gemini's are filed under `google`. Without
        `inherits` only the first place counts.
        """
        text = cleaned(configured)
        if text:
            return ApiKey(text, Origin("file", "remote.apiKey"))
        if not inherits:
            return None
        profile = self._profile(provider)
        if profile is not None:
            return ApiKey(
                profile.secret, Origin("file", f"profiles.{profile.id}", str(profile.file))
            )
        text = cleaned(self.variables.get(variable))
        if text:
            return ApiKey(text, self._variable(variable))
        text = cleaned(self.shared(provider).get("apiKey"))
        return ApiKey(text, Origin("file", f"models.providers.{provider}.apiKey")) if text else None

    def shared(self, provider: str) -> Json:
        """`models.providers.<name>`, whose id is compared trimmed and in lower case."""
        providers = _object(_object(self.config.get("models")).get("providers"))
        for name, value in providers.items():
            if name.strip().lower() == provider:
                return _object(value)
        return {}

    def missing(self, provider: str) -> str:
        """Why no key was found, in the reference's words."""
        start = f'No API key found for provider "{provider}".'
        known = {profile.provider for profile in _profiles(self._stores())}
        if provider == "openai" and "openai-codex" in known:
            return (
                f"{start} You are authenticated with OpenAI Codex OAuth, which does not cover "
                "embeddings. Set OPENAI_API_KEY, or choose another provider."
            )
        store = self.agent_dir / STORE_NAME
        return (
            f"{start} Auth store: {store} (agentDir: {store.parent}). Configure auth for this "
            "agent (openclaw agents add <id>) or copy auth-profiles.json from the main agentDir."
        )

    def _profile(self, provider: str) -> Profile | None:
        stores = self._stores()
        usable = {
            profile.id: profile
            for profile in _profiles(stores)
            if profile.provider == provider and self._is_usable(profile)
        }
        order = self._order(stores, provider)
        if order is not None:
            return min((usable[id] for id in order if id in usable), key=self._rest, default=None)
        listed = self._listed(provider)
        chosen = [usable[id] for id in listed if id in usable] if listed else [*usable.values()]
        return min(chosen, key=self._preference, default=None)

    def _rest(self, profile: Profile) -> float:
        """How long a profile should be left alone: those that need no rest come first."""
        return max(0.0, profile.cooldown_until_ms - self.now_ms)

    def _preference(self, profile: Profile) -> tuple[float, int, float]:
        return self._rest(profile), _KINDS.index(profile.kind), profile.last_used_ms

    def _is_usable(self, profile: Profile) -> bool:
        if not profile.secret or profile.expires_ms <= self.now_ms:
            return False
        entry = self._config_profiles().get(profile.id)
        if not isinstance(entry, dict):
            return True
        if _provider_of(entry) not in ("", profile.provider):
            return False
        mode = entry.get("mode")
        return mode in (None, profile.kind) or (mode == "oauth" and profile.kind == "token")

    def _order(self, stores: Sequence["_Store"], provider: str) -> list[str] | None:
        for holder in (*(store.values for store in stores), _object(self.config.get("auth"))):
            for name, ids in _object(holder.get("order")).items():
                if name.strip().lower() == provider and isinstance(ids, list):
                    return [id for id in ids if isinstance(id, str)]
        return None

    def _listed(self, provider: str) -> list[str]:
        profiles = self._config_profiles().items()
        return [id for id, entry in profiles if _provider_of(_object(entry)) == provider]

    def _config_profiles(self) -> Json:
        return _object(_object(self.config.get("auth")).get("profiles"))

    def _stores(self) -> list["_Store"]:
        """The agent's own store, then the main one."""
        return [*map(_read_store, dict.fromkeys([self.agent_dir, self.main_agent_dir]))]

    def _variable(self, name: str) -> Origin:
        place = self.variables.origin(name)
        if place == environment.LOGIN_SHELL:
            return Origin(place, name)
        return Origin("environment", name, None if place == environment.ENVIRONMENT else place)


@dataclass(frozen=True, slots=True)
class _Store:
    file: Path
    values: Json = field(repr=False)


def cleaned(value: object) -> str:
    """A key without line breaks and outer blanks; anything but text is no key."""
    if not isinstance(value, str):
        return ""
    return value.translate(dict.fromkeys(map(ord, "\r\n\u2028\u2029"))).strip()


def _read_store(agent_dir: Path) -> _Store:
    """An absent or broken file is an empty one."""
    file = agent_dir / STORE_NAME
    if store := _read(file):
        return _Store(file, store)
    file = agent_dir / OLD_STORE_NAME
    entries = {
        f"{provider}:default": {"provider": provider, **entry}
        for provider, entry in _read(file).items()
        if isinstance(entry, dict)
    }
    return _Store(file, {"profiles": entries})


def _read(file: Path) -> Json:
    try:
        return _object(json.loads(regular_bytes(file, most=_MOST_BYTES)))
    except (OSError, ValueError, RecursionError):
        return {}


def _profiles(stores: Sequence[_Store]) -> Iterator[Profile]:
    """The profiles of all stores; where two have the same, that of the first."""
    stats: Json = {}
    entries: dict[str, tuple[Path, Json]] = {}
    for store in reversed(stores):
        stats |= _object(store.values.get("usageStats"))
        profiles = _object(store.values.get("profiles"))
        entries |= {id: (store.file, _object(entry)) for id, entry in profiles.items()}
    for id, (file, fields) in entries.items():
        kind = fields.get("type", fields.get("mode"))
        provider = _provider_of(fields)
        if kind not in _KINDS or not provider:
            continue
        used = _object(stats.get(id))
        expires_ms = _number(fields, "expires")
        yield Profile(
            file=file,
            id=id,
            provider=provider,
            kind=str(kind),
            secret=next((t for n in _SECRET_FIELDS[kind] if (t := cleaned(fields.get(n)))), ""),
            expires_ms=expires_ms if expires_ms > 0 and kind != "api_key" else _NEVER_MS,
            last_used_ms=_number(used, "lastUsed"),
            cooldown_until_ms=max(_number(used, "cooldownUntil"), _number(used, "disabledUntil")),
        )


def _provider_of(entry: Json) -> str:
    return cleaned(entry.get("provider")).lower()


def _number(fields: Json, name: str) -> float:
    """A time; 0 where there is none, or none that makes sense."""
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if 0 <= value < 1e300 else 0.0


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}
