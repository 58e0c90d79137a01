"""The tool `memory_get`: a memory file, or some of its lines."""

import errno
import os

from ocmem.core import reader
from ocmem.errors import NotReadable, OcmemError
from ocmem.settings import Settings
from ocmem.tools import parameters, reply
from ocmem.tools.parameters import Parameters
from ocmem.tools.reply import Reply

REFUSAL = "path required"  # all that an agent is told about a path that it may not read


def memory_get(given: Parameters, settings: Settings) -> Reply:
    """Raises ToolInputError where no path is given; every other failure is an answer."""
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
        excerpt = reader.read_lines(settings, path, start=start, count=count)
    except NotReadable as error:
        if error.errno == errno.ENOENT:
            return Reply({"text": "", "path": reader.stored_path(settings, path)})
        return _failed(path, error, told=REFUSAL if error.errno is None else str(error))
    return Reply({"text": excerpt.text, "path": excerpt.path})


def _failed(path: str, error: OcmemError, *, told: str | None = None) -> Reply:
    fields = {"path": path, "text": "", "disabled": True, "error": told or str(error)}
    return Reply(fields, error=error)
