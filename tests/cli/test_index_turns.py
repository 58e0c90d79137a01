"""Two runs of `ocmem index` never fight: the second waits, or gives up and says for whom."""

import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from typing import Final

import pytest

from tests.cli.program import Outcome, Program, indexed
from tests.fake_provider import FakeProvider

UPDATED: Final = "Memory index updated (main).\n"
PATIENCE_S: Final = 20.0


def three_notes(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "Prefers tea over coffee.\n")
    ocmem.note("memory/heron.md", "The heron stood on the pier.\n")
    ocmem.note("memory/garden.md", "Sow the beans in May.\n")


class Held(FakeProvider):
    """A provider that embeds no note until it may; a query it does."""

    def __init__(self) -> None:
        super().__init__(dims=16, vector=self._wait)
        self.may_answer = threading.Event()
        self.was_asked = threading.Event()

    def _wait(self, text: str) -> None:
        if "\n" in text:
            self.was_asked.set()
            self.may_answer.wait(PATIENCE_S)

    def wait_for_a_request(self) -> None:
        assert self.was_asked.wait(PATIENCE_S), "the program never asked the provider"

    def stop(self) -> None:
        self.may_answer.set()
        super().stop()


@pytest.fixture
def held() -> Iterator[Held]:
    with Held() as provider:
        yield provider


def ended(process: subprocess.Popen[bytes]) -> Outcome:
    out, err = process.communicate(timeout=PATIENCE_S)
    return Outcome(process.returncode, out.decode(), err.decode())


def test_a_second_run_says_who_holds_the_index_and_waits(ocmem: Program, held: Held) -> None:
    three_notes(ocmem)
    ocmem.use(held)

    with ocmem.start("index") as first:
        held.wait_for_a_request()
        with ocmem.start("index") as second, ocmem.start("index", "--quiet") as quiet:
            assert second.stderr is not None
            said = second.stderr.readline().decode()
            held.may_answer.set()
            runs = [ended(first), ended(second), ended(quiet)]

    holder = rf"ocmem index \(process {first.pid}, since \d+ s\)"
    assert re.fullmatch(rf"\[memory\] .*/main.sqlite is being indexed by {holder}; waiting\n", said)
    assert [(run.code, run.out) for run in runs] == [(0, UPDATED), (0, UPDATED), (0, "")]
    assert "rebuilt 3 files" in runs[0].err
    assert "checked 3 files: 0 changed" in runs[1].err
    assert runs[2].err == ""
    assert len(held.texts()) == 3


def test_no_wait_says_who_holds_the_index_and_does_nothing(ocmem: Program, held: Held) -> None:
    three_notes(ocmem)
    ocmem.use(held)

    with ocmem.start("index") as first:
        held.wait_for_a_request()
        told = ocmem("index", "--no-wait")
        as_json = ocmem("index", "--no-wait", "--json")
        quiet = ocmem("index", "--no-wait", "--quiet")
        assert first.poll() is None
        held.may_answer.set()
        assert ended(first).code == 0

    assert [(run.code, run.out) for run in (told, quiet)] == [(0, "")] * 2
    assert (as_json.code, as_json.json) == (0, [])
    assert f"by ocmem index (process {first.pid}, " in told.err
    assert told.err.endswith("; nothing done\n")
    assert quiet.err == ""
    assert len(held.texts()) == 3


def test_a_waiting_run_can_be_interrupted(ocmem: Program, held: Held) -> None:
    three_notes(ocmem)
    ocmem.use(held)

    with ocmem.start("index") as first:
        held.wait_for_a_request()
        with ocmem.start("index") as second:
            assert second.stderr is not None
            assert b"waiting" in second.stderr.readline()
            second.send_signal(signal.SIGINT)
            interrupted = ended(second)
        held.may_answer.set()
        assert ended(first).code == 0

    assert (interrupted.code, interrupted.out, interrupted.err) == (130, "", "")


def test_a_killed_run_stands_in_nobodys_way(ocmem: Program, held: Held) -> None:
    three_notes(ocmem)
    ocmem.use(held)
    with ocmem.start("index") as killed:
        held.wait_for_a_request()
        killed.kill()
    held.may_answer.set()

    done = ocmem("index", "--no-wait")

    assert (done.code, done.out) == (0, UPDATED)
    assert str(killed.pid) not in done.err
    assert indexed(ocmem.shared_index) == {"MEMORY.md", "memory/garden.md", "memory/heron.md"}


def test_a_search_meanwhile_answers_from_what_is_there_and_says_why(
    ocmem: Program, held: Held
) -> None:
    three_notes(ocmem)
    ocmem.use(held)
    held.may_answer.set()
    ocmem.index()
    held.may_answer.clear()
    held.was_asked.clear()
    ocmem.note("memory/heron.md", "The heron flew off.\n")

    with ocmem.start("index") as run:
        held.wait_for_a_request()
        found = ocmem("search", "heron", "--json")
        assert run.poll() is None
        held.may_answer.set()
        assert ended(run).code == 0

    assert (found.code, found.json["stale"]) == (0, True)
    assert "pier" in found.results[0]["snippet"]
    assert f"is being indexed by ocmem index (process {run.pid}, " in found.err
