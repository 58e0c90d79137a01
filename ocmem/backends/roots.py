"""The folders that `qmd/<collection>/<path>` leads into."""

from collections.abc import Mapping
from pathlib import Path

from ocmem.core import virtual
from ocmem.settings import Settings


def qmd_roots(settings: Settings) -> Mapping[str, Path] | None:
    """By collection; None where the built-in index is in use."""
    return _roots(settings) if settings.uses_qmd else None


def roots_for(settings: Settings, path: str) -> Mapping[str, Path] | None:
    """The same, and also where `path` must come from a search that asked QMD for once."""
    has_asked = path.startswith(virtual.FOLDER) and settings.configures_qmd
    return _roots(settings) if settings.uses_qmd or has_asked else None


def _roots(settings: Settings) -> Mapping[str, Path]:
    from ocmem.backends.qmd.collections import wanted  # QMD is for those who have set it up

    return {each.name: each.root for each in wanted(settings.qmd).collections}
