"""The fake provider is a measuring instrument; these tests calibrate it."""

import hashlib
import http.client
import json
import math
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.fake_provider import (
    FOREVER,
    FakeProvider,
    Kind,
    golden_vector,
    hash_vector,
    unit,
    word_vector,
)

ROOT = Path(__file__).parents[2]
EMBEDDINGS = "/openai/v1/embeddings"
JSON_TYPE = {"Content-Type": "application/json"}
HEADERS = JSON_TYPE | {"Authorization": "Bearer key-openai"}


def ask(
    connection: http.client.HTTPConnection,
    *texts: str,
    headers: dict[str, str] = HEADERS,
    **extra: object,
) -> tuple[http.client.HTTPResponse, bytes]:
    body = json.dumps({"model": "m", "input": texts} | extra).encode()
    connection.request("POST", EMBEDDINGS, body, headers)
    response = connection.getresponse()
    return response, response.read()


def connect(port: int, *, timeout_s: float = 10) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)


def ask_once(port: int, *texts: str, timeout_s: float = 10) -> bytes:
    connection = connect(port, timeout_s=timeout_s)
    try:
        return ask(connection, *texts)[1]
    finally:
        connection.close()


def vectors(answer: bytes) -> list[list[float]]:
    return [item["embedding"] for item in json.loads(answer)["data"]]


def test_vectors_come_back_in_order_over_one_kept_connection() -> None:
    with FakeProvider(dims=8, mode="words") as fake:
        connection = connect(fake.port)
        first = vectors(ask(connection, "red fox", "Fox, red!")[1])
        sock = connection.sock
        second = vectors(ask(connection, "red fox fox")[1])
        assert connection.sock is sock
        connection.close()

    assert first[0] == first[1] == word_vector("red fox", 8)
    assert sum(second[0]) == 3.0
    assert fake.texts() == ["red fox", "Fox, red!", "red fox fox"]
    assert fake.groups() == [16, 11]
    assert (fake.count("openai", "embed"), fake.max_in_flight()) == (2, 1)
    assert (fake.violations(), fake.leaks()) == ([], [])


def test_a_request_is_recorded_as_it_was_sent() -> None:
    with FakeProvider() as fake:
        connection = connect(fake.port)
        ask(connection, "café", headers=HEADERS | {"X-Org": "o1"})
        connection.close()

    (request,) = fake.requests
    assert (request.seq, request.method, request.path) == (1, "POST", EMBEDDINGS)
    assert ("X-Org", "o1") in request.headers
    assert json.loads(request.raw) == request.body == {"model": "m", "input": ["café"]}
    assert (request.status, request.fault, request.client_gone) == (200, None, False)
    assert request.answered_at is not None and request.answered_at >= request.arrived


def test_each_mode_gives_its_own_deterministic_vector() -> None:
    text = "The quick fox"
    seen: dict[str, list[float]] = {}

    for mode in ("hash", "words", "unit"):
        with FakeProvider(dims=40, mode=mode) as fake:
            (seen[mode],) = vectors(ask_once(fake.port, text))
    with FakeProvider(mode="golden") as fake:
        (seen["golden"],) = vectors(ask_once(fake.port, text))
    with FakeProvider(mode="fixed", fixed={text: [1.5, -2.0]}) as fake:
        (seen["fixed"],) = vectors(ask_once(fake.port, text))

    assert seen["hash"] == hash_vector(text, 40)
    assert seen["words"] == word_vector(text, 40)
    assert seen["unit"] == unit(seen["words"])
    assert math.isclose(math.hypot(*seen["unit"]), 1.0)
    assert seen["golden"] == golden_vector(text)
    assert seen["fixed"] == [1.5, -2.0]


def test_the_golden_rule_is_a_signed_bag_of_words_with_a_constant_at_the_end() -> None:
    digest = hashlib.sha256(b"fox").digest()
    expected = [0.0] * 128
    expected[-1] = 0.5
    expected[int.from_bytes(digest[:4], "big") % 127] = 1.0 if digest[4] % 2 else -1.0

    assert golden_vector("Fox!") == expected
    assert golden_vector("") == [0.0] * 127 + [0.5]


