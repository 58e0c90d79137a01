"""The folders that `qmd/<collection>/<path>` leads into."""

from collections.abc import Mapping
from pathlib import Path

from ocmem.settings import Settings


def qmd_roots(settings: Settings) -> Mapping[str, Path] | None:
    """By collection; None where the built-in index is in use."""
    if not settings.uses_qmd:
        return None
    from ocmem.backends.qmd.collections import wanted  # QMD is for those who have set it up

    return {each.name: each.root for each in wanted(settings.qmd).collections}
