"""How long, how often and how fast a service is asked. Time and chance come in as arguments."""

import math
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """Time and chance. `time` is seconds since 1970, `random` is in [0, 1)."""

    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic
    time: Callable[[], float] = time.time
    random: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True)
class Effort:
    """How much trouble a call is worth; `total_s` covers all attempts and the pauses between."""

    what: str
    total_s: float
    attempt_s: float
    calls: int  # while nobody is there
    attempts: int  # while the service is out of order
    patience: int  # while it says that we are too fast
    pauses_s: float = math.inf  # how far from the start a pause may still end

    @property
    def longest_s(self) -> float:
        return min(self.attempt_s, self.total_s)


def for_documents(timeout_s: float) -> Effort:
    """Nobody looks on: rather wait for minutes than lose a long run."""
    return Effort("batch", timeout_s, attempt_s=120.0, calls=4, attempts=6, patience=10)


def for_query(timeout_s: float) -> Effort:
    """Somebody is waiting, and keywords can answer as well."""
    return Effort("query", timeout_s, attempt_s=60.0, calls=2, attempts=2, patience=4, pauses_s=8.0)


class Pace:
    """At most so many calls a minute, evenly spread."""

    def __init__(self, per_minute: int | None, clock: Clock) -> None:
        self._interval_s = 60.0 / per_minute if per_minute else 0.0
        self._clock = clock
        self._lock = threading.Lock()
        self._next = -math.inf

    def wait(self, deadline: float) -> None:
        """Until it is this call's turn; not beyond `deadline`, where the call fails anyway."""
        if not self._interval_s:
            return
        with self._lock:
            now = self._clock.monotonic()
            turn = max(now, self._next)
            self._next = turn + self._interval_s
        if min(turn, deadline) > now:
            self._clock.sleep(min(turn, deadline) - now)
