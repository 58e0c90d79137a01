"""Gemini, Voyage and Mistral against a real server on the loopback interface; no test sleeps."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import pytest

from ocmem.backends.builtin import BuiltinBackend
from ocmem.core import embedder as registry
from ocmem.core.embedder import identity_of
from ocmem.errors import EmbedderError, ServiceRefused
from ocmem.providers import openai, patience
from ocmem.providers.remote import RemoteEmbedder
from ocmem.settings import Overrides, Settings, resolve
from tests.fake_provider import FOREVER, AnyKind, FakeProvider, closed_port, word_vector

SERVICES = ["openai", "gemini", "voyage", "mistral"]
TIMEOUT_S = 300.0
SHIFT = 0.25


@dataclass
class Clock:
    """Time that passes only while somebody sleeps."""

    slept: list[float] = field(default_factory=list)

    def clock(self) -> patience.Clock:
        return patience.Clock(
            sleep=self.slept.append,
            monotonic=lambda: sum(self.slept),
            time=lambda: sum(self.slept),
            random=lambda: 0.0,
        )


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider(dims=8, query_shift=SHIFT) as fake:
        yield fake
        assert fake.leaks() == []
        assert fake.violations() == []


@pytest.fixture
def clock() -> Clock:
    return Clock()


def settings_of(
    folder: Path, name: str, *, own: dict[str, Any] | None = None, **remote: object
) -> Settings:
    search = {"provider": name, "remote": remote}
    config, overlay = folder / "openclaw.json", folder / "ocmem.json"
    config.write_text(json.dumps({"agents": {"defaults": {"memorySearch": search}}}))
    overlay.write_text(json.dumps({"agents": {"defaults": {"memorySearch": own or {}}}}))
    env = {"HOME": str(folder), "OPENCLAW_CONFIG_PATH": str(config), "OCMEM_CONFIG": str(overlay)}
    return resolve(Overrides(), env)


@dataclass
class Connect:
    """An embedder for a service of the fake; what it opens is closed after the test."""

    fake: FakeProvider
    folder: Path
    clock: Clock
    opened: list[RemoteEmbedder] = field(default_factory=list)

    def __call__(
        self, name: str, *, own: dict[str, Any] | None = None, **remote: object
    ) -> RemoteEmbedder:
        remote = {"baseUrl": self.fake.base_url(name), "apiKey": self.fake.key(name), **remote}
        settings = settings_of(self.folder, name, own=own, **remote)
        module = import_module(registry.PROVIDERS[name])
        connected: RemoteEmbedder = module.connect(settings, clock=self.clock.clock())
        self.opened.append(connected)
        return connected


@pytest.fixture
def connect(fake: FakeProvider, tmp_path: Path, clock: Clock) -> Iterator[Connect]:
    factory = Connect(fake, tmp_path, clock)
    yield factory
    for embedder in factory.opened:
        embedder.close()


# What is asked


@pytest.mark.parametrize(
    ("name", "document", "query"),
    [
        (
            "voyage",
            ("/embeddings", '{"model":"voyage-4-large","input":["é\\n"],"input_type":"document"}'),
            ("/embeddings", '{"model":"voyage-4-large","input":["q"],"input_type":"query"}'),
        ),
        (
            "mistral",
            ("/embeddings", '{"model":"mistral-embed","input":["é\\n"]}'),
            ("/embeddings", '{"model":"mistral-embed","input":["q"]}'),
        ),
        (
            "gemini",
            (
                "/models/gemini-embedding-001:batchEmbedContents",
                '{"requests":[{"model":"models/gemini-embedding-001","content":{"parts":'
                '[{"text":"é\\n"}]},"taskType":"RETRIEVAL_DOCUMENT"}]}',
            ),
            (
                "/models/gemini-embedding-001:embedContent",
                '{"content":{"parts":[{"text":"q"}]},"taskType":"RETRIEVAL_QUERY"}',
            ),
        ),
    ],
)
def test_requests_are_the_references_to_the_byte(
    fake: FakeProvider,
    connect: Connect,
    name: str,
    document: tuple[str, str],
    query: tuple[str, str],
) -> None:
    embedder = connect(name)

    embedder.embed_documents(["é\n"], timeout_s=TIMEOUT_S)
    embedder.embed_query("q", timeout_s=TIMEOUT_S)

    prefix = fake.base_url(name).removeprefix(f"http://127.0.0.1:{fake.port}")
    sent = [(request.path.removeprefix(prefix), request.raw.decode()) for request in fake.requests]
    assert sent == [document, query]


@pytest.mark.parametrize(
    ("name", "field_name"),
    [
        ("openai", "dimensions"),
        ("gemini", "outputDimensionality"),
        ("voyage", "output_dimension"),
        ("mistral", "output_dimension"),
    ],
)
def test_shorter_vectors_are_asked_for_in_every_services_words(
    tmp_path: Path, clock: Clock, name: str, field_name: str
) -> None:
    with FakeProvider(dims=8, extra_keys=[field_name]) as fake:
        embedder = Connect(fake, tmp_path, clock)(name, own={"remote": {"dimensions": 8}})

        embedder.embed_documents(["x"], timeout_s=TIMEOUT_S)

        assert f'"{field_name}":8' in fake.requests[0].raw.decode()
        assert fake.violations() == []
        embedder.close()


@pytest.mark.parametrize("name", SERVICES)
def test_shorter_vectors_have_an_index_and_a_fingerprint_of_their_own(
    tmp_path: Path, name: str
) -> None:
    plain = settings_of(tmp_path, name, apiKey="k")
    shorter = settings_of(tmp_path, name, apiKey="k", own={"remote": {"dimensions": 256}})

    keys = [identity_of(each.provider).cache_key for each in (plain, shorter)]

    assert keys[0] != keys[1]
    assert (plain.shares_index, shorter.shares_index) == (True, False)


@pytest.mark.parametrize("name", ["voyage", "gemini"])
def test_a_query_is_told_from_a_document(connect: Connect, name: str) -> None:
    embedder = connect(name)

    (document,) = embedder.embed_documents(["alpha"], timeout_s=TIMEOUT_S)
    query = embedder.embed_query("alpha", timeout_s=TIMEOUT_S)

    assert document == word_vector("alpha", dims=8)
    assert sum(query) - sum(document) == pytest.approx(SHIFT)


@pytest.mark.parametrize("name", SERVICES)
def test_nothing_to_embed_makes_no_request(fake: FakeProvider, connect: Connect, name: str) -> None:
    embedder = connect(name)

    assert embedder.embed_documents([], timeout_s=TIMEOUT_S) == []
    assert embedder.embed_query(" \n", timeout_s=TIMEOUT_S) == []
    assert fake.count() == 0


# Keys


def test_a_gemini_key_that_is_a_login_goes_as_a_bearer_token(tmp_path: Path, clock: Clock) -> None:
    with FakeProvider(dims=8, keys={"gemini": "tok"}) as fake:
        key = json.dumps({"token": "tok", "projectId": "p"})
        embedder = Connect(fake, tmp_path, clock)("gemini", apiKey=key)

        embedder.embed_query("x", timeout_s=TIMEOUT_S)

        assert fake.requests[0].header_values("authorization") == ["Bearer tok"]
        assert fake.requests[0].header_values("x-goog-api-key") == []
        embedder.close()


@pytest.mark.parametrize("key", ["{", '{"token":""}', '{"token":1}', "{}", "[]"])
def test_a_gemini_key_that_only_looks_like_one_is_a_key(
    tmp_path: Path, clock: Clock, key: str
) -> None:
    with FakeProvider(dims=8, keys={"gemini": key}) as fake:
        embedder = Connect(fake, tmp_path, clock)("gemini", apiKey=key)

        embedder.embed_query("x", timeout_s=TIMEOUT_S)

        assert fake.requests[0].header_values("x-goog-api-key") == [key]
        embedder.close()


def test_the_next_gemini_key_is_tried_at_once_when_one_is_used_up(
    tmp_path: Path, clock: Clock
) -> None:
    with FakeProvider(dims=8, keys={"gemini": ["one", "two", "three"]}) as fake:
        for key in ("one", "two"):
            fake.add_fault("rate_limit", key=key, times=FOREVER)
        config = {"provider": "gemini", "remote": {"baseUrl": fake.base_url("gemini")}}
        (tmp_path / "openclaw.json").write_text(
            json.dumps({"agents": {"defaults": {"memorySearch": config}}})
        )
        env = {
            "HOME": str(tmp_path),
            "OPENCLAW_CONFIG_PATH": str(tmp_path / "openclaw.json"),
            "GEMINI_API_KEY": "one",
            "GEMINI_API_KEYS": "two;three",
        }
        module = import_module(registry.PROVIDERS["gemini"])
        embedder = module.connect(resolve(Overrides(), env), clock=clock.clock())

        embedder.embed_documents(["x"], timeout_s=TIMEOUT_S)
        embedder.embed_query("x", timeout_s=TIMEOUT_S)

        used = [request.header_values("x-goog-api-key")[0] for request in fake.requests]
        assert used == ["one", "two", "three"] * 2
        assert clock.slept == []
        embedder.close()


def test_another_gemini_key_does_not_help_against_a_refusal(
    fake: FakeProvider, connect: Connect
) -> None:
    fake.add_fault("status", code=400, body="no")

    with pytest.raises(ServiceRefused, match=r"^gemini embeddings failed: 400 no$"):
        connect("gemini").embed_documents(["x"], timeout_s=TIMEOUT_S)

    assert fake.count() == 1


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize("to", ["port", "host"])
def test_no_key_follows_a_redirect_to_another_place(
    fake: FakeProvider, connect: Connect, name: str, to: Literal["port", "host"]
) -> None:
    fake.add_fault("redirect", to=to)

    with pytest.raises(EmbedderError, match="redirects to"):
        connect(name).embed_query("x", timeout_s=TIMEOUT_S)

    assert fake.count() == 1


@pytest.mark.parametrize("name", SERVICES)
def test_a_key_in_an_answer_reaches_no_message(
    fake: FakeProvider, connect: Connect, name: str
) -> None:
    fake.add_fault("echo_key")

    with pytest.raises(EmbedderError) as caught:
        connect(name).embed_documents(["x"], timeout_s=TIMEOUT_S)

    assert fake.key(name) not in str(caught.value)
    assert str(caught.value).startswith(f"{name} embeddings failed: 401 ")


# Waiting


def test_googles_own_way_to_name_a_pause_is_honoured(
    fake: FakeProvider, connect: Connect, clock: Clock
) -> None:
    fake.add_fault("rate_limit", retry_delay="7.5s")

    connect("gemini").embed_documents(["x"], timeout_s=TIMEOUT_S)

    assert clock.slept == [7.5]


def test_a_daily_quota_is_not_asked_for_again(fake: FakeProvider, connect: Connect) -> None:
    detail = {"quotaId": "EmbedContentRequestsPerDayPerProjectPerModel-FreeTier"}
    body = json.dumps({"error": {"code": 429, "details": [{"violations": [detail]}]}})
    fake.add_fault("status", code=429, body=body, times=FOREVER)

    with pytest.raises(EmbedderError) as caught:
        connect("gemini").embed_documents(["x"], timeout_s=TIMEOUT_S)

    assert fake.count() == 1
    assert "used up" in str(caught.value.hint)


def test_a_query_does_not_wait_for_minutes(
    fake: FakeProvider, connect: Connect, clock: Clock
) -> None:
    fake.add_fault("rate_limit", retry_after=5, times=FOREVER)

    with pytest.raises(EmbedderError, match="429"):
        connect("voyage").embed_query("x", timeout_s=60)

    assert clock.slept == [5]


def test_calls_are_spread_over_the_minute(
    fake: FakeProvider, connect: Connect, clock: Clock
) -> None:
    embedder = connect("mistral", own={"remote": {"requestsPerMinute": 20}})

    for text in ("a", "b", "c"):
        embedder.embed_documents([text], timeout_s=TIMEOUT_S)

    assert clock.slept == [3, 3]


@pytest.mark.parametrize("name", SERVICES)
def test_digits_in_a_refusal_do_not_make_it_a_rate_limit(
    fake: FakeProvider, connect: Connect, name: str
) -> None:
    fake.add_fault("misleading")

    with pytest.raises(EmbedderError, match="400"):
        connect(name).embed_documents(["x"], timeout_s=TIMEOUT_S)

    assert fake.count() == 1


# Too much at once


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize("code", [400, 413, 422])
def test_a_service_that_names_a_size_gets_less_at_once(
    fake: FakeProvider, connect: Connect, name: str, code: int
) -> None:
    fake.add_fault("too_many_items", limit=3, code=code)
    texts = [f"word{at}" for at in range(10)]
    embedder = connect(name)

    first = embedder.embed_documents(texts, timeout_s=TIMEOUT_S)
    asked = fake.count()
    second = embedder.embed_documents(texts[:4], timeout_s=TIMEOUT_S)

    assert first == [word_vector(text, dims=8) for text in texts]
    assert second == first[:4]
    assert asked == 2 + 5  # ten and five are refused, then two at a time
    assert fake.count() == asked + 2  # the limit is remembered


def test_one_text_that_is_too_long_is_an_error(fake: FakeProvider, connect: Connect) -> None:
    fake.add_fault("too_many_items", limit=0)

    with pytest.raises(ServiceRefused, match="maximum allowed batch size"):
        connect("openai").embed_documents(["a", "b"], timeout_s=TIMEOUT_S)

    assert fake.count() == 2


# Answers


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("missing_data", "the answer has no list of vectors"),
        ("fewer", "1 vectors for 2 texts"),
        ("more", "3 vectors for 2 texts"),
        ("null_value", "vector 0 holds something other than finite numbers"),
        ("overflow", "vector 0 holds something other than finite numbers"),
        ("empty_vector", "vector 0 is not a list of numbers, or empty"),
        ("truncated_json", "the answer is not JSON"),
        ("html", "the answer is not JSON"),
        ("bad_encoding", "the answer is not JSON"),
    ],
)
def test_a_spoilt_answer_of_any_service_is_an_error_at_once(
    fake: FakeProvider, connect: Connect, name: str, kind: AnyKind, what: str
) -> None:
    fake.add_fault(kind)

    with pytest.raises(EmbedderError) as caught:
        connect(name).embed_documents(["alpha", "beta"], timeout_s=TIMEOUT_S)

    assert str(caught.value) == f"{name} embeddings failed: {what}"
    assert fake.count() == 1


@pytest.mark.parametrize("kind", ["wrong_content_type", "gzip", "slow_body"])
def test_an_answer_that_travels_in_a_strange_way_is_taken(
    fake: FakeProvider, connect: Connect, kind: AnyKind
) -> None:
    fake.add_fault(kind)

    assert len(connect("gemini").embed_query("x", timeout_s=TIMEOUT_S)) == 8


def test_a_gemini_query_without_a_vector_is_an_error(fake: FakeProvider, connect: Connect) -> None:
    fake.add_fault("status", code=200, body="{}")

    with pytest.raises(EmbedderError, match="not a list of numbers, or empty"):
        connect("gemini").embed_query("x", timeout_s=TIMEOUT_S)


# Interchange


@pytest.mark.parametrize(
    ("name", "remote", "expected"),
    [
        ("openai", {}, "c03eebd0dbf911b9e937d66411651b4976ddde97fb3a820da68c2176068e449d"),
        (
            "openai",
            {"baseUrl": "http://127.0.0.1:18951/v1"},
            "bb4b656d96da715111eff5191b0968457af9c874ad9d540a802ca34980dbb299",
        ),
        (
            "openai",
            {
                "baseUrl": "http://127.0.0.1:18951/v1/",
                "headers": {"X-Org": "o1", "accept-x": "z"},
            },
            "90d0defccaa5e5865e9c8e113c52582566179390b2c290c79d971e21683543c1",
        ),
        ("gemini", {}, "bd50811302958e0a342bc8a1d2687cb549fc6642bd40ff5466adad80ccd051bf"),
        (
            "gemini",
            {"baseUrl": "http://127.0.0.1:18951/v1beta/openai/", "headers": {"X-Org": "o1"}},
            "6aaaa0e59a50f10d00629c6f926af44c5d8df597d72ba8ce41771dc1ec8ba0cb",
        ),
        (
            "voyage",
            {"baseUrl": "http://x"},
            "f76b05d4400af8e72c62ebb5b848b18ee4c12ac85b3a6a8c28f2ae03f1310aff",
        ),
        (
            "mistral",
            {"headers": {"A": "1"}},
            "a45235dcac85a67cf6a5a2922c1c1137e51c9e8b3d0a24446be2986163716553",
        ),
        ("local", {}, "a65bf29e73a7aa6d94f94c77377b9d4e17a2298505ddb598523262bdc77ac89b"),
    ],
)
def test_provider_keys_are_the_references(
    tmp_path: Path, name: str, remote: dict[str, Any], expected: str
) -> None:
    settings = settings_of(tmp_path, name, apiKey="k", **remote)

    assert identity_of(settings.provider).cache_key.provider_key == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("voyage", [0, 1, 1, 0, 0]), ("openai", [0, 0, 0, 0, 0])]
)
def test_another_address_is_mentioned_where_the_fingerprint_does_not_tell(
    tmp_path: Path, name: str, expected: list[int]
) -> None:
    with FakeProvider(dims=8) as fake, FakeProvider(dims=8) as other:
        workspace = tmp_path / ".openclaw" / "workspace"
        workspace.mkdir(parents=True)
        (workspace / "MEMORY.md").write_text("alpha\n")
        mentions = []
        for server, force in [
            (fake, False),
            (other, False),
            (other, False),
            (other, True),
            (other, False),
        ]:
            settings = settings_of(
                tmp_path, name, baseUrl=server.base_url(name), apiKey=server.key(name)
            )
            report = BuiltinBackend(settings).index(force=force, wait_s=0)
            mentions.append(sum("at another address" in each.message for each in report.issues))

    assert mentions == expected


def test_several_threads_in_the_same_trouble_are_one_message(tmp_path: Path) -> None:
    told: list[str] = []
    settings = settings_of(
        tmp_path, "openai", apiKey="k", baseUrl=f"http://127.0.0.1:{closed_port()}/v1"
    )
    clock = Clock()
    # Nobody sleeps here, so that all four find the server down at once, four times over.
    still = patience.Clock(sleep=clock.slept.append, monotonic=lambda: 0.0, random=lambda: 0.0)
    embedder = openai.connect(settings, notice=told.append, clock=still)

    def fail(_: int) -> None:
        with pytest.raises(EmbedderError):
            embedder.embed_documents(["x"], timeout_s=TIMEOUT_S)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(fail, range(4)))

    assert len(clock.slept) == 12
    assert len(told) == 1
    embedder.close()
