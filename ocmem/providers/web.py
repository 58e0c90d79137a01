"""GET over HTTP for large files: redirects without the token, failures that may pass."""

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import httpx

from ocmem import __version__
from ocmem.core.redact import redact_known
from ocmem.errors import EmbedderError

ATTEMPTS = 5
_LONGEST_BACKOFF_S = 8.0
_TIMEOUT = httpx.Timeout(60.0, connect=10.0)  # for each piece, not for the whole
_MOST_REDIRECTS = 10
_MOST_BYTES = 1 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")
_TOKEN = re.compile(r"[!-~]+")
_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+)")


@dataclass(frozen=True, slots=True)
class Place:
    """A web address, and the token for its origin, which goes nowhere else."""

    url: str
    token: str = field(default="", repr=False)

    @property
    def shown(self) -> str:
        """For people: what follows the question mark may be a signature."""
        return self.url.partition("?")[0]


@dataclass(frozen=True, slots=True)
class Promise:
    """What a server says about a file."""

    size: int | None
    sha256: str | None
    validator: str  # names this version of the file; empty if nothing does


class MayPass(Exception):
    """It went wrong, and may go well the next time."""


def fetch_small(
    place: Place, *, user_agent: str, sleep: Callable[[float], None] = time.sleep
) -> bytes:
    """A document of at most a megabyte."""
    failures = 0
    while True:
        try:
            with answered(place, {"User-Agent": user_agent}) as (answer, _):
                refuse_failure(answer, place)
                data = b""
                for piece in pieces(answer, place):
                    data += piece
                    if len(data) > _MOST_BYTES:
                        raise EmbedderError(f"{place.shown} answers with too much")
                return data
        except MayPass as error:
            failures += 1
            if failures == ATTEMPTS:
                raise EmbedderError(str(error)) from None
            sleep(backoff_s(failures))


@contextlib.contextmanager
def answered(place: Place, headers: dict[str, str]) -> Iterator[tuple[httpx.Response, Promise]]:
    """The answer behind all redirects, and what the servers on the way said about the file."""
    if place.token and not _TOKEN.fullmatch(place.token):
        raise EmbedderError("the token of the model hub has characters that HTTP does not allow")
    headers = {"User-Agent": f"ocmem/{__version__}", "Accept-Encoding": "identity", **headers}
    url = first = _url(place.url)
    token = place.token
    said: dict[str, str] = {}
    # Without the environment: a password in ~/.netrc is not meant for us.
    with httpx.Client(timeout=_TIMEOUT, trust_env=False) as client:
        for _ in range(_MOST_REDIRECTS + 1):
            signed = {"Authorization": f"Bearer {token}"} if token else {}
            with _asked(client, url, {**headers, **signed}) as answer:
                if _origin(url) == _origin(first):  # others have no say in what is right
                    said |= answer.headers
                if not answer.has_redirect_location:
                    yield answer, _promise(answer, said)
                    return
                following = _target(url, answer.headers["Location"])
            if _origin(following) != _origin(url):
                token = ""  # and it does not come back
            url = following
    raise EmbedderError(f"{place.shown} redirects without end")


def pieces(answer: httpx.Response, place: Place) -> Iterator[bytes]:
    """The body as it arrives."""
    try:
        yield from answer.iter_raw()  # of whatever size: what is collected would be lost
    except httpx.TransportError as error:
        raise MayPass(f"{place.shown} broke off: {_words(error)}") from error


def range_of(answer: httpx.Response) -> tuple[int | None, int | None]:
    """Where the answer starts in the file, and how long that is."""
    match = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    if match is None:
        return None, None
    return (int(match[1]) if match[1] else None), int(match[2])


def refuse_failure(answer: httpx.Response, place: Place) -> None:
    """Raise unless the answer is what was asked for."""
    status = answer.status_code
    if answer.is_success:
        return
    message = f"{place.shown}: {status} {answer.reason_phrase}".rstrip()
    message = redact_known(message, place.token)
    if status in (408, 429) or status >= 500:
        raise MayPass(message)
    hint = "check local.modelPath; a model file can also be put in place by hand"
    if status in (401, 403):
        hint = "the model may need a token in HF_TOKEN, and its licence to be accepted on the hub"
    raise EmbedderError(f"the model cannot be downloaded: {message}", hint=hint)


def backoff_s(failures: int) -> float:
    return min(0.5 * 2.0 ** max(failures - 1, 0), _LONGEST_BACKOFF_S)


@contextlib.contextmanager
def _asked(
    client: httpx.Client, url: httpx.URL, headers: dict[str, str]
) -> Iterator[httpx.Response]:
    with contextlib.ExitStack() as stack:
        try:
            answer = stack.enter_context(client.stream("GET", url, headers=headers))
        except httpx.TransportError as error:
            raise MayPass(f"cannot reach {_origin(url)}: {_words(error)}") from error
        except (UnicodeError, OverflowError):  # a host or port that no network has
            raise _bad_url() from None
        yield answer


def _promise(answer: httpx.Response, said: dict[str, str]) -> Promise:
    headers = answer.headers
    size: int | None = None
    if answer.status_code == httpx.codes.OK and headers.get("Content-Length", "").isdecimal():
        size = int(headers["Content-Length"])
    elif "Content-Range" in headers:
        size = range_of(answer)[1]
    linked = said.get("x-linked-size", "")
    etag = said.get("x-linked-etag") or said.get("etag") or ""
    digest = etag.removeprefix("W/").strip('"').lower()
    validator = headers.get("ETag") or headers.get("Last-Modified") or ""
    return Promise(
        size=int(linked) if linked.isdecimal() else size,
        sha256=digest if _SHA256.fullmatch(digest) else None,
        validator="" if validator.startswith("W/") else validator,
    )


def _url(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        url = None
    if url is None or url.scheme not in ("http", "https") or not url.host:
        raise _bad_url()
    return url


def _bad_url() -> EmbedderError:
    return EmbedderError("Invalid URL: not a web address", hint="see local.modelPath")


def _target(url: httpx.URL, location: str) -> httpx.URL:
    try:
        target = url.join(location)
    except httpx.InvalidURL:
        raise EmbedderError(f"{_origin(url)} redirects to something else than an address") from None
    schemes = ("https",) if url.scheme == "https" else ("http", "https")
    if target.scheme not in schemes:
        raise EmbedderError(f"{_origin(url)} redirects to {target.scheme}:, which is refused")
    return target


def _origin(url: httpx.URL) -> str:
    port = f":{url.port}" if url.port else ""
    host = f"[{url.host}]" if ":" in url.host else url.host
    return f"{url.scheme}://{host}{port}"


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
