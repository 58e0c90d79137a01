"""The scenes behind `tests/golden/cli`, by command."""

from tests.golden.scenarios import agents, config, index, issues, provider, search, status, usage

__all__ = ["agents", "config", "index", "issues", "provider", "search", "status", "usage"]
