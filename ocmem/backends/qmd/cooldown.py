"""How long to leave alone what has just failed. Pure: the time is an argument."""

from dataclasses import dataclass

FIRST_MS = 60_000
LONGEST_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Failure:
    """The last of `count` failures in a row."""

    at_ms: int
    count: int
    cause: str
    reason: str
    hint: str | None = None

    @property
    def rest_ms(self) -> int:
        """A minute after the first failure, doubling to an hour."""
        return min(LONGEST_MS, FIRST_MS << min(self.count - 1, 10))

    def left_ms(self, now_ms: int) -> int:
        """How much of the rest is left; none on a clock that was set back to before the failure."""
        return max(0, self.at_ms + self.rest_ms - now_ms) if now_ms >= self.at_ms else 0


def after(
    former: Failure | None, *, now_ms: int, cause: str, reason: str, hint: str | None = None
) -> Failure:
    """One failure more."""
    return Failure(now_ms, former.count + 1 if former else 1, cause, reason, hint)
