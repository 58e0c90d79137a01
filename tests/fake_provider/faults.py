"""Rules that say which request goes wrong, and how. What then happens is in `spoil.py`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypedDict, get_args

from tests.fake_provider.record import Line, Recorded, is_operation

FOREVER: Final = None

ContentKind = Literal[
    # the right answer with wrong contents
    "missing_data", "fewer", "more", "reordered", "duplicate_index", "wrong_dim", "nan_token",
    "infinity_token", "null_value", "overflow", "string_value", "base64", "zero_vector",
    "empty_vector",
]  # fmt: skip

Kind = Literal[
    # instead of an answer
    "hang", "reset", "slow_headers", "close_early",
    # another answer
    "status", "rate_limit", "redirect", "echo_key", "html", "empty_body", "truncated_json",
    ContentKind,
]  # fmt: skip

WireKind = Literal[
    # another answer
    "misleading", "too_many_items",
    # the right answer, sent in a strange way
    "slow_body", "wrong_content_type", "bad_encoding", "gzip", "huge",
]  # fmt: skip

JobKind = Literal[
    # what becomes of a job; the rule is matched when the job is created
    "job_fail", "job_expire", "job_stuck", "job_no_output", "job_partial", "job_line_error",
    "job_error_file_404", "job_unknown_id", "job_broken_line",
    # there are no jobs
    "batch_unavailable",
]  # fmt: skip

HubKind = Literal["wrong_hash", "ignore_range"]

AnyKind = Literal[Kind, WireKind, JobKind, HubKind]

LASTING: Final = frozenset({"too_many_items", "batch_unavailable", "ignore_range"})
"""Kinds that describe what a service is like, so they strike for ever unless told otherwise."""


class RuleOptions(TypedDict, total=False):
    """The fields of `Rule` beside its kind, as keyword arguments."""

    times: int | None
    nth: int | None
    since: int
    text: str | None
    dialect: str | None
    operation: str | None
    key: str | None
    custom_id: str | None
    when: Literal["before", "after"]
    code: int | None
    body: str
    headers: Sequence[tuple[str, str]]
    retry_after: float | str | None
    retry_delay: str | None
    seconds: float
    rate: float
    mb: float
    location: str
    to: Literal["same", "port", "host", "loop"]
    hops: int
    limit: int
    content_type: str
    encoding: str
    error_file: bool | None
    is_plain: bool
    position: int | None


@dataclass(slots=True)
class Rule:
    """One fault. It strikes while `times` lasts (None: for ever) and every given matcher agrees.

    Matchers: `nth` is exactly that request of its dialect and operation, `since` that one and all
    later; `text` is part of any text in the request; `operation` "embed" means queries and
    documents. `when` is whether the fault comes before or after the request took effect; a
    fault that spoils the true answer always comes after it.

    Parameters: `position` limits a fault in the vectors to one of them, counted from 0; without
    it all are hit, single values at their first coordinate. For `close_early` it is the number
    of bytes that still arrive. `retry_delay` is Google's RetryInfo, such as "7s". A slow body has
    `rate` bytes per second, or takes `seconds` in all. `mb` is the size of a huge answer,
    infinite unless told. A redirect goes to `location`, or else where `to` says: the same
    address, another port, another name of this host, or round in circles; `hops` of them come
    before the answer. `limit` is the most texts that a request may have. `encoding` is how a
    badly encoded answer is, else not UTF-8.

    A fault in one line of a job is in that with the `custom_id` or at the `position`, or else in
    the last. With a `code` a line holds the refusal of its request, without one the request
    never ran; `is_plain` makes the refusal a text instead of an object. `error_file` says
    whether there is one: after a failure there is unless told, and a line's error is in the
    output unless told.
    """

    kind: AnyKind
    times: int | None = 1
    nth: int | None = None
    since: int = 1
    text: str | None = None
    dialect: str | None = None
    operation: str | None = None
    key: str | None = None
    custom_id: str | None = None
    when: Literal["before", "after"] = "before"
    code: int | None = None
    body: str = ""
    headers: Sequence[tuple[str, str]] = ()
    retry_after: float | str | None = None
    retry_delay: str | None = None
    seconds: float = 0.0
    rate: float = 1000.0
    mb: float = float("inf")
    location: str = ""
    to: Literal["same", "port", "host", "loop"] = "same"
    hops: int = 1
    limit: int = 0
    content_type: str = "text/plain"
    encoding: str = ""
    error_file: bool | None = None
    is_plain: bool = False
    position: int | None = None
    used: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.kind not in get_args(AnyKind):
            raise ValueError(f"no such fault: {self.kind}")

    def matches(self, request: Recorded, lines: Sequence[Line]) -> bool:
        """`lines` are the texts that the request is about, which it need not hold itself."""
        return (
            (self.times is FOREVER or self.used < self.times)
            and self.nth in (None, request.nth)
            and self.since <= request.nth
            and self.dialect in (None, request.dialect)
            and is_operation(request.operation, self.operation)
            and (self.key is None or self.key in request.keys)
            and (self.text is None or any(self.text in line.text for line in lines))
            and (self.custom_id is None or any(self.custom_id == line.id for line in lines))
            and self._can_strike(request)
        )

    def _can_strike(self, request: Recorded) -> bool:
        """Whether this kind of fault makes sense for this kind of request."""
        operation = request.operation or ""
        if self.kind == "too_many_items":
            return operation.startswith("embed") and len(request.texts) > self.limit
        if self.kind in get_args(JobKind):
            return operation == "batch_create"
        if self.kind == "ignore_range":
            return operation in ("hub_get", "cdn_get") and bool(request.header_values("range"))
        if self.kind == "wrong_hash":
            return operation in ("hub_get", "hub_head", "cdn_get", "cdn_head")
        if self.kind in get_args(ContentKind):
            return operation.startswith("embed") or operation == "file_content"
        return True
