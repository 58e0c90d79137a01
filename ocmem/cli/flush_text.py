"""`ocmem flush-threshold` for people."""

import textwrap
from collections.abc import Iterator, Sequence

from ocmem.cli import common, table
from ocmem.cli.bar import Scale, bar, legend
from ocmem.core.flush import Reason, WindowSource
from ocmem.core.flush_prompt import FlushPrompts
from ocmem.core.standing import Session, Standing, TokensSource

_WINDOW_SOURCES: dict[WindowSource, str] = {
    "argument": "--context-window",
    "model-catalogue": "models.providers",
    "config": "agents.defaults.contextTokens",
    "session-entry": "session entry; the flush may know another",
    "default": "default",
}
_TOKEN_SOURCES: dict[TokensSource, str] = {
    "argument": "--tokens",
    "store": "sessions.json",
    "transcript-usage": "last usage in the transcript",
    "transcript-tiktoken": "counted with tiktoken",
    "transcript-estimate": "estimated",
}
_REASONS: dict[Reason, str] = {
    "disabled": "it is switched off",
    "workspace-not-writable": "the sandbox may not write the workspace",
    "heartbeat": "the turn is a heartbeat",
    "cli-provider": "the provider is a command-line program",
    "tokens-unknown": "the number of tokens is 0 or not known",
    "tokens-stale": "the number of tokens is out of date",
    "threshold-zero": "the window is too small for one",
    "below-threshold": "below the threshold",
    "already-flushed": "already flushed in this cycle",
    "would-flush": "at the next turn",
}
_WIDEST = 100
_NONE = "–"


def report(
    found: Standing,
    *,
    missing_key: str | None,
    target: str,
    warnings: Sequence[str],
    is_verbose: bool,
    width: int,
    is_colored: bool,
    is_narrow: bool = False,
) -> str:
    """Rows, warnings and the bar. `missing_key`: of the session that there is none of.

    `is_narrow`: rows are folded to the width as well.
    """
    rows = [
        *_session_rows(found.session, missing_key),
        *_limit_rows(found),
        ("Would flush", _verdict(found, target)),
    ]
    if is_verbose:
        each = (f"{reason}: {_REASONS[reason]}" for reason in found.reasons)
        rows.append(("Reasons", "\n".join(each)))
    width = min(width, _WIDEST)
    if is_narrow:
        rows = [(label, next(_cells([text], width))) for label, text in rows]
    rows += ((_label(at, "Warning"), text) for at, text in enumerate(_cells(warnings, width)))
    limits = found.limits
    scale = Scale(flush=limits.threshold, compaction=limits.compaction_point, window=limits.window)
    tokens = found.session.tokens
    drawn = bar(scale, tokens, width=width, is_colored=is_colored)
    return f"{table.aligned(rows)}\n\n{drawn}\n{legend(scale, tokens, width=width)}"


def listing(
    found: Sequence[Standing], *, warnings: Sequence[str], now_ms: float, width: int | None
) -> str:
    """One row a session; `width` is that of a terminal, None if it is none."""
    rows = [("KEY", "TOKENS", "LEFT", "%", "FLUSH", "UPDATED")]
    rows += (_row(each, now_ms=now_ms) for each in found)
    text = table.aligned(rows, right=(1, 2, 3, 5))
    if width is not None and max(map(table.width, text.split("\n"))) > width:
        text = _stacked(rows, width)
    if warnings:
        told = [
            (_label(at, "Warning"), each) for at, each in enumerate(_cells(warnings, width or 80))
        ]
        text += f"\n\n{table.aligned(told)}"
    return text


def prompts(texts: FlushPrompts) -> str:
    return f"System prompt\n\n{texts.system}\n\nUser prompt\n\n{texts.user}"


def _session_rows(session: Session, missing_key: str | None) -> Iterator[tuple[str, str]]:
    short_id = f" ({_cell(session.id[:8])})" if session.id else ""
    if session.key is not None:
        yield "Session", f"{_cell(session.key)}{short_id}"
    elif session.transcript is not None and session.id:
        yield "Session", _cell(session.id)
    elif missing_key is not None:
        yield "Session", f"{_cell(missing_key)} (not in sessions.json)"
    if session.transcript is not None:
        yield "Transcript", _cell(session.transcript)


def _limit_rows(found: Standing) -> Iterator[tuple[str, str]]:
    session, limits = found.session, found.limits
    formula = f"{limits.window} - {limits.reserve_floor} - {limits.soft_threshold}"
    yield "Context window", f"{limits.window} ({_WINDOW_SOURCES[found.window.source]})"
    yield (
        "Threshold",
        f"{limits.threshold} = {formula if limits.threshold else f'max(0, {formula})'}",
    )
    yield "Compaction at", str(limits.compaction_point)
    yield "Tokens", _tokens(session)
    yield "Remaining", _NONE if found.remaining is None else str(found.remaining)
    if session.key is not None or session.transcript is not None:
        yield "Cycle", _cycle(session)


def _tokens(session: Session) -> str:
    if session.tokens is None or session.source is None:
        return "unknown"
    notes = [_TOKEN_SOURCES[session.source]]
    if session.source == "store":
        notes.append("fresh" if session.is_fresh else "out of date")
    if session.method is not None:
        notes.append(session.method)
    return f"{session.tokens} ({', '.join(notes)})"


def _cycle(session: Session) -> str:
    cycle = session.flushed_in_cycle
    told = "never flushed" if cycle is None else f"last flush in cycle {cycle}"
    return f"compactions {session.compactions}, {told}"


def _verdict(found: Standing, target: str) -> str:
    reason = found.reasons[0]
    if found.is_due:
        return f"yes, {_REASONS[reason]} -> {target}"
    if reason == "below-threshold":
        return f"no, {found.remaining} tokens to go ({reason})"
    return f"no, {_REASONS[reason]} ({reason})"


def _row(found: Standing, *, now_ms: float) -> tuple[str, str, str, str, str, str]:
    session, percent = found.session, found.used_percent
    updated = session.updated_at_ms
    return (
        _cell(session.key or ""),
        _NONE if session.tokens is None else str(session.tokens),
        _NONE if found.remaining is None else str(found.remaining),
        _NONE if percent is None else f"{percent:.0f}",
        "due" if found.is_due else found.reasons[0],
        _NONE if updated is None else table.age((now_ms - updated) / 1000),
    )


def _stacked(rows: Sequence[Sequence[str]], width: int) -> str:
    """For a narrow terminal: each key has a line of its own, and the age goes if need be."""
    lines = table.aligned([row[1:] for row in rows], right=(0, 1, 2, 4)).split("\n")
    if max(map(table.width, lines)) > width - 2:
        lines = table.aligned([row[1:-1] for row in rows], right=(0, 1, 2)).split("\n")
    return "\n".join(f"{row[0]}\n  {line}" for row, line in zip(rows, lines, strict=True))


def _label(at: int, label: str) -> str:
    return label if at == 0 else ""


def _cells(texts: Sequence[str], width: int) -> Iterator[str]:
    room = max(20, width - len("Context window") - 2)
    for text in texts:
        lines = (
            textwrap.wrap(_cell(line), room, break_on_hyphens=False) for line in text.split("\n")
        )
        yield "\n".join(line for folded in lines for line in folded)


def _cell(text: str) -> str:
    return table.one_line(common.harmless(text))
