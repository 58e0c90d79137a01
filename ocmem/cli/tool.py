"""`ocmem tool`."""

import os
import sys
import textwrap
import time
from typing import TYPE_CHECKING

from ocmem.cli import common
from ocmem.cli.common import Given
from ocmem.core import citation, jsjson
from ocmem.errors import ToolInputError, UsageError
from ocmem.settings import Settings
from ocmem.tools import definitions, parameters
from ocmem.tools.call import call
from ocmem.tools.parameters import Parameters
from ocmem.tools.reply import Reply

if TYPE_CHECKING:
    from ocmem.backends.answer import Answer
    from ocmem.core.search import Wanted

_MOST_BYTES = 1_000_000


def show(*, as_json: bool) -> int:
    """What an agent's model is told about the tools."""
    if as_json:
        print(jsjson.pretty([each.fields for each in definitions.DEFINITIONS]))
        return 0
    for each in definitions.DEFINITIONS:
        required = each.parameters["required"]
        names = [n if n in required else f"[{n}]" for n in each.parameters["properties"]]
        print(f"{each.name} {' '.join(names)}\n{textwrap.indent(each.description, '  ')}")
    return 0


def run(
    name: str | None, text: str | None, *, envelope: bool, session_key: str | None, given: Given
) -> int:
    if name is None:
        names = " or ".join(each.name for each in definitions.DEFINITIONS)
        raise UsageError(f"name a tool: {names}; --list describes them")
    called_with = parameters.from_json(_text(text))
    agent = citation.agent_of(session_key)
    if agent is not None and not given.get("agent"):
        given = {**given, "agent": [agent]}
    reply = _called(name, called_with, common.one_agent(given), given, session_key)
    for remark in reply.remarks:
        common.warn(remark)
    if reply.hint:
        print(f"hint: {reply.hint}", file=sys.stderr)
    text = jsjson.pretty(reply.envelope) if envelope else reply.text
    print(common.harmless(text) if sys.stdout.isatty() else text)
    if reply.error is not None:
        common.complain(reply.error)
    return 0 if reply.error is None else 1


def _called(
    name: str, called_with: Parameters, settings: Settings, given: Given, session_key: str | None
) -> Reply:
    progress = common.ProgressLine(is_quiet=bool(given.get("quiet")))

    def ask(settings: Settings, wanted: "Wanted", *, sync: bool) -> "Answer":
        from ocmem.backends.builtin import BuiltinBackend

        backend = BuiltinBackend(settings, progress, notice=progress.notice)
        return backend.search(wanted, sync=sync)

    try:
        return call(
            name,
            called_with,
            settings,
            now_ms=time.time() * 1000,
            # An agent is always in some chat: its main one, unless another is named.
            session_key=session_key or f"agent:{settings.agent_dir_name}:main",
            ask=ask,
            second=lambda first, error: common.fallback(first, given, error),
            stand_in=lambda settings: common.stand_in(settings, given),
        )
    finally:
        progress.clear()


def _text(argument: str | None) -> str:
    """The parameters as they were given: the argument, or what stdin has to say."""
    missing = UsageError("no parameters: give a JSON object as an argument or on stdin")
    if argument not in (None, "-"):
        data = os.fsencode(argument)
    elif sys.stdin is None or (argument is None and sys.stdin.isatty()):
        raise missing
    else:
        data = sys.stdin.buffer.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ToolInputError(f"the parameters are longer than {_MOST_BYTES} bytes")
    if not data.strip():
        raise missing
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ToolInputError("the parameters are not UTF-8") from None
