"""Runs that meet another one, are killed or find no room, and what the next one makes of it."""

import hashlib
import json
import os
import resource
import subprocess
import sys

import pytest

from ocmem.core import lock
from ocmem.core.export_manifest import NAME
from ocmem.core.session_markdown import Exported
from tests.unit.qmd.exports import NOW_MS, Exports, messages


def test_while_another_process_exports_nothing_is_done(exports: Exports) -> None:
    exports.say("a", "hello")

    with lock.exporting(exports.folder, wait_s=0):
        done = exports.run()

    (issue,) = done.issues
    assert not issue.serious
    assert f"is being written to by ocmem export (process {os.getpid()}" in issue.message
    assert exports.names() == []
    assert exports.run().written == ("a.md",)


def test_two_processes_at_once_leave_what_one_would(exports: Exports) -> None:
    for number in range(50):
        exports.say(f"s{number}", "hello")
    code = (
        "import pathlib\nfrom ocmem.core.session_markdown import export\n"
        f"done = export(pathlib.Path({str(exports.sessions)!r}), "
        f"pathlib.Path({str(exports.folder)!r}), workspace=pathlib.Path('/nowhere'), "
        f"retention_days=None, now_ms={NOW_MS}, wait_s=60)\n"
        "print(len(done.written), len(done.unchanged), len(done.issues))"
    )

    two = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]

    assert sorted(process.communicate()[0] for process in two) == ["0 50 0\n", "50 0 0\n"]
    assert len(exports.names()) == 50


@pytest.mark.parametrize("moment", ["before", "after"])
def test_what_a_killed_run_has_written_can_still_be_removed(exports: Exports, moment: str) -> None:
    exports.say("a", "hello")
    exports.run()
    exports.say("a", "again")
    exports.say("b", "there")
    put = "real(self, target)" if moment == "after" else "None"
    code = (
        "import os, pathlib\nfrom ocmem.core import export_files\n"
        "from ocmem.core.session_markdown import export\n"
        "real = export_files.Draft.put\n"
        f"export_files.Draft.put = lambda self, target: ({put}, os._exit(9))\n"
        f"export(pathlib.Path({str(exports.sessions)!r}), pathlib.Path({str(exports.folder)!r}), "
        f"workspace=pathlib.Path('/nowhere'), retention_days=None, now_ms={NOW_MS})"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    text = "# Session a\n\nUser: hello\n" + ("User: again\n" if moment == "after" else "")
    assert exports.text("a.md") == text
    exports.drop("a")
    exports.drop("b")

    done = exports.run()

    assert done == Exported(removed=("a.md",))
    assert [path.name for path in exports.folder.iterdir() if "tmp" in path.name] == []


def test_a_killed_run_is_taken_up_again(exports: Exports) -> None:
    exports.say("a", "hello")
    exports.run()
    with (exports.folder / NAME).open("a") as file:
        file.write('{"name": "b.md", "hashes": ["12')
    exports.say("b", "there")

    assert exports.run() == Exported(written=("b.md",), unchanged=("a.md",))
    exports.drop("a")
    exports.drop("b")
    assert exports.run().removed == ("a.md", "b.md")


def test_a_full_disk_stops_the_export_and_loses_nothing(exports: Exports) -> None:
    for base in ("a", "b", "c"):
        exports.say(base, "hello")
    exports.run()
    exports.say("a", "x" * 10_000)
    exports.say("b", "more")
    exports.drop("c")
    before = exports.text("a.md")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, limits[1]))
    try:
        done = exports.run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert messages(done) == [
        f"cannot write in {exports.folder}: File too large; not all sessions are exported"
    ]
    assert (done.written, done.removed) == ((), ("c.md",))
    assert exports.text("a.md") == before
    assert exports.run().written == ("a.md", "b.md")


def test_without_the_manifest_nothing_is_removed_and_what_is_live_is_known_again(
    exports: Exports,
) -> None:
    exports.say("a", "hello")
    exports.say("b", "there")
    exports.run()
    (exports.folder / NAME).unlink()
    exports.drop("b")

    assert exports.run() == Exported(unchanged=("a.md",), foreign=("b.md",))
    exports.drop("a")
    assert exports.run() == Exported(removed=("a.md",), foreign=("b.md",))


def test_a_manifest_that_cannot_be_read_stops_the_export(exports: Exports) -> None:
    exports.say("a", "hello")
    (exports.folder / NAME).mkdir(parents=True)

    (message,) = messages(exports.run())

    assert message.endswith("cannot be used for exported sessions: Is a directory")
    assert exports.names() == []


def test_a_manifest_of_another_format_has_every_transcript_read_again(
    exports: Exports, read: list[int]
) -> None:
    exports.say("a", "hello")
    exports.run()
    manifest = exports.folder / NAME
    lines = [json.loads(each) for each in manifest.read_text().splitlines()]
    lines[0]["format"] = 0
    manifest.write_text("\n".join(map(json.dumps, lines)))

    assert exports.run() == Exported(unchanged=("a.md",))
    assert read == 2 * [read[0]]
    assert json.loads(manifest.read_text().splitlines()[0])["format"] == 1


@pytest.mark.parametrize(
    "name",
    ["../out.md", "{root}/out.md", "sub/in.md", "a.txt", "x\0.md", "\ud800.md", "\udc80.md", 5],
)
def test_no_manifest_makes_ocmem_remove_what_is_not_an_export(exports: Exports, name: str) -> None:
    victim = b"# Session x\n"
    digest = hashlib.sha256(victim).hexdigest()
    for place in ("agents/main/qmd/out.md", "out.md", "agents/main/qmd/sessions/sub/in.md"):
        (exports.root / place).parent.mkdir(parents=True, exist_ok=True)
        (exports.root / place).write_bytes(victim)
    (exports.folder / "a.txt").write_bytes(victim)
    name = name.format(root=exports.root) if isinstance(name, str) else name
    odd = [b"\xff", b"[]", b"[" * 100_000, b'{"name": "a.md"}', b'{"name": "a.md", "hashes": [""]}']
    note = json.dumps({"name": name, "hashes": [digest], "file": {"x": 1}, "transcript": 5})
    (exports.folder / NAME).write_bytes(b"\n".join([*odd, note.encode()]))
    before = sorted(exports.root.rglob("*"))

    done = exports.run()

    assert done == Exported()
    assert set(before) <= set(exports.root.rglob("*"))
