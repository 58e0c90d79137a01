"""How ocmem talks to a service: one retry policy, one time budget, no key in any message."""

import json
import math
import random
import re
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import httpx

from ocmem import __version__
from ocmem.core.embedder import Notice, no_notice
from ocmem.core.redact import redact_known
from ocmem.errors import EmbedderError, ServiceRefused
from ocmem.providers import refusals
from ocmem.providers.lines import Lines
from ocmem.settings.address import shown_url

_LONGEST_BACKOFF_S = 30.0
_CONNECT_S = 10.0  # shorter than a call may take, so that there is time to try again
_MOST_REDIRECTS = 3
_MOST_BODY_BYTES = 256 * 2**20
_ERROR_BODY_CHARS = 500
_ERROR_BODY_BYTES = 65_536
_SECRET_CHARS = 8  # a shorter header value is no secret, and masking it would garble messages
_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_SPENT = re.compile(r"insufficient_quota|billing_hard_limit|billing_not_active|PerDay")


@dataclass(frozen=True, slots=True)
class Clock:
    """Time and chance. `time` is seconds since 1970, `random` is in [0, 1)."""

    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic
    time: Callable[[], float] = time.time
    random: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True)
class Effort:
    """How much trouble a call is worth; `total_s` covers all attempts and the pauses between."""

    what: str
    total_s: float
    attempt_s: float
    attempts: int  # while the service is out of order
    patience: int  # while it says that we are too fast
    pauses_s: float = math.inf  # how far from the start a pause may still end

    @property
    def longest_s(self) -> float:
        return min(self.attempt_s, self.total_s)


def for_documents(timeout_s: float) -> Effort:
    """Nobody looks on: rather wait for minutes than lose a long run."""
    return Effort("batch", timeout_s, attempt_s=120.0, attempts=4, patience=8)


def for_query(timeout_s: float) -> Effort:
    """Somebody is waiting, and keywords can answer as well."""
    return Effort("query", timeout_s, attempt_s=60.0, attempts=2, patience=4, pauses_s=8.0)


@dataclass(frozen=True, slots=True)
class _Ask:
    """What is sent. A `content_type` of its own beats the configured one."""

    method: str
    url: httpx.URL
    prefix: str  # how a failure begins
    body: bytes | None = None
    content_type: str | None = None
    lines: Lines | None = None  # where the answer goes as it arrives, if not into memory


@dataclass(frozen=True, slots=True)
class _Failure:
    """A call that went wrong. `wait_s` is what the server asked for before the next one."""

    message: str
    kind: Literal["final", "broken", "too fast"] = "final"
    wait_s: float = 0.0
    hint: str | None = None
    status: int | None = None
    names_size: bool = False

    def error(self) -> EmbedderError:
        if self.status is None:
            return EmbedderError(self.message, hint=self.hint)
        return ServiceRefused(
            self.message, hint=self.hint, status=self.status, names_size=self.names_size
        )


