"""The OpenAI provider against a real server on the loopback interface; no test sleeps."""

import gc
import json
import math
import socket
import traceback
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import get_args

import pytest

from ocmem.core.embedder import Embedder
from ocmem.errors import EmbedderError
from ocmem.providers import openai, patience
from ocmem.providers.remote import RemoteEmbedder
from ocmem.settings import Overrides, Settings, resolve
from tests.fake_provider import FOREVER, FakeProvider, Kind, word_vector

KEY = "key-openai"
NOW = 1_767_225_600.0
TIMEOUT_S = 120.0


@dataclass
class Clock:
    """Time that passes only while somebody sleeps."""

    slept: list[float] = field(default_factory=list)
    chance: float = 0.0

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def clock(self) -> patience.Clock:
        return patience.Clock(
            sleep=self.sleep,
            monotonic=lambda: sum(self.slept),
            time=lambda: NOW + sum(self.slept),
            random=lambda: self.chance,
        )


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider(dims=8) as fake:
        yield fake
        assert fake.leaks() == []
        assert fake.violations() == []


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def embedder(fake: FakeProvider, tmp_path: Path, clock: Clock) -> Iterator[RemoteEmbedder]:
    settings = settings_of(tmp_path, base_url=fake.base_url("openai"))
    embedder = openai.connect(settings, clock=clock.clock())
    yield embedder
    embedder.close()


def settings_of(
    folder: Path,
    *,
    base_url: str,
    key: str = KEY,
    headers: dict[str, str] | None = None,
    model: str = "",
    dimensions: int | None = None,
) -> Settings:
    remote = {"baseUrl": base_url, "apiKey": key, "headers": headers or {}}
    search = {"provider": "openai", "model": model, "remote": remote}
    config = folder / "openclaw.json"
    config.write_text(json.dumps({"agents": {"defaults": {"memorySearch": search}}}))
    own = folder / "ocmem.json"
    if dimensions is not None:
        ours = {"remote": {"dimensions": dimensions}}
        own.write_text(json.dumps({"agents": {"defaults": {"memorySearch": ours}}}))
    env = {"HOME": str(folder), "OPENCLAW_CONFIG_PATH": str(config), "OCMEM_CONFIG": str(own)}
    return resolve(Overrides(), env)


def failure(embedder: Embedder, *texts: str, timeout_s: float = TIMEOUT_S) -> str:
    """The message of a failing call, after a look for the key in all that Python would print."""
    with pytest.raises(EmbedderError) as caught:
        embedder.embed_documents(texts or ("alpha", "beta"), timeout_s=timeout_s)
    printed = "".join(traceback.format_exception(caught.value))
    assert KEY not in printed.replace(f'KEY = "{KEY}"', "")
    assert KEY not in str(caught.value.hint)
    return str(caught.value)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_it_is_an_embedder(embedder: RemoteEmbedder) -> None:
    as_protocol: Embedder = embedder

    assert (as_protocol.group_bytes, as_protocol.concurrency) == (8000, 4)


def test_documents_and_queries_get_their_vectors_in_order(
    fake: FakeProvider, embedder: RemoteEmbedder
) -> None:
    vectors = embedder.embed_documents(["alpha", "beta"], timeout_s=TIMEOUT_S)
    query = embedder.embed_query("beta", timeout_s=TIMEOUT_S)

    assert vectors == [list(word_vector(text, dims=8)) for text in ("alpha", "beta")]
    assert query == vectors[1]
    assert fake.count() == 2


def test_no_texts_make_no_request(fake: FakeProvider, embedder: RemoteEmbedder) -> None:
    assert embedder.embed_documents([], timeout_s=TIMEOUT_S) == []
    assert fake.count() == 0


def test_the_body_is_the_reference_s_to_the_byte(
    fake: FakeProvider, embedder: RemoteEmbedder
) -> None:
    embedder.embed_documents(['é "日本"\n', "a\ud83d"], timeout_s=TIMEOUT_S)

    assert fake.requests[0].raw == (
        '{"model":"text-embedding-3-small","input":["é \\"日本\\"\\n","a\\ud83d"]}'.encode()
    )
    assert fake.requests[0].path == "/openai/v1/embeddings"


