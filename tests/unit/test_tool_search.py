"""`memory_search`: the fields of every mode, citations by chat, and what is said when it fails."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as profile

from ocmem.backends.builtin import Answer, BuiltinBackend
from ocmem.core.search import Wanted
from ocmem.errors import EmbedderError, ServiceRefused, ToolInputError
from ocmem.model import Vector
from ocmem.settings import Fallback, Settings
from ocmem.tools.memory_search import memory_search
from ocmem.tools.reply import Reply
from tests.unit.odd_json import OBJECTS
from tests.unit.place import Place

GROUP = "agent:main:telegram:group:-100"
UNAVAILABLE = ["results", "disabled", "unavailable", "error", "warning", "action"]


class Caller:
    """Calls the tool as an agent would, over the embedder that counts words."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.asked: list[tuple[Wanted, bool]] = []

    def __call__(
        self,
        query: str = "alpha",
        *,
        session_key: str | None = None,
        settings: Settings | None = None,
        **more: object,
    ) -> Reply:
        return memory_search(
            {"query": query, **more},
            settings or self.place.settings,
            now_ms=0.0,
            session_key=session_key,
            ask=self.ask,
        )

    def ask(self, settings: Settings, wanted: Wanted, *, sync: bool) -> Answer:
        self.asked.append((wanted, sync))
        embedder = None if settings.provider.missing else self.place.embedder
        backend = BuiltinBackend(settings, clock_ns=self.place.clock, embedder=embedder)
        return backend.search(wanted, sync=sync)

    @property
    def wanted(self) -> Wanted:
        return self.asked[-1][0]


@pytest.fixture
def call(place: Place) -> Caller:
    place.write(one="alpha beta\n\n", two="gamma\nalpha\n")
    return Caller(place)


def refuse(call: Caller, error: EmbedderError) -> None:
    """From now on the provider embeds notes, but no query."""

    def embed_query(text: str, *, timeout_s: float) -> Vector:
        raise error

    call.place.embedder.embed_query = embed_query  # type: ignore[method-assign]


# --- success --------------------------------------------------------------------------------------


def test_an_answer_has_the_references_fields_in_its_order(call: Caller) -> None:
    reply = call("beta", maxResults=1)

    (result,) = reply.answer["results"]
    score = result.pop("score")
    assert reply.answer == {
        "results": [
            {
                "path": "memory/one.md",
                "startLine": 1,
                "endLine": 3,
                "snippet": "alpha beta\n\nSource: memory/one.md#L1-L3",
                "source": "memory",
                "citation": "memory/one.md#L1-L3",
            }
        ],
        "provider": "openai",
        "model": "text-embedding-3-small",
        "citations": "auto",
        "mode": "hybrid",
    }
    assert 0.35 <= score <= 1
    assert list(reply.answer) == ["results", "provider", "model", "citations", "mode"]
    record = ["path", "startLine", "endLine", "score", "snippet", "source", "citation"]
    assert list(call("beta").answer["results"][0]) == record
    assert (reply.error, reply.remarks, reply.hint) == (None, (), None)


def test_without_citations_the_snippet_is_left_as_it_is(call: Caller) -> None:
    (result,) = call("beta", maxResults=1, session_key=GROUP).answer["results"]

    assert list(result) == ["path", "startLine", "endLine", "score", "snippet", "source"]
    assert result["snippet"] == "alpha beta\n\n"


@pytest.mark.parametrize(
    ("mode", "session_key", "cites"),
    [
        ("auto", None, True),
        ("auto", "agent:main:main", True),
        ("auto", "discord:channel:9", True),
        ("auto", GROUP, False),
        ("auto", "agent:main:discord:channel:9", False),
        ("on", GROUP, True),
        ("off", None, False),
        ("anything else", None, True),
        ("anything else", GROUP, False),
    ],
)
def test_citations_go_by_the_mode_and_the_chat(
    call: Caller, mode: str, session_key: str | None, cites: bool
) -> None:
    settings = replace(call.place.settings, citations=mode)

    answer = call(session_key=session_key, settings=settings).answer

    assert answer["citations"] == (mode if mode in ("on", "off") else "auto")
    assert answer["results"]
    for result in answer["results"]:
        assert ("citation" in result) is ("\n\nSource: " in result["snippet"]) is cites


def test_nothing_found_is_an_answer_and_people_are_told_why(call: Caller) -> None:
    reply = call("omega", minScore=0.9)

    assert (reply.answer["results"], reply.answer["mode"]) == ([], "hybrid")
    assert "disabled" not in reply.answer
    assert reply.error is None
    (why,) = reply.remarks
    assert "below the floor of 0.9" in why
    assert "--" not in why  # no options of another command


