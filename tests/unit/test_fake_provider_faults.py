"""Faults in how answers travel, and which requests they strike."""

import gzip
import http.client
import json
import time

import pytest

from tests.fake_provider import FOREVER, FakeProvider
from tests.unit.fake_client import JSON_TYPE, Answer, auth, call, embed, embed_call


def follow(fake: FakeProvider, *, hops: int, key: bool = True) -> list[Answer]:
    """Asks, then goes where each redirect leads, `hops` times at most; keeps method and body."""
    path, body = embed_call("openai", "x")
    url = fake.base_url("openai") + path
    headers = JSON_TYPE | auth("openai")
    answers = [call(url, body, headers=headers)]
    while len(answers) <= hops and "Location" in answers[-1].headers:
        target = answers[-1].headers["Location"]
        url = target if "://" in target else f"http://127.0.0.1:{fake.port}{target}"
        answers.append(call(url, body, headers=headers if key else JSON_TYPE))
    return answers


def test_a_redirect_may_lead_to_the_answer_over_several_hops() -> None:
    with FakeProvider() as fake:
        fake.add_fault("redirect", code=302, hops=3)
        answers = follow(fake, hops=5)

    assert [answer.status for answer in answers] == [302, 302, 302, 200]
    assert len({request.path for request in fake.requests}) == 4
    assert [request.fault for request in fake.requests] == ["redirect"] * 3 + [None]
    assert fake.violations() == []


def test_a_redirect_may_go_round_in_circles() -> None:
    with FakeProvider() as fake:
        fake.add_fault("redirect", to="loop")
        answers = follow(fake, hops=6)

    assert [answer.status for answer in answers] == [307] * 7
    assert len({answer.headers["Location"] for answer in answers}) == 2


@pytest.mark.parametrize("to", ["port", "host"])
@pytest.mark.parametrize("with_key", [True, False])
def test_a_key_that_follows_to_another_origin_is_a_leak(to: str, with_key: bool) -> None:
    with FakeProvider() as fake:
        fake.add_fault("redirect", to="port" if to == "port" else "host")
        first, second = follow(fake, hops=1, key=with_key)

    assert (first.status, second.status) == (307, 200)
    assert [request.is_elsewhere for request in fake.requests] == [False, True]
    leak = "the openai key went to another origin in Authorization"
    assert fake.leaks() == ([leak] if with_key else [])


def test_a_key_at_an_unknown_path_of_another_origin_is_a_leak_too() -> None:
    with FakeProvider() as fake:
        call(f"http://127.0.0.1:{fake.other_port}/login?key=key-voyage")

    assert fake.leaks() == ["the voyage key went to another origin in path"]


@pytest.mark.parametrize("service", ["openai", "mistral", "voyage", "gemini"])
@pytest.mark.parametrize("code", [400, 413, 422])
def test_a_service_may_take_a_few_texts_at_a_time_only(service: str, code: int) -> None:
    with FakeProvider() as fake:
        fake.add_fault("too_many_items", limit=2, code=code)
        answers = [embed(fake, service, *texts) for texts in ("abc", "ab", "a", "abcd")]

    assert [answer.status for answer in answers] == [code, 200, 200, code]
    assert b"batch size 4 > maximum allowed batch size 2" in answers[-1].body


def test_the_words_for_too_many_texts_can_be_chosen() -> None:
    with FakeProvider() as fake:
        fake.add_fault("too_many_items", limit=1, body="at most {limit} requests, not {count}")
        answer = embed(fake, "gemini", "a", "b")

    assert answer.json["error"]["message"] == "at most 1 requests, not 2"


def test_google_says_in_the_body_how_long_to_wait() -> None:
    with FakeProvider() as fake:
        fake.add_fault("rate_limit", retry_delay="7s")
        answer = embed(fake, "gemini", "a")

    assert answer.status == 429
    error = answer.json["error"]
    assert error["status"] == "RESOURCE_EXHAUSTED"
    assert error["details"] == [
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}
    ]


