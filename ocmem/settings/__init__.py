"""File + environment + flags -> one frozen Settings, resolved once and passed down."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ocmem.settings import document, paths, provider, schema, validate
from ocmem.settings.agents import Documents
from ocmem.settings.credentials import Credentials
from ocmem.settings.document import Document, normalized_id
from ocmem.settings.overrides import Overrides
from ocmem.settings.provider import Endpoint, Fallback, ProviderChoice
from ocmem.settings.search import Layer, MemorySearch, Query, find
from ocmem.settings.search import resolve as resolve_search

if TYPE_CHECKING:
    from ocmem.settings.qmd import QmdSettings

__all__ = [
    "Documents",
    "Endpoint",
    "Fallback",
    "MemorySearch",
    "Overrides",
    "ProviderChoice",
    "Query",
    "Settings",
    "resolve",
]

_ROOT_FILES = {"older": ("MEMORY.md", "memory.md"), "newer": ("MEMORY.md", "USER.md")}


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a command needs to know about one agent."""

    agent_id: str
    home: Path
    state_dir: Path
    workspace: Path
    workspace_origin: str
    is_folder: bool  # a `--workspace` that belongs to no agent: a plain folder of notes
    root_files: tuple[str, ...]  # notes that count although they stand beside `memory/`
    sessions_dir: Path
    agent_dir: Path
    index_path: Path
    shares_index: bool  # OpenClaw reads and writes the same file
    fallback_index: Path  # where the fallback's is, if it ever had to step in
    paid_index: Path | None  # OpenClaw's file beside an own one: what it paid for may be reused
    search: MemorySearch
    provider: ProviderChoice
    options: tuple[str, ...]  # of the command line, that lead to this index and no other
    citations: str
    backend: str
    offline: bool
    env: paths.Env = field(repr=False)
    config: Document = field(repr=False)
    overlay: Document = field(repr=False)
    layers: tuple[Layer, ...] = field(repr=False)
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # worth knowing only for those who look at the settings

    @property
    def uses_qmd(self) -> bool:
        return self.backend == "qmd"

    @property
    def configures_qmd(self) -> bool:
        """Whether there are settings for it, in use or not."""
        documents = (self.config.values, self.overlay.values)
        return not self.is_folder and any("qmd" in (each.get("memory") or {}) for each in documents)

    @property
    def index_command(self) -> str:
        """What a person has to run to bring this index up to date."""
        return " ".join(("ocmem index", *self.options))

    @property
    def config_file(self) -> Path:
        return self.config.file

    @property
    def agent_dir_name(self) -> str:
        """The agent's folder below `agents/` in the state directory."""
        return normalized_id(self.agent_id)

    @property
    def qmd(self) -> "QmdSettings":
        """How QMD is driven for this agent; worked out each time, since few commands ask."""
        from ocmem.settings import qmd

        memory = document.merge(self.config.values, self.overlay.values).get("memory")
        return qmd.resolve(
            memory or {},
            agent=self.agent_dir_name,
            workspace=self.workspace,
            home=self.home,
            state_dir=self.state_dir,
        )

    def shown(self, path: str | Path) -> str:
        """A path as people like to read it."""
        return paths.shorten(path, env=self.env, home=self.home)