def test_dimensions_come_last_when_configured(tmp_path: Path) -> None:
    with FakeProvider(dims=8, extra_keys=["dimensions"]) as fake:
        url = fake.base_url("openai") + "/"
        settings = settings_of(tmp_path, base_url=url, model="openai/m", dimensions=8)
        embedder = openai.connect(settings)

        embedder.embed_query("x", timeout_s=TIMEOUT_S)

        assert fake.requests[0].raw == b'{"model":"m","input":["x"],"dimensions":8}'
        assert fake.requests[0].path == "/openai/v1/embeddings"  # one slash is forgiven
        assert fake.violations() == []
        embedder.close()


def test_configured_headers_replace_ours_whatever_their_case(
    fake: FakeProvider, tmp_path: Path
) -> None:
    headers = {"authorization": "Bearer key-openai", "X-Team": "caf\u00e9", "USER-AGENT": "mine"}
    settings = settings_of(
        tmp_path, base_url=fake.base_url("openai"), key="not-used", headers=headers
    )
    embedder = openai.connect(settings)

    embedder.embed_query("x", timeout_s=TIMEOUT_S)

    sent = fake.requests[0]
    assert sent.header_values("authorization") == ["Bearer key-openai"]
    assert sent.header_values("content-type") == ["application/json"]
    assert sent.header_values("user-agent") == ["mine"]
    assert sent.header_values("x-team") == ["caf\u00e9"]
    embedder.close()


def test_proxies_in_the_environment_are_ignored(
    fake: FakeProvider, embedder: RemoteEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")

    assert embedder.embed_query("x", timeout_s=TIMEOUT_S)


def test_one_embedder_serves_several_threads(tmp_path: Path) -> None:
    with FakeProvider(dims=8, latency_s=0.05) as fake:
        embedder = openai.connect(settings_of(tmp_path, base_url=fake.base_url("openai")))
        texts = [f"text {at}" for at in range(12)]

        with ThreadPoolExecutor(4) as pool:
            found = pool.map(lambda text: embedder.embed_query(text, timeout_s=TIMEOUT_S), texts)

        assert list(found) == [list(word_vector(text, dims=8)) for text in texts]
        assert fake.max_in_flight() > 1
        embedder.close()


def test_a_forgotten_embedder_closes_its_connections_quietly(
    fake: FakeProvider, tmp_path: Path
) -> None:
    embedder = openai.connect(settings_of(tmp_path, base_url=fake.base_url("openai")))
    embedder.embed_query("x", timeout_s=TIMEOUT_S)

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        del embedder
        gc.collect()

    assert seen == []


def test_a_closed_embedder_connects_again(embedder: RemoteEmbedder) -> None:
    embedder.embed_query("x", timeout_s=TIMEOUT_S)
    embedder.close()
    embedder.close()

    assert embedder.embed_query("x", timeout_s=TIMEOUT_S)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("127.0.0.1:8080/v1", "Invalid URL: must be http or https"),
        ("api.local/v1", "Invalid URL: must be http or https"),
        ("file:///etc/passwd", "Invalid URL: must be http or https"),
        ("http://", "Invalid URL: not a web address"),
        ("http://[::1/v1", "Invalid URL: not a web address"),
        ("http://me:pass@127.0.0.1/v1", "Invalid URL: must not hold a user name or password"),
    ],
)
def test_a_url_that_cannot_work_is_refused_before_any_request(
    tmp_path: Path, url: str, message: str
) -> None:
    assert failure(openai.connect(settings_of(tmp_path, base_url=url))) == message


@pytest.mark.parametrize("headers", [{"Authorization": f"{KEY}\n€"}, {"Bad name": "x"}])
def test_a_header_http_cannot_carry_is_refused_without_quoting_it(
    tmp_path: Path, headers: dict[str, str]
) -> None:
    embedder = openai.connect(settings_of(tmp_path, base_url="http://127.0.0.1:1", headers=headers))

    assert "has characters that HTTP does not allow" in failure(embedder)


