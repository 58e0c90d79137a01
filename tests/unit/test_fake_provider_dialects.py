"""Each wire format of the fake: what it takes, what it answers, what it calls a mistake."""

from typing import Any

import pytest

from tests.fake_provider import FakeProvider, word_vector
from tests.unit.fake_client import JSON_TYPE, Answer, auth, call, embed, embed_call

SERVICES = ("openai", "mistral", "voyage", "gemini", "gemini-custom")
TOLD_APART = ("voyage", "gemini", "gemini-custom")


def vectors(answer: Answer) -> list[list[float]]:
    if "data" in answer.json:
        return [item["embedding"] for item in answer.json["data"]]
    found = answer.json.get("embeddings") or [answer.json["embedding"]]
    return [item["values"] for item in found]


@pytest.mark.parametrize("service", SERVICES)
def test_every_service_embeds_documents_and_queries(service: str) -> None:
    with FakeProvider(dims=8) as fake:
        documents = embed(fake, service, "red fox", "café")
        query = embed(fake, service, "fox", query=True)

    assert vectors(documents) == [word_vector("red fox", 8), word_vector("café", 8)]
    assert vectors(query) == [word_vector("fox", 8)]
    assert fake.texts() == ["red fox", "café", "fox"]
    assert (fake.violations(), fake.leaks()) == ([], [])
    told_apart = ["embed_documents", "embed_query"] if service in TOLD_APART else ["embed"] * 2
    assert [request.operation for request in fake.requests] == told_apart
    assert fake.count(service.removesuffix("-custom"), "embed") == 2


@pytest.mark.parametrize("service", SERVICES)
def test_only_services_that_know_a_query_shift_it(service: str) -> None:
    with FakeProvider(dims=4, query_shift=2.5) as fake:
        documents = embed(fake, service, "fox")
        query = embed(fake, service, "fox", query=True)

    ((first, *rest),) = vectors(query)
    shift = 2.5 if service in TOLD_APART else 0.0
    assert vectors(documents) == [[first - shift, *rest]]


@pytest.mark.parametrize(
    ("service", "query", "change", "note"),
    [
        ("voyage", False, {"input_type": None}, "input_type is neither"),
        ("voyage", False, {"output_dimension": 8}, "unknown keys ['output_dimension']"),
        ("mistral", False, {"input_type": "query"}, "unknown keys ['input_type']"),
        ("mistral", False, {"input": "x"}, "input is not an array"),
        ("gemini", True, {"taskType": "RETRIEVAL_DOCUMENT"}, "not RETRIEVAL_QUERY"),
        ("gemini", True, {"task_type": "RETRIEVAL_QUERY"}, "unknown keys ['task_type']"),
        ("gemini", True, {"model": "models/m"}, "unknown keys ['model']"),
        ("gemini", True, {"content": {"parts": ["x"]}}, "not one part with a text"),
        ("gemini", False, {"requests": []}, "not an array, or empty"),
    ],
)
def test_a_departure_from_the_format_is_refused_and_noted(
    service: str, query: bool, change: dict[str, Any], note: str
) -> None:
    path, body = embed_call(service, "x", query=query)
    with FakeProvider() as fake:
        url = fake.base_url(service) + path
        answer = call(url, body | change, headers=JSON_TYPE | auth(service))

    assert answer.status == 400
    (violation,) = fake.violations()
    assert note in violation


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({"taskType": "RETRIEVAL_QUERY"}, "not RETRIEVAL_DOCUMENT"),
        ({"model": "models/other"}, "request 0 is for the model models/other"),
        ({"outputDimensionality": 8}, "unknown keys ['outputDimensionality'] in request 0"),
    ],
)
def test_a_departure_in_one_of_several_gemini_requests_is_noted(
    change: dict[str, Any], note: str
) -> None:
    path, body = embed_call("gemini", "x", "y")
    body["requests"][0] |= change
    with FakeProvider() as fake:
        call(fake.base_url("gemini") + path, body, headers=JSON_TYPE | auth("gemini"))

    (violation,) = fake.violations()
    assert note in violation


def test_gemini_takes_shorter_documents_and_queries_of_any_length() -> None:
    with FakeProvider() as fake:
        fits = embed(fake, "gemini", "é" * 1024)
        query = embed(fake, "gemini", "é" * 5000, query=True)
        too_long = embed(fake, "gemini", "é" * 1024 + "e")
        too_many = embed(fake, "gemini", *["e" * 2001] * 4)

    assert [a.status for a in (fits, query, too_long, too_many)] == [200, 200, 400, 400]
    assert [note.partition(": ")[2] for note in fake.violations()] == [
        "a text of 2049 bytes",
        "a group of 4 texts with 8004 bytes together",
    ]


@pytest.mark.parametrize(
    ("service", "field"),
    [
        ("openai", "dimensions"),
        ("voyage", "output_dimension"),
        ("mistral", "output_dimension"),
    ],
)
def test_extra_keys_are_welcome_when_announced(service: str, field: str) -> None:
    path, body = embed_call(service, "x")
    with FakeProvider(extra_keys=[field]) as fake:
        url = fake.base_url(service) + path
        answer = call(url, body | {field: 8}, headers=JSON_TYPE | auth(service))

    assert (answer.status, fake.violations()) == (200, [])


