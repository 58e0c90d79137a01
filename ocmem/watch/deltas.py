"""How much a transcript must grow before it is worth indexing again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

CountLines = Callable[[str, int, int], int]  # of a file, between two positions


@dataclass(slots=True)
class _Growth:
    size: int = 0
    pending_bytes: int = 0
    pending_messages: int = 0


@dataclass(slots=True)
class Deltas:
    """The reference's thresholds: either is enough, and 0 means that anything is."""

    bytes: int
    messages: int
    count_lines: CountLines  # called only while the bytes do not suffice
    _seen: dict[str, _Growth] = field(default_factory=dict)

    def begin(self, sizes: Mapping[str, int]) -> None:
        """What is indexed now counts as seen."""
        self._seen = {path: _Growth(size) for path, size in sizes.items()}

    def is_due(self, path: str, size: int | None) -> bool:
        """Whether the transcript, now of that size, has grown enough; None: it is gone."""
        if size is None:
            return self._seen.pop(path, None) is not None
        seen = self._seen.setdefault(path, _Growth())
        if size == seen.size:
            return False
        start = 0 if size < seen.size else seen.size  # a shrunken one was written anew
        seen.pending_bytes += size - start
        if seen.pending_bytes < self.bytes:
            seen.pending_messages += self.count_lines(path, start, size)
        seen.size = size
        is_due = seen.pending_bytes >= self.bytes or seen.pending_messages >= self.messages
        if is_due:
            seen.pending_bytes = _beyond(seen.pending_bytes, self.bytes)
            seen.pending_messages = _beyond(seen.pending_messages, self.messages)
        return is_due


def _beyond(pending: int, threshold: int) -> int:
    """What counts towards the next time."""
    return max(0, pending - threshold) if threshold else 0
