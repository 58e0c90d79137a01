"""Names of files in QMD's collections, `qmd/<collection>/<path>`, and where those files are."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ocmem.errors import NotReadable

FOLDER = "qmd/"


@dataclass(frozen=True, slots=True)
class Located:
    """A file of a collection, or a place outside if its name leads there."""

    root: str
    location: str  # absolute and without `..`; links stay as they are
    path: str  # its virtual name, spelled plainly


def located(asked: str, collections: Mapping[str, Path]) -> Located:
    """Where a virtual name leads. Raises NotReadable where it names no file of a collection."""
    collection, _, rest = asked.removeprefix(FOLDER).partition("/")
    if collection not in collections:
        known = ", ".join(sorted(collections)) or "none"
        raise NotReadable(
            f"{asked} is in no collection", hint=f"collections of this agent: {known}"
        )
    root = os.path.normpath(collections[collection])
    # Joined as text: a second slash must not make it an absolute path.
    location = os.path.normpath(f"{root}/{rest}")
    if location == root:
        raise NotReadable(f"{asked} is a collection; name a file in it")
    return Located(root, location, f"{FOLDER}{collection}/{os.path.relpath(location, root)}")