def test_a_gemini_dimension_is_welcome_in_each_request_when_announced() -> None:
    path, body = embed_call("gemini", "x")
    body["requests"][0]["outputDimensionality"] = 8
    with FakeProvider(extra_keys=["outputDimensionality"]) as fake:
        call(fake.base_url("gemini") + path, body, headers=JSON_TYPE | auth("gemini"))

    assert fake.violations() == []


@pytest.mark.parametrize(
    ("service", "route"),
    [("mistral", "/files"), ("mistral", "/batches/b1"), ("gemini", "/models/m:generateContent")],
)
def test_a_route_the_service_does_not_have_is_not_found(service: str, route: str) -> None:
    with FakeProvider() as fake:
        answer = call(fake.base_url(service) + route, {}, headers=JSON_TYPE | auth(service))

    assert (answer.status, fake.requests[0].operation) == (404, None)


def test_each_service_has_its_own_shape_of_errors() -> None:
    shapes: dict[str, Any] = {}
    with FakeProvider() as fake:
        fake.add_fault("misleading", body="no", times=4)
        for service in ("openai", "mistral", "voyage", "gemini"):
            shapes[service] = embed(fake, service, "x").json

    assert shapes["openai"]["error"]["message"] == "no"
    assert shapes["mistral"]["message"] == "no"
    assert shapes["voyage"] == {"detail": "no"}
    told = {"code": 400, "message": "no", "status": "INVALID_ARGUMENT", "details": []}
    assert shapes["gemini"] == {"error": told}


@pytest.mark.parametrize(
    ("headers", "status", "note"),
    [
        ({}, 400, "neither an x-goog-api-key nor an Authorization"),
        ({"x-goog-api-key": "key-gemini", "Authorization": "Bearer t"}, 400, "more than one key"),
        ({"Authorization": "Token t"}, 400, "not a Bearer one"),
        ({"x-goog-api-key": "key-typo"}, 401, ""),
        ({"x-goog-api-key": "key-openai"}, 401, "the openai key went to gemini"),
    ],
)
def test_gemini_wants_one_key_of_its_own(headers: dict[str, str], status: int, note: str) -> None:
    path, body = embed_call("gemini", "x")
    with FakeProvider() as fake:
        answer = call(fake.base_url("gemini") + path, body, headers=JSON_TYPE | headers)

    assert answer.status == status
    assert [note in violation for violation in fake.violations()] == ([True] if note else [])


def test_a_gemini_key_that_is_json_travels_as_its_token() -> None:
    path, body = embed_call("gemini", "x")
    with FakeProvider(keys={"gemini": '{"token": "t-1", "projectId": "p"}'}) as fake:
        url = fake.base_url("gemini") + path
        token = call(url, body, headers=JSON_TYPE | {"Authorization": "Bearer t-1"})
        raw = call(url, body, headers=JSON_TYPE | {"x-goog-api-key": fake.key("gemini")})
        leak = call(
            fake.base_url("openai") + "/embeddings",
            {"model": "m", "input": ["x"]},
            headers=JSON_TYPE | {"Authorization": "Bearer t-1"},
        )

    assert [answer.status for answer in (token, raw, leak)] == [200, 400, 401]
    assert fake.leaks() == ["the gemini key went to openai in Authorization"]


def test_a_service_may_have_several_keys_and_a_fault_may_choose_one() -> None:
    path, body = embed_call("gemini", "x")
    with FakeProvider(keys={"gemini": ["key-a", "key-b"]}) as fake:
        fake.add_fault("rate_limit", key="key-a")
        url = fake.base_url("gemini") + path
        answers = [
            call(url, body, headers=JSON_TYPE | {"x-goog-api-key": key})
            for key in ("key-b", "key-a", "key-b", "key-a")
        ]

    assert fake.key("gemini") == "key-a"
    assert [answer.status for answer in answers] == [200, 429, 200, 200]
    assert [request.keys for request in fake.requests][:2] == [["key-b"], ["key-a"]]


def test_each_service_may_have_its_own_dimension() -> None:
    with FakeProvider(dims={"openai": 3, "gemini": 5}) as fake:
        sizes = [len(vectors(embed(fake, s, "x"))[0]) for s in ("openai", "gemini", "voyage")]

    assert sizes == [3, 5, 8]


def test_a_key_in_the_address_is_a_mistake() -> None:
    path, body = embed_call("gemini", "x")
    with FakeProvider() as fake:
        url = f"{fake.base_url('gemini')}{path}?key=key-gemini"
        call(url, body, headers=JSON_TYPE | auth("gemini"))

    assert fake.violations() == ["request 1: the key is in the address"]


def test_a_key_that_two_services_share_is_no_leak() -> None:
    with FakeProvider(keys={"openai": "shared-key", "mistral": "shared-key"}) as fake:
        headers = JSON_TYPE | {"Authorization": "Bearer shared-key"}
        for service in ("openai", "mistral"):
            path, body = embed_call(service, "x")
            assert call(fake.base_url(service) + path, body, headers=headers).status == 200

    assert fake.leaks() == []
