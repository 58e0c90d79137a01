"""What a fault does to an answer."""

import base64
import gzip
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from tests.fake_provider.batch_wire import BATCH_OPERATIONS
from tests.fake_provider.dialects import Dialect, Item
from tests.fake_provider.faults import Rule
from tests.fake_provider.record import Recorded
from tests.fake_provider.reply import OVERFLOW, Reply, json_reply

MB: Final = 1_000_000


def substitute(rule: Rule, dialect: Dialect, request: Recorded) -> Reply | None:
    """The answer of a fault that does not look at the true one; None for the others."""
    match rule.kind:
        case "status":
            kind = "application/json" if rule.body.startswith("{") else "text/plain"
            return Reply(rule.code or 500, rule.body.encode(), tuple(rule.headers), kind)
        case "rate_limit":
            return _rate_limit(rule, dialect)
        case "misleading":
            message = rule.body or "at most 512 tokens, see 429 and 503 in the manual: rate limit"
            return _error(dialect, rule.code or 400, message, code="invalid_request_error")
        case "too_many_items":
            told = rule.body or "batch size {count} > maximum allowed batch size {limit}"
            message = told.replace("{limit}", str(rule.limit))
            message = message.replace("{count}", str(len(request.texts)))
            return _error(dialect, rule.code or 400, message, code="invalid_request_error")
        case "batch_unavailable":
            message = rule.body or f"{request.path} is not found, or not supported"
            return _error(dialect, rule.code or 404, message, code="not_found")
        case "echo_key":
            message = f"Incorrect API key provided: {', '.join(request.keys)}"
            return _error(dialect, rule.code or 401, message, code="invalid_api_key")
        case "html":
            page = b"<!DOCTYPE html>\n<html><body><h1>Welcome</h1></body></html>\n"
            return Reply(rule.code or 200, page, content_type="text/html")
        case "empty_body":
            return Reply(rule.code or 200)
        case "hang" | "reset" if request.operation in BATCH_OPERATIONS:
            return Reply(200)  # which nobody will see
        case _:
            return None


def spoil_items(rule: Rule, items: list[Item]) -> list[Item] | None:
    """The vectors as the fault leaves them; None leaves out their whole list."""
    match rule.kind:
        case "missing_data":
            return None
        case "fewer":
            return items[:-1]
        case "more":
            return [*items, *(replace(item, index=len(items)) for item in items[-1:])]
        case "reordered":
            return items[::-1]
        case "duplicate_index":
            return [replace(item, index=0) for item in items]
    spoil = _SPOILERS.get(rule.kind)
    if spoil is None:
        return items
    return [
        replace(item, embedding=spoil(item.embedding))
        if rule.position in (None, position)
        else item
        for position, item in enumerate(items)
    ]


def spoil_reply(rule: Rule, reply: Reply) -> Reply:
    """The faults in how an answer travels."""
    half = len(reply.body) // 2
    match rule.kind:
        case "hang":
            return replace(reply, wait_s=None)
        case "reset":
            return replace(reply, reset=True)
        case "slow_headers":
            return replace(reply, wait_s=rule.seconds)
        case "slow_body":
            rate = len(reply.body) / rule.seconds if rule.seconds else rule.rate
            return replace(reply, rate=rate)
        case "close_early":
            part = reply.body[: half if rule.position is None else rule.position]
            return replace(reply, body=part, declared_length=len(reply.body), close=True)
        case "truncated_json":
            return replace(reply, body=reply.body[:half])
        case "wrong_content_type":
            return replace(reply, content_type=rule.content_type)
        case "bad_encoding":
            return replace(reply, body=_badly_encoded(reply.body, rule.encoding))
        case "huge":
            return replace(reply, padding=rule.mb * MB)
        case "gzip":
            return _zipped(reply, spaces=0 if math.isinf(rule.mb) else int(rule.mb * MB))
        case _:
            return reply


def _rate_limit(rule: Rule, dialect: Dialect) -> Reply:
    kind = "type.googleapis.com/google.rpc.RetryInfo"
    info = [] if rule.retry_delay is None else [{"@type": kind, "retryDelay": rule.retry_delay}]
    headers = [] if rule.retry_after is None else [("Retry-After", f"{rule.retry_after}")]
    reply = _error(dialect, 429, "Rate limit reached", code="rate_limit_exceeded", details=info)
    return replace(reply, headers=(*headers, *rule.headers))


def _error(
    dialect: Dialect, status: int, message: str, *, code: str, details: Sequence[object] = ()
) -> Reply:
    answer = dialect.error(message, status=status, code=code, details=details)
    return json_reply(status, answer)


def _badly_encoded(body: bytes, encoding: str) -> bytes:
    """In `encoding`, or as JSON whose first key is no UTF-8."""
    if encoding:
        return body.decode().encode(encoding)
    return body.replace(b"{", b'{"\xff\xfe": 0, ', 1)


def _zipped(reply: Reply, *, spaces: int) -> Reply:
    """Compressed, whether or not the client asked; with `spaces` a small bomb."""
    body = gzip.compress(reply.body + b" " * spaces)
    return replace(reply, body=body, headers=(*reply.headers, ("Content-Encoding", "gzip")))


_Embedding = list[object] | str


def _first(value: object) -> Callable[[_Embedding], _Embedding]:
    return lambda vector: [value, *vector[1:]]


def _as_base64(vector: _Embedding) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


_SPOILERS: Final[dict[str, Callable[[_Embedding], _Embedding]]] = {
    "wrong_dim": lambda vector: [*vector, 0.5],
    "nan_token": _first(math.nan),
    "infinity_token": _first(math.inf),
    "null_value": _first(None),
    "overflow": _first(OVERFLOW),
    "string_value": _first("0.5"),
    "base64": _as_base64,
    "zero_vector": lambda vector: [0.0] * len(vector),
    "empty_vector": lambda vector: [],
}
