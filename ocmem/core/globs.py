"""Glob patterns for stored paths."""

import re
from collections.abc import Callable, Iterable, Sequence

_PARTS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_GROUP_PARTS = {"{": "(?:", ",": "|", "}": ")"}
_TOKEN = re.compile(r"(\*\*/|\*\*|\*|\?|\[[!^]?[^/][^]/]*\]|[{,}])")
_RANGE_OR_ONE = re.compile(r"(.)-(.)|(.)", re.DOTALL)


def matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """A test for stored paths: `*` stays within a folder, `**` crosses, a name matches anywhere.

    `[a-z]` and `[!a-z]` stand for one character, `{this,that}` for either.
    """
    regexes = [re.compile(_regex(pattern)) for pattern in patterns]
    return lambda path: any(regex.fullmatch(path) for regex in regexes)


def _regex(pattern: str) -> str:
    tokens = _TOKEN.split(pattern.strip().strip("/"))
    grouping = _grouping(tokens)
    body = "".join(
        _GROUP_PARTS[token] if at in grouping else _part(token) for at, token in enumerate(tokens)
    )
    anywhere = "" if "/" in pattern.strip().rstrip("/") else "(?:.*/)?"
    return f"(?s){anywhere}(?:{body})(?:/.*)?"


def _part(token: str) -> str:
    if token.startswith("[") and token.endswith("]"):
        return _one_of(token[1:-1])
    return _PARTS.get(token, re.escape(token))


def _one_of(characters: str) -> str:
    """One character, but no slash. A range that runs backwards is empty."""
    is_negated = len(characters) > 1 and characters[0] in "!^"
    parts = [
        re.escape(one) or f"{re.escape(low)}-{re.escape(high)}"
        for low, high, one in _RANGE_OR_ONE.findall(characters[is_negated:])
        if low <= high
    ]
    if not parts:
        return "[^/]" if is_negated else "(?!)"
    return f"(?!/)[{'^' if is_negated else ''}{''.join(parts)}]"


def _grouping(tokens: Sequence[str]) -> set[int]:
    """Where the braces and commas stand that group; without its partner, or a comma, none does."""
    found: set[int] = set()
    opened: list[list[int]] = []
    for at, token in enumerate(tokens):
        if token == "{":
            opened.append([at])
        elif token == "," and opened:
            opened[-1].append(at)
        elif token == "}" and opened:
            group = opened.pop()
            if len(group) > 1:
                found |= {*group, at}
    return found
