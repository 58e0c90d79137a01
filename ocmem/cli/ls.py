"""`ocmem ls`."""

import sys
import time
from collections.abc import Sequence

from ocmem.cli import common, table, wire
from ocmem.cli.common import Given
from ocmem.core import listing
from ocmem.core.listing import Listed, Listing
from ocmem.errors import IndexUnavailable
from ocmem.settings import Settings


def run(*, as_json: bool, given: Given) -> int:
    code = 0
    found: list[tuple[Settings, Listing]] = []
    for settings in common.each_agent(given):
        if not settings.search.enabled:
            print("Memory search disabled.", file=sys.stderr)
            continue
        if settings.uses_qmd:
            common.warn("these are the files of the built-in index; ocmem status tells of QMD's")
        try:
            found.append((settings, listing.listing(settings)))
        except IndexUnavailable as error:
            common.complain(error)
            code = 1
    for _, listed in found:
        for issue in listed.issues:
            common.warn(issue.message)
    if as_json:
        print(wire.document([wire.listing(s.agent_id, listed.files) for s, listed in found]))
        return code
    for at, (settings, listed) in enumerate(found):
        if len(found) > 1:
            print(f"{'' if at == 0 else chr(10)}{settings.agent_id}:")
        _print(listed.files, now_ms=time.time() * 1000)
    return code


def _print(files: Sequence[Listed], *, now_ms: float) -> None:
    if not files:
        print("No files.")
        return
    rows = [("STATE", "CHUNKS", "SIZE", "AGE", "SOURCE", "PATH")]
    rows += [
        (
            file.state,
            str(file.chunks) if file.chunks or (file.counts and file.size is not None) else "–",
            "–" if file.size is None else table.size(file.size),
            "–" if file.mtime_ms is None else table.age((now_ms - file.mtime_ms) / 1000),
            file.source,
            table.one_line(common.harmless(file.path)),
        )
        for file in files
    ]
    print(table.aligned(rows, right=(1, 2, 3)))
