"""Chunk ids and provider keys that both programs agree on."""

import hashlib

import pytest

from ocmem.core import utf16
from ocmem.core.fingerprint import (
    FTS_ONLY_MODEL,
    chunk_id,
    endpoint_provider_key,
    plain_provider_key,
)

LOCAL_MODEL = "hf:ggml-org/embeddinggemma-300m-qat-q8_0-GGUF/embeddinggemma-300m-qat-Q8_0.gguf"
JSON_TYPE = {"Content-Type": "application/json"}
GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta"
MEASURED_ORDER = "accept Content-Type x X X_A X-1 x-a X-A x-B X.A X1 Xa XA Z".split()


def test_a_chunk_id_is_the_hash_of_where_and_what() -> None:
    written = b"memory:memory/a.md:3:7:abc:text-embedding-3-small"

    found = chunk_id(
        source="memory",
        path="memory/a.md",
        start_line=3,
        end_line=7,
        text_hash="abc",
        model="text-embedding-3-small",
    )

    assert found == hashlib.sha256(written).hexdigest()


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [
        (
            "voyage",
            "voyage-4-large",
            "f76b05d4400af8e72c62ebb5b848b18ee4c12ac85b3a6a8c28f2ae03f1310aff",
        ),
        (
            "mistral",
            "mistral-embed",
            "a45235dcac85a67cf6a5a2922c1c1137e51c9e8b3d0a24446be2986163716553",
        ),
        ("local", LOCAL_MODEL, "a65bf29e73a7aa6d94f94c77377b9d4e17a2298505ddb598523262bdc77ac89b"),
        (
            "none",
            FTS_ONLY_MODEL,
            "b2f409223dd1bd19cedee3332de54748a5f323765d4cdcbbb29295199cfde125",
        ),
    ],
)
def test_a_key_without_an_endpoint_is_the_one_of_the_reference(
    provider: str, model: str, expected: str
) -> None:
    assert plain_provider_key(provider, model) == expected


@pytest.mark.parametrize(
    ("provider", "base_url", "headers", "expected"),
    [
        (
            "openai",
            "https://api.openai.com/v1",
            JSON_TYPE,
            "c03eebd0dbf911b9e937d66411651b4976ddde97fb3a820da68c2176068e449d",
        ),
        (
            "openai",
            "http://127.0.0.1:18951/v1",
            JSON_TYPE,
            "bb4b656d96da715111eff5191b0968457af9c874ad9d540a802ca34980dbb299",
        ),
        (
            "openai",
            "http://127.0.0.1:18471/v1",
            JSON_TYPE,
            "34b1b7d98cf129cccbfce6825cf3219458fb8302a71566b19efeb1cb6611aa96",
        ),
        (
            "openai",
            "http://127.0.0.1:18951/v1/",
            JSON_TYPE | {"X-Org": "o1", "accept-x": "z"},
            "90d0defccaa5e5865e9c8e113c52582566179390b2c290c79d971e21683543c1",
        ),
        (
            "gemini",
            GEMINI_URL,
            {},
            "bd50811302958e0a342bc8a1d2687cb549fc6642bd40ff5466adad80ccd051bf",
        ),
        (
            "gemini",
            "http://127.0.0.1:18951/v1beta",
            {"X-Org": "o1"},
            "6aaaa0e59a50f10d00629c6f926af44c5d8df597d72ba8ce41771dc1ec8ba0cb",
        ),
    ],
)
def test_a_key_with_an_endpoint_is_the_one_of_the_reference(
    provider: str, base_url: str, headers: dict[str, str], expected: str
) -> None:
    models = {"openai": "text-embedding-3-small", "gemini": "gemini-embedding-001"}

    key = endpoint_provider_key(
        provider, base_url=base_url, model=models[provider], headers=headers
    )

    assert key == expected


@pytest.mark.parametrize("given", [MEASURED_ORDER, MEASURED_ORDER[::-1], sorted(MEASURED_ORDER)])
def test_headers_enter_the_key_in_locale_order(given: list[str]) -> None:
    pairs = ",".join(f'["{name}","é"]' for name in MEASURED_ORDER)
    written = f'{{"provider":"openai","baseUrl":"u","model":"m","headers":[{pairs}]}}'

    key = endpoint_provider_key(
        "openai", base_url="u", model="m", headers=dict.fromkeys(given, "é")
    )

    assert key == hashlib.sha256(written.encode()).hexdigest()


def test_the_hash_of_a_chunk_is_the_references() -> None:
    assert utf16.sha256("# Long\n\nAlpha fact about café.\n") == (
        "0b7ff0c0a1d1ce92f165fd49ead2114c16108ab7712810f45108aa13372ecbc2"
    )
