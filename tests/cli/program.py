"""The real program in an empty home: what it prints, and how it ends."""

import contextlib
import ctypes
import fcntl
import json
import os
import pty
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.fake_provider import FakeProvider

REPOSITORY: Final = Path(__file__).parents[2]
EXAMPLE: Final = REPOSITORY / "tests" / "example-workspace"
TIMEOUT_S: Final = 60.0

_PR_CAPBSET_DROP: Final = 24
_DAC_OVERRIDE: Final = 1
_DAC_READ_SEARCH: Final = 2


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run of the program left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401
        """The one document on stdout; fails if there is anything else."""
        return json.loads(self.out)

    @property
    def results(self) -> list[dict[str, Any]]:
        return list(self.json["results"])

    @property
    def paths(self) -> list[str]:
        return [result["path"] for result in self.results]


class Program:
    """`python -m ocmem` with a home of its own, a bare environment and no keys."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.state = home / ".openclaw"
        self.workspace = self.state / "workspace"
        self.config = self.state / "openclaw.json"
        self.overlay = home / "ocmem.json5"
        self.env = {
            "HOME": str(home),
            "PATH": os.environ.get("PATH", os.defpath),
            "PYTHONPATH": str(REPOSITORY),
            "OCMEM_CONFIG": str(self.overlay),
        }

    # --- what is there ---------------------------------------------------------------------------

    def note(self, name: str, text: str | bytes) -> Path:
        """Write a note into the workspace."""
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def save(self, name: str, text: str) -> Path:
        """The same at one blow, so that nobody who watches catches the note without its text."""
        draft = self.home / "draft"
        draft.write_text(text)
        return draft.replace(self.workspace / name)

    def example(self) -> None:
        """The workspace with the example notes in it."""
        shutil.copytree(EXAMPLE, self.workspace)

    def configure(self, **memory_search: object) -> None:
        self.configure_all({"agents": {"defaults": {"memorySearch": memory_search}}})

    def configure_all(self, config: object) -> None:
        """Write a whole openclaw.json."""
        self.state.mkdir(exist_ok=True)
        self.config.write_text(json.dumps(config))

    def configure_own(self, **memory_search: object) -> None:
        """The same in ocmem's own file."""
        defaults = {"memorySearch": memory_search}
        self.overlay.write_text(json.dumps({"agents": {"defaults": defaults}}))

    def use(self, fake: FakeProvider, **memory_search: object) -> None:
        """Configure the fake as openai."""
        remote = {"baseUrl": fake.base_url("openai"), "apiKey": fake.key("openai")}
        self.configure(provider="openai", remote=remote, **memory_search)

    @property
    def shared_index(self) -> Path:
        return self.state / "memory" / "main.sqlite"

    @property
    def own_index(self) -> Path:
        return self.state / "memory" / "main.ocmem.sqlite"

    # --- running ---------------------------------------------------------------------------------

    def __call__(
        self, *args: str, bound: bool = False, stdin: str | bytes = b"", **env: str
    ) -> Outcome:
        """Run to the end. `bound`: file permissions hold for the child, even if we are root."""
        done = subprocess.run(
            self.command(*args),
            cwd=self.home,
            env=self.env | env,
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
            preexec_fn=_without_override() if bound else None,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    def on_terminal(self, *args: str, columns: int) -> str:
        """What a terminal of that width gets to see on stdout."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        with subprocess.Popen(
            self.command(*args),
            cwd=self.home,
            env=self.env | {"TERM": "xterm"},
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=subprocess.DEVNULL,
        ):
            os.close(theirs)
            shown = b""
            with contextlib.suppress(OSError):  # how Linux says that the other end is closed
                while piece := os.read(ours, 65_536):
                    shown += piece
        os.close(ours)
        return shown.decode().replace("\r\n", "\n")

    def start(self, *args: str, ignoring: Sequence[int] = ()) -> subprocess.Popen[bytes]:
        """Run in the background, with both streams as pipes, and signals ignored as told."""

        def prepare() -> None:
            # A shell makes its background jobs ignore Ctrl-C, `nohup` a hang-up; it is handed down.
            for heard in (signal.SIGINT, signal.SIGHUP):
                signal.signal(heard, signal.SIG_DFL)
            for number in ignoring:
                signal.signal(number, signal.SIG_IGN)

        return subprocess.Popen(
            self.command(*args),
            cwd=self.home,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=prepare,
        )

    def command(self, *args: str) -> list[str]:
        return [sys.executable, "-m", "ocmem", *args]

    def index(self) -> None:
        """Index, and be sure of it."""
        done = self("index")
        assert done.code == 0, done.err


def indexed(index: Path) -> set[str]:
    """The paths of the files that an index file has."""
    db = sqlite3.connect(f"file:{index}?mode=ro", uri=True)
    try:
        return {path for (path,) in db.execute("SELECT path FROM files")}
    finally:
        db.close()


def digest(index: Path) -> list[tuple[object, ...]]:
    """What an index file has to say, to compare before and after."""
    db = sqlite3.connect(f"file:{index}?mode=ro", uri=True)
    try:
        chunks = "SELECT id, path, start_line, end_line, hash, text, embedding FROM chunks"
        files = "SELECT path, source, hash FROM files"
        return [*db.execute(f"{files} ORDER BY path"), *db.execute(f"{chunks} ORDER BY id")]
    finally:
        db.close()


def everything(root: Path) -> dict[str, tuple[int, bytes]]:
    """Whatever is below a folder: change time and contents."""
    return {
        str(path): (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in root.rglob("*")
    }


def _without_override() -> Callable[[], None] | None:
    # Root passes every permission check by virtue of two capabilities. Off the bounding set,
    # they do not survive the exec, and root is an owner like any other.
    if os.geteuid() != 0:
        return None
    libc = ctypes.CDLL(None)

    def drop() -> None:
        for capability in (_DAC_OVERRIDE, _DAC_READ_SEARCH):
            if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0):
                raise OSError("a capability could not be dropped")

    return drop


def permissions_hold(probe: Path) -> bool:
    """Whether a `bound` child can be refused a file."""
    probe.write_text("secret")
    probe.chmod(0)
    try:
        code = subprocess.run(
            ["cat", str(probe)], preexec_fn=_without_override(), capture_output=True, check=False
        ).returncode
    except subprocess.SubprocessError:
        return False
    finally:
        probe.unlink()
    return code != 0