def test_a_server_that_is_down_is_tried_four_times(tmp_path: Path, clock: Clock) -> None:
    port = free_port()
    settings = settings_of(tmp_path, base_url=f"http://127.0.0.1:{port}/v1")
    clock.chance = 0.5

    message = failure(openai.connect(settings, clock=clock.clock()))

    prefix = f"openai embeddings failed: cannot reach http://127.0.0.1:{port}: "
    assert message.startswith(prefix)
    assert "refused" in message
    assert clock.slept == pytest.approx([0.55, 1.1, 2.2])


def test_a_query_is_tried_twice(fake: FakeProvider, embedder: RemoteEmbedder, clock: Clock) -> None:
    fake.add_fault("status", code=503, body="busy", times=FOREVER)

    with pytest.raises(EmbedderError, match=r"^openai embeddings failed: 503 busy$"):
        embedder.embed_query("x", timeout_s=60)

    assert fake.count() == 2
    assert clock.slept == [0.5]


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("status", 408),
        ("rate_limit", 429),
        ("status", 500),
        ("status", 529),
        ("reset", None),
        ("close_early", None),
    ],
)
def test_a_passing_trouble_is_waited_out(
    fake: FakeProvider, embedder: RemoteEmbedder, clock: Clock, kind: Kind, code: int | None
) -> None:
    fake.add_fault(kind, code=code, times=3)

    vectors = embedder.embed_documents(["alpha"], timeout_s=TIMEOUT_S)

    assert vectors == [list(word_vector("alpha", dims=8))]
    assert clock.slept == [0.5, 1, 2]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("status", "openai embeddings failed: 500 sorry"),
        ("reset", "openai embeddings failed: http://127.0.0.1:"),
        ("close_early", "openai embeddings failed: http://127.0.0.1:"),
    ],
)
def test_a_trouble_that_stays_is_reported_after_six_attempts(
    fake: FakeProvider, embedder: RemoteEmbedder, kind: Kind, expected: str
) -> None:
    fake.add_fault(kind, body="sorry", times=FOREVER)

    assert failure(embedder).startswith(expected)
    assert fake.count() == 6


def test_a_service_that_is_too_busy_is_waited_for_longer(
    fake: FakeProvider, embedder: RemoteEmbedder, clock: Clock
) -> None:
    fake.add_fault("rate_limit", times=FOREVER)

    assert failure(embedder, timeout_s=300).startswith("openai embeddings failed: 429 {")
    assert fake.count() == 10
    assert clock.slept == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]


@pytest.mark.parametrize("code", [400, 401, 403, 404, 413, 422])
def test_a_refusal_is_final_whatever_its_text(
    fake: FakeProvider, embedder: RemoteEmbedder, code: int
) -> None:
    fake.add_fault("status", code=code, body="max 512 tokens, 429 rate limit")

    message = f"openai embeddings failed: {code} max 512 tokens, 429 rate limit"
    assert failure(embedder, "alpha") == message
    assert fake.count() == 1


def test_a_spent_quota_is_not_asked_for_again(fake: FakeProvider, embedder: RemoteEmbedder) -> None:
    fake.add_fault("status", code=429, body='{"error":{"code":"insufficient_quota"}}')

    assert "insufficient_quota" in failure(embedder)
    assert fake.count() == 1


@pytest.mark.parametrize(
    ("value", "slept"),
    [
        (7, 7.0),
        ("2.5", 2.5),
        (0, 0.5),
        (-3, 0.5),
        (60, 60.0),
        ("soon", 0.5),
        ("nan", 0.5),
        (formatdate(NOW + 9, usegmt=True), 9.0),
        (formatdate(NOW - 9, usegmt=True), 0.5),
    ],
)
def test_retry_after_is_honoured(
    fake: FakeProvider,
    embedder: RemoteEmbedder,
    clock: Clock,
    value: float | str,
    slept: float,
) -> None:
    fake.add_fault("rate_limit", retry_after=value)

    embedder.embed_documents(["x"], timeout_s=TIMEOUT_S)

    assert clock.slept == [slept]


