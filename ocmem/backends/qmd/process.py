"""Run one command to its end, bounded in time and output; whatever happens, nothing of it is left.

QMD's launcher starts a second process, so it is always the whole group that is ended. The group
is its own, which Ctrl-C at a terminal does not reach: we pass the end on.
"""

import codecs
import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, TracebackType

MOST_CHARS = 200_000
_LOOK_S = 0.05  # how often to see whether a child ended whose pipes somebody else holds open
_DRAIN_S = 1.0
# A reader at the other end of a pipe learns of our end whatever its cause, SIGKILL included.
_SENTINEL = 'read -r _ || kill -KILL "-$0"'


@dataclass(frozen=True, slots=True)
class Command:
    """What to run and where. `env` is everything the child gets."""

    words: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(repr=False)
    timeout_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Output:
    """What a command left behind. A negative `code` is the signal that ended it."""

    code: int
    stdout: str
    stderr: str


class TimedOut(Exception): ...


class TooMuchOutput(Exception): ...


def run(command: Command) -> Output:
    """Raises OSError if it cannot start, TimedOut, or TooMuchOutput; never leaves a process."""
    deadline = time.monotonic() + command.timeout_s
    with _Signals() as signals:
        process = subprocess.Popen(
            command.words,
            cwd=command.cwd,
            env=dict(command.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            umask=0o077,  # an index tells as much as the notes and talks in it
        )
        sentinel = None
        try:
            signals.let_through()
            sentinel = _sentinel(process.pid)
            stdout, stderr = _read(process, deadline)
            code = process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise TimedOut from None
        finally:
            try:
                signals.hold_back()
            finally:
                _end(process, sentinel)
    return Output(code, stdout, stderr)


def _read(process: subprocess.Popen[bytes], deadline: float) -> tuple[str, str]:
    """Both streams to their end."""
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = _Text(), _Text()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, out)
        selector.register(process.stderr, selectors.EVENT_READ, err)
        has_ended = False
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                if has_ended:
                    break  # somebody in a session of its own holds the pipe; not our child
                raise TimedOut
            ready = selector.select(min(left, _LOOK_S))
            for key, _ in ready:
                text: _Text = key.data
                if not text.add(os.read(key.fd, 65_536)):
                    selector.unregister(key.fileobj)
            if not ready and not has_ended and process.poll() is not None:
                has_ended = True
                _kill_group(process.pid)
                deadline = time.monotonic() + _DRAIN_S
    return out.text, err.text


class _Text:
    """Text that comes in pieces, up to a length."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pieces: list[str] = []
        self._length = 0

    def add(self, data: bytes) -> bool:
        """Take what was read; False at the end."""
        piece = self._decoder.decode(data, final=not data)
        self._pieces.append(piece)
        self._length += len(piece)
        if self._length > MOST_CHARS:
            raise TooMuchOutput
        return bool(data)

    @property
    def text(self) -> str:
        return "".join(self._pieces)


def _sentinel(group: int) -> subprocess.Popen[bytes] | None:
    """A shell that waits to kill the group in case we are killed and can do nothing any more."""
    try:
        return subprocess.Popen(
            ("/bin/sh", "-c", _SENTINEL, str(group)),
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None  # no shell here: all other ways to end are covered without it


def _end(process: subprocess.Popen[bytes], sentinel: subprocess.Popen[bytes] | None) -> None:
    _kill_group(process.pid)
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    if sentinel is not None:
        with contextlib.suppress(BrokenPipeError):
            sentinel.communicate(b"\n")


def _kill_group(group: int) -> None:
    # Of a group whose processes have all ended, macOS says that it may not be killed.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


class _Interrupted(BaseException): ...


class _Signals:
    """Requests to end, heard only where the child can be killed, and then passed on.

    Whatever else handles them would raise, or die, in the midst of starting the child, which would
    be nobody's then. What is ignored stays ignored.
    """

    def __init__(self) -> None:
        self._former: dict[int, object] = {}
        self._is_open = False
        self._heard: int | None = None

    def __enter__(self) -> "_Signals":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                # None: a handler that Python has not set, and could not put back.
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._former[number] = signal.signal(number, self._hear)
        return self

    def let_through(self) -> None:
        self._is_open = True
        if self._heard is not None:
            self.hold_back()
            raise _Interrupted

    def hold_back(self) -> None:
        self._is_open = False

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._heard = number
        if self._is_open:
            self.hold_back()  # a second request must not cut the killing short
            raise _Interrupted

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        if self._heard is not None:
            signal.raise_signal(self._heard)  # as if it came now, for whoever handles it
