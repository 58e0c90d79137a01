"""Tokens are counted where that is possible without a network."""

import pytest
import tiktoken

from ocmem.core import tokens


def test_without_a_vocabulary_four_characters_are_a_token(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path_factory.mktemp("empty")))
    monkeypatch.setattr("tiktoken.registry.ENCODINGS", {})

    counter = tokens.counter_for("text-embedding-3-small")

    assert not counter.is_exact
    assert counter.method == "characters / 4"
    assert [counter.count(text) for text in ("", "a", "abcd", "abcde")] == [0, 1, 1, 2]


def test_a_model_nobody_knows_is_estimated() -> None:
    assert not tokens.counter_for("acme-embed").is_exact


def test_with_a_vocabulary_they_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding(
        "tiny", pat_str=r"\w+|\W", mergeable_ranks=letters | {b"he": 256}, special_tokens={}
    )
    monkeypatch.setattr(tiktoken, "encoding_for_model", lambda model: encoding)

    counter = tokens.counter_for("text-embedding-3-small")

    assert (counter.is_exact, counter.method) == (True, "tiny")
    assert counter.count("heron <|endoftext|>") == 18
