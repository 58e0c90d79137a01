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


def test_a_foreign_model_is_counted_with_a_common_vocabulary(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bytes_only = {bytes([byte]): byte for byte in range(256)}
    known = {
        name: tiktoken.Encoding(
            name, pat_str=r"\w+|\W", mergeable_ranks=bytes_only, special_tokens={}
        )
        for name in ("gpt-4o", "gpt-own")
    }
    monkeypatch.setattr(tiktoken, "encoding_for_model", lambda model: known[model])

    methods = [
        tokens.nearest_counter(model).method for model in ("openai/gpt-own", "claude-opus", None)
    ]

    assert methods == ["gpt-own", "gpt-4o", "gpt-4o"]


def test_without_any_vocabulary_a_foreign_model_is_estimated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    monkeypatch.setattr("tiktoken.registry.ENCODINGS", {})

    assert tokens.nearest_counter("claude-opus").method == tokens.ESTIMATE
