"""Runs that are interrupted, and runs side by side, where QMD is the backend."""

import signal
import subprocess

import pytest

from tests.cli.qmd_program import QmdProgram
from tests.fake_qmd import is_running, wait_until

COMMANDS = [
    ("search", ["search", "heron"]),
    ("search", ["tool", "memory_search", '{"query": "heron"}']),
    ("update", ["index"]),
    ("--version", ["status", "--deep"]),
]


@pytest.mark.parametrize(("hanging", "args"), COMMANDS)
def test_ctrl_c_ends_a_run_and_what_it_started(
    qmd: QmdProgram, hanging: str, args: list[str]
) -> None:
    qmd.fake.on(hanging, delay=600, child="group")

    with qmd.start(*args) as child:
        wait_until(lambda: hanging in qmd.fake.commands and bool(qmd.fake.children()))
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=20)

    assert (child.returncode, out, err) == (130, b"", b"")
    wait_until(lambda: not any(map(is_running, qmd.fake.children())))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_no_qmd_outlives_us(qmd: QmdProgram, number: signal.Signals) -> None:
    qmd.fake.on("search", delay=600, child="group")

    with qmd.start("search", "heron") as child:
        wait_until(lambda: bool(qmd.fake.children()))
        child.send_signal(number)
        child.communicate(timeout=20)

    assert child.returncode == -number
    wait_until(lambda: not any(map(is_running, qmd.fake.children())))


def test_an_interrupted_search_is_no_failure_of_qmd(qmd: QmdProgram) -> None:
    qmd.fake.on("search", delay=600, child="group")
    qmd.fake.on("search", does=True)
    with qmd.start("search", "heron") as child:
        wait_until(lambda: bool(qmd.fake.children()))
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=20)

    assert qmd.ask("heron")["backend"] == "qmd"


def test_two_first_searches_at_once_both_answer_and_make_the_collections_once(
    qmd: QmdProgram,
) -> None:
    children = [qmd.start("search", "heron", "--json") for _ in range(2)]

    answers = [child.communicate(timeout=60) for child in children]

    assert [child.returncode for child in children] == [0, 0]
    assert all(b"memory/day.md" in out for out, _ in answers)
    assert qmd.fake.commands.count("collection add") == 3
    assert len(qmd.fake.collections(qmd.database)) == 3


def test_two_index_runs_take_turns(qmd: QmdProgram) -> None:
    children = [qmd.start("index") for _ in range(2)]

    ended = [child.communicate(timeout=60) for child in children]

    assert [child.returncode for child in children] == [0, 0], ended
    assert qmd.fake.commands.count("collection add") == 3
    assert qmd.fake.commands.count("update") == 2


@pytest.mark.parametrize("redirection", [subprocess.DEVNULL, subprocess.PIPE])
def test_qmd_is_never_given_our_input(qmd: QmdProgram, redirection: int) -> None:
    qmd("search", "heron", stdin="y\n" if redirection == subprocess.PIPE else b"")

    assert {run["stdin"] for run in qmd.fake.runs} == {""}
