"""The OpenAI embeddings API, which many other servers speak as well."""

import json
import math
import random
import re
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, NoReturn

import httpx

from ocmem import __version__
from ocmem.core import jsjson
from ocmem.core.embedder import Notice, no_notice
from ocmem.core.redact import redact_known
from ocmem.errors import EmbedderError
from ocmem.model import Vector
from ocmem.settings import Settings

_PREFIX = "openai embeddings failed"
_DOCUMENT_ATTEMPTS = 4
_QUERY_ATTEMPTS = 2  # somebody is waiting
_LONGEST_BACKOFF_S = 8.0
_LONGEST_RETRY_AFTER_S = 60.0
_CONNECT_S = 10.0  # shorter than a call may take, so that there is time to try again
_ERROR_BODY_CHARS = 500
_ERROR_BODY_BYTES = 65_536
_SECRET_CHARS = 8  # a shorter header value is no secret, and masking it would garble messages
_FLOAT32_MAX = (2 - 2**-23) * 2.0**127
_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


@dataclass(frozen=True, slots=True)
class _Clock:
    """Time and chance. `time` is seconds since 1970, `random` is in [0, 1)."""

    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic
    time: Callable[[], float] = time.time
    random: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True)
class _Failure:
    """A call that went wrong. `wait_s` is what the server asked for before the next one."""

    message: str
    may_pass: bool = False
    wait_s: float = 0.0
    hint: str | None = None


