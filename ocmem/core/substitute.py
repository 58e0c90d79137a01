"""A note in the fallback's index that it stands in for another provider, and why.

It is made when the fallback has indexed, and struck out when the first provider works again.
"""

import contextlib
import json

from ocmem.core.store import Connection, open_existing, rows
from ocmem.errors import IndexUnavailable
from ocmem.settings import Settings

_KEY = "stands in"


def note(settings: Settings, db: Connection) -> None:
    """For the index of a fallback; nothing for any other."""
    used = settings.provider.fallback
    if used is not None and not used.is_lasting:
        rows.set_state(db, _KEY, json.dumps({"from": used.origin, "reason": used.reason}))


def reason(settings: Settings) -> str | None:
    """Why the fallback of these settings is at work, if it is."""
    with contextlib.suppress(IndexUnavailable, ValueError, KeyError, TypeError):
        db = _open(settings)
        if db is not None:
            with db:
                noted = json.loads(rows.state(db, _KEY) or "{}")
                if noted.get("from") == settings.provider.id:
                    return str(noted["reason"])
    return None


def strike_out(settings: Settings) -> None:
    """The first provider has answered."""
    if reason(settings) is None:
        return
    with contextlib.suppress(IndexUnavailable):
        db = open_existing(settings.fallback_index)
        if db is not None:
            with db:
                rows.set_state(db, _KEY, "{}")


def _open(settings: Settings) -> Connection | None:
    is_first = settings.provider.fallback is None and settings.search.fallback != "none"
    if not is_first or not settings.fallback_index.exists():
        return None
    return open_existing(settings.fallback_index, "read")
