"""`memory_search` that cannot be had: what the agent is told then, and what still answers."""

from dataclasses import replace
from pathlib import Path

import pytest

from ocmem.errors import EmbedderError, ServiceRefused
from ocmem.model import Vector
from tests.unit.place import Place
from tests.unit.tool_caller import Caller

UNAVAILABLE = ["results", "disabled", "unavailable", "error", "warning", "action"]


def refuse(call: Caller, error: EmbedderError) -> None:
    """From now on the provider embeds notes, but no query."""

    def embed_query(text: str, *, timeout_s: float) -> Vector:
        raise error

    call.place.embedder.embed_query = embed_query  # type: ignore[method-assign]


def test_search_that_is_off_says_so(call: Caller) -> None:
    call.place.configure(enabled=False)

    reply = call()

    assert list(reply.answer) == UNAVAILABLE
    assert reply.answer["error"] == "memory search is disabled for agent main"
    assert "provider" not in reply.answer["warning"]
    assert reply.answer["action"].endswith("then retry memory_search.")
    assert str(reply.error) == reply.answer["error"]
    assert call.asked == []


@pytest.mark.parametrize(
    ("reason", "is_quota"),
    [
        ("openai embeddings failed: 429 slow down", True),
        ('openai embeddings failed: 400 {"code": "insufficient_quota"}', True),
        ("gemini: Quota exceeded", True),
        ("openai embeddings failed: 401 no", False),
        ("fetch failed", False),
    ],
)
def test_a_query_that_cannot_be_embedded_makes_search_unavailable(
    call: Caller, reason: str, is_quota: bool
) -> None:
    call()
    refuse(call, EmbedderError(reason, hint="look at the key"))

    reply = call()

    assert list(reply.answer) == UNAVAILABLE
    assert reply.answer["results"] == []
    assert reply.answer["disabled"] is reply.answer["unavailable"] is True
    assert reply.answer["error"] == reason
    assert ("quota" in reply.answer["warning"]) is is_quota
    assert ("Top up" in reply.answer["action"]) is is_quota
    assert reply.answer["action"].endswith("then retry memory_search.")
    assert reply.error is not None
    assert reply.error.hint == "look at the key"


def test_a_failure_without_words_has_a_fixed_text(call: Caller) -> None:
    call()
    refuse(call, EmbedderError(""))

    assert call().answer["error"] == "memory search unavailable"


def test_an_index_that_is_damaged_makes_search_unavailable(call: Caller) -> None:
    call()
    call.place.index_path.write_bytes(b"rubbish" * 1000)

    reply = call()

    assert list(reply.answer) == UNAVAILABLE
    assert "not a database" in reply.answer["error"]


def test_a_note_that_the_service_refuses_does_not_take_the_others_away(call: Caller) -> None:
    call()
    call.place.write(four="alpha delta")

    def refuse_note() -> None:
        raise ServiceRefused("400 not this text", status=400)

    call.place.embedder.before = refuse_note

    reply = call()

    assert reply.error is None
    assert reply.answer["mode"] == "hybrid"
    assert "memory/one.md" in {result["path"] for result in reply.answer["results"]}
    assert reply.remarks[0] == "sync failed (search): 400 not this text"


def test_a_service_that_is_down_while_notes_are_embedded_is_not_asked_again(call: Caller) -> None:
    call()
    call.place.write(four="alpha delta")

    def refuse_note() -> None:
        raise EmbedderError("the line is dead")

    call.place.embedder.before = refuse_note

    reply = call()

    assert reply.answer["error"] == "the line is dead"
    assert len(call.asked) == 2


def test_vectors_of_another_length_leave_keywords_and_a_warning(call: Caller) -> None:
    call()
    call.place.embedder.dims = 5

    reply = call()

    assert reply.error is None
    assert reply.answer["mode"] == "fts-only"
    assert reply.answer["results"][0]["textScore"] == 1
    assert "dimensions" in reply.remarks[0]


# --- no provider ----------------------------------------------------------------------------------


def test_a_named_provider_without_a_key_leaves_keywords(call: Caller) -> None:
    call()
    call.place.configure(remote={"baseUrl": "http://127.0.0.1:9/v1"})

    reply = call()

    assert reply.error is None
    assert (reply.answer["provider"], reply.answer["mode"]) == ("none", "fts-only")
    assert "model" not in reply.answer
    assert "fallback" not in reply.answer
    assert reply.answer["results"][0]["textScore"] == 1
    assert "No API key found" in reply.remarks[0]


def test_two_named_providers_without_keys_leave_keywords(call: Caller) -> None:
    call.place.configure(provider="gemini", fallback="voyage", remote={})

    reply = call()

    assert reply.error is None
    assert (reply.answer["provider"], reply.answer["mode"]) == ("none", "fts-only")
    assert reply.answer["fallback"]["from"] == "gemini"
    assert "Fallback to voyage failed: No API key" in reply.answer["fallback"]["reason"]


def test_without_an_index_and_without_a_key_nothing_is_found(call: Caller) -> None:
    call.place.configure(remote={"baseUrl": "http://127.0.0.1:9/v1"})

    reply = call()

    assert reply.error is None
    assert (reply.answer["results"], reply.answer["mode"]) == ([], "fts-only")


@pytest.mark.parametrize(
    ("missing", "requested", "fails"),
    [
        ("Local embeddings unavailable.", "local", True),
        ('No API key found for provider "openai".', "openai", False),
        ("Local embeddings unavailable.\n\nFallback to openai failed: No API key", "local", True),
        (
            'No API key found for provider "google".\n\nFallback to local failed: Local embeddings',
            "gemini",
            True,
        ),
        ("Local embeddings unavailable.", "auto", False),
    ],
)
def test_a_named_provider_that_lacks_more_than_a_key_makes_search_unavailable(
    call: Caller, missing: str, requested: str, fails: bool
) -> None:
    call()
    settings = call.place.settings
    choice = replace(settings.provider, missing=missing, requested=requested)

    reply = call(settings=replace(settings, provider=choice))

    assert (reply.error is not None) is fails
    assert ("unavailable" in reply.answer) is fails


def test_search_that_is_off_makes_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.configure(enabled=False)
    before = sorted(tmp_path.rglob("*"))

    Caller(place)()

    assert sorted(tmp_path.rglob("*")) == before
