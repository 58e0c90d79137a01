"""Sockets: HTTP/1.1 with keep-alive, one thread per connection, all of them joined at the end."""

import math
import select
import socket
import struct
import sys
import threading
import time
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Protocol, cast

from tests.fake_provider.record import Recorded
from tests.fake_provider.reply import Reply

POLL_S: Final = 0.02
JOIN_S: Final = 10.0
BLOCK: Final = 65_536


class Site(Protocol):
    """What the sockets need of the fake."""

    def reply_to(self, request: Recorded) -> Reply: ...
    def control(self, request: Recorded) -> Reply: ...
    def settle(self, request: Recorded, status: int | None) -> None: ...
    def log(self, line: dict[str, Any]) -> None: ...


class Stopping(Exception):
    """The server stops in the middle of an answer."""


class Server(ThreadingHTTPServer):
    """Listens from construction on, serves from `start` to `stop`."""

    request_queue_size = 64

    def __init__(self, site: Site, *, is_elsewhere: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.site = site
        self.is_elsewhere = is_elsewhere
        self.stopping = threading.Event()
        self.is_cutting = False
        self._errors: list[BaseException] = []
        self._connections: list[tuple[threading.Thread, socket.socket]] = []
        self._acceptor = threading.Thread(target=self.serve_forever, args=(POLL_S,), daemon=True)

    def start(self) -> None:
        self._acceptor.start()

    def stop(self) -> None:
        self.stopping.set()
        self.shutdown()
        self._acceptor.join()
        self.is_cutting = True
        for _, connection in self._connections:
            with suppress(OSError):  # closed already
                connection.shutdown(socket.SHUT_RDWR)
        for thread, _ in self._connections:
            thread.join(JOIN_S)
        self.server_close()
        if any(thread.is_alive() for thread, _ in self._connections):
            raise RuntimeError("a handler of the fake provider did not end")
        if self._errors:
            raise self._errors[0]

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        # The base class either forgets its threads or joins them without a time limit.
        thread = threading.Thread(
            target=self.process_request_thread, args=(request, client_address), daemon=True
        )
        self._connections.append((thread, request))
        thread.start()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, ConnectionError):
            self._errors.append(error)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def serve(self) -> None:
        server = cast(Server, self.server)
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        request = Recorded(self.command, self.path, list(self.headers.items()), raw)
        request.is_elsewhere = server.is_elsewhere
        request.client_gone = len(raw) < length
        if self.path.startswith("/__ctl/"):
            self._send(server.site.control(request))
            return
        reply = server.site.reply_to(request)
        sent = self._deliver(request, reply)
        server.site.log({"seq": request.seq, "answered": sent, "client_gone": request.client_gone})

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = serve

    def log_message(self, format: str, *args: object) -> None:
        """Silent: the recording says it all."""

    def _deliver(self, request: Recorded, reply: Reply) -> bool:
        """Whether the answer was handed to the network; if not, the connection ends here."""
        site = cast(Server, self.server).site
        is_due = self._wait(request, reply.wait_s)
        site.settle(request, reply.status if is_due and not reply.reset else None)
        if not is_due:
            self.close_connection = True
            return False
        if reply.reset:
            self._reset()
            return False
        try:
            self._send(reply)
        except ConnectionError:
            request.client_gone = self.close_connection = True
        except Stopping:
            self.close_connection = True
            return False
        return not request.client_gone

    def _wait(self, request: Recorded, seconds: float | None) -> bool:
        """False if the client hung up or the server stops before the time is over."""
        server = cast(Server, self.server)
        end = float("inf") if seconds is None else time.monotonic() + seconds
        while not server.stopping.is_set():
            request.client_gone = request.client_gone or self._client_has_left()
            if request.client_gone:
                return False
            left = end - time.monotonic()
            if left <= 0:
                return True
            server.stopping.wait(min(left, POLL_S))
        # Once more: a client may have left since the last look.
        request.client_gone = request.client_gone or self._client_has_left()
        return False

    def _client_has_left(self) -> bool:
        if not select.select([self.connection], [], [], 0)[0]:
            return False  # connected, with nothing more to say
        try:
            is_over = not self.connection.recv(1, socket.MSG_PEEK)
        except ConnectionError:
            is_over = True
        # At the end of the server it is we who close, which looks the same from here.
        return is_over and not cast(Server, self.server).is_cutting

    def _reset(self) -> None:
        # Closing with a linger time of zero sends RST instead of an orderly end. The socket
        # goes down for real when the base class closes the files made from it.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def _send(self, reply: Reply) -> None:
        lines = [f"HTTP/1.1 {reply.status} {_phrase(reply.status)}"]
        lines += [f"{name}: {value}" for name, value in [*_framing(reply), *reply.headers]]
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        if self.command == "HEAD":
            self.wfile.write(head)
        elif reply.rate is not None:
            self.wfile.write(head)
            self._send_slowly(reply.body, rate=reply.rate)
        elif math.isinf(reply.padding):
            self.wfile.write(head)
            self._send_for_ever(reply.body)
        else:
            # One write: head and body apart would meet Nagle's algorithm on some systems.
            self.wfile.write(head + reply.body)
            self._send_spaces(int(reply.padding))
        self.close_connection = self.close_connection or reply.close

    def _send_slowly(self, body: bytes, *, rate: float) -> None:
        """A few bytes at a time, never fewer than one."""
        server = cast(Server, self.server)
        step = max(1, int(rate * POLL_S))
        for start in range(0, len(body), step):
            self.wfile.write(body[start : start + step])
            if server.stopping.wait(step / rate):
                raise Stopping

    def _send_spaces(self, count: int) -> None:
        for start in range(0, count, BLOCK):
            self._send_block(min(BLOCK, count - start))

    def _send_for_ever(self, body: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(body), body))
        while True:
            self.wfile.write(b"%x\r\n" % BLOCK)
            self._send_block(BLOCK)
            self.wfile.write(b"\r\n")

    def _send_block(self, size: int) -> None:
        if cast(Server, self.server).stopping.is_set():
            raise Stopping
        self.wfile.write(b" " * size)


def closed_port() -> int:
    """A port where a moment ago nobody listened, for a connection that is refused."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _framing(reply: Reply) -> list[tuple[str, str]]:
    kind = ("Content-Type", reply.content_type)
    if math.isinf(reply.padding):
        return [kind, ("Transfer-Encoding", "chunked")]
    length = len(reply.body) + int(reply.padding)
    if reply.declared_length is not None:
        length = reply.declared_length
    return [kind, ("Content-Length", f"{length}")]


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
