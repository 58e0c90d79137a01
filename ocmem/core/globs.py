"""Glob patterns for stored paths."""

import re
from collections.abc import Callable, Iterable

_PARTS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """A test for stored paths: `*` stays within a folder, `**` crosses, a name matches anywhere."""
    regexes = [re.compile(_regex(pattern)) for pattern in patterns]
    return lambda path: any(regex.fullmatch(path) for regex in regexes)


def _regex(pattern: str) -> str:
    tokens = re.split(r"(\*\*/|\*\*|\*|\?)", pattern.strip().lstrip("/"))
    body = "".join(_PARTS.get(token, re.escape(token)) for token in tokens)
    anywhere = "" if "/" in pattern.strip().rstrip("/") else "(?:.*/)?"
    return f"(?s){anywhere}{body.rstrip('/')}(?:/.*)?"
