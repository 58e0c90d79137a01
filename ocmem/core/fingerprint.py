"""Hashes that both programs must agree on: chunk ids and provider keys."""

from collections.abc import Mapping

from ocmem.core import jsjson, utf16

FTS_ONLY_MODEL = "fts-only"


def chunk_id(
    *, source: str, path: str, start_line: int, end_line: int, text_hash: str, model: str
) -> str:
    return utf16.sha256(f"{source}:{path}:{start_line}:{end_line}:{text_hash}:{model}")


def custom_id(
    *, source: str, path: str, start_line: int, end_line: int, text_hash: str, position: int
) -> str:
    """The name of a chunk in a batch job; `position` is its place in the file, from 0."""
    return utf16.sha256(f"{source}:{path}:{start_line}:{end_line}:{text_hash}:{position}")


def plain_provider_key(provider: str, model: str) -> str:
    """The key of every provider whose endpoint is not part of its identity."""
    return utf16.sha256(jsjson.compact({"provider": provider, "model": model}))


def endpoint_provider_key(
    provider: str, *, base_url: str, model: str, headers: Mapping[str, str]
) -> str:
    """The key of openai and gemini. `headers` must already be free of credentials."""
    ordered = sorted(headers.items(), key=lambda pair: _locale_key(pair[0]))
    identity = {
        "provider": provider,
        "baseUrl": base_url,
        "model": model,
        "headers": [[name, value] for name, value in ordered],
    }
    return utf16.sha256(jsjson.compact(identity))


def shortened_provider_key(key: str, dimensions: int) -> str:
    """The key where the provider is asked for shorter vectors, which the reference never does."""
    return utf16.sha256(f"{key}:{dimensions}")


def _locale_key(name: str) -> tuple[list[int], list[bool]]:
    """Header names in JavaScript's localeCompare order: case decides last, lower before upper."""
    order = "_-.0123456789abcdefghijklmnopqrstuvwxyz"
    weights = [
        order.index(letter) if letter in order else len(order) + ord(letter)
        for letter in name.lower()
    ]
    return weights, [letter.isupper() for letter in name]