def resolve(
    overrides: Overrides,
    env: paths.Env,
    *,
    cwd: Path | None = None,
    now_ms: float = 0.0,
    found: Documents | None = None,
) -> Settings:
    """The settings of `overrides.agent`, or of the default agent.

    `found` is what the same options and environment have led to: not read again for each agent.
    """
    found = found or Documents.read(overrides, env, cwd=cwd)
    agent, warnings = found.agent(overrides.agent or _owner_of(overrides.workspace, found))
    credentials = Credentials(
        config=found.merged,
        variables=found.variables,
        agent_dir=found.agent_dir(agent),
        main_agent_dir=found.main_agent_dir(),
        now_ms=now_ms,
    )
    is_newer = found.config.dialect == "newer"

    def build(
        layers: Sequence[Layer], credentials: Credentials
    ) -> tuple[MemorySearch, ProviderChoice]:
        search = _at_home(resolve_search(layers), found.home)

        def is_said_newer(path: str) -> bool:
            layer = find(layers, path).layer
            return is_newer if layer is None or layer.origin == "option" else layer.is_newer

        request = provider.Request(
            provider=search.provider,
            fallback=search.fallback,
            model=search.model,
            remote=search.remote,
            local=search.local,
            is_newer=is_said_newer("provider"),
            is_fallback_newer=is_said_newer("fallback"),
            guards_keys=is_said_newer("remote.baseUrl"),
            failure=overrides.failure,
        )
        return search, provider.choose(request, credentials)

    layers = found.layers(agent, overrides)
    search, choice = build(layers, credentials)
    # One search by another provider must not take the place of what the settings build.
    is_detour = overrides.provider is not None and _identity(search, choice) != _identity(
        *build([layer for layer in layers if layer.origin != "option"], credentials)
    )
    added = tuple(name for name in overrides.sources if name not in search.sources)
    search = replace(search, sources=search.sources + added)
    agent_workspace, origin = found.workspace(agent)
    # Where the fallback is missing too, nothing stepped in for what was asked for.
    is_substitute = choice.fallback is not None and choice.missing is None
    shares = not is_newer and choice.id in schema.REFERENCE_PROVIDERS and not is_substitute
    if shares:
        config = found.config
        theirs = replace(credentials, config=config.values, variables=config.variables)
        reference = build([layer for layer in layers if not layer.is_own], theirs)
        shares = _identity(search, choice) == _identity(*reference)
        shares = shares and agent_workspace == found.reference_workspace(agent)
    workspace = agent_workspace
    is_folder = False
    if overrides.workspace is not None:
        workspace, origin = paths.expand(overrides.workspace, found.home), "--workspace"
        is_folder = _real(workspace) != _real(agent_workspace)
        if not is_folder:
            workspace = agent_workspace  # as the agent spells it: stored paths depend on it
    if is_folder:
        # A folder of notes has no transcripts, and the agent's extra paths are not its own.
        search = replace(search, sources=("memory",), extra_paths=(), extra_patterns={})
        index_path = _folder_index(workspace)
        paid_index = None
    else:
        index_path = _agent_index(search, agent=agent, state_dir=found.state_dir, home=found.home)
        paid_index = None if shares else index_path
    fallback_index = _beside(index_path, "fallback" if is_folder else "fallback.ocmem")
    # What the first provider built, and was paid for, waits for its return.
    if is_substitute and choice.fallback is not None and not choice.fallback.is_lasting:
        index_path = _beside(index_path, "fallback")
    elif is_detour:
        index_path = _beside(index_path, choice.id)
    if not is_folder and not shares:
        index_path = _beside(index_path, "ocmem")
    memory = found.merged.get("memory") or {}
    is_backend_chosen = overrides.backend not in (None, memory.get("backend") or "builtin")
    return Settings(
        agent_id=agent,
        home=found.home,
        state_dir=found.state_dir,
        workspace=workspace,
        workspace_origin=origin,
        is_folder=is_folder,
        root_files=_ROOT_FILES[found.config.dialect],
        sessions_dir=found.state_dir / "agents" / normalized_id(agent) / "sessions",
        agent_dir=credentials.agent_dir,
        index_path=index_path,
        shares_index=shares and not is_folder,
        fallback_index=fallback_index,
        paid_index=paid_index,
        search=search,
        provider=choice,
        options=(
            *(("--backend", str(overrides.backend)) if is_backend_chosen else ()),
            *(("--provider", overrides.provider) if overrides.provider else ()),
            *(word for name in added for word in ("--source", name)),
        ),
        citations=memory.get("citations") or "auto",
        backend="builtin" if is_folder else _backend(memory, overrides),
        offline=overrides.offline,
        env=found.variables,
        config=found.config,
        overlay=found.overlay,
        layers=layers,
        warnings=tuple(warnings),
        notes=tuple(validate.notes(found.config)),
    )


def _backend(memory: Mapping[str, Any], overrides: Overrides) -> str:
    """The one that answers; what QMD knows nothing about is asked of the built-in index."""
    exports = (memory.get("qmd") or {}).get("sessions") or {}
    lacks_sessions = "sessions" in overrides.sources and not exports.get("enabled")
    if overrides.backend is None and (overrides.provider is not None or lacks_sessions):
        return "builtin"
    return overrides.backend or memory.get("backend") or "builtin"


def _owner_of(workspace: str | None, found: Documents) -> str | None:
    """The agent whose workspace a folder is, if it is one's."""
    if workspace is None:
        return None
    wanted = _real(paths.expand(workspace, found.home))
    ids = [found.agent(None)[0], *found.ids()]
    return next((id for id in ids if _real(found.workspace(id)[0]) == wanted), None)


def _at_home(search: MemorySearch, home: Path) -> MemorySearch:
    """With a leading `~` replaced, as the reference does in every key that names a path."""

    def expanded(text: str | None) -> str | None:
        return None if text is None else paths.expand_tilde(text, str(home))

    local = replace(
        search.local,
        model_path=expanded(search.local.model_path),
        model_cache_dir=expanded(search.local.model_cache_dir),
    )
    extension = expanded(search.vector_extension_path)
    return replace(search, local=local, vector_extension_path=extension)


def _identity(search: MemorySearch, choice: ProviderChoice) -> tuple[object, ...]:
    """What an index is built from: where two programs differ here, they need two files."""
    endpoint = choice.endpoint
    return (
        choice.id,
        choice.model,
        (endpoint.base_url, dict(endpoint.headers)) if endpoint else None,
        search.remote.dimensions,
        search.store_path,
        sorted(search.sources),
        search.extra_paths,
        search.extra_patterns,
        search.exclude,
        search.chunk_tokens,
        search.chunk_overlap,
    )


def _agent_index(search: MemorySearch, *, agent: str, state_dir: Path, home: Path) -> Path:
    if search.store_path is not None and search.store_path.strip():
        return paths.expand(search.store_path.replace("{agentId}", agent), home)
    return state_dir / "memory" / f"{agent}.sqlite"


def _folder_index(workspace: Path) -> Path:
    digest = hashlib.sha256(os.fsencode(_real(workspace))).hexdigest()
    return paths.data_dir() / "workspaces" / f"{digest[:16]}.sqlite"


def _beside(index: Path, word: str) -> Path:
    return index.parent / f"{index.stem}.{word}{index.suffix}"


def _real(path: Path) -> str:
    return os.path.realpath(path)
