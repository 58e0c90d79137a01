"""`ocmem get`."""

import sys

from ocmem.backends.roots import roots_for
from ocmem.cli import common, wire
from ocmem.cli.common import Given
from ocmem.core import citation, reader
from ocmem.errors import UsageError


def run(path: str, *, start: int | None, lines: int | None, as_json: bool, given: Given) -> int:
    if any(number is not None and number < 1 for number in (start, lines)):
        raise UsageError("--from and --lines count from 1")
    cited = citation.parse(path)
    if cited is not None:
        if start is not None or lines is not None:
            raise UsageError("a citation names its lines; leave out --from and --lines")
        path, start, last = cited
        if start < 1 or last < start:
            raise UsageError(f"not a range of lines: L{start}-L{last}")
        lines = last - start + 1
    settings = common.one_agent(given)
    collections = roots_for(settings, path)
    excerpt = reader.read_lines(
        settings,
        path,
        start=start,
        count=lines,
        collections=collections,
        whole_workspace=settings.uses_qmd,
    )
    if start is not None and start > excerpt.total_lines:
        common.warn(f"{excerpt.path} has only {excerpt.total_lines} lines")
    elif excerpt.is_transcript and not excerpt.text:
        common.warn(f"nothing is said in these lines of {excerpt.path}")
    if as_json:
        print(wire.excerpt(excerpt))
    else:
        is_tty = sys.stdout.isatty()
        sys.stdout.write(common.harmless(excerpt.text) if is_tty else excerpt.text)
        if (is_tty or (excerpt.is_transcript and excerpt.text)) and not excerpt.text.endswith("\n"):
            print()
    return 0