@pytest.mark.parametrize(("retry_after", "timeout_s"), [(121, 120.0), (30, 20.0), (None, 0.4)])
def test_a_wait_that_is_too_long_is_not_begun(
    fake: FakeProvider,
    embedder: RemoteEmbedder,
    clock: Clock,
    retry_after: float | None,
    timeout_s: float,
) -> None:
    fake.add_fault("rate_limit", retry_after=retry_after)

    assert failure(embedder, timeout_s=timeout_s).startswith("openai embeddings failed: 429")
    assert (fake.count(), clock.slept) == (1, [])


def test_the_time_limit_covers_all_attempts_together(
    fake: FakeProvider, embedder: RemoteEmbedder, clock: Clock
) -> None:
    fake.add_fault("rate_limit", retry_after=50, times=FOREVER)

    failure(embedder, timeout_s=120)

    assert clock.slept == [50, 50]


@pytest.mark.parametrize("kind", ["hang", "slow_headers"])
def test_a_silent_server_is_left_after_the_time_limit(
    fake: FakeProvider, embedder: RemoteEmbedder, kind: Kind
) -> None:
    fake.add_fault(kind, seconds=30, times=FOREVER)

    message = failure(embedder, timeout_s=0.2)

    assert message == "memory embeddings batch timed out after 0.2s"
    assert fake.count() == 1


def test_a_slow_answer_within_the_limit_is_taken(
    fake: FakeProvider, embedder: RemoteEmbedder
) -> None:
    fake.add_fault("slow_headers", seconds=0.05)

    assert len(embedder.embed_query("x", timeout_s=30)) == 8


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_error_that_names_its_target(
    fake: FakeProvider, embedder: RemoteEmbedder, code: int
) -> None:
    fake.add_fault("redirect", code=code, location="http://localhost:1/v2/embeddings")

    assert failure(embedder) == (
        f"openai embeddings failed: {code} redirects to http://localhost:1/v2/embeddings; "
        "set remote.baseUrl accordingly"
    )
    assert fake.count() == 1


def test_a_redirect_is_told_without_what_is_secret_in_its_target(
    fake: FakeProvider, embedder: RemoteEmbedder
) -> None:
    fake.add_fault("redirect", code=301, location="http://u:SECRET@localhost:1/v2?api_key=SECRET")

    assert "redirects to http://***@localhost:1/v2?api_key=***;" in failure(embedder)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_on_the_same_server_is_followed_with_method_and_body(
    fake: FakeProvider, embedder: RemoteEmbedder, code: int
) -> None:
    fake.add_fault("redirect", code=code, location="/openai/v1/embeddings?again", times=3)

    assert embedder.embed_query("alpha", timeout_s=TIMEOUT_S) == word_vector("alpha", dims=8)
    assert [request.method for request in fake.requests] == ["POST"] * 4
    assert len({request.raw for request in fake.requests}) == 1


def test_redirects_in_a_circle_come_to_an_end(fake: FakeProvider, embedder: RemoteEmbedder) -> None:
    fake.add_fault("redirect", times=FOREVER)

    assert failure(embedder) == "openai embeddings failed: more than 3 redirects"
    assert fake.count() == 4


def test_a_key_in_an_answer_does_not_reach_the_message(
    fake: FakeProvider, embedder: RemoteEmbedder
) -> None:
    fake.add_fault("echo_key")

    message = failure(embedder)

    assert message.startswith("openai embeddings failed: 401 ")
    assert "Incorrect API key provided: ***" in message


def test_a_configured_token_does_not_reach_the_message_either(tmp_path: Path) -> None:
    with FakeProvider(auth="any", strict=False) as fake:
        headers = {"Authorization": "Token tok/en-4711"}
        settings = settings_of(tmp_path, base_url=fake.base_url("openai"), headers=headers)
        fake.add_fault("status", code=401, body="bad: tok/en-4711")
        embedder = openai.connect(settings)

        assert failure(embedder) == "openai embeddings failed: 401 bad: ***"
        embedder.close()


