"""The tool `memory_get`: a memory file, or some of its lines."""

import errno
import os
from collections.abc import Mapping
from pathlib import Path

from ocmem.core import reader
from ocmem.errors import NotReadable, OcmemError
from ocmem.settings import Settings
from ocmem.tools import parameters, reply
from ocmem.tools.parameters import Parameters
from ocmem.tools.reply import Reply

REFUSAL = "path required"  # all that an agent is told about a path that it may not read


def memory_get(
    given: Parameters, settings: Settings, *, collections: Mapping[str, Path] | None = None
) -> Reply:
    """Raises ToolInputError where no path is given; every other failure is an answer.

    The roots of QMD's `collections`, even if there are none, make it the reader of that backend.
    """
    path = parameters.required_text(given, "path")
    start, count = (parameters.integer(given, name) for name in ("from", "lines"))
    disabled = reply.why_disabled(settings)
    if disabled is not None:
        return _failed(path, disabled)
    if start or count:  # 0 counts as not given, but only where both are
        start = max(1, start or 1)
        count = None if count is None else max(1, count)
    else:
        start = count = None
    try:
        if not os.path.normpath(path).endswith(".md"):
            raise NotReadable(f"{path} is not a Markdown file: its name does not end in .md")
        excerpt = reader.read_lines(
            settings,
            path,
            start=start,
            count=count,
            collections=collections,
            whole_workspace=collections is not None,
        )
    except NotReadable as error:
        if error.errno == errno.ENOENT:
            stored = reader.stored_path(settings, path, collections=collections)
            return Reply({"text": "", "path": stored})
        return _failed(path, error, told=REFUSAL if error.errno is None else str(error))
    text = excerpt.text
    if collections is not None and start is not None:
        # Lines that are picked out lose their carriage returns there, a whole file does not.
        text = text.replace("\r\n", "\n").removesuffix("\r")
    return Reply({"text": text, "path": excerpt.path})


def _failed(path: str, error: OcmemError, *, told: str | None = None) -> Reply:
    fields = {"path": path, "text": "", "disabled": True, "error": told or str(error)}
    return Reply(fields, error=error)
