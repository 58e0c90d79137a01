"""The two settings files, and what they say about agents."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ocmem.errors import UsageError
from ocmem.settings import document, environment, paths, validate
from ocmem.settings.document import Document, normalized_id
from ocmem.settings.environment import Variables
from ocmem.settings.overrides import Overrides
from ocmem.settings.schema import Json
from ocmem.settings.search import Layer

DEFAULT_AGENT = "main"


@dataclass(frozen=True, slots=True)
class Documents:
    """The settings files, found, read and checked, and the places they are resolved against."""

    home: Path
    state_dir: Path
    variables: Variables  # with the config's own `env` block
    config: Document
    overlay: Document
    merged: Json = field(repr=False)

    @classmethod
    def read(cls, overrides: Overrides, env: paths.Env, *, cwd: Path | None) -> "Documents":
        variables = environment.read(env, cwd, _as_variables(overrides, env))
        home = paths.home_dir(variables)
        config_file = paths.config_file(variables, home)
        if overrides.config is not None and not paths.is_file(config_file):
            raise UsageError(f"--config: no such file: {config_file}")
        config = document.load(config_file, variables)
        validate.check(config)
        overlay = document.load(paths.overlay_file(variables, home), config.variables, own=True)
        validate.check(overlay)
        merged = document.merge(config.values, overlay.values)
        return cls(
            home=home,
            state_dir=paths.state_dir(config.variables, home),
            variables=environment.with_login_shell(overlay.variables, merged.get("env")),
            config=config,
            overlay=overlay,
            merged=merged,
        )

    def entries(self) -> list[Json]:
        return _entries(self.merged)

    def ids(self) -> list[str]:
        """Every configured agent, as written and in order; each once, by its first spelling."""
        return [*_spellings(map(_id, self.entries()))]

    def wanted(self, overrides: Overrides) -> tuple[list[str], list[str]]:
        """The agents of a command that handles several, and warnings about the choice.

        Those asked for, or every configured one; an empty id leaves the choice to `agent`.
        """
        if overrides.workspace is not None and not overrides.agents:
            return [""], []
        if not overrides.agents:
            place = _entry_place(self.config)
            spellings = _spellings(map(_id, self.entries()))
            warnings = _ambiguous_default(self.entries()) if spellings else []
        else:
            place, warnings = "--agent", []
            spellings = _spellings(overrides.agents)
        for first, others in spellings.items():
            for other in others:
                warnings.append(f'{place}: "{other}" is the agent "{first}" again; handled once')
        return [*spellings] or [""], warnings

    def agent(self, asked: str | None) -> tuple[str, list[str]]:
        """The agent's id as its config writes it, and warnings about the choice."""
        entries = self.entries()
        if asked is None or not asked.strip():
            return _default_agent(self.merged), _ambiguous_default(entries)
        wanted = normalized_id(asked)
        for entry in entries:
            if normalized_id(id := _id(entry)) == wanted:
                return id, []
        known = ", ".join(self.ids()) or DEFAULT_AGENT
        unknown = wanted != DEFAULT_AGENT or bool(entries)
        return wanted, [f'no agent "{asked}" is configured (known: {known})'] if unknown else []

    def workspace(self, agent: str) -> tuple[Path, str]:
        """The agent's workspace and where that is said."""
        return self._workspace(agent, self.merged)

    def reference_workspace(self, agent: str) -> Path:
        """The workspace that OpenClaw would use, which does not read ocmem's own file."""
        return self._workspace(agent, self.config.values)[0]

    def _workspace(self, agent: str, values: Json) -> tuple[Path, str]:
        own = _entry(values, agent).get("workspace")
        if isinstance(own, str) and own.strip():
            return paths.expand(own, self.home), self._entry_key(agent, "workspace")
        if normalized_id(agent) != normalized_id(_default_agent(values)):
            folder = self.state_dir / f"workspace-{normalized_id(agent)}"
            return folder, "default for an agent that is not the default one"
        shared = _defaults(values).get("workspace")
        if isinstance(shared, str) and shared.strip():
            return paths.expand(shared, self.home), "agents.defaults.workspace"
        profile = self.variables.get("OPENCLAW_PROFILE", "").strip()
        suffix = f"-{profile}" if profile.lower() not in ("", "default") else ""
        origin = f"default for profile {profile}" if suffix else "default"
        return self.home / ".openclaw" / f"workspace{suffix}", origin

    def _entry_key(self, agent: str, name: str) -> str:
        """The key of an agent's own setting, in the dialect of the file that has it."""
        for written in (self.overlay, self.config):
            entry = _entry(written.values, agent)
            if entry.get(name) is not None:
                return f"{_entry_place(written)}.{_id(entry)}.{name}"
        return name

    def agent_dir(self, agent: str) -> Path:
        own = _entry(self.merged, agent).get("agentDir")
        if isinstance(own, str) and own.strip():
            return paths.expand(own, self.home)
        return self.state_dir / "agents" / normalized_id(agent) / "agent"

    def main_agent_dir(self) -> Path:
        for name in ("OPENCLAW_AGENT_DIR", "PI_CODING_AGENT_DIR"):
            if chosen := self.variables.get(name, "").strip():
                return paths.expand(chosen, self.home)
        return self.state_dir / "agents" / DEFAULT_AGENT / "agent"

    def layers(self, agent: str, overrides: Overrides) -> tuple[Layer, ...]:
        option: Json = {"provider": overrides.provider} if overrides.provider else {}
        own, config = self.overlay, self.config
        return (
            Layer("option", option, where="--provider"),
            _agent_layer("own agent", own, agent),
            _agent_layer("agent", config, agent),
            _default_layer("own defaults", own),
            _default_layer("defaults", config),
        )


