"""Memory and CPU time of transcripts: one large file, a line added to it, and many small ones.

python -m tests.benchmarks.transcripts [megabytes] [files]
"""

import json
import os
import random
import sys
import tempfile
from pathlib import Path

WORDS = "alpha router garden lisbon dentist tea harbour umbrella bridge museum ferry castle".split()


def run(args: list[str], home: Path) -> tuple[float, float]:
    """CPU seconds and peak memory in MB of one process, from the kernel's own account."""
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    null = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    quiet = (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)
    command = [sys.executable, "-m", "ocmem", *args]
    pid = os.posix_spawn(command[0], command, env, file_actions=[null, quiet])
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"exit status {status}: {' '.join(args)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def turn(said: str) -> str:
    message = {"role": "user", "content": [{"type": "text", "text": said}]}
    return json.dumps({"type": "message", "message": message}) + "\n"


def babble(most: int) -> str:
    return " ".join(random.choices(WORDS, k=random.randint(5, most)))


def measure(label: str, args: list[str], home: Path) -> None:
    seconds, megabytes = run(args, home)
    print(f"{seconds:8.2f} s  {megabytes:6.0f} MB  {label}")


def sessions_of(home: Path) -> Path:
    folder = home / ".openclaw" / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    return folder


def main(megabytes: int, files: int) -> None:
    random.seed(1)
    index = ["index", "--source", "sessions"]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        large = sessions_of(home) / "large.jsonl"
        with large.open("w") as file:
            while file.tell() < megabytes * 1_000_000:
                file.write(turn(babble(200)))
        measure(f"first index of {megabytes} MB", index, home)
        with large.open("a") as file:
            file.write(turn("one more zebra"))
        measure("the same with a line more", index, home)
        search = ["search", "zebra", "--source", "sessions", "--json"]
        measure("search", search, home)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        sessions = sessions_of(home)
        for number in range(files):
            path = sessions / f"{number}.jsonl"
            path.write_text("".join(turn(babble(30)) for _ in range(10)))
            os.utime(path, (1_700_000_000, 1_700_000_000))  # so old that its stamp is trusted
        measure(f"first index of {files} files", index, home)
        measure("the same, nothing changed", index, home)


if __name__ == "__main__":
    sizes = [int(text) for text in sys.argv[1:]]
    main(*(sizes + [100, 3000][len(sizes) :]))
