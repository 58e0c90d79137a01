"""Where one session stands on its way to the flush: settings, options and measurement together."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ocmem.core import flush
from ocmem.core.flush import Limits, Reason, Turn, Window
from ocmem.core.session_store import SessionEntry
from ocmem.core.usage import ContextSize
from ocmem.settings.flush import FlushSettings, WorkspaceAccess, model_ref

TokensSource = Literal[
    "argument", "store", "transcript-usage", "transcript-tiktoken", "transcript-estimate"
]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line puts in the place of the settings and of the turn."""

    window: int | None = None
    reserve_floor: int | None = None
    soft_threshold: int | None = None
    is_heartbeat: bool = False
    provider: str | None = None
    access: WorkspaceAccess | None = None  # of a sandboxed turn


@dataclass(frozen=True, slots=True)
class Session:
    """Whose tokens they are, as far as that is known, and where the number is from."""

    tokens: int | None = None
    source: TokensSource | None = None
    method: str | None = None  # of a count
    is_fresh: bool = True
    key: str | None = None
    id: str | None = None
    transcript: str | None = None
    provider: str | None = None
    model: str | None = None
    stored_window: int | None = None
    updated_at_ms: float | None = None
    compactions: int = 0
    flushed_in_cycle: int | None = None
    flushed_at_ms: float | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """The answer. `reasons` has all that applies; the first one is why."""

    session: Session
    window: Window
    limits: Limits
    reasons: tuple[Reason, ...]
    warnings: tuple[str, ...]

    @property
    def is_due(self) -> bool:
        return self.reasons[0] == "would-flush"

    @property
    def remaining(self) -> int | None:
        tokens = self.session.tokens
        return None if tokens is None else max(0, self.limits.threshold - tokens)

    @property
    def used_percent(self) -> float | None:
        """Of the window, and more than 100 where it is too small."""
        tokens = self.session.tokens
        return None if tokens is None else round(100 * tokens / self.limits.window, 1)


def from_entry(entry: SessionEntry) -> Session:
    """A session as `sessions.json` has it."""
    missing = ("sessions.json has no token count for this session",)
    return Session(
        tokens=entry.total_tokens,
        source=None if entry.total_tokens is None else "store",
        is_fresh=entry.is_fresh,
        key=entry.key,
        id=entry.session_id,
        provider=entry.provider,
        model=entry.model,
        stored_window=entry.context_tokens,
        updated_at_ms=entry.updated_at_ms,
        compactions=entry.compaction_count,
        flushed_in_cycle=entry.flushed_in_cycle,
        flushed_at_ms=entry.flushed_at_ms,
        warnings=missing if entry.total_tokens is None else (),
    )


def from_transcript(path: str, size: ContextSize, entry: SessionEntry | None) -> Session:
    """A session as its transcript has it; `entry` tells which chat it is, and of its last flush."""
    about = size.about
    return Session(
        tokens=size.tokens,
        source=None if size.tokens is None else size.source,
        method=size.method,
        key=entry.key if entry else None,
        id=about.session_id or (entry.session_id if entry else None),
        transcript=path,
        provider=about.provider or (entry.provider if entry else None),
        model=about.model or (entry.model if entry else None),
        stored_window=entry.context_tokens if entry else None,
        updated_at_ms=entry.updated_at_ms if entry else None,
        compactions=about.compactions,
        flushed_in_cycle=entry.flushed_in_cycle if entry else None,
        flushed_at_ms=entry.flushed_at_ms if entry else None,
        warnings=tuple(_transcript_warnings(size, entry)),
    )


def standing(session: Session, settings: FlushSettings, asked: Asked) -> Standing:
    """What the next turn of that session would do."""
    window = _window(session, settings, asked)
    limits = Limits(
        window=window.tokens,
        reserve_floor=_first(asked.reserve_floor, settings.reserve_floor),
        soft_threshold=_first(asked.soft_threshold, settings.soft_threshold),
        runtime_reserve=settings.runtime_reserve,
    )
    found = flush.warnings(limits, is_enabled=settings.is_enabled)
    return Standing(
        session=session,
        window=window,
        limits=limits,
        reasons=flush.reasons(limits, _turn(session, settings, asked)),
        warnings=(*found, *_window_warnings(window, session), *session.warnings),
    )


def _turn(session: Session, settings: FlushSettings, asked: Asked) -> Turn:
    provider = asked.provider or session.provider
    if provider is None and settings.model is not None:
        provider = settings.model.provider
    return Turn(
        tokens=session.tokens,
        is_enabled=settings.is_enabled,
        is_writable=_is_writable(session.key, settings, asked),
        is_heartbeat=asked.is_heartbeat,
        is_cli=settings.is_cli(provider),
        is_fresh=session.is_fresh,
        compactions=session.compactions,
        flushed_in_cycle=session.flushed_in_cycle,
    )


def _is_writable(key: str | None, settings: FlushSettings, asked: Asked) -> bool:
    """A turn outside a sandbox may write; one inside it, if its workspace is not read only."""
    if asked.access is not None:
        return asked.access == "rw"
    if settings.sandbox_mode == "off":
        return True
    # Without a key, the main session is what people mean.
    is_main = key is None or settings.is_main(key)
    is_outside = settings.sandbox_mode == "non-main" and is_main
    return is_outside or settings.workspace_access == "rw"


def _window(session: Session, settings: FlushSettings, asked: Asked) -> Window:
    model = session.model or (settings.model.id if settings.model else None)
    if model is not None and model not in settings.windows:
        reference = model_ref(model)
        model = reference.id if reference else None
    return flush.window_of(
        asked=asked.window,
        model=model,
        windows=settings.windows,
        configured=settings.context_tokens,
        stored=session.stored_window,
    )


def _window_warnings(window: Window, session: Session) -> Iterator[str]:
    if window.others:
        sizes = ", ".join(map(str, (window.tokens, *window.others)))
        yield f"several providers have this model, with windows of {sizes}; the smallest counts"
    is_ours = window.source in ("model-catalogue", "config")
    if is_ours and session.stored_window and session.stored_window != window.tokens:
        yield (
            f"sessions.json says contextTokens {session.stored_window}; "
            f"the flush counts with {window.tokens}"
        )


def _transcript_warnings(size: ContextSize, entry: SessionEntry | None) -> Iterator[str]:
    if size.tokens is None:
        yield "the transcript has nothing that could be counted"
    if skipped := size.about.skipped:
        yield f"{skipped} line{'s' if skipped > 1 else ''} of the transcript too long to be read"
    counted = size.about.compactions
    if entry is not None and entry.compaction_count != counted:
        yield (
            f"the transcript has {counted} compactions, sessions.json {entry.compaction_count}; "
            "the transcript counts here"
        )


def _first(asked: int | None, configured: int) -> int:
    return configured if asked is None else asked
