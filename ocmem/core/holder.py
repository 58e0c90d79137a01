"""Who holds a lock: the note in a lock file, and whether its author is still there."""

import contextlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

FRESH_S = 600.0  # a watcher renews its note every few seconds, but not while it syncs


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock, or held it last."""

    pid: int
    command: str
    started_at_ms: int
    host: str = ""
    boot: str = ""  # of several machines with one name, which; and since when it runs
    born: int | None = None  # when the process began, in the system's own count; None: unknown

    def shown(self, now_ms: float) -> str:
        age_s = max(0, int((now_ms - self.started_at_ms) / 1000))
        where = f" on {self.host}" if self.host not in ("", this_host()) else ""
        return f"ocmem {self.command} (process {self.pid}{where}, since {age_s} s)"

    def is_alive(self, *, note_age_s: float) -> bool:
        """By the process, where it can be asked for; else by the age of the note."""
        if (self.host, self.boot) == (this_host(), _this_boot()):
            born = born_at(self.pid)
            if born is not None and self.born is not None:
                return born == self.born  # the same number may be another process by now
            if not _is_running(self.pid):
                return False
        return abs(note_age_s) < FRESH_S  # one from the future is no fresher for it

    @property
    def note(self) -> bytes:
        note = {
            "pid": self.pid,
            "command": self.command,
            "startedAt": self.started_at_ms,
            "host": self.host,
            "boot": self.boot,
            "born": self.born,
        }
        return json.dumps(note).encode()


def ourselves(command: str) -> Holder:
    pid = os.getpid()
    now_ms = int(time.time() * 1000)
    return Holder(pid, command, now_ms, this_host(), _this_boot(), born_at(pid))


def read(path: Path) -> Holder | None:
    try:
        note = json.loads(path.read_text())
        born = note.get("born")
        return Holder(
            int(note["pid"]),
            str(note["command"]),
            int(note["startedAt"]),
            str(note.get("host", "")),
            str(note.get("boot", "")),
            None if born is None else int(born),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None


def sign(handle: int, holder: Holder) -> None:
    with contextlib.suppress(OSError):  # on a full disk the lock holds all the same
        os.ftruncate(handle, 0)
        os.pwrite(handle, holder.note, 0)


def this_host() -> str:
    return os.uname().nodename if hasattr(os, "uname") else ""


def _this_boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""  # not Linux


def born_at(pid: int) -> int | None:
    """When a process began, in ticks since the system did; None where that cannot be known."""
    try:
        # The name of the program stands in parentheses, and may have some in it.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return -1 if fields[0] in "ZX" else int(fields[19])  # ended, and not buried yet
    except (OSError, ValueError, IndexError):
        return None


def _is_running(pid: int) -> bool:
    if os.name == "nt":  # pragma: no cover - there, asking would be pressing Ctrl-C
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
