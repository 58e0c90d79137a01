"""Web addresses as they may be shown: some people put a password or a key into one."""

import re

_HIDDEN = "***"
_QUERY_OR_FRAGMENT = re.compile(r"[?#]")
_VALUES = re.compile(r"(?<==)[^&#]+")


def shown_url(text: str) -> str:
    """An address without user info and without the values of its query; other text as it is."""
    scheme, mark, rest = text.partition("://")
    if not mark:
        return text
    # Up to the last `@`, slashes included: nobody who has them in a password escapes them.
    user_info, at, place = rest.rpartition("@")
    if _QUERY_OR_FRAGMENT.search(user_info):
        return f"{scheme}://{_HIDDEN}"  # where the secret ends is anybody's guess
    found = _QUERY_OR_FRAGMENT.search(place)
    if found is not None:
        place, query = place[: found.end()], place[found.end() :]
        place += _VALUES.sub(_HIDDEN, query) if "=" in query and "#" not in query else _HIDDEN
    return f"{scheme}://{_HIDDEN + at if at else ''}{place}"
