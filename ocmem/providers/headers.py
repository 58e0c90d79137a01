"""Headers of requests: merged without regard to case, checked, and searched for secrets."""

import json
import re
from collections.abc import Iterable, Mapping

import httpx

from ocmem.errors import EmbedderError

_SECRET_CHARS = 8  # a shorter word is no secret, and masking it would garble messages
_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


def merged(*layers: Mapping[str, str]) -> dict[str, str]:
    """Later layers win, whatever the case of their names."""
    chosen: dict[str, tuple[str, str]] = {}
    for layer in layers:
        chosen |= {name.lower(): (name, value) for name, value in layer.items()}
    return dict(chosen.values())


def origin_of(url: httpx.URL) -> str:
    port = url.port or {"http": 80, "https": 443}.get(url.scheme, 0)
    host = f"[{url.host}]" if ":" in url.host else url.host
    return f"{url.scheme}://{host}:{port}"


def encoded(headers: Mapping[str, str], prefix: str) -> list[tuple[bytes, bytes]]:
    """Checked here, because the HTTP library's own complaint quotes the value, key and all."""
    for name, value in headers.items():
        if not (_HEADER_NAME.fullmatch(name) and _HEADER_VALUE.fullmatch(value)):
            raise EmbedderError(
                f"{prefix}: the header {name!r} has characters that HTTP does not allow",
                hint="look for stray characters in the API key and in remote.headers",
            )
    return [(name.encode(), value.strip().encode("latin-1")) for name, value in headers.items()]


def known_secrets(keys: Iterable[str], headers: Iterable[Mapping[str, str]]) -> list[str]:
    """Keys, also as JSON spells them, and every word of a header that may be one; longest first."""
    words = {word for each in headers for value in each.values() for word in value.split()}
    for key in keys:
        words |= {key, key.replace("/", "\\/"), json.dumps(key)[1:-1]}
    return sorted((word for word in words if len(word) >= _SECRET_CHARS), key=len, reverse=True)
