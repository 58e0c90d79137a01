"""`memory_search`: the fields of every mode, citations by chat, and parameters."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as profile

from ocmem.errors import ToolInputError
from ocmem.settings import Fallback
from ocmem.tools.memory_search import memory_search
from tests.unit.odd_json import OBJECTS
from tests.unit.place import Place
from tests.unit.tool_caller import Caller

GROUP = "agent:main:telegram:group:-100"


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
