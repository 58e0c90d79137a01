"""How ocmem talks to a service: one retry policy, one time budget, no key in any message."""

import math
import os
import queue
import re
import ssl
import threading
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
from ocmem.providers.headers import encoded, known_secrets, merged, origin_of
from ocmem.providers.lines import Lines
from ocmem.providers.patience import Clock, Effort, Pace
from ocmem.settings.address import shown_url

_LONGEST_BACKOFF_S = 30.0
_CONNECT_S = 10.0  # shorter than a call may take, so that there is time to try again
_MOST_REDIRECTS = 3
_MOST_BODY_BYTES = 256 * 2**20
_ERROR_BODY_CHARS = 500
_ERROR_BODY_BYTES = 65_536
_GRACE_S = 1.0  # httpx should notice by itself that the time is up; this much later we do
_SPENT = re.compile(r"insufficient_quota|billing_hard_limit|billing_not_active|PerDay")


Kind = Literal["final", "down", "broken", "too fast"]  # the later, the more hope there is
_HOPE: dict[Kind, int] = {"final": 0, "down": 1, "broken": 2, "too fast": 3}


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
    kind: Kind = "final"
    wait_s: float = 0.0
    hint: str | None = None
    status: int | None = None
    names_size: bool = False
    is_spent: bool = False

    @property
    def is_about_the_key(self) -> bool:
        """Another key of the same owner may do."""
        return self.status in (401, 403, 429)

    def error(self) -> EmbedderError:
        if self.status is None:
            return EmbedderError(self.message, hint=self.hint)
        return ServiceRefused(
            self.message, hint=self.hint, status=self.status, names_size=self.names_size
        )