class OpenAIEmbedder:
    """Safe to use from several threads; one pool of connections serves them all."""

    group_bytes = 8000
    concurrency = 4

    def __init__(
        self,
        *,
        base_url: str,
        headers: Mapping[str, str],
        api_key: str,
        model: str,
        dimensions: int | None = None,
        notice: Notice = no_notice,
        clock: _Clock | None = None,
    ) -> None:
        self._base_url = base_url
        self._headers = _merged(
            {"User-Agent": f"ocmem/{__version__}", "Content-Type": "application/json"},
            {"Authorization": f"Bearer {api_key}"} if api_key else {},
            headers,
        )
        self._secrets = _secrets(api_key, headers)
        self._model = model
        self._dimensions = dimensions
        self._notice = notice
        self._clock = clock or _Clock()
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None
        self._close: Callable[[], object] = lambda: None

    def embed_documents(self, texts: Sequence[str], *, timeout_s: float) -> list[Vector]:
        if not texts:
            return []
        return self._embed(texts, timeout_s=timeout_s, attempts=_DOCUMENT_ATTEMPTS, what="batch")

    def embed_query(self, text: str, *, timeout_s: float) -> Vector:
        return self._embed([text], timeout_s=timeout_s, attempts=_QUERY_ATTEMPTS, what="query")[0]

    def close(self) -> None:
        """Closes the connections; a later call opens new ones."""
        with self._lock:
            self._close()
            self._client = None

    def _embed(
        self, texts: Sequence[str], *, timeout_s: float, attempts: int, what: str
    ) -> list[Vector]:
        """`timeout_s` covers all attempts and the pauses between them."""
        url = self._url()
        body = self._body(texts)
        deadline = self._clock.monotonic() + timeout_s
        late = f"memory embeddings {what} timed out after {round(timeout_s, 1):g}s"
        for attempt in range(attempts):
            answer = self._post(url, body, deadline=deadline, late=late)
            if not isinstance(answer, _Failure):
                return _vectors(answer, count=len(texts))
            wait_s = max(self._backoff_s(attempt), answer.wait_s)
            is_too_long = answer.wait_s > _LONGEST_RETRY_AFTER_S
            is_too_late = self._clock.monotonic() + wait_s >= deadline
            if not answer.may_pass or attempt + 1 == attempts or is_too_long or is_too_late:
                raise EmbedderError(answer.message, hint=answer.hint)
            self._notice(f"{answer.message}; retrying in {wait_s * 1000:.0f}ms")
            self._clock.sleep(wait_s)
        raise AssertionError("the last attempt returns or raises")

    def _backoff_s(self, attempt: int) -> float:
        return min(0.5 * 2.0**attempt * (1 + 0.2 * self._clock.random()), _LONGEST_BACKOFF_S)

    def _post(self, url: httpx.URL, body: bytes, *, deadline: float, late: str) -> bytes | _Failure:
        left_s = deadline - self._clock.monotonic()
        if left_s <= 0:
            return _Failure(late)
        timeout = httpx.Timeout(left_s, connect=min(left_s, _CONNECT_S))
        client = self._connections()
        try:
            with client.stream("POST", url, content=body, timeout=timeout) as response:
                data = bytearray()
                for piece in response.iter_bytes():
                    data += piece
                    # httpx limits the wait for each piece, not the sum of the waits.
                    if self._clock.monotonic() > deadline:
                        return _Failure(late)
                    if not response.is_success and len(data) > _ERROR_BODY_BYTES:
                        break
                return bytes(data) if response.is_success else self._refused(response, data)
        except (httpx.ConnectTimeout, httpx.PoolTimeout):
            message = f"{_PREFIX}: cannot reach {_origin(url)}: no connection in time"
            return _Failure(message, may_pass=True)
        except httpx.TimeoutException:
            return _Failure(late)
        except httpx.ConnectError as error:
            message = f"{_PREFIX}: cannot reach {_origin(url)}: {self._redacted(error)}"
            hint = "check remote.baseUrl, and that the server runs"
            return _Failure(message, may_pass=True, hint=hint)
        except httpx.TransportError as error:
            message = f"{_PREFIX}: {_origin(url)} broke off: {self._redacted(error)}"
            return _Failure(message, may_pass=True)
        except httpx.HTTPError as error:
            return _Failure(f"{_PREFIX}: {self._redacted(error)}")

    def _refused(self, response: httpx.Response, data: bytes | bytearray) -> _Failure:
        status = response.status_code
        target = response.headers.get("Location")
        if response.is_redirect and target:
            shown = self._redacted(_joined(response.url, target))
            message = f"{_PREFIX}: {status} redirects to {shown}; set remote.baseUrl accordingly"
            return _Failure(message)
        text = bytes(data).decode("utf-8", "replace")
        message = f"{_PREFIX}: {status} {self._redacted(text)}".rstrip()
        is_spent = status == 429 and "insufficient_quota" in text
        hint = "check the key: OPENAI_API_KEY, or remote.apiKey" if status in (401, 403) else None
        return _Failure(
            message,
            hint=hint,
            may_pass=(status in (408, 429) or status >= 500) and not is_spent,
            wait_s=_retry_after_s(response.headers.get("Retry-After"), now=self._clock.time()),
        )

    def _url(self) -> httpx.URL:
        if not re.match(r"https?://", self._base_url, re.IGNORECASE):
            raise EmbedderError("Invalid URL: must be http or https", hint="see remote.baseUrl")
        try:
            url = httpx.URL(self._base_url.removesuffix("/") + "/embeddings")
        except httpx.InvalidURL:
            url = None
        if url is None or not httpx.URL(self._base_url).host:  # "http://" would make it a host
            raise EmbedderError("Invalid URL: not a web address", hint="see remote.baseUrl")
        if url.userinfo:  # httpx would send it instead of the key
            raise EmbedderError(
                "Invalid URL: must not hold a user name or password",
                hint="set remote.headers.Authorization instead",
            )
        return url

    def _body(self, texts: Sequence[str]) -> bytes:
        inputs = ",".join(map(jsjson.string, texts))
        extra = "" if self._dimensions is None else f',"dimensions":{self._dimensions}'
        return f'{{"model":{jsjson.string(self._model)},"input":[{inputs}]{extra}}}'.encode()

    def _connections(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                self._client = httpx.Client(headers=_encoded(self._headers), trust_env=False)
                closing = weakref.finalize(self, self._client.close)
                closing.atexit = False  # a call under way must not delay the end of the program
                self._close = closing
            return self._client

    def _redacted(self, thing: object) -> str:
        # Cut last: a key cut in two would no longer be recognised.
        return redact_known(str(thing), *self._secrets)[:_ERROR_BODY_CHARS]


def connect(
    settings: Settings, *, notice: Notice = no_notice, clock: _Clock | None = None
) -> OpenAIEmbedder:
    endpoint = settings.provider.endpoint
    if endpoint is None:
        raise EmbedderError("openai has no endpoint")
    return OpenAIEmbedder(
        base_url=endpoint.base_url,
        headers=endpoint.headers,
        api_key=endpoint.api_key,
        model=settings.provider.model,
        dimensions=settings.search.remote.dimensions,
        notice=notice,
        clock=clock,
    )


def _merged(*layers: Mapping[str, str]) -> dict[str, str]:
    """Later layers win, whatever the case of their names."""
    chosen: dict[str, tuple[str, str]] = {}
    for layer in layers:
        chosen |= {name.lower(): (name, value) for name, value in layer.items()}
    return dict(chosen.values())


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Checked here, because the HTTP library's own complaint quotes the value, key and all."""
    for name, value in headers.items():
        if not (_HEADER_NAME.fullmatch(name) and _HEADER_VALUE.fullmatch(value)):
            raise EmbedderError(
                f"{_PREFIX}: the header {name!r} has characters that HTTP does not allow",
                hint="look for stray characters in the API key and in remote.headers",
            )
    return [(name.encode(), value.strip().encode("latin-1")) for name, value in headers.items()]


def _secrets(api_key: str, headers: Mapping[str, str]) -> list[str]:
    """The key, also as JSON spells it, and every configured word that may be one; longest first."""
    words = {word for value in headers.values() for word in value.split()}
    words = {word for word in words if len(word) >= _SECRET_CHARS}
    words |= {api_key, api_key.replace("/", "\\/"), json.dumps(api_key)[1:-1]}
    return sorted(words, key=len, reverse=True)


def _retry_after_s(value: str | None, *, now: float) -> float:
    """A `Retry-After` header as seconds from now; 0 where it says nothing usable."""
    if value is None:
        return 0.0
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
        except (ValueError, OverflowError):
            return 0.0
        seconds = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now
    return max(seconds, 0.0) if math.isfinite(seconds) else 0.0


def _origin(url: httpx.URL) -> str:
    port = url.port or {"http": 80, "https": 443}[url.scheme]
    host = f"[{url.host}]" if ":" in url.host else url.host
    return f"{url.scheme}://{host}:{port}"


def _joined(url: httpx.URL, target: str) -> str:
    try:
        return str(url.join(target))
    except httpx.InvalidURL:
        return target


def _vectors(data: bytes, *, count: int) -> list[Vector]:
    """The answer's vectors in the order of the texts; whatever is wrong with it is an error."""
    items = _items(_parsed(data), count=count)
    vectors = [_vector(item.get("embedding"), at=at) for at, item in enumerate(items)]
    if len({len(vector) for vector in vectors}) != 1:
        raise _bad("the vectors differ in length")
    return vectors


def _parsed(data: bytes) -> object:
    # The answer itself is not quoted: it may hold anything.
    try:
        return json.loads(data.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        what = "the answer is not JSON" if data else "the answer is empty"
        hint = "check remote.baseUrl; most servers want it to end in /v1"
        raise EmbedderError(f"{_PREFIX}: {what}", hint=hint) from None


def _refuse(token: str) -> NoReturn:
    raise ValueError(token)


def _items(answer: object, *, count: int) -> list[dict[str, Any]]:
    items = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise _bad("the answer has no list of vectors")
    if len(items) != count:
        raise _bad(f"{len(items)} vectors for {count} texts")
    places = [item.get("index") for item in items]
    if places == [None] * count:
        return items
    if any(type(place) is not int for place in places) or sorted(places) != list(range(count)):
        raise _bad("the numbering of the vectors is not that of the texts")
    return sorted(items, key=lambda item: int(item["index"]))


def _vector(values: object, *, at: int) -> Vector:
    if not isinstance(values, list) or not values:
        raise _bad(f"vector {at} is not a list of numbers, or empty")
    # Not isinstance: True is an int to Python.
    is_numeric = {type(value) for value in values} <= {int, float}
    # The index keeps float32; a comparison with NaN is false, so it is refused too.
    if not (is_numeric and all(abs(value) <= _FLOAT32_MAX for value in values)):
        raise _bad(f"vector {at} holds something other than finite numbers")
    return [float(value) for value in values]


def _bad(what: str) -> EmbedderError:
    return EmbedderError(f"{_PREFIX}: {what}")
