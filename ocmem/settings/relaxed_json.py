"""The JSON5 that people write -> JSON: the json5 package takes a tenth of a second for 9 KB."""

import json
import re

# Comments, trailing commas, bare keys and single quotes. Whatever else JSON5 has, and whatever is
# broken, is left to the package: it knows every corner, and where in a file an error is.
_PLAIN = r"[^\\\x00-\x1f\u2028\u2029]"
_ESCAPE = r"\\(?:['\"\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4})"
_TOKEN = re.compile(
    rf"""
      (?P<blank> [ \t\n\r]+ | //[^\n\r\u2028\u2029]*(?=[\n\r]|\Z) | /\*.*?\*/ )
    | (?P<double> "(?: (?!") {_PLAIN} | {_ESCAPE} )*" )
    | (?P<single> '(?: (?!') {_PLAIN} | {_ESCAPE} )*' )
    | (?P<number> -?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.$\\]) )
    | (?P<name> [A-Za-z_$][A-Za-z0-9_$]*(?![^\x00-\x7f]|\\) )
    | (?P<mark> [][{{}}:,] )
    """,
    re.VERBOSE | re.DOTALL,
)
_NEEDS_REQUOTING = re.compile(r"\\.|\"", re.DOTALL)
_REQUOTED = {"\\'": "'", '"': '\\"'}
_CONSTANTS = ("true", "false", "null")


def loads(text: str) -> object:
    """The value of a text; raises ValueError where it has anything unusual, right or wrong."""
    tokens = _tokens(text)
    parts: list[str] = []
    before = ""
    for (kind, token), (_, after) in zip(tokens, [*tokens[1:], ("", "")], strict=True):
        is_trailing = token == "," and after in ("}", "]")
        if is_trailing and before in ("", "[", "{", ",", ":"):
            raise ValueError("a comma that follows nothing")
        if kind == "single":
            inner = _NEEDS_REQUOTING.sub(_requoted, token[1:-1])
            parts.append(f'"{inner}"')
        elif kind == "name" and after == ":":
            parts.append(f'"{token}"')
        elif kind == "name" and token not in _CONSTANTS:
            raise ValueError("a word that is no constant of JSON")
        elif not is_trailing:
            parts.append(token)
        before = token
    return json.loads(" ".join(parts))


def _tokens(text: str) -> list[tuple[str, str]]:
    """What is not blank, as kind and text."""
    found = []
    end = 0
    for match in _TOKEN.finditer(text):
        if match.start() != end:
            break
        end = match.end()
        if match.lastgroup not in (None, "blank"):
            found.append((str(match.lastgroup), match.group()))
    if end != len(text):
        raise ValueError("a token that is unusual")
    return found


def _requoted(match: re.Match[str]) -> str:
    return _REQUOTED.get(match.group(), match.group())
