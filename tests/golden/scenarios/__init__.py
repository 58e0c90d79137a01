"""The scenes behind `tests/golden/cli`, by command."""

from tests.golden.scenarios import (
    agents,
    config,
    explain,
    flush,
    index,
    issues,
    newer,
    provider,
    qmd,
    search,
    sessions,
    status,
    tool,
    usage,
)

__all__ = [
    "agents",
    "config",
    "explain",
    "flush",
    "index",
    "issues",
    "newer",
    "provider",
    "qmd",
    "search",
    "sessions",
    "status",
    "tool",
    "usage",
]