class Caller:
    """One service. Safe to use from several threads; one pool of connections serves them all.

    Each of `signatures` is a set of headers that carries a key. The first is used; the next ones
    only while the service says that the one before is used up.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str,
        headers: Mapping[str, str],
        signatures: Sequence[Mapping[str, str]],
        secrets: Sequence[str],
        requests_per_minute: int | None = None,
        notice: Notice = no_notice,
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self.base_url = base_url
        ours = {"User-Agent": f"ocmem/{__version__}", "Content-Type": "application/json"}
        self._headers = [merged(ours, signature, headers) for signature in signatures or [{}]]
        self._secrets = _known_secrets(secrets, headers)
        self.clock = clock or Clock()
        self._notice = notice
        self._pace = _Pace(requests_per_minute, self.clock)
        self._lock = threading.Lock()
        self._told_until: dict[str, float] = {}
        self._client: httpx.Client | None = None
        self._close: Callable[[], object] = lambda: None

    def close(self) -> None:
        """Closes the connections; a later call opens new ones."""
        with self._lock:
            self._close()
            self._client = None

    def post(
        self,
        path: str,
        body: bytes,
        *,
        effort: Effort,
        prefix: str,
        content_type: str | None = None,
        root: str | None = None,
    ) -> bytes:
        """The answer to `body`, sent to `path` below the base URL, or below another `root`."""
        return self._persist(_Ask("POST", self.url(path, root), prefix, body, content_type), effort)

    def get(self, path: str, *, effort: Effort, prefix: str) -> bytes:
        return self._persist(_Ask("GET", self.url(path), prefix), effort)

    def lines(
        self,
        path: str,
        take: Callable[[bytes], None],
        *,
        effort: Effort,
        prefix: str,
        root: str | None = None,
    ) -> None:
        """Hand each line of an answer to `take` as it arrives, however long the answer is."""
        lines = Lines(take)
        self._persist(_Ask("GET", self.url(path, root), prefix, lines=lines), effort)

    def url(self, path: str, root: str | None = None) -> httpx.URL:
        base = self.base_url if root is None else root
        if not re.match(r"https?://", base, re.IGNORECASE):
            raise EmbedderError("Invalid URL: must be http or https", hint="see remote.baseUrl")
        try:
            url = httpx.URL(base.removesuffix("/") + path)
            host = httpx.URL(base).host  # of "http://" the path would be taken for one
        except httpx.InvalidURL:
            host = ""
        if not host:
            raise EmbedderError("Invalid URL: not a web address", hint="see remote.baseUrl")
        if url.userinfo:  # httpx would send it instead of the key
            raise EmbedderError(
                "Invalid URL: must not hold a user name or password",
                hint="set remote.headers.Authorization instead",
            )
        return url

    def redacted(self, thing: object) -> str:
        # Cut last: a key cut in two would no longer be recognised.
        return redact_known(str(thing), *self._secrets)[:_ERROR_BODY_CHARS]

    def _persist(self, ask: _Ask, effort: Effort) -> bytes:
        began = self.clock.monotonic()
        deadline = began + effort.total_s
        most = {"final": 1, "broken": effort.attempts, "too fast": effort.patience}
        attempt = 0
        while True:
            answer = self._try_signatures(ask, effort, deadline=deadline)
            if isinstance(answer, bytes):
                return answer
            wait_s = max(self._backoff_s(attempt), answer.wait_s)
            attempt += 1
            ends = self.clock.monotonic() + wait_s
            is_late = ends >= deadline or ends > began + effort.pauses_s
            if attempt >= most[answer.kind] or is_late:
                raise answer.error()
            self._tell(answer.message, wait_s)
            self.clock.sleep(wait_s)

    def _try_signatures(self, ask: _Ask, effort: Effort, *, deadline: float) -> bytes | _Failure:
        answer: bytes | _Failure = b""
        for headers in self._headers:
            answer = self._send(ask, headers, effort, deadline=deadline)
            if isinstance(answer, bytes) or answer.status != 429:
                break
        return answer

    def _send(
        self, ask: _Ask, headers: Mapping[str, str], effort: Effort, *, deadline: float
    ) -> bytes | _Failure:
        self._pace.wait(deadline)
        late = f"memory embeddings {effort.what} timed out after {round(effort.longest_s, 1):g}s"
        end = min(deadline, self.clock.monotonic() + effort.attempt_s)
        if ask.content_type is not None:
            headers = merged(headers, {"Content-Type": ask.content_type})
        encoded = _encoded(headers, ask.prefix)
        for _ in range(_MOST_REDIRECTS + 1):
            answer = self._exchange(ask, encoded, deadline=end, late=late)
            if not isinstance(answer, httpx.URL):
                return answer
            ask = replace(ask, url=answer)
        return _Failure(f"{ask.prefix}: more than {_MOST_REDIRECTS} redirects")

    def _exchange(
        self, ask: _Ask, headers: list[tuple[bytes, bytes]], *, deadline: float, late: str
    ) -> bytes | httpx.URL | _Failure:
        """One request and its answer; a URL where the answer is elsewhere on the same server."""
        left_s = deadline - self.clock.monotonic()
        if left_s <= 0:
            return _Failure(late)
        where = f"{ask.prefix}: {origin_of(ask.url)}"
        out_of_reach = f"{ask.prefix}: cannot reach {origin_of(ask.url)}"
        timeout = httpx.Timeout(left_s, connect=min(left_s, _CONNECT_S))
        try:
            with self._connections().stream(
                ask.method, ask.url, content=ask.body, headers=headers, timeout=timeout
            ) as response:
                data = bytearray()
                lines = ask.lines if response.is_success else None
                if lines is not None:
                    lines.start()
                for piece in response.iter_bytes():
                    if lines is None:
                        data += piece
                    else:
                        lines.feed(piece)
                    # httpx limits the wait for each piece, not the sum of the waits.
                    if self.clock.monotonic() > deadline:
                        return _Failure(late, "broken")
                    if not response.is_success and len(data) > _ERROR_BODY_BYTES:
                        break
                    if len(data) > _MOST_BODY_BYTES:
                        return _Failure(f"{where} answers with more than anybody can use")
                if lines is not None:
                    lines.end()
                return bytes(data) if response.is_success else self._refused(response, data, ask)
        except (httpx.ConnectTimeout, httpx.PoolTimeout):
            return _Failure(f"{out_of_reach}: no connection in time", "broken")
        except httpx.TimeoutException:
            return _Failure(late, "broken")
        except httpx.ConnectError as error:
            hint = "check remote.baseUrl, and that the server runs"
            return _Failure(f"{out_of_reach}: {self.redacted(error)}", "broken", hint=hint)
        except httpx.TransportError as error:
            return _Failure(f"{where} broke off: {self.redacted(error)}", "broken")
        except httpx.HTTPError as error:
            return _Failure(f"{ask.prefix}: {self.redacted(error)}")

    def _refused(
        self, response: httpx.Response, data: bytearray, ask: _Ask
    ) -> httpx.URL | _Failure:
        status = response.status_code
        location = response.headers.get("Location")
        if response.is_redirect and location:
            target = _joined(response.url, location)
            if target is not None and origin_of(target) == origin_of(response.url):
                return target
            # The key is for the service that was configured, and for nobody else.
            shown = shown_url(self.redacted(location if target is None else target))
            message = f"{ask.prefix}: {status} redirects to {shown}; set remote.baseUrl accordingly"
            return _Failure(message, status=status)
        text = data.decode("utf-8", "replace")
        is_spent = status == 429 and _SPENT.search(text) is not None
        kind: Literal["final", "broken", "too fast"] = "final"
        if status == 429 and not is_spent:
            kind = "too fast"
        elif status == 408 or status >= 500:
            kind = "broken"
        look = f"check the key: {self.name.upper()}_API_KEY, or remote.apiKey"
        hints = {401: look, 403: look}
        if is_spent:
            hints[429] = "the quota behind this key is used up; see the service's billing page"
        return _Failure(
            f"{ask.prefix}: {status} {self.redacted(text)}".rstrip(),
            kind,
            wait_s=refusals.wait_s(response.headers, text, now=self.clock.time()),
            hint=hints.get(status),
            status=status,
            names_size=refusals.names_size(status, text),
        )

    def _tell(self, message: str, wait_s: float) -> None:
        """Once, where several threads run into the same trouble at the same time."""
        now = self.clock.monotonic()
        with self._lock:
            is_news = now >= self._told_until.get(message, -math.inf)
            self._told_until[message] = now + wait_s / 2
        if is_news:
            self._notice(f"{message}; retrying in {wait_s * 1000:.0f}ms")

    def _backoff_s(self, attempt: int) -> float:
        return min(0.5 * 2.0**attempt * (1 + 0.2 * self.clock.random()), _LONGEST_BACKOFF_S)

    def _connections(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                self._client = httpx.Client(trust_env=False)
                closing = weakref.finalize(self, self._client.close)
                closing.atexit = False  # a call under way must not delay the end of the program
                self._close = closing
            return self._client


class _Pace:
    """At most so many calls a minute, evenly spread."""

    def __init__(self, per_minute: int | None, clock: Clock) -> None:
        self._interval_s = 60.0 / per_minute if per_minute else 0.0
        self._clock = clock
        self._lock = threading.Lock()
        self._next = -math.inf

    def wait(self, deadline: float) -> None:
        """Until it is this call's turn; not beyond `deadline`, where the call fails anyway."""
        if not self._interval_s:
            return
        with self._lock:
            now = self._clock.monotonic()
            turn = max(now, self._next)
            self._next = turn + self._interval_s
        if min(turn, deadline) > now:
            self._clock.sleep(min(turn, deadline) - now)