def test_a_vector_callable_answers_first_and_may_pass() -> None:
    with FakeProvider(dims=4, vector=lambda text: [9.0] if text == "mine" else None) as fake:
        answer = vectors(ask_once(fake.port, "mine", "yours"))

    assert answer == [[9.0], word_vector("yours", 4)]


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({"headers": JSON_TYPE}, "no Authorization"),
        ({"headers": HEADERS | {"authorization": "Token z"}}, "more than one Authorization"),
        ({"headers": HEADERS | {"Content-Type": "text/plain"}}, "content type"),
        ({"encoding_format": "float"}, "unknown keys ['encoding_format']"),
        ({"input": "not a list"}, "input is not an array"),
        ({"input": ["é" * 4001]}, "a text of 8002 bytes"),
        ({"input": ["a" * 4001, "b" * 4000]}, "a group of 2 texts with 8001 bytes"),
    ],
)
def test_strict_mode_refuses_what_departs_from_the_format(
    change: dict[str, Any], note: str
) -> None:
    with FakeProvider() as fake:
        connection = connect(fake.port)
        response, _ = ask(connection, "x", **change)
        connection.close()

    assert response.status == 400
    (violation,) = fake.violations()
    assert note in violation


def test_a_foreign_key_is_a_leak_and_a_wrong_one_is_just_refused() -> None:
    with FakeProvider() as fake:
        connection = connect(fake.port)
        wrong, _ = ask(connection, "x", headers=HEADERS | {"Authorization": "Bearer key-typo"})
        assert fake.leaks() == fake.violations() == []
        foreign, _ = ask(connection, "x", headers=HEADERS | {"Authorization": "Bearer key-gemini"})
        connection.close()

    assert (wrong.status, foreign.status) == (401, 401)
    assert fake.leaks() == ["the gemini key went to openai in Authorization"]
    assert len(fake.violations()) == 1


def test_a_request_for_another_host_is_refused() -> None:
    with FakeProvider() as fake:
        connection = connect(fake.port)
        response, _ = ask(connection, "x", headers=HEADERS | {"Host": "example.org"})
        connection.close()

    assert response.status == 421
    assert len(fake.violations()) == 1


def test_the_first_matching_rule_with_uses_left_applies() -> None:
    with FakeProvider() as fake:
        fake.add_fault("status", code=503, body="x", text="needle")
        fake.add_fault("rate_limit", retry_after=7, nth=2)
        fake.add_fault("status", code=529, since=4, times=FOREVER)
        connection = connect(fake.port)
        answers = [ask(connection, text) for text in ("hay needle", "b", "needle", "d", "e")]
        connection.close()

    assert [response.status for response, _ in answers] == [503, 429, 200, 529, 529]
    assert answers[0][1] == b"x"
    assert answers[1][0].headers["Retry-After"] == "7"
    assert [request.fault for request in fake.requests][:3] == ["status", "rate_limit", None]
    assert len(fake.delays()) == 4
    assert fake.violations() == []


Check = Callable[[list[dict[str, Any]]], bool]

