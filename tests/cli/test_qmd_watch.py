"""`ocmem watch` where QMD is the backend, with real file events."""

import json
import signal
from pathlib import Path

import pytest

from tests.cli.program import Program
from tests.cli.watching import watching
from tests.fake_qmd import FakeQmd, is_running, wait_until

QUICK = ("--debounce", "200")


@pytest.fixture
def fake(ocmem: Program, tmp_path: Path) -> FakeQmd:
    fake = FakeQmd(tmp_path / "fake")
    ocmem.env |= {"FAKE_QMD": str(fake.folder)}
    ocmem.note("memory/day.md", "Saw a heron.\n")
    qmd = {"command": str(fake.command)}
    ocmem.config.write_text(json.dumps({"memory": {"backend": "qmd", "qmd": qmd}}))
    return fake


def test_what_is_saved_is_found_by_qmd(ocmem: Program, fake: FakeQmd) -> None:
    with watching(ocmem, *QUICK) as watch:
        assert watch.line().endswith(" s")

        ocmem.note("memory/deep/new.md", "A zebra came by.\n")
        line = watch.line()
        while "1 new" not in line:
            line = watch.line()
        found = ocmem("search", "zebra", "--json", "--no-sync")

        assert found.paths == ["memory/deep/new.md"]
        assert "Watched by: ocmem watch" in ocmem("status").out
        code, _, _ = watch.stop()
    assert code == 0


def test_an_event_says_what_qmd_did(ocmem: Program, fake: FakeQmd) -> None:
    with watching(ocmem, *QUICK, "--json") as watch:
        event = watch.sync()

        assert (event["event"], event["reason"], event["backend"]) == ("sync", "start", "qmd")
        assert event["files"]["changed"] == 1
        watch.stop()


def test_a_qmd_that_hangs_ends_with_its_watcher(ocmem: Program, fake: FakeQmd) -> None:
    fake.on("update", delay=60.0, child="group")

    with watching(ocmem, *QUICK) as watch:
        wait_until(lambda: "update" in fake.commands and bool(fake.children()))
        code, out, _ = watch.stop(signal.SIGTERM)

    assert (code, out) == (0, "")
    left = [int(run["pid"]) for run in fake.runs] + fake.children()
    wait_until(lambda: not any(map(is_running, left)))


def test_a_qmd_that_fails_is_told_and_the_watcher_goes_on(ocmem: Program, fake: FakeQmd) -> None:
    fake.on("update", code=1, stderr="Error: disk on fire")

    with watching(ocmem, *QUICK, "--json") as watch:
        event = watch.sync()

        assert event["event"] == "error"
        assert "disk on fire" in event["error"]
        assert "trying again later" in watch.talk("disk on fire")
        assert watch.stop()[0] == 0
