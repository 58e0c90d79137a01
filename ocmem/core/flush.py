"""Pure: when the agent's memory is flushed before a compaction, and why not. No clocks, no files.

threshold = max(0, window - reserveTokensFloor - softThresholdTokens)
flush     = threshold > 0  and  tokens >= threshold  and  not yet flushed in this cycle
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

DEFAULT_WINDOW: Final = 200_000

Reason = Literal[
    "disabled",
    "workspace-not-writable",
    "heartbeat",
    "cli-provider",
    "tokens-unknown",
    "tokens-stale",
    "threshold-zero",
    "below-threshold",
    "already-flushed",
    "would-flush",
]
WindowSource = Literal["argument", "model-catalogue", "config", "session-entry", "default"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The sizes that decide, in tokens."""

    window: int
    reserve_floor: int
    soft_threshold: int
    runtime_reserve: int

    @property
    def threshold(self) -> int:
        """Where the flush is due; 0 is nowhere."""
        return max(0, self.window - self.reserve_floor - self.soft_threshold)

    @property
    def compaction_point(self) -> int:
        """A context larger than this is compacted. The flush does not look at that reserve."""
        return max(0, self.window - max(self.runtime_reserve, self.reserve_floor))

    @property
    def room(self) -> int:
        """How far the flush point lies before the compaction point; negative if behind it."""
        return self.compaction_point - self.threshold


@dataclass(frozen=True, slots=True)
class Turn:
    """All that a turn's flush depends on, besides the limits."""

    tokens: int | None
    is_enabled: bool = True
    is_writable: bool = True
    is_heartbeat: bool = False
    is_cli: bool = False
    is_fresh: bool = True
    compactions: int = 0
    flushed_in_cycle: int | None = None  # `compactions` at the last flush


@dataclass(frozen=True, slots=True)
class Window:
    """A context window and who says so. `others`: what further providers of the model say."""

    tokens: int
    source: WindowSource
    others: tuple[int, ...] = ()


def reasons(limits: Limits, turn: Turn) -> tuple[Reason, ...]:
    """All that applies, in the order in which it is asked; never empty."""
    return tuple(_obstacles(limits, turn)) or ("would-flush",)


def _obstacles(limits: Limits, turn: Turn) -> Iterator[Reason]:
    if not turn.is_enabled:
        yield "disabled"
    if not turn.is_writable:
        yield "workspace-not-writable"
    if turn.is_heartbeat:
        yield "heartbeat"
    if turn.is_cli:
        yield "cli-provider"
    if not turn.tokens:
        yield "tokens-unknown"
    elif not turn.is_fresh:
        yield "tokens-stale"
    if limits.threshold == 0:
        yield "threshold-zero"
    elif turn.tokens and turn.is_fresh and turn.tokens < limits.threshold:
        yield "below-threshold"
    if turn.flushed_in_cycle == turn.compactions:
        yield "already-flushed"


def window_of(
    *,
    asked: int | None,
    model: str | None,
    windows: Mapping[str, Sequence[int]],
    configured: int | None,
    stored: int | None,
) -> Window:
    """The context window that the flush counts with.

    `stored` is what OpenClaw noted in the session's entry. The flush does not look there, but the
    part of the catalogue that it discovers by itself is not visible to us, and this is a trace.
    """
    if asked is not None:
        return Window(max(1, asked), "argument")
    known = sorted(windows.get(model, ())) if model is not None else []
    if known:
        # Which provider's value OpenClaw happens to hold is its secret; the smallest is safe.
        others = tuple(size for size in dict.fromkeys(known) if size != known[0])
        return Window(max(1, known[0]), "model-catalogue", others)
    if configured:
        return Window(configured, "config")
    if stored:
        return Window(stored, "session-entry")
    return Window(DEFAULT_WINDOW, "default")


def warnings(limits: Limits, *, is_enabled: bool) -> list[str]:
    """Settings that keep the flush from ever happening, or from happening in time."""
    found = [] if is_enabled else ["the flush is switched off (memoryFlush.enabled)"]
    if limits.threshold == 0:
        kept = f"{limits.reserve_floor} + {limits.soft_threshold}"
        found.append(f"a window of {limits.window} never flushes: {kept} tokens are kept free")
    elif limits.room < 0:
        found.append(
            f"compaction comes first: at {limits.compaction_point}, {-limits.room} tokens before "
            f"the flush; reserveTokens ({limits.runtime_reserve}) is higher than "
            f"reserveTokensFloor + softThresholdTokens "
            f"({limits.reserve_floor + limits.soft_threshold})"
        )
    elif limits.room == 0:
        found.append(
            f"flush and compaction coincide at {limits.threshold}: "
            "a turn may be compacted before its notes are written"
        )
    return found
