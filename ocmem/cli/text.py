"""Renderers for people."""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

from ocmem.cli.answers import AgentHit
from ocmem.cli.common import harmless
from ocmem.core import utf16
from ocmem.core.citation import citation
from ocmem.model import Explanation


def hits(found: Sequence[AgentHit], *, names: bool, cites: bool, explains: bool) -> str:
    """The reference's layout: score, place, snippet, an empty line; then our additions."""
    blocks = (_block(each, names=names, cites=cites, explains=explains) for each in found)
    return utf16.trim("\n".join(blocks))


def draw_hits(found: Sequence[AgentHit], *, names: bool, cites: bool, explains: bool) -> None:
    """The same content on a terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, force_terminal=True)
    for each in found:
        hit, chunk = each.hit, each.hit.chunk
        line = Text.assemble(
            (fixed3(hit.score), "bold green"),
            (f" {each.agent_id}" if names else "", "magenta"),
            " ",
            (harmless(f"{chunk.path}:{chunk.start_line}-{chunk.end_line}"), "bold"),
            ("  relaxed" if hit.relaxed else "", "yellow"),
        )
        console.print(line, soft_wrap=True)
        console.print(Text(harmless(hit.snippet.text.rstrip())))
        if explains:
            console.print(Text(explanation(hit.explanation), style="dim"))
        if cites:
            cited = harmless(f"Source: {citation(chunk)}")
            console.print(Text(cited, style="cyan"), soft_wrap=True)
        console.print()


def fixed3(score: float) -> str:
    # Not f"{score:.3f}": Python rounds an exact tie to even (0.3125 -> 0.312),
    # JavaScript's toFixed rounds it up (0.313), and people diff the two outputs.
    return str(Decimal(score).quantize(Decimal("0.001"), rounding=ROUND_HALF_UP))


def explanation(parts: Explanation) -> str:
    """One line: both sides, their weights, and what came of it."""
    return (
        f"= {parts.vector_weight:.2f} × vector {_side(parts.vector_score, parts.vector_rank)} "
        f"→ {parts.vector_normalized:.3f}"
        f" + {parts.text_weight:.2f} × text {_side(parts.text_score, parts.text_rank)} "
        f"→ {parts.text_normalized:.3f}"
        f", × decay {parts.decay:.3f} = {parts.final:.3f}"
    )


def _side(score: float | None, rank: int | None) -> str:
    return "–" if score is None else f"{score:.3f} (#{rank})"


def _block(each: AgentHit, *, names: bool, cites: bool, explains: bool) -> str:
    hit, chunk = each.hit, each.hit.chunk
    agent = f"[{each.agent_id}] " if names else ""
    lines = [
        f"{fixed3(hit.score)} {agent}{chunk.path}:{chunk.start_line}-{chunk.end_line}",
        hit.snippet.text,
    ]
    if explains:
        lines.append(explanation(hit.explanation))
    if cites:
        lines.append(f"Source: {citation(chunk)}")
    return "\n".join([*lines, ""])
