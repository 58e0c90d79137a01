"""A long answer, line by line as it arrives."""

from collections.abc import Callable

from ocmem.errors import EmbedderError

_MOST_LINE_BYTES = 16 * 2**20


class Lines:
    """Pieces of bytes -> whole lines, trimmed, blank ones left out.

    Every line is handed over once, even if the answer breaks off and has to start anew.
    """

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take
        self._rest = bytearray()
        self._seen = 0  # since the answer started
        self._given = 0  # altogether

    def start(self) -> None:
        self._rest.clear()
        self._seen = 0

    def feed(self, piece: bytes) -> None:
        first, *others = piece.split(b"\n")
        self._rest += first
        for other in others:
            self._line(bytes(self._rest))
            self._rest[:] = other
        if len(self._rest) > _MOST_LINE_BYTES:
            raise EmbedderError("a line of the answer is longer than anybody can use")

    def end(self) -> None:
        self._line(bytes(self._rest))

    def _line(self, line: bytes) -> None:
        self._seen += 1
        if self._seen <= self._given:
            return
        # Counted first: what the taker cannot stand once, it is not to get again.
        self._given += 1
        if line.strip():
            self._take(line.strip())
