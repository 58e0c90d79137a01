"""`ocmem watch` in the background, and what it says line by line."""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from tests.cli.program import Program

PATIENCE_S: Final = 40.0


class Watching:
    """A running watcher. `next_sync` waits for a line; nothing here ever sleeps."""

    def __init__(self, child: "subprocess.Popen[bytes]") -> None:
        self.child = child
        self._lines = _Lines(child.stdout)
        self._talk = _Lines(child.stderr)

    def line(self) -> str:
        line = self._lines.next()
        if line is None:
            said = self._talk.rest()
            raise AssertionError(f"it ended with {self.child.wait(PATIENCE_S)}, and said: {said}")
        return line

    def sync(self, until: Callable[[dict[str, Any]], bool] = lambda event: True) -> dict[str, Any]:
        """The next event that fits, of those that `--json` prints."""
        while True:
            event: dict[str, Any] = json.loads(self.line())
            if until(event):
                return event

    def change(self, *paths: str) -> dict[str, Any]:
        """The sync after which all of these were seen to have changed, whichever saw them."""
        missing = set(paths)

        def is_last(event: dict[str, Any]) -> bool:
            missing.difference_update(event.get("changed", ()), event.get("removed", ()))
            return not missing

        return self.sync(is_last)

    def talk(self, expected: str) -> str:
        """The next line on stderr that has these words in it."""
        while (line := self._talk.next()) is not None:
            if expected in line:
                return line
        raise AssertionError(f"it ended, and never said: {expected}")

    def err(self) -> str:
        """What is said on stderr until it ends."""
        return self._talk.rest()

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Ask it to end."""
        self.child.send_signal(number)
        return self.ended()

    def ended(self) -> tuple[int, str, str]:
        """Exit code, and what was still said."""
        out, err = self._lines.rest(), self._talk.rest()
        return self.child.wait(PATIENCE_S), out, err


class _Lines:
    def __init__(self, stream: Any) -> None:  # noqa: ANN401
        self._stream = stream
        self._held = b""

    def next(self) -> str | None:
        while b"\n" not in self._held:
            if not self._read():
                return None
        line, _, self._held = self._held.partition(b"\n")
        return line.decode()

    def rest(self) -> str:
        while self._read():
            pass
        held, self._held = self._held, b""
        return held.decode()

    def _read(self) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(self._stream, selectors.EVENT_READ)
            if not selector.select(PATIENCE_S):
                raise AssertionError(f"nothing was said for {PATIENCE_S} s")
        piece = os.read(self._stream.fileno(), 65_536)
        self._held += piece
        return bool(piece)


@contextlib.contextmanager
def watching(ocmem: Program, *args: str, ignoring: Sequence[int] = ()) -> Iterator[Watching]:
    """A watcher that was just started."""
    with ocmem.start("watch", *args, ignoring=ignoring) as child:
        try:
            yield Watching(child)
        finally:
            child.kill()


def wait_until(is_true: Callable[[], bool]) -> None:
    """For what leaves no line to wait for."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.02)
