"""The fake itself: it decides what to answer. The sockets are in `sockets.py`."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self, Unpack

from tests.fake_provider.dialects import DIALECTS, Dialect, Item, dialect_at
from tests.fake_provider.faults import (
    Kind,
    Reply,
    Rule,
    RuleOptions,
    json_reply,
    spoil_items,
    spoil_reply,
    substitute,
)
from tests.fake_provider.record import Recorded, Recording
from tests.fake_provider.sockets import Server
from tests.fake_provider.vectors import Mode, NoVector, Vector, embedder

SERVICES: Final = ("openai", "gemini", "voyage", "mistral")


class FakeProvider(Recording):
    """A server on a free loopback port, from `with` to its end.

    `vector` may answer for some texts and return None for the rest. With `strict` off nothing
    is a violation. With `auth="any"` every key is welcome; a foreign one is a leak all the same.
    """

    def __init__(
        self,
        *,
        dims: int | None = None,
        mode: Mode = "words",
        fixed: Mapping[str, Sequence[float]] | None = None,
        vector: Callable[[str], Vector | None] | None = None,
        latency_s: float = 0.0,
        strict: bool = True,
        auth: Literal["strict", "any"] = "strict",
        keys: Mapping[str, str] | None = None,
        extra_keys: Collection[str] = (),
        log: Path | None = None,
    ) -> None:
        super().__init__(log=log)
        self.faults: list[Rule] = []
        self._embed = embedder(mode, dims=dims, fixed=fixed)
        self._override = vector
        self._latency_s = latency_s
        self._strict = strict
        self._auth = auth
        self._keys = {name: f"key-{name}" for name in SERVICES} | dict(keys or {})
        self._extra_keys = extra_keys
        self._server: Server | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.stop()
        except Exception as own:
            if error is None:
                raise
            error.add_note(f"and the fake provider failed: {own!r}")

    def start(self) -> None:
        self._server = Server(self)
        self._server.start()

    def stop(self) -> None:
        """Ends hanging answers, joins every thread, and raises what a handler raised."""
        if self._server is not None:
            self._server.stop()

    @property
    def port(self) -> int:
        if self._server is None:
            raise RuntimeError("the fake provider has not been started")
        return int(self._server.server_address[1])

    def base_url(self, dialect: str) -> str:
        prefix = next(known.prefix for known in DIALECTS if known.name == dialect)
        return f"http://127.0.0.1:{self.port}{prefix}"

    def key(self, dialect: str) -> str:
        """The key that `dialect` accepts."""
        return self._keys[dialect]

    def add_fault(self, kind: Kind, **options: Unpack[RuleOptions]) -> Rule:
        """Appends a rule; of those that match a request, the first with uses left applies."""
        rule = Rule(kind, **options)
        with self._lock:
            self.faults.append(rule)
        return rule

    def reply_to(self, request: Recorded) -> Reply:
        """Records `request` and says what goes back."""
        dialect, route = dialect_at(request.path)
        if dialect is not None:
            request.dialect = dialect.name
            request.operation = dialect.operation(request.method, route)
            with suppress(ValueError):
                request.body = json.loads(request.raw.decode("utf-8"))
            request.texts = dialect.texts(request.body)
        self.arrive(request)
        reply = self._decide(request, dialect)
        self.log(request.as_json() | {"answered": False})
        return reply

    def control(self, request: Recorded) -> Reply:
        """What another process may ask of a fake that it cannot reach into; not recorded."""
        match request.method, request.path:
            case "POST", "/__ctl/rules":
                for options in json.loads(request.raw):
                    self.add_fault(**options)
                return json_reply(200, {"rules": len(self.faults)})
            case "POST", "/__ctl/reset":
                self.forget()
                self.faults.clear()
                return json_reply(200, {})
            case "GET", "/__ctl/requests":
                return json_reply(200, [recorded.as_json() for recorded in self.requests])
            case "GET", "/__ctl/summary":
                return json_reply(200, self._summary())
            case _:
                return json_reply(404, {})

    def _summary(self) -> dict[str, Any]:
        return {
            "count": self.count(),
            "texts": self.texts(),
            "groups": self.groups(),
            "max_in_flight": self.max_in_flight(),
            "leaks": self.leaks(),
            "violations": self.violations(),
        }

    def _decide(self, request: Recorded, dialect: Dialect | None) -> Reply:
        if not self._is_for_us(request):
            request.violations.append("the Host header names another host")
            return Reply(421)
        if dialect is None or request.operation is None:
            return json_reply(404, {"error": {"message": f"no such route: {request.path}"}})
        self._note_leaks(request)
        if self._strict:
            request.violations += dialect.problems(request, extra_keys=self._extra_keys)
        if request.violations and not request.leaks:
            return _refusal(dialect, request)
        if self._auth == "strict" and dialect.keys(request) != [self._keys[dialect.name]]:
            return json_reply(401, dialect.error("Incorrect API key", code="invalid_api_key"))
        return self._answer(request, dialect)

    def _answer(self, request: Recorded, dialect: Dialect) -> Reply:
        rule = self._take_rule(request)
        reply = None if rule is None else substitute(rule, dialect, request)
        if reply is None:
            try:
                items = self._items(request.texts)
            except NoVector as missing:
                request.violations.append(str(missing))
                return _refusal(dialect, request)
            spoilt = items if rule is None else spoil_items(rule, items)
            reply = json_reply(200, dialect.render(spoilt, request.body))
        if rule is not None:
            request.fault = rule.kind
            reply = spoil_reply(rule, reply)
        if reply.wait_s is None:
            return reply
        return replace(reply, wait_s=reply.wait_s + self._latency_s)

    def _items(self, texts: Sequence[str]) -> list[Item]:
        return [Item(index, [*self._vector(text)]) for index, text in enumerate(texts)]

    def _vector(self, text: str) -> Vector:
        chosen = None if self._override is None else self._override(text)
        return self._embed(text) if chosen is None else chosen

    def _take_rule(self, request: Recorded) -> Rule | None:
        with self._lock:
            rule = next((rule for rule in self.faults if rule.matches(request)), None)
            if rule is not None:
                rule.used += 1
        return rule

    def _is_for_us(self, request: Recorded) -> bool:
        own = {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        hosts = request.header_values("host")
        return len(hosts) == 1 and hosts[0] in own

    def _note_leaks(self, request: Recorded) -> None:
        foreign = {name: key for name, key in self._keys.items() if name != request.dialect}
        for header, value in [*request.headers, ("path", request.path)]:
            for name, key in foreign.items():
                if key in value:
                    request.leaks.append(f"the {name} key went to {request.dialect} in {header}")
        request.violations += request.leaks


def _refusal(dialect: Dialect, request: Recorded) -> Reply:
    message = "; ".join(request.violations)
    return json_reply(400, dialect.error(message, code="invalid_request_error"))