def test_a_long_error_page_is_cut_after_the_key_is_gone(
    fake: FakeProvider, embedder: RemoteEmbedder
) -> None:
    fake.add_fault("status", code=400, body="x" * 495 + KEY + "y" * 100_000)

    assert failure(embedder) == f"openai embeddings failed: 400 {'x' * 495}***yy"


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("html", "the answer is not JSON"),
        ("empty_body", "the answer is empty"),
        ("truncated_json", "the answer is not JSON"),
        ("missing_data", "the answer has no list of vectors"),
        ("fewer", "1 vectors for 2 texts"),
        ("more", "3 vectors for 2 texts"),
        ("duplicate_index", "the numbering of the vectors is not that of the texts"),
        ("nan_token", "the answer is not JSON"),
        ("infinity_token", "the answer is not JSON"),
        ("null_value", "vector 0 holds something other than finite numbers"),
        ("overflow", "vector 0 holds something other than finite numbers"),
        ("string_value", "vector 0 holds something other than finite numbers"),
        ("base64", "vector 0 is not a list of numbers, or empty"),
        ("empty_vector", "vector 0 is not a list of numbers, or empty"),
    ],
)
def test_a_spoilt_answer_is_an_error_at_once(
    fake: FakeProvider, embedder: RemoteEmbedder, kind: Kind, what: str
) -> None:
    fake.add_fault(kind)

    assert failure(embedder) == f"openai embeddings failed: {what}"
    assert fake.count() == 1


def test_vectors_of_two_lengths_are_an_error(fake: FakeProvider, embedder: RemoteEmbedder) -> None:
    fake.add_fault("wrong_dim", position=1)

    assert failure(embedder) == "openai embeddings failed: the vectors differ in length"


def test_another_length_throughout_is_for_the_store_to_judge(
    fake: FakeProvider, embedder: RemoteEmbedder
) -> None:
    fake.add_fault("wrong_dim")

    assert len(embedder.embed_query("x", timeout_s=TIMEOUT_S)) == 9


def test_the_numbering_of_an_answer_is_respected(
    fake: FakeProvider, embedder: RemoteEmbedder
) -> None:
    fake.add_fault("reordered")

    vectors = embedder.embed_documents(["alpha", "beta"], timeout_s=TIMEOUT_S)

    assert vectors == [list(word_vector(text, dims=8)) for text in ("alpha", "beta")]


def test_a_zero_vector_is_an_answer(fake: FakeProvider, embedder: RemoteEmbedder) -> None:
    fake.add_fault("zero_vector")

    assert embedder.embed_query("x", timeout_s=TIMEOUT_S) == [0.0] * 8


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"data":[{"embedding":[1,0.5]}]}', [1.0, 0.5]),
        ('{"data":[{"index":null,"embedding":[1]}]}', [1.0]),
        ('{"data":[{"index":0,"embedding":[3.4028234e38]}]}', [3.4028234e38]),
        ('{"data":[{"index":0,"embedding":[1e39]}]}', "finite numbers"),
        ('{"data":[{"index":0,"embedding":[true]}]}', "finite numbers"),
        ('{"data":[{"index":0,"embedding":[[1]]}]}', "finite numbers"),
        (f'{{"data":[{{"embedding":[{"9" * 400}]}}]}}', "finite numbers"),
        (f'{{"data":[{{"embedding":[{"9" * 9000}]}}]}}', "not JSON"),
        ('{"data":[{"index":1,"embedding":[1]}]}', "numbering"),
        ('{"data":[{"index":true,"embedding":[1]}]}', "numbering"),
        ('{"data":[{"index":"0","embedding":[1]}]}', "numbering"),
        ('{"data":[{"index":0}]}', "not a list of numbers"),
        ('{"data":[[1]]}', "no list of vectors"),
        ('{"data":{"embedding":[1]}}', "no list of vectors"),
        ("[]", "no list of vectors"),
        ("null", "no list of vectors"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_answers_are_checked_value_by_value(
    fake: FakeProvider,
    embedder: RemoteEmbedder,
    answer: str,
    expected: list[float] | str,
) -> None:
    fake.add_fault("status", code=200, body=answer)

    if isinstance(expected, str):
        assert expected in failure(embedder, "x")
    else:
        found = embedder.embed_documents(["x"], timeout_s=TIMEOUT_S)
        assert found == [expected]
        assert all(math.isfinite(value) for value in found[0])


def test_every_fault_the_server_knows_is_tried_here() -> None:
    source = Path(__file__).read_text(encoding="utf-8")

    assert [kind for kind in get_args(Kind) if f'"{kind}"' not in source] == []