def test_with_hybrid_search_off_records_have_an_id_and_the_mode_is_the_same(call: Caller) -> None:
    call.place.configure(query={"hybrid": {"enabled": False}})

    answer = call(maxResults=1).answer

    assert answer["mode"] == "hybrid"
    assert list(answer["results"][0])[:2] == ["id", "path"]
    assert "textScore" not in answer["results"][0]


def test_keywords_alone_have_their_own_fields_and_no_model(call: Caller) -> None:
    call.place.configure(own={"provider": "none"})

    answer = call("alpha", maxResults=1).answer

    assert list(answer) == ["results", "provider", "citations", "mode"]
    assert (answer["provider"], answer["mode"]) == ("none", "fts-only")
    record = [
        *("id", "path", "startLine", "endLine", "score", "textScore", "snippet", "source"),
        "citation",
    ]
    assert list(answer["results"][0]) == record
    assert answer["results"][0]["score"] == answer["results"][0]["textScore"] == 1


def test_a_fallback_is_named(call: Caller) -> None:
    settings = call.place.settings
    choice = replace(settings.provider, fallback=Fallback("voyage", "no key", is_lasting=True))

    answer = call(settings=replace(settings, provider=choice)).answer

    assert answer["fallback"] == {"from": "voyage", "reason": "no key"}
    assert list(answer) == ["results", "provider", "model", "fallback", "citations", "mode"]


def test_a_secret_in_the_models_name_stays_here(call: Caller) -> None:
    settings = call.place.settings
    choice = replace(settings.provider, model="https://me:secret@host/m.gguf?token=secret")

    assert "secret" not in call(settings=replace(settings, provider=choice)).text


# --- parameters -----------------------------------------------------------------------------------


def test_defaults_come_from_the_settings(call: Caller) -> None:
    call.place.configure(
        query={
            "maxResults": 2,
            "minScore": 0.01,
            "hybrid": {"mmr": {"enabled": True}, "temporalDecay": {"enabled": True}},
        },
        own={"query": {"ranker": "fused", "snippet": "best"}},
    )

    call()
    configured = call.wanted
    call(maxResults="1.9", min_score="0.5")

    assert (configured.max_results, configured.min_score) == (2, 0.01)
    assert (configured.half_life_days, configured.mmr_lambda) == (30, 0.7)
    assert (call.wanted.max_results, call.wanted.min_score) == (1, 0.5)
    for wanted in (configured, call.wanted):
        assert (wanted.ranker, wanted.strict, wanted.snippet) == ("openclaw", True, "head")
        assert wanted.sources == ("memory",)


def test_limits_are_not_clamped(call: Caller) -> None:
    assert len(call(maxResults=1e300, minScore=-5).answer["results"]) == 3
    assert call(minScore=5).answer["results"] == []


@pytest.mark.parametrize("value", [0, -1, 0.9, "0", "-3 results"])
def test_less_than_one_result_is_no_number_of_results(call: Caller, value: object) -> None:
    with pytest.raises(ToolInputError, match=r"^maxResults must be 1 or more$"):
        call(maxResults=value)

    assert call.asked == []


@pytest.mark.parametrize("query", [None, "", " \ufeff", 5])
def test_a_query_is_needed_even_where_search_is_off(call: Caller, query: Any) -> None:  # noqa: ANN401
    call.place.configure(enabled=False)

    with pytest.raises(ToolInputError, match=r"^query required$"):
        call(query)


def test_half_a_character_in_a_query_is_replaced(call: Caller) -> None:
    assert call("alpha \ud83d").error is None
    assert call.wanted.query == "alpha \ufffd"


def test_the_index_is_brought_up_to_date_unless_the_settings_say_no(call: Caller) -> None:
    call()
    call.place.configure(sync={"onSearch": False})
    call()

    assert [sync for _, sync in call.asked] == [True, False]


# --- failures -------------------------------------------------------------------------------------


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


# --- whatever is given ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    place = Place(tmp_path_factory.mktemp("home"))
    place.write(one="alpha beta", two="gamma delta")
    call = Caller(place)
    call()
    yield call


@pytest.mark.parametrize("provider", ["openai", "none"])
@given(parameters=OBJECTS)
@profile(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_whatever_is_given_there_is_an_answer_or_a_named_error(
    caller: Caller, provider: str, parameters: dict[str, object]
) -> None:
    settings = caller.place.settings
    if provider == "none":
        choice = replace(settings.provider, missing="No API key found for provider x")
        settings = replace(settings, provider=choice)

    try:
        reply = memory_search(parameters, settings, now_ms=0.0, ask=caller.ask)
    except ToolInputError as error:
        assert str(error) in ("query required", "maxResults must be 1 or more")
        return

    assert json.loads(reply.text) == reply.answer
    assert reply.error is None
    assert list(reply.answer)[:2] == ["results", "provider"]


def test_the_module_leaves_the_home_alone(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.configure(enabled=False)
    before = sorted(tmp_path.rglob("*"))

    Caller(place)()

    assert sorted(tmp_path.rglob("*")) == before