CONTENTS: dict[Kind, Check] = {
    "fewer": lambda data: len(data) == 1,
    "more": lambda data: [item["index"] for item in data] == [0, 1, 2],
    "reordered": lambda data: [item["index"] for item in data] == [1, 0],
    "duplicate_index": lambda data: [item["index"] for item in data] == [0, 0],
    "wrong_dim": lambda data: [len(item["embedding"]) for item in data] == [9, 9],
    "nan_token": lambda data: math.isnan(data[0]["embedding"][0]),
    "infinity_token": lambda data: math.isinf(data[0]["embedding"][0]),
    "null_value": lambda data: data[0]["embedding"][0] is None,
    "overflow": lambda data: math.isinf(data[0]["embedding"][0]),
    "string_value": lambda data: data[0]["embedding"][0] == "0.5",
    "base64": lambda data: len(data[0]["embedding"]) == 44,
    "zero_vector": lambda data: data[0]["embedding"] == [0.0] * 8,
    "empty_vector": lambda data: data[0]["embedding"] == [],
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_a_fault_spoils_the_contents_of_one_answer(kind: Kind) -> None:
    with FakeProvider() as fake:
        fake.add_fault(kind)
        spoilt = ask_once(fake.port, "a", "b")
        sound = ask_once(fake.port, "a", "b")

    assert CONTENTS[kind](json.loads(spoilt)["data"])
    assert vectors(sound) == [word_vector("a", 8), word_vector("b", 8)]
    assert (b"1e999" in spoilt) == (kind == "overflow")


def test_a_position_limits_a_fault_to_one_vector() -> None:
    with FakeProvider() as fake:
        fake.add_fault("wrong_dim", position=1)
        answer = vectors(ask_once(fake.port, "a", "b", "c"))

    assert [len(vector) for vector in answer] == [8, 9, 8]


def test_answers_can_be_no_embeddings_at_all() -> None:
    kinds: tuple[Kind, ...] = ("missing_data", "truncated_json", "empty_body", "html", "echo_key")
    with FakeProvider() as fake:
        for kind in kinds:
            fake.add_fault(kind)
        fake.add_fault("redirect", code=308, location="http://127.0.0.1:1/elsewhere")
        connection = connect(fake.port)
        answers = [ask(connection, "a") for _ in range(6)]
        connection.close()

    missing, truncated, empty, html, echo, redirect = answers
    assert "data" not in json.loads(missing[1])
    with pytest.raises(json.JSONDecodeError):
        json.loads(truncated[1])
    assert empty[1] == b""
    assert html[1].startswith(b"<!DOCTYPE html>")
    assert echo[0].status == 401 and b"key-openai" in echo[1]
    assert redirect[0].status == 308
    assert redirect[0].headers["Location"] == "http://127.0.0.1:1/elsewhere"


def test_a_connection_can_be_reset_or_end_early() -> None:
    with FakeProvider() as fake:
        fake.add_fault("reset")
        fake.add_fault("close_early")
        with pytest.raises(ConnectionResetError):
            ask_once(fake.port, "a")
        with pytest.raises(http.client.IncompleteRead):
            ask_once(fake.port, "a")

    assert [request.status for request in fake.requests] == [None, 200]


def test_a_client_that_gives_up_is_noticed_and_a_hang_ends_at_tear_down() -> None:
    with FakeProvider() as fake:
        fake.add_fault("slow_headers", seconds=60)
        fake.add_fault("hang")
        with pytest.raises(TimeoutError):
            ask_once(fake.port, "a", timeout_s=0.1)
        waiting = connect(fake.port)
        waiting.request("POST", EMBEDDINGS, json.dumps({"model": "m", "input": ["b"]}), HEADERS)
        while fake.count() < 2:
            threading.Event().wait(0.01)

    waiting.close()
    impatient, patient = fake.requests
    assert (impatient.client_gone, impatient.status) == (True, None)
    assert (patient.client_gone, patient.status) == (False, None)


def test_parallel_requests_are_counted() -> None:
    with FakeProvider(latency_s=0.3) as fake, ThreadPoolExecutor(4) as pool:
        for _ in pool.map(lambda text: ask_once(fake.port, text), "abcd"):
            pass

    assert fake.max_in_flight() > 1
    assert sorted(fake.texts()) == ["a", "b", "c", "d"]


def test_an_error_in_the_fake_surfaces_at_tear_down() -> None:
    def broken(text: str) -> list[float]:
        raise ZeroDivisionError(text)

    with pytest.raises(ZeroDivisionError), FakeProvider(vector=broken) as fake:  # noqa: SIM117
        with pytest.raises(http.client.RemoteDisconnected):
            ask_once(fake.port, "a")


def test_as_a_process_it_logs_what_was_asked_before_it_answers(tmp_path: Path) -> None:
    log = tmp_path / "requests.jsonl"
    command = [sys.executable, "-m", "tests.fake_provider", "--mode", "words", "--dims", "8"]
    with subprocess.Popen(
        [*command, "--log", str(log)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        port = json.loads(process.stdout.readline())["port"]
        connection = connect(port)
        rules = json.dumps([{"kind": "status", "code": 503, "nth": 2}])
        connection.request("POST", "/__ctl/rules", rules)
        connection.getresponse().read()
        answers = [ask(connection, "red fox")[0].status for _ in range(2)]
        connection.request("GET", "/__ctl/summary")
        summary = json.loads(connection.getresponse().read())
        connection.close()
        process.terminate()

    assert process.returncode == 0
    assert answers == [200, 503]
    assert (summary["count"], summary["violations"]) == (2, [])
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["seq"], line["answered"]) for line in lines] == [
        (1, False),
        (1, True),
        (2, False),
        (2, True),
    ]
    assert lines[0]["texts"] == ["red fox"]
