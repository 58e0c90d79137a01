"""A `qmd` that behaves like the real one as far as ocmem looks, or as badly as a test wants."""

import json
import os
import sqlite3
import stat
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

_PROGRAM = Path(__file__).with_name("program.py")
_PATIENCE_S = 20.0


class FakeQmd:
    """The command, put into `folder`; what it is to do and what it was asked lie beside it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.command = folder / "qmd"
        # Isolated and without site: it starts several times for each test.
        self.command.write_text(f"#!{sys.executable} -IS\n{_PROGRAM.read_text()}")
        self.command.chmod(0o755)
        self._script: dict[str, list[dict[str, Any]]] = {}

    @property
    def env(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "FAKE_QMD": str(self.folder)}

    def on(self, command: str, **answer: Any) -> None:  # noqa: ANN401
        """What the next run of a subcommand does; the last answer is given for ever.

        `stdout`, `stderr` (text, or bytes as a list of numbers), `code`, `signal`, `delay` seconds
        before it ends, `repeat` of the text, `child` ("group" or "session": a process that outlives
        it, holding its pipes), `does` (True: what it normally does comes first), `forgets` (True:
        it loses its collections).
        """
        self._script.setdefault(command, []).append(answer)
        (self.folder / "script.json").write_text(json.dumps(self._script))

    @property
    def runs(self) -> list[dict[str, Any]]:
        """What it was asked so far: `argv`, `env`, `cwd`, `stdin`, `pid`."""
        record = self.folder / "record.jsonl"
        if not record.exists():
            return []
        return [json.loads(line) for line in record.read_text().splitlines()]

    @property
    def commands(self) -> list[str]:
        """The subcommands of those runs."""
        return [str(run["command"]) for run in self.runs]

    def forget(self) -> None:
        (self.folder / "record.jsonl").unlink(missing_ok=True)

    def children(self) -> list[int]:
        """The processes that its runs left to themselves."""
        return [int(path.name.removeprefix("child-")) for path in self.folder.glob("child-*")]

    def collections(self, database: Path) -> dict[str, tuple[str, str]]:
        with closing(sqlite3.connect(database)) as db:
            rows = db.execute("SELECT name, path, pattern FROM store_collections")
            return {name: (path, pattern) for name, path, pattern in rows}


def is_running(pid: int) -> bool:
    """Whether the process is there and does something: a dead one that nobody has buried is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(claim: Callable[[], bool]) -> None:
    """Look until it is so, for a while."""
    deadline = time.monotonic() + _PATIENCE_S
    while not claim():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.01)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
