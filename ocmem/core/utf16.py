"""Strings as the reference counts them: in UTF-16 code units, with JavaScript's white space.

A Python string may hold lone surrogates, so the two halves of a cut pair survive here until they
are hashed or stored, where each becomes U+FFFD.
"""

import hashlib
import re

# Not str.strip(): Python leaves U+FEFF in place and strips U+0085 and U+001C to U+001F.
JS_WHITESPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_SEPARATORS = "\x1c\x1d\x1e\x1f"  # white space to Python only
_WHITESPACE_RUN = re.compile(f"[{JS_WHITESPACE}]+")


def length(text: str) -> int:
    """The number of UTF-16 code units: an emoji counts 2, a Chinese character 1."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def pieces(text: str, max_units: int) -> list[str]:
    """`text` cut every `max_units` code units, through surrogate pairs if need be."""
    if text.isascii():
        return [text[at : at + max_units] for at in range(0, len(text), max_units)]
    data = text.encode("utf-16-le", "surrogatepass")
    step = 2 * max_units
    return [
        data[at : at + step].decode("utf-16-le", "surrogatepass")
        for at in range(0, len(data), step)
    ]


def prefix(text: str, max_units: int) -> str:
    """The first `max_units` code units, one less where that would split a pair."""
    if text.isascii():
        return text[:max_units]
    data = text.encode("utf-16-le", "surrogatepass")[: 2 * max_units]
    head = data.decode("utf-16-le", "surrogatepass")
    return head if text.startswith(head) else head[:-1]


def well_formed(text: str) -> str:
    """`text` with every lone surrogate turned into U+FFFD, fit for UTF-8, SQLite and tokenizers."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def utf8_length(text: str) -> int:
    """The size in UTF-8, a lone surrogate counting 3 bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def sha256(text: str) -> str:
    """The reference's H(): hex SHA-256 of the UTF-8 form."""
    return hashlib.sha256(well_formed(text).encode()).hexdigest()


def trim(text: str) -> str:
    return text.strip(JS_WHITESPACE)


def collapse(text: str) -> str:
    """Every run of white space as one space, none at the ends."""
    if text.isascii() and not any(separator in text for separator in _SEPARATORS):
        return " ".join(text.split())
    return _WHITESPACE_RUN.sub(" ", text).strip(" ")
