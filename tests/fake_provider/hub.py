"""A hub of model files, as Hugging Face runs one, with or without a second host for the bytes."""

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

from tests.fake_provider.checks import bearer_keys, bearer_problems
from tests.fake_provider.dialects import Item
from tests.fake_provider.faults import Rule
from tests.fake_provider.record import Recorded
from tests.fake_provider.reply import Reply, json_reply

HUB_OPERATIONS: Final = frozenset({"hub_get", "hub_head", "hub_manifest", "cdn_get", "cdn_head"})
_RESOLVE: Final = re.compile(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)")
_MANIFEST: Final = re.compile(r"/v2/([^/]+/[^/]+)/manifests/([^/]+)")
_CDN: Final = re.compile(r"cdn:/([0-9a-f]{64})")
_RANGE: Final = re.compile(r"bytes=(\d*)-(\d*)")
_BINARY: Final = "application/octet-stream"


class Hub:
    """The wire format. A public file needs no token, so a request without one is no mistake."""

    name = "hub"
    prefixes: Mapping[str, str] = {"/hub": "", "/cdn": "cdn:"}
    batches = None

    def read(self, request: Recorded, route: str) -> None:
        route = unquote(route)
        if request.method not in ("GET", "HEAD"):
            return
        verb = request.method.lower()
        if found := _RESOLVE.fullmatch(route):
            at = "" if found[2] == "main" else f"@{found[2]}"
            request.operation, request.target = f"hub_{verb}", f"{found[1]}{at}/{found[3]}"
        elif found := _MANIFEST.fullmatch(route):
            request.operation, request.target = "hub_manifest", f"{found[1]}:{found[2]}"
        elif found := _CDN.fullmatch(route):
            request.operation, request.target = f"cdn_{verb}", found[1]

    def keys(self, request: Recorded) -> list[str]:
        return bearer_keys(request.header_values("authorization"))

    def secret(self, key: str) -> str:
        return key

    def auth_problems(self, request: Recorded) -> Iterator[str]:
        values = request.header_values("authorization")
        return bearer_problems(values) if values else iter(())

    def problems(self, request: Recorded, *, extra_keys: Collection[str]) -> Iterator[str]:
        if request.raw:
            yield "a body where none belongs"

    def render(self, items: Sequence[Item] | None, request: Recorded) -> dict[str, Any]:
        raise NotImplementedError("a hub embeds nothing")

    def error(
        self, message: str, *, status: int, code: str, details: Sequence[object] = ()
    ) -> dict[str, Any]:
        return {"error": message}


@dataclass(slots=True)
class ModelHub:
    """The files. A path is `user/repo/file`, or `user/repo@branch/file` off the main branch.

    With `uses_cdn` a file is a redirect to the other origin of the fake. `manifests` has the
    answers for `user/repo:tag` where those made from the file names will not do.
    """

    models: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[str, object] = field(default_factory=dict)
    uses_cdn: bool = False
    is_private: bool = False

    def needs_no_key(self, request: Recorded) -> bool:
        is_open = not self.is_private or (request.operation or "").startswith("cdn_")
        return request.dialect == "hub" and is_open and not request.keys

    def perform(self, request: Recorded, rule: Rule | None, *, cdn_origin: str) -> Reply:
        if request.operation == "hub_manifest":
            return self._manifest(request.target)
        if (request.operation or "").startswith("cdn_"):
            content = next((c for c in self.models.values() if _hash(c) == request.target), None)
        else:
            content = self.models.get(request.target)
        if content is None:
            return self._missing(request.target)
        kind = "" if rule is None else rule.kind
        if not self.uses_cdn or (request.operation or "").startswith("cdn_"):
            is_head = request.method == "HEAD"
            reply = _file(request, content, is_whole=kind == "ignore_range")
            return _falsified(reply, is_head=is_head) if kind == "wrong_hash" else reply
        location = ("Location", f"{cdn_origin}/cdn/{_hash(content)}?signature=fake")
        reply = Reply(302, headers=(*_about(content), location), content_type="text/plain")
        return _falsified(reply, is_head=True) if kind == "wrong_hash" else reply

    def _missing(self, target: str) -> Reply:
        """The real hub does not say whether a repository exists to those who may not see it."""
        repo = "/".join(target.split("/")[:2])
        if any(path.startswith(f"{repo}/") for path in self.models):
            return _error(404, "Entry not found", code="EntryNotFound")
        return _error(401, "Invalid username or password.", code="RepoNotFound")

    def _manifest(self, target: str) -> Reply:
        if target in self.manifests:
            return json_reply(200, self.manifests[target])
        repo, _, tag = target.rpartition(":")
        files = sorted(path for path in self.models if path.startswith(f"{repo}/"))
        wanted = "q4_k_m" if tag == "latest" else tag.lower()
        fitting = [path for path in files if wanted in path.removeprefix(repo).lower()]
        if tag == "latest":
            fitting += files
        if not fitting:
            return self._missing(f"{repo}/{tag}")
        content = self.models[fitting[0]]
        lfs = {"sha256": _hash(content), "size": len(content), "pointerSize": 134}
        name = fitting[0].removeprefix(f"{repo}/")
        return json_reply(200, {"ggufFile": {"rfilename": name, "size": len(content), "lfs": lfs}})


def _file(request: Recorded, content: bytes, *, is_whole: bool) -> Reply:
    size = len(content)
    headers = (*_about(content), ("Accept-Ranges", "bytes"))
    asked = None if is_whole else _asked(request, content)
    if asked is None:
        return Reply(200, content, headers, _BINARY)
    if asked.start >= size:
        return Reply(416, b"", (*headers, ("Content-Range", f"bytes */{size}")), _BINARY)
    span = ("Content-Range", f"bytes {asked.start}-{asked.stop - 1}/{size}")
    return Reply(206, content[asked.start : asked.stop], (*headers, span), _BINARY)


def _asked(request: Recorded, content: bytes) -> range | None:
    """The bytes that a Range header names; None for all, as for what no server understands."""
    found = _RANGE.fullmatch("".join(request.header_values("range")))
    condition = "".join(request.header_values("if-range"))
    is_stale = bool(condition) and condition != f'"{_hash(content)}"'
    if found is None or is_stale or found[0] == "bytes=-":
        return None
    size = len(content)
    if not found[1]:
        return range(max(0, size - int(found[2])), size)
    stop = min(size, int(found[2]) + 1) if found[2] else size
    return range(int(found[1]), stop)


def _about(content: bytes) -> tuple[tuple[str, str], ...]:
    digest = _hash(content)
    return (
        ("ETag", f'"{digest}"'),
        ("X-Linked-ETag", f'"{digest}"'),
        ("X-Linked-Size", f"{len(content)}"),
        ("X-Repo-Commit", digest[:40]),
    )


def _falsified(reply: Reply, *, is_head: bool) -> Reply:
    """Makes the bytes and the hash disagree: the bytes if there are any, else the hash."""
    if reply.body and not is_head:
        body = reply.body[:-1] + bytes([reply.body[-1] ^ 1])
        return Reply(reply.status, body, reply.headers, reply.content_type)
    wrong = _hash(b"another file")
    headers = tuple(
        (name, f'"{wrong}"' if name.endswith("ETag") else value) for name, value in reply.headers
    )
    return Reply(reply.status, reply.body, headers, reply.content_type)


def _error(status: int, message: str, *, code: str) -> Reply:
    body = f'{{"error": "{message}"}}'.encode()
    return Reply(status, body, (("X-Error-Code", code), ("X-Error-Message", message)))


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
