"""One command for people and for programs: neither may crash, and both must agree."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from tests.cli.program import Outcome, Program


def both_ways(ocmem: Program, *args: str, bound: bool = False) -> tuple[Outcome, Outcome]:
    """The command as it is, then with `--json`: one document on stdout, or nothing at all."""
    command, *rest = args
    text = ocmem(command, *rest, bound=bound)
    as_json = ocmem(command, "--json", *rest, bound=bound)
    for done in (text, as_json):
        assert "Traceback" not in done.err
    assert text.code == as_json.code
    assert as_json.out == "" or json.loads(as_json.out) is not None
    return text, as_json


def run_bytes(ocmem: Program, *args: bytes) -> tuple[int, bytes, bytes]:
    """As `Program`, with arguments that need not be UTF-8: exit code, stdout and stderr."""
    command = [*map(os.fsencode, ocmem.command()), *args]
    done = subprocess.run(
        command, cwd=ocmem.home, env=ocmem.env, capture_output=True, timeout=60, check=False
    )
    return done.returncode, done.stdout, done.stderr


def contents(root: Path) -> dict[str, bytes]:
    """Every regular file below a folder, to compare before and after."""
    files = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return {os.fsdecode(path.relative_to(root)): path.read_bytes() for path in files}


def redirected(ocmem: Program, redirection: str, *args: str) -> Outcome:
    """The command in a shell, with what a shell makes of its streams."""
    shell = shutil.which("sh") or "/bin/sh"
    done = subprocess.run(
        [shell, "-c", f'exec "$@" {redirection}', shell, *ocmem.command(*args)],
        cwd=ocmem.home,
        env=ocmem.env,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())
