"""What every command needs: settings from the global options, and manners on the terminal."""

import contextlib
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ocmem import settings as config
from ocmem.errors import EmbedderError, OcmemError, UsageError
from ocmem.model import Source
from ocmem.settings import Documents, Overrides, Settings

Given = Mapping[str, Any]
T = TypeVar("T")

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_PROGRESS_AFTER_S = 0.4


def overrides(
    given: Given,
    *,
    backend: str | None = None,
    provider: str | None = None,
    sources: tuple[Source, ...] = (),
    failure: str | None = None,
) -> Overrides:
    """The global options, checked."""
    profile = given.get("profile")
    if given.get("dev"):
        if profile is not None:
            raise UsageError("Cannot combine --dev with --profile")
        profile = "dev"
    if profile is not None and not profile.strip():
        raise UsageError("--profile requires a value")
    if profile is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", profile):
        raise UsageError('Invalid --profile (use letters, numbers, "_", "-" only)')
    for name in ("workspace", "state_dir", "config"):
        if given.get(name) is not None and not given[name].strip():
            raise UsageError(f"--{name.replace('_', '-')} needs a path")
    return Overrides(
        agents=tuple(map(typed, given.get("agent") or ())),
        workspace=given.get("workspace"),
        state_dir=given.get("state_dir"),
        config=given.get("config"),
        profile=profile,
        is_dev=bool(given.get("dev")),
        backend=backend,
        provider=provider,
        sources=sources,
        offline=bool(given.get("offline")),
        failure=failure,
    )


def one_agent(given: Given, **options: Any) -> Settings:  # noqa: ANN401
    """The settings of the agent that was asked for, or of the default one."""
    chosen = overrides(given, **options)
    if len(chosen.agents) > 1:
        raise UsageError("--agent: this command takes only one")
    return _resolved(chosen)


def each_agent(given: Given, **options: Any) -> Iterator[Settings]:  # noqa: ANN401
    """The settings of every agent that a command handles; the files are read once."""
    chosen = overrides(given, **options)
    found = Documents.read(chosen, os.environ, cwd=_cwd())
    agents, warnings = found.wanted(chosen)
    for text in warnings:
        warn(text)
    for agent in agents:
        yield _resolved(replace(chosen, agents=(agent,) if agent else ()), found)


def _resolved(chosen: Overrides, found: Documents | None = None) -> Settings:
    resolved = config.resolve(
        chosen, os.environ, cwd=_cwd(), now_ms=time.time() * 1000, found=found
    )
    _check_folder(resolved)
    if "sessions" in chosen.sources and resolved.is_folder:
        raise UsageError("--source sessions: a folder of notes has no transcripts")
    if chosen.backend == "qmd" and resolved.is_folder:
        raise UsageError("--backend qmd: a folder of notes has only the built-in index")
    for text in resolved.warnings:
        warn(text)
    return resolved


def fallback(settings: Settings, given: Given, error: EmbedderError, **options: Any) -> Settings:  # noqa: ANN401
    """The settings with the configured fallback in place of the provider that failed.

    Raises `error` where there is none, or none that could be used.
    """
    choice = settings.provider
    is_first = choice.missing is None and choice.fallback is None
    if not is_first or not error.is_outage or settings.search.fallback in ("none", choice.id):
        raise error
    chosen = overrides({**given, "agent": [settings.agent_id]}, failure=str(error), **options)
    second = config.resolve(chosen, os.environ, cwd=_cwd(), now_ms=time.time() * 1000)
    if second.provider.missing is not None:
        raise EmbedderError(second.provider.missing, hint=error.hint)
    return second


def stand_in(settings: Settings, given: Given, *, sources: tuple[Source, ...] = ()) -> Settings:
    """Whose index answers where QMD cannot: a paid one only if it is there or was asked for."""
    choice = settings.provider
    is_free = choice.endpoint is None
    if is_free or choice.requested != "auto" or os.path.exists(settings.index_path):  # noqa: PTH110
        return settings
    given = {**given, "agent": [settings.agent_id]}
    return one_agent(given, backend="builtin", provider="builtin", sources=sources)