def merged(*layers: Mapping[str, str]) -> dict[str, str]:
    """Later layers win, whatever the case of their names."""
    chosen: dict[str, tuple[str, str]] = {}
    for layer in layers:
        chosen |= {name.lower(): (name, value) for name, value in layer.items()}
    return dict(chosen.values())


def origin_of(url: httpx.URL) -> str:
    port = url.port or {"http": 80, "https": 443}.get(url.scheme, 0)
    host = f"[{url.host}]" if ":" in url.host else url.host
    return f"{url.scheme}://{host}:{port}"


def _encoded(headers: Mapping[str, str], prefix: str) -> list[tuple[bytes, bytes]]:
    """Checked here, because the HTTP library's own complaint quotes the value, key and all."""
    for name, value in headers.items():
        if not (_HEADER_NAME.fullmatch(name) and _HEADER_VALUE.fullmatch(value)):
            raise EmbedderError(
                f"{prefix}: the header {name!r} has characters that HTTP does not allow",
                hint="look for stray characters in the API key and in remote.headers",
            )
    return [(name.encode(), value.strip().encode("latin-1")) for name, value in headers.items()]


def _known_secrets(keys: Sequence[str], headers: Mapping[str, str]) -> list[str]:
    """Keys, also as JSON spells them, and every configured word that may be one; longest first."""
    words = {word for value in headers.values() for word in value.split()}
    words = {word for word in words if len(word) >= _SECRET_CHARS}
    for key in keys:
        words |= {key, key.replace("/", "\\/"), json.dumps(key)[1:-1]}
    return sorted(words - {""}, key=len, reverse=True)


def _joined(url: httpx.URL, target: str) -> httpx.URL | None:
    try:
        return url.join(target)
    except httpx.InvalidURL:
        return None
