"""A tool by its name: the one door for whoever offers them, a command line or a server."""

from typing import TYPE_CHECKING

from ocmem.backends.roots import qmd_roots
from ocmem.errors import ToolInputError
from ocmem.settings import Settings
from ocmem.tools import definitions
from ocmem.tools.parameters import Parameters
from ocmem.tools.reply import Reply

if TYPE_CHECKING:  # reading a note needs no search engine
    from ocmem.backends.fallback import Second
    from ocmem.tools.memory_search import Ask, StandIn


def call(
    name: str,
    given: Parameters,
    settings: Settings,
    *,
    now_ms: float,
    session_key: str | None,
    ask: "Ask | None" = None,
    second: "Second | None" = None,
    stand_in: "StandIn | None" = None,
) -> Reply:
    """Raises ToolInputError for parameters without sense; every other failure is an answer.

    `ask` puts questions to another backend than the built-in one. `second` gives the settings of
    the fallback when a provider fails; without it there is none. `stand_in` says whose index
    answers where another backend than the built-in one cannot.
    """
    if name == definitions.MEMORY_GET.name:
        from ocmem.tools.memory_get import memory_get

        return memory_get(given, settings, collections=qmd_roots(settings))
    if name != definitions.MEMORY_SEARCH.name:
        raise ToolInputError(f"no such tool: {name}")
    from ocmem.tools.memory_search import ask_builtin, memory_search, no_fallback, nobody_else

    return memory_search(
        given,
        settings,
        now_ms=now_ms,
        session_key=session_key,
        ask=ask or ask_builtin,
        second=second or no_fallback,
        stand_in=stand_in or nobody_else,
    )