def test_digits_in_a_refusal_mislead() -> None:
    with FakeProvider() as fake:
        fake.add_fault("misleading")
        answer = embed(fake, "openai", "a")

    assert answer.status == 400
    assert b"512" in answer.body and b"429" in answer.body


def test_an_operation_can_be_matched_and_embed_means_both() -> None:
    with FakeProvider() as fake:
        fake.add_fault("status", code=500, operation="embed_query", dialect="voyage")
        fake.add_fault("status", code=501, operation="embed", dialect="gemini", times=FOREVER)
        answers = [
            embed(fake, "voyage", "a"),
            embed(fake, "voyage", "a", query=True),
            embed(fake, "gemini", "a"),
            embed(fake, "gemini", "a", query=True),
            embed(fake, "openai", "a"),
        ]

    assert [answer.status for answer in answers] == [200, 500, 501, 501, 200]


def test_a_body_may_come_slowly() -> None:
    with FakeProvider() as fake:
        fake.add_fault("slow_body", rate=1000)
        started = time.monotonic()
        answer = embed(fake, "openai", "a")

    assert len(answer.json["data"]) == 1
    assert time.monotonic() - started > 0.8 * len(answer.body) / 1000


def test_a_slow_or_endless_body_does_not_outlive_the_server() -> None:
    path, body = embed_call("openai", "x")
    with FakeProvider() as fake:
        fake.add_fault("slow_body", rate=1)
        fake.add_fault("huge")
        connections = []
        for _ in range(2):
            connection = http.client.HTTPConnection("127.0.0.1", fake.port, timeout=10)
            headers = JSON_TYPE | auth("openai")
            connection.request("POST", f"/openai/v1{path}", json.dumps(body), headers)
            connections.append((connection, connection.getresponse()))
        assert connections[1][1].headers["Transfer-Encoding"] == "chunked"
        assert len(connections[1][1].read(3_000_000)) == 3_000_000

    for connection, response in connections:
        response.close()
        connection.close()
    assert [request.fault for request in fake.requests] == ["slow_body", "huge"]


def test_a_huge_answer_is_a_true_one_all_the_same() -> None:
    with FakeProvider() as fake:
        fake.add_fault("huge", mb=2)
        answer = embed(fake, "openai", "a")

    assert len(answer.body) == int(answer.headers["Content-Length"]) > 2_000_000
    assert len(answer.json["data"]) == 1


def test_a_compressed_answer_can_be_a_small_bomb() -> None:
    with FakeProvider() as fake:
        fake.add_fault("gzip")
        fake.add_fault("gzip", mb=3)
        plain, bomb = (embed(fake, "openai", "a") for _ in range(2))

    assert plain.headers["Content-Encoding"] == "gzip"
    assert "data" in json.loads(gzip.decompress(plain.body))
    assert len(bomb.body) < 10_000 < 3_000_000 < len(gzip.decompress(bomb.body))


def test_an_answer_can_have_a_wrong_type_or_encoding() -> None:
    with FakeProvider() as fake:
        fake.add_fault("wrong_content_type")
        fake.add_fault("bad_encoding")
        fake.add_fault("bad_encoding", encoding="utf-16")
        typed, invalid, utf16 = (embed(fake, "openai", "a") for _ in range(3))

    assert typed.headers["Content-Type"] == "text/plain" and "data" in typed.json
    with pytest.raises(UnicodeDecodeError):
        invalid.body.decode()
    assert "data" in json.loads(utf16.body.decode("utf-16"))


def test_a_connection_can_end_at_a_chosen_byte() -> None:
    with FakeProvider() as fake:
        fake.add_fault("close_early", position=3)
        with pytest.raises(http.client.IncompleteRead) as cut:
            embed(fake, "openai", "a")

    assert len(cut.value.partial) == 3
