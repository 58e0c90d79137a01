"""CPU time of a search through QMD, beside QMD's own and beside one by keyword in our own index.

python -m tests.benchmarks.qmd_search QMD [rounds]
"""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.cold_start import EXAMPLE, cpu_seconds

QUERY = "dentist"


def main(command: str, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / ".openclaw"
        shutil.copytree(EXAMPLE, state / "workspace")
        config = {"memory": {"backend": "qmd", "qmd": {"command": command}}}
        (state / "openclaw.json").write_text(json.dumps(config))
        env = {"HOME": folder, "PATH": os.environ["PATH"]}
        home = state / "agents" / "main" / "qmd"
        its_own = env | {
            "XDG_CONFIG_HOME": str(home / "xdg-config"),
            "XDG_CACHE_HOME": str(home / "xdg-cache"),
        }
        ocmem = [sys.executable, "-m", "ocmem"]
        search = [*ocmem, "search", QUERY, "--json"]
        keywords = [*search, "--backend", "builtin", "--provider", "none"]
        commands = {
            "qmd search": ([command, "search", QUERY, "--json"], its_own),
            "ocmem search --json": (search, env),
            "the same, the built-in index by keyword": (keywords, env),
        }
        cpu_seconds([*ocmem, "index"], env)
        best = dict.fromkeys(commands, float("inf"))
        for _ in range(rounds + 1):  # in turns, so that a noisy moment hits all alike
            for name, (args, chosen) in commands.items():
                best[name] = min(best[name], cpu_seconds(args, chosen))
        floor = best["qmd search"]
        for name, seconds in best.items():
            print(f"{seconds * 1000:8.1f} ms  {seconds / floor:5.2f}x  {name}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 9)
