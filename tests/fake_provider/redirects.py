"""Redirects of all kinds. A chain carries its own state in the query of its addresses."""

import re
from typing import Final, Protocol

from tests.fake_provider.faults import Rule
from tests.fake_provider.record import Recorded
from tests.fake_provider.reply import Reply

_STEP: Final = re.compile(r"[?&]__step=(\d+)-(\w+)")
ELSEWHERE: Final = "__origin=other"
"""Marks an address as another origin although it leads to the same socket."""


class Places(Protocol):
    @property
    def port(self) -> int: ...

    @property
    def other_port(self) -> int: ...


def redirect(rule: Rule, request: Recorded, places: Places) -> Reply:
    code = rule.code or 307
    path = request.path
    if rule.location:
        return _to(code, rule.location)
    if rule.to == "port":
        return _to(code, f"http://127.0.0.1:{places.other_port}{path}")
    if rule.to == "host":
        return _to(code, f"http://localhost:{places.port}{_with(path, ELSEWHERE)}")
    if rule.to == "loop":
        return _to(code, _with(path, f"__step={code}-there"))
    if rule.hops > 1:
        return _to(code, _with(path, f"__step={code}-{rule.hops - 1}"))
    return _to(code, path)


def next_hop(request: Recorded) -> Reply | None:
    """The redirect that the address itself asks for, as a further step of a chain."""
    step = _STEP.search(request.path)
    if step is None or step[2] == "0":
        return None
    code = int(step[1])
    after = {"there": "back", "back": "there"}.get(step[2]) or str(int(step[2]) - 1)
    return _to(code, _with(_STEP.sub("", request.path), f"__step={code}-{after}"))


def _to(code: int, location: str) -> Reply:
    return Reply(code, headers=(("Location", location),))


def _with(path: str, query: str) -> str:
    return f"{path}{'&' if '?' in path else '?'}{query}"