class Caller:
    """One service. Safe to use from several threads; one pool of connections serves them all.

    Each of `signatures` is a set of headers that carries a key. The first is used; the next ones
    only while the service says that the one before is used up. One that is spent for good, or not
    accepted, is not tried again while there are others.
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
        self._useless: set[int] = set()  # of those
        self._secrets = known_secrets(secrets, [headers, *signatures])
        self.clock = clock or Clock()
        self._notice = notice
        self._pace = Pace(requests_per_minute, self.clock)
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
            url, root_url = httpx.URL(base.removesuffix("/") + path), httpx.URL(base)
        except httpx.InvalidURL:
            root_url = httpx.URL()
        if not root_url.host:  # of "http://" the path would be taken for one
            raise EmbedderError("Invalid URL: not a web address", hint="see remote.baseUrl")
        if root_url.query:  # the path would have to go in front of it
            raise EmbedderError(
                "Invalid URL: must not have a question mark", hint="set remote.headers instead"
            )
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
        most: dict[Kind, int] = {
            "final": 1,
            "down": effort.calls,
            "broken": effort.attempts,
            "too fast": effort.patience,
        }
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
        """The answer to the first key that gets one, else the failure that may pass soonest."""
        failures: list[_Failure] = []
        usable = [at for at in range(len(self._headers)) if at not in self._useless]
        for at in usable or range(len(self._headers)):
            answer = self._send(ask, self._headers[at], effort, deadline=deadline)
            if isinstance(answer, bytes):
                return answer
            if answer.is_spent or answer.status in (401, 403):
                self._useless.add(at)
            failures.append(answer)
            if not answer.is_about_the_key:
                break
        return max(failures, key=lambda failure: _HOPE[failure.kind])

    def _send(
        self, ask: _Ask, headers: Mapping[str, str], effort: Effort, *, deadline: float
    ) -> bytes | _Failure:
        now = self.clock.monotonic()
        self._pace.wait(min(deadline, now + effort.pauses_s))
        late = f"memory embeddings {effort.what} timed out after {round(effort.longest_s, 1):g}s"
        end = min(deadline, self.clock.monotonic() + effort.attempt_s)
        if ask.content_type is not None:
            headers = merged(headers, {"Content-Type": ask.content_type})
        sent = encoded(headers, ask.prefix)
        for _ in range(_MOST_REDIRECTS + 1):
            answer = self._in_time(ask, sent, deadline=end, late=late)
            if not isinstance(answer, httpx.URL):
                return answer
            ask = replace(ask, url=answer)
        return _Failure(f"{ask.prefix}: more than {_MOST_REDIRECTS} redirects")

    def _in_time(
        self, ask: _Ask, headers: list[tuple[bytes, bytes]], *, deadline: float, late: str
    ) -> bytes | httpx.URL | _Failure:
        """One exchange, and not a moment longer than allowed.

        httpx limits the wait for each piece. A server that sends one byte now and then would hold
        us for ever, so the exchange has a thread of its own, which is left behind if need be.
        """
        left_s = deadline - self.clock.monotonic()
        if left_s <= 0:
            return _Failure(late)
        answers: queue.SimpleQueue[bytes | httpx.URL | _Failure | BaseException] = (
            queue.SimpleQueue()
        )

        def work() -> None:
            try:
                answers.put(self._exchange(ask, headers, left_s=left_s, late=late))
            except BaseException as error:  # raised again where somebody hears it
                answers.put(error)

        threading.Thread(target=work, daemon=True).start()
        try:
            answer = answers.get(timeout=left_s + _GRACE_S)
        except queue.Empty:
            self.close()  # which ends that thread as well
            return _Failure(late, "broken")
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _exchange(
        self, ask: _Ask, headers: list[tuple[bytes, bytes]], *, left_s: float, late: str
    ) -> bytes | httpx.URL | _Failure:
        """One request and its answer; a URL where the answer is elsewhere on the same server."""
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
                    if not response.is_success and len(data) > _ERROR_BODY_BYTES:
                        break
                    if len(data) > _MOST_BODY_BYTES:
                        return _Failure(f"{where} answers with more than anybody can use")
                if lines is not None:
                    lines.end()
                return bytes(data) if response.is_success else self._refused(response, data, ask)
        except (httpx.ConnectTimeout, httpx.PoolTimeout):
            return _Failure(f"{out_of_reach}: no connection in time", "down")
        except httpx.TimeoutException:
            return _Failure(late, "broken")
        except httpx.ConnectError as error:
            reason = self.redacted(error)
            if "CERTIFICATE" in reason:
                hint = "name the certificate that signed it in the variable SSL_CERT_FILE"
                return _Failure(f"{out_of_reach}: {reason}", hint=hint)
            hint = "check remote.baseUrl, and that the server runs"
            return _Failure(f"{out_of_reach}: {reason}", "down", hint=hint)
        except httpx.TransportError as error:
            return _Failure(f"{where} broke off: {self.redacted(error)}", "broken")
        except httpx.HTTPError as error:
            return _Failure(f"{ask.prefix}: {self.redacted(error)}")
        except (UnicodeError, OverflowError):  # a host or port that no network has
            return _Failure("Invalid URL: not a web address", hint="see remote.baseUrl")

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
        kind: Kind = "final"
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
            is_spent=is_spent,
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
                # Of the environment only this: a proxy or ~/.netrc is not meant for us.
                trusted = os.environ.get("SSL_CERT_FILE")
                verify = ssl_context(trusted) if trusted else True
                self._client = httpx.Client(trust_env=False, verify=verify)
                closing = weakref.finalize(self, self._client.close)
                closing.atexit = False  # a call under way must not delay the end of the program
                self._close = closing
            return self._client


def ssl_context(certificates: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=certificates)
    except OSError as error:
        why = error.strerror or error
        raise EmbedderError(f"SSL_CERT_FILE={certificates} cannot be used: {why}") from error


def _joined(url: httpx.URL, target: str) -> httpx.URL | None:
    try:
        return url.join(target)
    except httpx.InvalidURL:
        return None
