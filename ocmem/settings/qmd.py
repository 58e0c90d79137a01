"""`memory.qmd` -> one frozen value with every default filled and every place resolved."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, cast

from ocmem.settings import paths, schema

Mode = Literal["search", "vsearch", "query"]

DEFAULT_PATTERN = "**/*.md"
_KEYS = {key.path: key for key in schema.MEMORY_KEYS}
_UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", re.ASCII)
_CHAINED = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)


@dataclass(frozen=True, slots=True)
class QmdPath:
    """One entry of `paths`. `number` counts from 1 and counts skipped entries, too."""

    location: Path
    name: str | None
    pattern: str
    number: int


@dataclass(frozen=True, slots=True)
class QmdUpdate:
    """When QMD brings its index up to date, and how long each command may take."""

    interval_ms: int  # 0: never by itself
    debounce_ms: int
    on_boot: bool
    waits_for_boot: bool
    embed_interval_ms: int  # 0: once for each process
    command_timeout_ms: int
    update_timeout_ms: int
    embed_timeout_ms: int


@dataclass(frozen=True, slots=True)
class QmdLimits:
    """How much a search may bring, in UTF-16 units, and how long it may take."""

    max_results: int
    max_snippet_chars: int
    max_injected_chars: int
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class QmdSettings:
    """Everything about driving QMD for one agent."""

    agent: str
    workspace: Path
    home: Path  # the agent's own corner, where QMD finds its settings and keeps its index
    command: str
    mode: Mode
    includes_default: bool
    paths: tuple[QmdPath, ...]
    exports_sessions: bool
    export_dir: Path
    retention_days: int | None  # None: no limit
    update: QmdUpdate
    limits: QmdLimits
    mcporter_enabled: bool
    scope: Mapping[str, Any] | None = field(repr=False)  # as configured; None: the default rules
    warnings: tuple[str, ...] = ()

    @property
    def config_home(self) -> Path:
        return self.home / "xdg-config"

    @property
    def cache_home(self) -> Path:
        return self.home / "xdg-cache"

    @property
    def database(self) -> Path:
        """QMD's index."""
        return self.cache_home / "qmd" / "index.sqlite"

    @property
    def models(self) -> Path:
        return self.cache_home / "qmd" / "models"


def resolve(
    memory: Mapping[str, Any], *, agent: str, workspace: Path, home: Path, state_dir: Path
) -> QmdSettings:
    """The `memory` object of the settings; `agent` is the folder's name below `agents/`."""

    def value(name: str) -> Any:  # noqa: ANN401
        key = _KEYS[f"qmd.{name}"]
        found = schema.lookup(dict(memory), key.path)
        return key.default if found is None or key.check(found) else found

    def positive(name: str) -> int:
        return int(value(name)) or int(_KEYS[f"qmd.{name}"].default)

    def duration(name: str) -> int:
        found = _duration_ms(value(name))
        return _duration_ms(_KEYS[f"qmd.{name}"].default) or 0 if found is None else found

    corner = state_dir / "agents" / agent / "qmd"
    export_dir = str(value("sessions.exportDir") or "").strip()
    retention = value("sessions.retentionDays")
    scope = value("scope")
    command, warnings = _command(value("command"), workspace=workspace, home=home)
    if value("mcporter.enabled"):
        warnings.append("memory.qmd.mcporter: not used, QMD 2 lacks what it calls")
    return QmdSettings(
        agent=agent,
        workspace=workspace,
        home=corner,
        command=command,
        mode=cast(Mode, value("searchMode")),
        includes_default=bool(value("includeDefaultMemory")),
        paths=_places(value("paths"), workspace=workspace, home=home),
        exports_sessions=bool(value("sessions.enabled")),
        export_dir=_below(workspace, export_dir, home) if export_dir else corner / "sessions",
        retention_days=int(retention) if retention else None,
        update=QmdUpdate(
            interval_ms=duration("update.interval"),
            debounce_ms=int(value("update.debounceMs")),
            on_boot=bool(value("update.onBoot")),
            waits_for_boot=bool(value("update.waitForBootSync")),
            embed_interval_ms=duration("update.embedInterval"),
            command_timeout_ms=positive("update.commandTimeoutMs"),
            update_timeout_ms=positive("update.updateTimeoutMs"),
            embed_timeout_ms=positive("update.embedTimeoutMs"),
        ),
        limits=QmdLimits(
            max_results=int(value("limits.maxResults")),
            max_snippet_chars=int(value("limits.maxSnippetChars")),
            max_injected_chars=int(value("limits.maxInjectedChars")),
            timeout_ms=positive("limits.timeoutMs"),
        ),
        mcporter_enabled=bool(value("mcporter.enabled")),
        scope=scope if isinstance(scope, Mapping) else None,
        warnings=tuple(warnings),
    )


def _duration_ms(written: object) -> int | None:
    """Milliseconds of `90s`, `1h30m` or `5` (minutes); None for what is no duration."""
    text = str(int(written)) if isinstance(written, float) else str(written)
    text = text.strip().lower()
    if _NUMBER.fullmatch(text):
        text += "m"
    if not _CHAINED.fullmatch(text):
        return None
    # Not in floats, where 1.1 s would be a little less than 1100 ms.
    return round(sum(Decimal(number) * _UNIT_MS[unit] for number, unit in _PART.findall(text)))


def _command(written: str, *, workspace: Path, home: Path) -> tuple[str, list[str]]:
    """The program: the first word of a shell line. The rest never counted, and is not hidden."""
    try:
        words = shlex.split(written)
    except ValueError:
        words = written.split()
    if not words or not words[0]:
        return str(_KEYS["qmd.command"].default), []
    command = paths.expand_tilde(words[0], str(home))
    if "/" in command:
        command = str(workspace / command)  # where QMD is started
    if len(words) > 1:
        return command, [f"memory.qmd.command: only its first word counts: {words[0]}"]
    return command, []


def _places(entries: list[dict[str, Any]], *, workspace: Path, home: Path) -> tuple[QmdPath, ...]:
    return tuple(
        QmdPath(
            location=_below(workspace, entry["path"], home),
            name=(entry.get("name") or "").strip() or None,
            pattern=(entry.get("pattern") or "").strip() or DEFAULT_PATTERN,
            number=number,
        )
        for number, entry in enumerate(entries, 1)
        if entry["path"].strip()
    )


def _below(workspace: Path, text: str, home: Path) -> Path:
    """A place as written: from home with `~`, else from the workspace unless it is absolute."""
    return paths.absolute(workspace / paths.expand_tilde(text, str(home)))
