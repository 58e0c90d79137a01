"""The fake itself: it decides what to answer. The sockets are in `sockets.py`."""

import json
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, Unpack

from tests.fake_provider.batch_wire import BATCH_OPERATIONS, State
from tests.fake_provider.batches import Batches, JobScript, Refused, lines_of
from tests.fake_provider.control import control
from tests.fake_provider.dialects import Dialect, Item
from tests.fake_provider.faults import FOREVER, LASTING, AnyKind, Rule, RuleOptions
from tests.fake_provider.hub import HUB_OPERATIONS, ModelHub
from tests.fake_provider.record import Recorded, Recording
from tests.fake_provider.redirects import ELSEWHERE, next_hop, redirect
from tests.fake_provider.reply import Reply, json_reply
from tests.fake_provider.services import BASES, DIALECTS, dialect_at
from tests.fake_provider.sockets import Server
from tests.fake_provider.spoil import spoil_items, spoil_reply, substitute
from tests.fake_provider.vectors import Mode, NoVector, Vector, embedder


class FakeProvider(Recording):
    """A server on a free loopback port, from `with` to its end.

    `dims` is one for all, or one for each dialect. `vector` may answer for some texts and return
    None for the rest. With `strict` off nothing is a violation. With `auth="any"` every key is
    welcome; a foreign one is a leak all the same; "reference" forgives OpenClaw that it sends
    none with Gemini's batch calls. `keys` replaces the key of a dialect, `key-<dialect>`, by
    another or by several. `extra_keys` may be in a request beside the usual ones. `query_shift`
    is added to the first coordinate of what Voyage and Gemini answer to a query, which shows
    when the two kinds are mixed up.
    """

    def __init__(
        self,
        *,
        dims: int | Mapping[str, int] | None = None,
        mode: Mode = "words",
        fixed: Mapping[str, Sequence[float]] | None = None,
        vector: Callable[[str], Vector | None] | None = None,
        latency_s: float = 0.0,
        strict: bool = True,
        auth: Literal["strict", "any", "reference"] = "strict",
        keys: Mapping[str, str | Sequence[str]] | None = None,
        extra_keys: Collection[str] = (),
        query_shift: float = 0.0,
        jobs: JobScript | None = None,
        log: Path | None = None,
    ) -> None:
        super().__init__(log=log)
        self.faults: list[Rule] = []
        self.hub = ModelHub()
        sizes = dims if isinstance(dims, Mapping) else {d.name: dims for d in DIALECTS}
        self._embed = {
            dialect.name: embedder(mode, dims=sizes.get(dialect.name), fixed=fixed)
            for dialect in DIALECTS
        }
        self._override = vector
        self._latency_s = latency_s
        self._strict = strict
        self._auth = auth
        self._keys = {dialect.name: [f"key-{dialect.name}"] for dialect in DIALECTS}
        for name, given in (keys or {}).items():
            self._keys[name] = [given] if isinstance(given, str) else list(given)
        self._extra_keys = extra_keys
        self._query_shift = query_shift
        # Not the lock of the recording: a vector function that waits must not stop that.
        self._jobs_lock = threading.Lock()
        self._batches = Batches(jobs or JobScript(), self._items)
        self._server: Server | None = None
        self._other_server: Server | None = None

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
        with ExitStack() as stops:
            for server in (self._other_server, self._server):
                if server is not None:
                    stops.callback(server.stop)

    @property
    def port(self) -> int:
        if self._server is None:
            raise RuntimeError("the fake provider has not been started")
        return int(self._server.server_address[1])

    @property
    def other_port(self) -> int:
        """A second origin, which needs no key and to which every key is a leak."""
        with self._lock:
            if self._other_server is None:
                self._other_server = Server(self, is_elsewhere=True)
                self._other_server.start()
            return int(self._other_server.server_address[1])

    def base_url(self, service: str) -> str:
        return f"http://127.0.0.1:{self.port}{BASES[service]}"

    def key(self, dialect: str) -> str:
        """The key that `dialect` accepts, the first one if there are several."""
        return self._keys[dialect][0]

    @property
    def job_script(self) -> JobScript:
        """How batch jobs go from now on; its fields may be set."""
        return self._batches.script

    @property
    def job_states(self) -> list[State]:
        """What successive polls of a job say; the last one repeats."""
        return self._batches.script.states

    @job_states.setter
    def job_states(self, states: Sequence[State]) -> None:
        self._batches.script.states = list(states)

    def abandoned_jobs(self) -> list[str]:
        """Jobs whose outcome nobody asked for."""
        with self._jobs_lock:
            return self._batches.abandoned()

    def unused_files(self) -> list[str]:
        """Uploads that no job was made of."""
        with self._jobs_lock:
            return self._batches.unused()

    @property
    def models(self) -> dict[str, bytes]:
        """What the model hub has, by `user/repo/file`."""
        return self.hub.models

    def add_fault(self, kind: AnyKind, **options: Unpack[RuleOptions]) -> Rule:
        """Appends a rule; of those that match a request, the first with uses left applies."""
        if kind in LASTING:
            options.setdefault("times", FOREVER)
        rule = Rule(kind, **options)
        with self._lock:
            self.faults.append(rule)
        return rule

    def reply_to(self, request: Recorded) -> Reply:
        """Records `request` and says what goes back."""
        dialect, route = dialect_at(request.path)
        request.is_elsewhere = request.is_elsewhere or ELSEWHERE in request.path
        if dialect is not None:
            request.dialect = dialect.name
            request.keys = dialect.keys(request)
            with suppress(ValueError):
                request.body = json.loads(request.raw.decode("utf-8"))
            dialect.read(request, route)
            if request.operation == "file_content":
                with self._jobs_lock:
                    self._batches.settle_operation(request)
        self.arrive(request)
        reply = self._decide(request, dialect)
        self.log(request.as_json() | {"answered": False})
        return reply

    def control(self, request: Recorded) -> Reply:
        return control(self, request)

    def reset(self) -> None:
        """As if nothing had been asked or set up, but for the way jobs go."""
        self.forget()
        with self._lock:
            self.faults.clear()
        with self._jobs_lock:
            self._batches.forget()

    def _decide(self, request: Recorded, dialect: Dialect | None) -> Reply:
        if not self._is_for_us(request):
            request.violations.append("the Host header names another host")
            return Reply(421)
        if dialect is not None or request.is_elsewhere:
            self._note_leaks(request)
        if dialect is None or request.operation is None:
            return json_reply(404, {"error": {"message": f"no such route: {request.path}"}})
        if self._strict:
            if not self._needs_no_key(request):
                request.violations += dialect.auth_problems(request)
            request.violations += dialect.problems(request, extra_keys=self._extra_keys)
            if any(key in request.path.partition("?")[2] for key in self._secrets()[dialect.name]):
                request.violations.append("the key is in the address")
        if request.violations and not request.leaks:
            return _refusal(dialect, request)
        if not self._needs_no_key(request) and not self._knows(request):
            answer = dialect.error("Incorrect API key", status=401, code="invalid_api_key")
            return json_reply(401, answer)
        return self._answer(request, dialect)

    def _needs_no_key(self, request: Recorded) -> bool:
        """True elsewhere, for public models, and where OpenClaw is known to forget Google's."""
        is_forgotten = request.dialect == "gemini" and request.operation in BATCH_OPERATIONS
        is_forgiven = self._auth == "reference" and is_forgotten and not request.keys
        return request.is_elsewhere or is_forgiven or self.hub.needs_no_key(request)

    def _knows(self, request: Recorded) -> bool:
        """Whether the request has one key, and a right one."""
        if self._auth == "any":
            return True
        return len(request.keys) == 1 and request.keys[0] in self._secrets()[request.dialect or ""]

    def _answer(self, request: Recorded, dialect: Dialect) -> Reply:
        if hop := next_hop(request):
            request.fault = "redirect"
            return hop
        rule = self._take_rule(request, dialect)
        instead = None if rule is None else self._substitute(rule, dialect, request)
        if instead is not None and rule is not None and rule.when == "before":
            reply = instead
        else:
            reply = self._perform(request, dialect, rule)
            if reply.status < 400:
                reply = instead or reply
        if rule is not None:
            request.fault = rule.kind
            reply = spoil_reply(rule, reply)
        if reply.wait_s is None:
            return reply
        return replace(reply, wait_s=reply.wait_s + self._latency_s)

    def _perform(self, request: Recorded, dialect: Dialect, rule: Rule | None) -> Reply:
        """Does what is asked; a content fault shows in the answer."""
        if request.operation in HUB_OPERATIONS:
            origin = f"http://127.0.0.1:{self.other_port}" if self.hub.uses_cdn else ""
            return self.hub.perform(request, rule, cdn_origin=origin)
        try:
            if dialect.batches is not None and request.operation in BATCH_OPERATIONS:
                with self._jobs_lock:
                    return self._batches.perform(request, dialect.batches, rule)
            shift = self._query_shift if request.operation == "embed_query" else 0.0
            items = self._items(dialect.name, request.texts, shift=shift)
        except Refused as refused:
            if refused.status == 404:
                answer = dialect.error(str(refused), status=404, code="not_found")
                return json_reply(404, answer)
            request.violations.append(str(refused))
            return _refusal(dialect, request)
        except NoVector as missing:
            request.violations.append(str(missing))
            return _refusal(dialect, request)
        spoilt = items if rule is None else spoil_items(rule, items)
        return json_reply(200, dialect.render(spoilt, request))

    def _substitute(self, rule: Rule, dialect: Dialect, request: Recorded) -> Reply | None:
        if rule.kind == "redirect":
            return redirect(rule, request, self)
        return substitute(rule, dialect, request)

    def _items(self, dialect: str, texts: Sequence[str], *, shift: float = 0.0) -> list[Item]:
        vectors = [self._vector(dialect, text) for text in texts]
        if shift:
            vectors = [[vector[0] + shift, *vector[1:]] for vector in vectors]
        return [Item(index, [*vector]) for index, vector in enumerate(vectors)]

    def _vector(self, dialect: str, text: str) -> Vector:
        chosen = None if self._override is None else self._override(text)
        return self._embed[dialect](text) if chosen is None else chosen

    def _take_rule(self, request: Recorded, dialect: Dialect) -> Rule | None:
        lines = lines_of(request)
        if dialect.batches is not None and request.operation in BATCH_OPERATIONS:
            with self._jobs_lock:
                lines = self._batches.lines_about(request, dialect.batches)
        with self._lock:
            rule = next((rule for rule in self.faults if rule.matches(request, lines)), None)
            if rule is not None:
                rule.used += 1
        return rule

    def _is_for_us(self, request: Recorded) -> bool:
        servers = (self._server, self._other_server)
        ports = [server.server_address[1] for server in servers if server is not None]
        own = {f"{name}:{port}" for name in ("127.0.0.1", "localhost") for port in ports}
        hosts = request.header_values("host")
        return len(hosts) == 1 and hosts[0] in own

    def _note_leaks(self, request: Recorded) -> None:
        to = "another origin" if request.is_elsewhere else request.dialect
        own = [] if request.is_elsewhere else self._secrets()[request.dialect or ""]
        for name, secrets in self._secrets().items():
            foreign = [secret for secret in secrets if secret not in own]
            for header, value in [*request.headers, ("path", request.path)]:
                if any(secret in value for secret in foreign):
                    request.leaks.append(f"the {name} key went to {to} in {header}")
        request.violations += request.leaks

    def _secrets(self) -> dict[str, list[str]]:
        """The keys of each dialect as they look on the wire."""
        return {
            dialect.name: [dialect.secret(key) for key in self._keys[dialect.name]]
            for dialect in DIALECTS
        }


def _refusal(dialect: Dialect, request: Recorded) -> Reply:
    message = "; ".join(request.violations)
    answer = dialect.error(message, status=400, code="invalid_request_error")
    return json_reply(400, answer)
