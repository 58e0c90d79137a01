"""A web server on loopback that has one file, and every bad habit that a download must survive."""

import contextlib
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self


@dataclass
class FileServer:
    """Habits may be changed between requests. `requests` has the headers of each, in order."""

    data: bytes
    etag: str = '"v1"'
    headers: dict[str, str] = field(default_factory=dict)
    breaks: list[int] = field(default_factory=list)  # bytes after which answers break off
    statuses: list[int] = field(default_factory=list)  # given instead of the file, one by one
    redirect: str = ""
    honours_range: bool = True
    requests: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        habits = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                habits.paths.append(self.path)
                habits.requests.append({k.lower(): v for k, v in self.headers.items()})
                habits.answer(self)

            def log_message(self, format: str, *args: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        if self.statuses:
            handler.send_response(self.statuses.pop(0))
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        if self.redirect:
            self._head(handler, 302, 0, {"Location": self.redirect})
            return
        start = self._start(handler)
        if start >= len(self.data) > 0:
            self._head(handler, 416, 0, {"Content-Range": f"bytes */{len(self.data)}"})
            return
        body = self.data[start:]
        extra = {"ETag": self.etag} if self.etag else {}
        if start:
            extra["Content-Range"] = f"bytes {start}-{len(self.data) - 1}/{len(self.data)}"
        self._head(handler, 206 if start else 200, len(body), extra)
        with contextlib.suppress(ConnectionError):  # who has heard enough may leave
            handler.wfile.write(body[: self.breaks.pop(0)] if self.breaks else body)

    def _start(self, handler: BaseHTTPRequestHandler) -> int:
        match = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
        is_same = handler.headers.get("If-Range") in (None, self.etag)
        return int(match[1]) if match and self.honours_range and is_same else 0

    def _head(
        self, handler: BaseHTTPRequestHandler, status: int, size: int, extra: dict[str, str]
    ) -> None:
        handler.send_response(status)
        for name, value in {"Content-Length": str(size), **self.headers, **extra}.items():
            handler.send_header(name, value)
        handler.end_headers()