def tell_switch(settings: Settings, error: EmbedderError) -> None:
    """That another provider goes on, and why."""
    warn(str(error))
    warn(f"embeddings: switched to fallback provider ({settings.provider.id})")


def with_fallback(
    work: Callable[[Settings], T],
    settings: Settings,
    given: Given,
    **options: Any,  # noqa: ANN401
) -> tuple[Settings, T]:
    """What comes of `work`, and the settings that it was done with: a fallback's, if need be."""
    try:
        return settings, work(settings)
    except EmbedderError as error:
        second = fallback(settings, given, error, **options)
        tell_switch(second, error)
        return second, work(second)


def _cwd() -> Path | None:
    """Where we are; a folder that was deleted under us is nowhere."""
    try:
        return Path.cwd()
    except OSError:
        return None


def typed(text: str) -> str:
    """An argument as it was typed, in UTF-8, whatever the locale took it for."""
    return text if text.isascii() else os.fsencode(text).decode("utf-8", "replace")


def log(given: Given, *, as_json: bool) -> Callable[[str], None]:
    """With `--verbose`, what is going on: on stdout, as in the reference, or beside JSON."""
    if not given.get("verbose"):
        return lambda text: None
    return lambda text: print(f"[memory] {text}", file=sys.stderr if as_json else sys.stdout)


def warn(text: str) -> None:
    """The reference's form of a log line."""
    _talk(f"[memory] {harmless(text)}")


def complain(error: OcmemError) -> None:
    """What went wrong, and what to try."""
    told = (harmless(text) for text in (str(error), error.hint) if text)
    _talk("\nhint: ".join(told))


def _talk(text: str) -> None:
    with contextlib.suppress(OSError):  # a terminal that went away takes no answer with it
        print(text, file=sys.stderr)


def wants_color(env: Mapping[str, str], *, is_tty: bool, option: str | None) -> bool:
    """Colour only on a terminal, unless the option or the environment says otherwise."""
    if option in ("always", "never"):
        return option == "always"
    if env.get("FORCE_COLOR", "") not in ("", "0"):
        return True
    return is_tty and not env.get("NO_COLOR") and env.get("TERM") != "dumb"


def harmless(text: str) -> str:
    """`text` without what could drive a terminal: control characters become pictures."""

    def picture(match: re.Match[str]) -> str:
        code = ord(match.group())
        return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"

    return _CONTROL.sub(picture, text)


class ProgressLine:
    """One rewritten line on stderr, only on a terminal and only when the work takes a moment."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_quiet = is_quiet
        self._is_shown = sys.stderr.isatty() and not is_quiet
        self._started = time.monotonic()
        self._width = 0

    def __call__(self, label: str, done: int, total: int) -> None:
        if self._is_shown and time.monotonic() - self._started > _PROGRESS_AFTER_S:
            text = f"{label} {done}/{total}"
            print(f"\r{text:<{self._width}}", end="", file=sys.stderr, flush=True)
            self._width = len(text)

    def notice(self, text: str) -> None:
        """A line of its own that stays; quiet runs end with the last of them anyway."""
        self.clear()
        if not self._is_quiet:
            warn(text)

    def clear(self) -> None:
        if self._width:
            print(f"\r{'':<{self._width}}\r", end="", file=sys.stderr, flush=True)
            self._width = 0


def _check_folder(resolved: Settings) -> None:
    if not resolved.is_folder:
        return
    try:
        is_folder = stat.S_ISDIR(resolved.workspace.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        if not os.path.exists(resolved.index_path):  # noqa: PTH110 - Path would raise
            raise UsageError(f"--workspace: no such folder: {resolved.workspace}") from None
        return
    except OSError as error:
        raise UsageError(f"--workspace: {resolved.workspace}: {error.strerror}") from None
    if not is_folder:
        raise UsageError(f"--workspace: not a folder: {resolved.workspace}")
