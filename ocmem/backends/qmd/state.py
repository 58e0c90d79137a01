"""What ocmem remembers about an agent's QMD between two runs: one small file beside QMD's own."""

import contextlib
import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ocmem.backends.qmd import cooldown
from ocmem.backends.qmd.cooldown import Failure
from ocmem.errors import QmdError

_VERSION = 1
NAME = "ocmem-state.json"
# Not QMD's fault, or found out without starting anything: nothing is gained by not asking.
_NO_REST = ("query", "missing", "unreadable", "locked", "resting")


@dataclass(frozen=True, slots=True)
class State:
    """When QMD last updated, and what failed last. Times in ms since 1970."""

    updated_at_ms: int | None = None
    gave_up_at_ms: int | None = None  # an update before a search took too long
    managed: tuple[str, ...] = ()  # the collections that the settings asked for then
    failure: Failure | None = None  # of a search or an update
    embed_failure: Failure | None = None
    command: str = ""  # and the mode: another one has not failed yet
    mode: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """The state in its file, for one command and mode."""

    path: Path
    command: str
    mode: str

    def state(self) -> State:
        return read(self.path, command=self.command, mode=self.mode)

    def keep(self, new: State) -> None:
        # On a full disk QMD is asked once more than it need be.
        with contextlib.suppress(OSError):
            write(self.path, new)

    def check_rest(self, now_ms: int) -> None:
        """Raise QmdError if QMD failed so lately that it is not to be asked."""
        failure = self.state().failure
        left_ms = failure.left_ms(now_ms) if failure is not None else 0
        if failure is not None and left_ms:
            raise QmdError(
                f"{failure.reason} (not asked again for {-(-left_ms // 1000)} s)",
                cause="resting",
                hint=failure.hint or "ocmem index tries again at once",
            )

    def remember(self, error: QmdError, now_ms: int) -> None:
        if error.cause in _NO_REST:
            return
        state = self.state()
        failure = cooldown.after(
            state.failure, now_ms=now_ms, cause=error.cause, reason=str(error), hint=error.hint
        )
        self.keep(replace(state, failure=failure))

    def forget(self) -> None:
        state = self.state()
        if state.failure is not None:
            self.keep(replace(state, failure=None))


def read(path: Path, *, command: str, mode: str) -> State:
    """The state, as far as it is about this command and mode; creates nothing."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["version"] != _VERSION:
            return State(command=command, mode=mode)
        state = State(
            updated_at_ms=_time(found.get("updated_at_ms")),
            gave_up_at_ms=_time(found.get("gave_up_at_ms")),
            managed=tuple(map(str, found.get("managed") or ())),
            failure=_failure(found.get("failure")),
            embed_failure=_failure(found.get("embed_failure")),
            command=str(found.get("command")),
            mode=str(found.get("mode")),
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
        return State(command=command, mode=mode)  # a rest that is forgotten costs one try
    if (state.command, state.mode) != (command, mode):
        return replace(state, failure=None, embed_failure=None, command=command, mode=mode)
    return state


def write(path: Path, state: State) -> None:
    """Replace the file at once, for its owner only. Raises OSError."""
    new = path.with_name(f"{path.name}.new-{os.getpid()}")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with open(os.open(new, flags, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123
            json.dump({"version": _VERSION, **asdict(state)}, file)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _time(value: Any) -> int | None:  # noqa: ANN401
    return None if value is None else int(value)


def _failure(found: Any) -> Failure | None:  # noqa: ANN401
    if found is None:
        return None
    hint = found["hint"]
    return Failure(
        at_ms=int(found["at_ms"]),
        count=max(1, int(found["count"])),
        cause=str(found["cause"]),
        reason=str(found["reason"]),
        hint=None if hint is None else str(hint),
    )
