"""Many events in a row -> one moment to act."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Debouncer:
    """Paths that were touched, due when nothing has happened for `quiet_ms`.

    Somebody who never stops writing is interrupted after `longest_ms`.
    """

    quiet_ms: int
    longest_ms: int
    _touched: dict[str, None] = field(default_factory=dict)  # in the order of their first touch
    _first_ms: int = 0
    _last_ms: int = 0

    def touch(self, path: str, *, now_ms: int) -> None:
        if not self._touched:
            self._first_ms = now_ms
        self._touched[path] = None
        self._last_ms = now_ms

    @property
    def due_at_ms(self) -> int | None:
        """When to look again; None while nothing is waiting."""
        if not self._touched:
            return None
        return min(self._last_ms + self.quiet_ms, self._first_ms + self.longest_ms)

    def take_due(self, *, now_ms: int) -> list[str]:
        """What has waited long enough, if it has; it is then forgotten."""
        due_at_ms = self.due_at_ms
        if due_at_ms is None or now_ms < due_at_ms:
            return []
        taken = list(self._touched)
        self._touched.clear()
        return taken
