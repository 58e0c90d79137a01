"""What the config says about the flush before a compaction. Odd values are told, never refused."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from ocmem.settings.document import normalized_id
from ocmem.settings.schema import Json, lookup

RESERVE_FLOOR: Final = 20_000
SOFT_THRESHOLD: Final = 4_000
RUNTIME_RESERVE: Final = 16_384  # what the agent runtime keeps free by itself
BUILT_IN_CLI_PROVIDERS: Final = frozenset({"claude-cli", "codex-cli"})

SandboxMode = Literal["off", "non-main", "all"]
WorkspaceAccess = Literal["none", "ro", "rw"]
TimeFormat = Literal["auto", "12", "24"]

_DEFAULTS = "agents.defaults"
_COMPACTION = f"{_DEFAULTS}.compaction"
_FLUSH = f"{_COMPACTION}.memoryFlush"


@dataclass(frozen=True, slots=True)
class ModelRef:
    """`provider/id`; the provider is None where the config does not name one."""

    provider: str | None
    id: str


@dataclass(frozen=True, slots=True)
class FlushSettings:
    """One agent's flush. `warnings` are about values that had to be replaced by the default."""

    is_enabled: bool
    reserve_floor: int
    soft_threshold: int
    runtime_reserve: int  # what compaction keeps free, unless the floor is higher
    context_tokens: int | None
    windows: Mapping[str, Sequence[int]]  # by model id; one for each provider that has it
    model: ModelRef | None  # the agent's own choice
    prompt: str | None
    system_prompt: str | None
    timezone: str | None
    time_format: TimeFormat
    sandbox_mode: SandboxMode
    workspace_access: WorkspaceAccess  # of a sandboxed turn
    cli_providers: frozenset[str]
    main_key: str  # of the agent's main session
    main_aliases: frozenset[str]  # in lower case
    warnings: tuple[str, ...] = ()

    def is_main(self, session_key: str) -> bool:
        return session_key.strip().lower() in self.main_aliases

    def is_cli(self, provider: str | None) -> bool:
        """Whether a provider is a program on this machine, which keeps its own context."""
        return provider is not None and provider.strip().lower() in self.cli_providers


def resolve(config: Json, agent_id: str) -> FlushSettings:
    """From `openclaw.json` in the older shape."""
    values = _Values(config)
    mode, access = _sandbox(values, agent_id)
    main_key, aliases = _main_session(values, agent_id)
    return FlushSettings(
        is_enabled=values.flag(f"{_FLUSH}.enabled", default=True),
        reserve_floor=values.whole(f"{_COMPACTION}.reserveTokensFloor", RESERVE_FLOOR),
        soft_threshold=values.whole(f"{_FLUSH}.softThresholdTokens", SOFT_THRESHOLD),
        runtime_reserve=values.whole(f"{_COMPACTION}.reserveTokens", RUNTIME_RESERVE),
        context_tokens=values.whole(f"{_DEFAULTS}.contextTokens", 0) or None,
        windows=_windows(values),
        model=_model(values, agent_id),
        prompt=values.text(f"{_FLUSH}.prompt"),
        system_prompt=values.text(f"{_FLUSH}.systemPrompt"),
        timezone=values.text(f"{_DEFAULTS}.userTimezone"),
        time_format=values.choice(f"{_DEFAULTS}.timeFormat", get_args(TimeFormat), "auto"),
        sandbox_mode=mode,
        workspace_access=access,
        cli_providers=BUILT_IN_CLI_PROVIDERS
        | {name.strip().lower() for name in values.section(f"{_DEFAULTS}.cliBackends")},
        main_key=main_key,
        main_aliases=aliases,
        warnings=tuple(values.warnings),
    )


def model_ref(text: str) -> ModelRef | None:
    """`anthropic/claude-opus-4-6`; an id may have slashes of its own."""
    provider, slash, id = text.strip().partition("/")
    if not slash:
        return ModelRef(None, provider) if provider else None
    return ModelRef(provider.strip().lower() or None, id.strip()) if id.strip() else None