def _as_variables(overrides: Overrides, env: paths.Env) -> list[tuple[str, dict[str, str]]]:
    """The path options, each with the variables that it stands for."""
    found: list[tuple[str, dict[str, str]]] = []
    if overrides.state_dir is not None:
        found.append(("--state-dir", {"OPENCLAW_STATE_DIR": overrides.state_dir}))
    if overrides.config is not None:
        found.append(("--config", {"OPENCLAW_CONFIG_PATH": overrides.config}))
    if overrides.profile is not None:
        name = overrides.profile
        implied = {"OPENCLAW_PROFILE": name}
        suffix = "" if name.lower() == "default" else f"-{name}"
        known = {**env, **{name: text for _, values in found for name, text in values.items()}}
        home = paths.home_dir(env)
        folder = known.get("OPENCLAW_STATE_DIR", "").strip()
        if not folder:
            folder = str(home / f".openclaw{suffix}")
            implied["OPENCLAW_STATE_DIR"] = folder
        if not known.get("OPENCLAW_CONFIG_PATH", "").strip():
            implied["OPENCLAW_CONFIG_PATH"] = str(paths.expand(folder, home) / "openclaw.json")
        found.append(("--dev" if overrides.is_dev else f"--profile {name}", implied))
    return found


def _agent_layer(origin: Any, written: Document, agent: str) -> Layer:  # noqa: ANN401
    is_newer = written.dialect == "newer"
    leaf = "memory.search" if is_newer else "memorySearch"
    at = _position(written.values, agent)
    entry = {} if at is None else _entries(written.values)[at]
    return Layer(
        origin,
        _memory_search(entry),
        str(written.file),
        f"{_entry_place(written)}.{_id(entry) if entry else agent}.{leaf}",
        is_newer,
        () if at is None else ("agents", "list", at, "memorySearch"),
    )


def _default_layer(origin: Any, written: Document) -> Layer:  # noqa: ANN401
    is_newer = written.dialect == "newer"
    return Layer(
        origin,
        _memory_search(_defaults(written.values)),
        str(written.file),
        "memory.search" if is_newer else "agents.defaults.memorySearch",
        is_newer,
        ("agents", "defaults", "memorySearch"),
    )


def _agents(config: Json) -> Json:
    agents = config.get("agents")
    return agents if isinstance(agents, dict) else {}


def _defaults(config: Json) -> Json:
    defaults = _agents(config).get("defaults")
    return defaults if isinstance(defaults, dict) else {}


def _entries(config: Json) -> list[Json]:
    entries = _agents(config).get("list")
    return [entry for entry in entries if isinstance(entry, dict)] if entries else []


def _entry_place(written: Document) -> str:
    return "agents.entries" if written.dialect == "newer" else "agents.list"


def _id(entry: Json) -> str:
    """An agent's id as it is written; one that says nothing is the default's."""
    id = str(entry.get("id", ""))
    return id if id.strip() else DEFAULT_AGENT


def _spellings(ids: Iterable[str]) -> dict[str, list[str]]:
    """Agents by the first spelling of each id, with the others that mean the same."""
    first: dict[str, str] = {}
    found: dict[str, list[str]] = {}
    for id in ids:
        known = first.setdefault(normalized_id(id), id)
        if known in found:
            found[known].append(id)
        else:
            found[known] = []
    return found


def _ambiguous_default(entries: Sequence[Json]) -> list[str]:
    many = "Multiple agents marked default=true; using the first entry as default."
    marked = [entry for entry in entries if entry.get("default") is True]
    return [many] if len(marked) > 1 else []


def _default_agent(config: Json) -> str:
    entries = _entries(config)
    marked = [entry for entry in entries if entry.get("default") is True]
    return _id((marked or entries or [{}])[0])


def _entry(config: Json, agent: str) -> Json:
    at = _position(config, agent)
    return {} if at is None else _entries(config)[at]


def _position(config: Json, agent: str) -> int | None:
    ids = [normalized_id(_id(entry)) for entry in _entries(config)]
    wanted = normalized_id(agent)
    return ids.index(wanted) if wanted in ids else None


def _memory_search(holder: Json) -> Json:
    found = holder.get("memorySearch")
    return found if isinstance(found, dict) else {}
