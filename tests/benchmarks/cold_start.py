"""CPU time of whole runs, as multiples of `python -c pass` measured in the same run.

python -m tests.benchmarks.cold_start [rounds]
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent / "example-workspace"


def cpu_seconds(args: list[str], env: dict[str, str]) -> float:
    """User and system time of one process, from the kernel's own account."""
    null = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    quiet = (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)
    pid = os.posix_spawn(args[0], args, env, file_actions=[null, quiet])
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"exit status {status}: {' '.join(args)}")
    return usage.ru_utime + usage.ru_stime


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        shutil.copytree(EXAMPLE, notes)
        env = {"HOME": folder, "PATH": os.environ["PATH"]}
        python = [sys.executable, "-c", "pass"]
        ocmem = [sys.executable, "-m", "ocmem"]
        here = ["--workspace", str(notes)]
        commands = {
            "python -c pass": python,
            "ocmem --version": [*ocmem, "--version"],
            "ocmem --help": [*ocmem, "--help"],
            "ocmem status": [*ocmem, "status", *here],
            "ocmem search --json": [*ocmem, "search", "when is the dentist", "--json", *here],
            "ocmem search --json --provider none": [
                *ocmem, "search", "dentist", "--json", "--no-sync", "--provider", "none", *here,
            ],
            "ocmem index (no change)": [*ocmem, "index", *here],
        }  # fmt: skip
        cpu_seconds([*ocmem, "index", *here], env)
        for file in notes.rglob("*.md"):  # old enough that their stamps can be trusted
            os.utime(file, (1_700_000_000, 1_700_000_000))
        best = dict.fromkeys(commands, float("inf"))
        for _ in range(rounds):  # in turns, so that a noisy moment hits all alike
            for name, args in commands.items():
                best[name] = min(best[name], cpu_seconds(args, env))
        floor = best["python -c pass"]
        for name, seconds in best.items():
            print(f"{seconds * 1000:8.1f} ms  {seconds / floor:5.1f}x  {name}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
