"""Services that behave badly: what is paid for is kept, nobody waits for ever, no key gets out."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ocmem.backends.builtin import BuiltinBackend
from ocmem.errors import EmbedderError, ServiceRefused
from ocmem.providers import gemini, http, openai, patience
from ocmem.providers.remote import RemoteEmbedder
from ocmem.settings import Overrides, Settings, resolve
from tests.fake_provider import FOREVER, FakeProvider, word_vector
from tests.unit.test_services import TIMEOUT_S, Clock, Connect, settings_of


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider(dims=8) as fake:
        yield fake


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def connect(fake: FakeProvider, tmp_path: Path, clock: Clock) -> Iterator[Connect]:
    factory = Connect(fake, tmp_path, clock)
    yield factory
    for embedder in factory.opened:
        embedder.close()


@contextmanager
def dripping(first: bytes) -> Iterator[str]:
    """A server that sends something now and then, and never comes to an end."""
    over = threading.Event()

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(first)
            while not over.wait(0.02):
                try:
                    connection.sendall(b"x")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        over.set()
        thread.join()


# Time


@pytest.mark.parametrize(
    "first",
    [
        b"HTTP/1.1 200 OK\r\nX-Slow: ",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{",
    ],
    ids=["headers", "body"],
)
def test_a_server_that_drips_is_left_when_the_time_is_up(
    tmp_path: Path, first: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "_GRACE_S", 0.05)
    with dripping(first) as url:
        embedder = openai.connect(settings_of(tmp_path, "openai", apiKey="k", baseUrl=url))

        with pytest.raises(EmbedderError, match=r"timed out after 0\.2s$"):
            embedder.embed_documents(["x"], timeout_s=0.2)


def test_half_a_minute_of_trouble_is_waited_out(
    fake: FakeProvider, connect: Connect, clock: Clock
) -> None:
    fake.add_fault("status", code=503, times=5)

    assert connect("openai").embed_documents(["alpha"], timeout_s=TIMEOUT_S)
    assert clock.slept == [0.5, 1, 2, 4, 8]


def test_a_query_waits_for_its_turn_for_seconds_only(
    fake: FakeProvider, connect: Connect, clock: Clock
) -> None:
    embedder = connect("openai", own={"remote": {"requestsPerMinute": 1}})
    embedder.embed_documents(["alpha"], timeout_s=TIMEOUT_S)

    embedder.embed_query("alpha", timeout_s=30)

    assert clock.slept == [8]


def test_one_time_limit_holds_for_all_parts_of_a_group(
    fake: FakeProvider, connect: Connect, clock: Clock
) -> None:
    fake.add_fault("too_many_items", limit=1)
    embedder = connect("openai", own={"remote": {"requestsPerMinute": 6}})

    with pytest.raises(EmbedderError, match="timed out"):
        embedder.embed_documents(["a", "b", "c", "d", "e"], timeout_s=35)

    assert sum(clock.slept) <= 35


def test_an_answer_without_end_is_given_up(
    fake: FakeProvider, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "_MOST_BODY_BYTES", 2**20)
    fake.add_fault("huge")

    with pytest.raises(EmbedderError, match="answers with more than anybody can use"):
        connect("openai").embed_documents(["x"], timeout_s=TIMEOUT_S)


# What is paid for


def test_the_part_of_a_group_that_was_answered_is_handed_over(
    fake: FakeProvider, connect: Connect
) -> None:
    fake.add_fault("too_many_items", limit=1)
    fake.add_fault("status", code=401, body="no", text="gamma")

    with pytest.raises(EmbedderError) as caught:
        connect("openai").embed_documents(["alpha", "beta", "gamma"], timeout_s=TIMEOUT_S)

    assert list(caught.value.done) == [word_vector(text, dims=8) for text in ("alpha", "beta")]


def test_what_was_answered_before_a_failure_is_in_the_cache(tmp_path: Path) -> None:
    with FakeProvider(dims=8) as fake:
        fake.add_fault("too_many_items", limit=1)
        fake.add_fault("status", code=401, body="no", text="gamma")
        note = tmp_path / ".openclaw" / "workspace" / "MEMORY.md"
        note.parent.mkdir(parents=True)
        note.write_text("\n".join(f"{word} " * 8 for word in ("alpha", "beta", "gamma")))
        remote = {"baseUrl": fake.base_url("openai"), "apiKey": fake.key("openai")}
        settings = _small_chunks(tmp_path, remote)
        with pytest.raises(EmbedderError):
            BuiltinBackend(settings).index(force=False, wait_s=0)
        answered = {text for each in fake.requests if each.status == 200 for text in each.texts}
        before = len(fake.requests)

        BuiltinBackend(settings).index(force=False, wait_s=0)

        again = {text for each in fake.requests[before:] for text in each.texts}
        assert len(answered) >= 2
        assert not answered & again


def _small_chunks(folder: Path, remote: dict[str, str]) -> Settings:
    search = {"provider": "openai", "remote": remote, "chunking": {"tokens": 12, "overlap": 0}}
    config = folder / "openclaw.json"
    config.write_text(json.dumps({"agents": {"defaults": {"memorySearch": search}}}))
    return resolve(Overrides(), {"HOME": str(folder), "OPENCLAW_CONFIG_PATH": str(config)})


def test_vectors_of_another_length_than_asked_for_are_refused(tmp_path: Path) -> None:
    with FakeProvider(dims=8, extra_keys=["dimensions"]) as fake:
        note = tmp_path / ".openclaw" / "workspace" / "MEMORY.md"
        note.parent.mkdir(parents=True)
        note.write_text("alpha\n")
        settings = settings_of(
            tmp_path,
            "openai",
            own={"remote": {"dimensions": 256}},
            baseUrl=fake.base_url("openai"),
            apiKey=fake.key("openai"),
        )

        with pytest.raises(
            EmbedderError, match=r"8 dimensions where remote\.dimensions asks"
        ) as caught:
            BuiltinBackend(settings).index(force=False, wait_s=0)

        assert not caught.value.is_outage


# Keys


def test_a_login_that_gemini_repeats_is_in_no_message(tmp_path: Path, clock: Clock) -> None:
    token = "ya29.a-login-token"
    with FakeProvider(dims=8, keys={"gemini": token}) as fake:
        fake.add_fault("echo_key")
        key = json.dumps({"token": token, "projectId": "p"})
        embedder = Connect(fake, tmp_path, clock)("gemini", apiKey=key)

        with pytest.raises(EmbedderError) as caught:
            embedder.embed_query("x", timeout_s=TIMEOUT_S)

        assert token not in str(caught.value)
        embedder.close()


def test_a_short_word_for_a_key_does_not_garble_messages(tmp_path: Path, clock: Clock) -> None:
    with FakeProvider(dims=8, keys={"openai": "e"}) as fake:
        fake.add_fault("status", code=400, body="weird request")
        embedder = Connect(fake, tmp_path, clock)("openai", apiKey="e")

        with pytest.raises(EmbedderError, match=r"400 weird request$"):
            embedder.embed_query("x", timeout_s=TIMEOUT_S)
        embedder.close()


def _gemini(folder: Path, fake: FakeProvider, clock: Clock, **env: str) -> RemoteEmbedder:
    search = {"provider": "gemini", "remote": {"baseUrl": fake.base_url("gemini")}}
    config = folder / "openclaw.json"
    config.write_text(json.dumps({"agents": {"defaults": {"memorySearch": search}}}))
    env = {"HOME": str(folder), "OPENCLAW_CONFIG_PATH": str(config), **env}
    return gemini.connect(resolve(Overrides(), env), clock=clock.clock())


def test_a_key_that_is_spent_for_the_day_is_asked_once(tmp_path: Path, clock: Clock) -> None:
    with FakeProvider(dims=8, keys={"gemini": ["key-one", "key-two"]}) as fake:
        fake.add_fault("status", code=429, body="RequestsPerDay", key="key-one", times=FOREVER)
        embedder = _gemini(
            tmp_path, fake, clock, GEMINI_API_KEY="key-one", GEMINI_API_KEYS="key-two"
        )

        for _ in range(3):
            embedder.embed_documents(["x"], timeout_s=TIMEOUT_S)

        used = [request.header_values("x-goog-api-key")[0] for request in fake.requests]
        assert used == ["key-one", "key-two", "key-two", "key-two"]
        embedder.close()


def test_a_key_for_something_else_does_not_spoil_a_passing_limit(
    tmp_path: Path, clock: Clock
) -> None:
    with FakeProvider(dims=8, keys={"gemini": ["key-one", "key-two"]}) as fake:
        fake.add_fault("rate_limit", retry_after=1, key="key-one")
        fake.add_fault("status", code=403, body="no", key="key-two", times=FOREVER)
        embedder = _gemini(
            tmp_path, fake, clock, GEMINI_API_KEY="key-one", GOOGLE_API_KEY="key-two"
        )

        assert embedder.embed_documents(["x"], timeout_s=TIMEOUT_S)
        assert clock.slept == [1]
        embedder.close()


def test_a_server_with_a_key_of_its_own_gets_no_other(tmp_path: Path) -> None:
    search = {"provider": "gemini", "remote": {"baseUrl": "http://proxy", "apiKey": "proxy-key"}}
    config = tmp_path / "openclaw.json"
    config.write_text(json.dumps({"agents": {"defaults": {"memorySearch": search}}}))
    env = {"HOME": str(tmp_path), "OPENCLAW_CONFIG_PATH": str(config), "GEMINI_API_KEY": "mine"}

    endpoint = resolve(Overrides(), env).provider.endpoint

    assert endpoint is not None
    assert (endpoint.api_key, endpoint.more_keys) == ("proxy-key", ())


# Addresses


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://api..voyage.com/v1", "Invalid URL: not a web address"),
        (f"http://{'a' * 70}.com/v1", "Invalid URL: not a web address"),
        ("http://127.0.0.1:1/v1?key=x", "Invalid URL: must not have a question mark"),
    ],
)
def test_an_address_that_cannot_be_is_told(tmp_path: Path, url: str, message: str) -> None:
    embedder = openai.connect(settings_of(tmp_path, "openai", apiKey="k", baseUrl=url))

    with pytest.raises(EmbedderError) as caught:
        embedder.embed_query("x", timeout_s=30)

    assert str(caught.value) == message


def test_an_own_certificate_file_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    embedder = openai.connect(settings_of(tmp_path, "openai", apiKey="k", baseUrl="https://h/v1"))

    with pytest.raises(EmbedderError, match=r"none\.pem cannot be used"):
        embedder.embed_query("x", timeout_s=30)


# What another provider may step in for


@pytest.mark.parametrize(
    ("status", "is_outage"), [(400, False), (413, False), (401, True), (503, True)]
)
def test_a_refusal_of_what_was_sent_is_no_outage(status: int, is_outage: bool) -> None:
    assert ServiceRefused("no", status=status).is_outage == is_outage


def test_a_single_text_that_is_too_long_comes_with_advice(
    fake: FakeProvider, connect: Connect
) -> None:
    fake.add_fault("too_many_items", limit=0, body="the input exceeds the context length")

    with pytest.raises(EmbedderError) as caught:
        connect("openai").embed_documents(["long"], timeout_s=TIMEOUT_S)

    assert "chunking.tokens" in str(caught.value.hint)


def test_waiting_is_bounded_for_people_and_generous_for_runs() -> None:
    query, documents = patience.for_query(30), patience.for_documents(300)

    assert (query.calls, query.attempts, query.pauses_s) == (2, 2, 8.0)
    assert (documents.calls, documents.attempts, documents.patience) == (4, 6, 10)