@dataclass(slots=True)
class _Values:
    """The config by dotted path, and what was wrong with it."""

    config: Json
    warnings: list[str] = field(default_factory=list)

    def section(self, path: str) -> Json:
        found = lookup(self.config, path)
        return found if isinstance(found, dict) else {}

    def whole(self, path: str, default: int) -> int:
        found = lookup(self.config, path)
        number = _whole(found)
        if number is not None:
            return number
        if found is not None:
            instead = f"{default} is used" if default else "it is left out"
            self.warnings.append(f"{path}: not a number from 0; {instead}")
        return default

    def flag(self, path: str, *, default: bool) -> bool:
        found = lookup(self.config, path)
        if isinstance(found, bool):
            return found
        if found is not None:
            told = "true" if default else "false"
            self.warnings.append(f"{path}: neither true nor false; {told} is used")
        return default

    def text(self, path: str) -> str | None:
        found = lookup(self.config, path)
        if isinstance(found, str):
            return found if found.strip() else None
        if found is not None:
            self.warnings.append(f"{path}: not a text; the default is used")
        return None

    def choice(self, path: str, known: Sequence[str], default: str) -> Any:  # noqa: ANN401
        return self.chosen(lookup(self.config, path), path, known, default)

    def chosen(self, found: object, path: str, known: Sequence[str], default: str) -> Any:  # noqa: ANN401
        if found in known:
            return found
        if found is not None:
            self.warnings.append(f"{path}: none of {', '.join(known)}; {default} is used")
        return default


def _whole(value: object) -> int | None:
    """Floored; None for what the reference would not take as a size either."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Beyond that JavaScript cannot count, and no model can remember.
    if not 0 <= value <= 2**53:
        return None
    return math.floor(value)


def _windows(values: _Values) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for provider in values.section("models.providers").values():
        models = provider.get("models") if isinstance(provider, dict) else None
        for model in models if isinstance(models, list) else ():
            id = model.get("id") if isinstance(model, dict) else None
            window = _whole(model.get("contextWindow")) if isinstance(id, str) else None
            if isinstance(id, str) and window:
                found.setdefault(id, []).append(window)
    return found


def _entry(values: _Values, agent_id: str) -> tuple[Json, str]:
    """The agent's own settings, and where they stand."""
    entries = values.section("agents").get("list")
    wanted = normalized_id(agent_id)
    for at, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict) and normalized_id(str(entry.get("id") or "")) == wanted:
            return entry, f"agents.list[{at}]"
    return {}, ""


def _model(values: _Values, agent_id: str) -> ModelRef | None:
    own = _primary(_entry(values, agent_id)[0].get("model"))
    text = own or _primary(lookup(values.config, f"{_DEFAULTS}.model"))
    if text is None:
        return None
    for name, about in values.section(f"{_DEFAULTS}.models").items():
        alias = about.get("alias") if isinstance(about, dict) else None
        if isinstance(alias, str) and alias.strip().lower() == text.strip().lower():
            return model_ref(name)
    return model_ref(text)


def _primary(model: object) -> str | None:
    text = model.get("primary") if isinstance(model, dict) else model
    return text if isinstance(text, str) and text.strip() else None


def _sandbox(values: _Values, agent_id: str) -> tuple[SandboxMode, WorkspaceAccess]:
    """The agent's own setting wins, field by field."""
    entry, place = _entry(values, agent_id)
    own = entry.get("sandbox")

    def pick(name: str, known: Sequence[str], default: str) -> Any:  # noqa: ANN401
        if isinstance(own, dict) and own.get(name) is not None:
            return values.chosen(own[name], f"{place}.sandbox.{name}", known, default)
        return values.choice(f"{_DEFAULTS}.sandbox.{name}", known, default)

    return (
        pick("mode", get_args(SandboxMode), "off"),
        pick("workspaceAccess", get_args(WorkspaceAccess), "none"),
    )


def _main_session(values: _Values, agent_id: str) -> tuple[str, frozenset[str]]:
    named = lookup(values.config, "session.mainKey")
    name = named.strip().lower() if isinstance(named, str) and named.strip() else "main"
    agent = normalized_id(agent_id)
    aliases = {"main", name, f"agent:{agent}:main", f"agent:{agent}:{name}"}
    if lookup(values.config, "session.scope") == "global":
        return "global", frozenset(aliases | {"global"})
    return f"agent:{agent}:{name}", frozenset(aliases)
