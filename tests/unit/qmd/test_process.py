"""One command, bounded in time and output; nothing of it is ever left."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import pytest

from ocmem.backends.qmd import process
from ocmem.backends.qmd.process import Command, Output, TimedOut, TooMuchOutput
from tests.cli.program import REPOSITORY
from tests.fake_qmd import FakeQmd, is_running, wait_until


def run(fake: FakeQmd, *words: str, timeout_s: float = 20.0) -> Output:
    return process.run(
        Command((str(fake.command), *words), fake.folder, fake.env, timeout_s=timeout_s)
    )


def test_both_streams_and_the_exit_code_come_back(fake: FakeQmd) -> None:
    fake.on("search", stdout="out\n", stderr="err\n", code=3)

    assert run(fake, "search") == Output(3, "out\n", "err\n")


def test_the_child_gets_its_words_environment_and_folder_and_nothing_to_read(
    fake: FakeQmd, tmp_path: Path
) -> None:
    fake.on("search")

    process.run(Command((str(fake.command), "search", "a b", "ü"), tmp_path, fake.env))

    [seen] = fake.runs
    assert seen["argv"] == ["search", "a b", "ü"]
    assert seen["cwd"] == str(tmp_path)
    assert seen["stdin"] == ""
    assert {"HOME", "OCMEM_CONFIG"}.isdisjoint(seen["env"])


def test_bytes_that_are_no_text_do_not_stop_the_reading(fake: FakeQmd) -> None:
    fake.on("search", stdout=[0x61, 0xFF, 0x62])

    assert run(fake, "search").stdout == "a\ufffdb"


def test_the_end_by_a_signal_is_a_negative_code(fake: FakeQmd) -> None:
    fake.on("search", signal=int(signal.SIGSEGV))

    assert run(fake, "search").code == -signal.SIGSEGV


def test_what_takes_too_long_is_killed(fake: FakeQmd) -> None:
    fake.on("search", delay=60)

    with pytest.raises(TimedOut):
        run(fake, "search", timeout_s=0.5)


def test_so_is_what_closed_its_streams_and_goes_on(fake: FakeQmd) -> None:
    command = (sys.executable, "-c", "import os,time; os.close(1); os.close(2); time.sleep(60)")

    with pytest.raises(TimedOut):
        process.run(Command(command, fake.folder, fake.env, timeout_s=0.5))


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_more_text_than_fits_is_an_error_and_not_cut(fake: FakeQmd, stream: str) -> None:
    fake.on("search", **{stream: "0123456789", "repeat": 20_001, "delay": 60})

    with pytest.raises(TooMuchOutput):
        run(fake, "search")


def test_the_limit_counts_characters_and_is_allowed_itself(fake: FakeQmd) -> None:
    fake.on("search", stdout="üüüüüüüüüü", repeat=20_000)

    assert len(run(fake, "search").stdout) == process.MOST_CHARS


def test_a_child_that_outlives_its_parent_holds_nothing_up_and_is_ended(fake: FakeQmd) -> None:
    fake.on("search", stdout="[]", child="group")

    output = run(fake, "search")

    assert output == Output(0, "[]", "")
    [child] = fake.children()
    wait_until(lambda: not is_running(child))


def test_not_even_one_in_a_session_of_its_own_holds_anything_up(fake: FakeQmd) -> None:
    fake.on("search", stdout="[]", child="session")

    output = run(fake, "search")

    assert output.stdout == "[]"
    [child] = fake.children()
    os.kill(child, signal.SIGKILL)  # it went out of our reach on purpose


def test_a_timeout_ends_the_whole_group(fake: FakeQmd) -> None:
    fake.on("search", child="group", delay=60)

    with pytest.raises(TimedOut):
        run(fake, "search", timeout_s=1.0)

    wait_until(lambda: not any(map(is_running, fake.children())))


def test_a_command_that_is_not_there_is_an_error_of_the_system(fake: FakeQmd) -> None:
    with pytest.raises(FileNotFoundError):
        process.run(Command((str(fake.folder / "none"),), fake.folder, fake.env))


def test_it_runs_beside_the_main_thread_too(fake: FakeQmd) -> None:
    fake.on("search", stdout="[]")
    outputs: list[Output] = []

    thread = threading.Thread(target=lambda: outputs.append(run(fake, "search")))
    thread.start()
    thread.join()

    assert outputs == [Output(0, "[]", "")]


def test_handlers_of_others_are_as_before(fake: FakeQmd) -> None:
    fake.on("search")
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]

    run(fake, "search")

    assert [signal.getsignal(number) for number in numbers] == before


class Ended(Exception): ...


def test_a_request_to_end_that_comes_while_it_starts_leaves_nothing(
    fake: FakeQmd, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(number: int, frame: FrameType | None) -> NoReturn:
        raise Ended

    class Slow(subprocess.Popen[bytes]):
        """The request comes when the child is there, and before anybody knows of it."""

        def _execute_child(self, *args: Any) -> None:  # noqa: ANN401
            super()._execute_child(*args)  # type: ignore[misc]
            signal.raise_signal(signal.SIGTERM)

    fake.on("search", delay=60)
    monkeypatch.setattr(subprocess, "Popen", Slow)
    former = signal.signal(signal.SIGTERM, end)
    try:
        with pytest.raises(Ended):
            run(fake, "search")
    finally:
        signal.signal(signal.SIGTERM, former)

    assert not any(is_running(int(run["pid"])) for run in fake.runs)


RUNNER = """
import sys
from pathlib import Path
from ocmem.backends.qmd import process
import os
command, folder = sys.argv[1], Path(sys.argv[2])
process.run(process.Command((command, "search"), folder, os.environ, timeout_s=60))
"""


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGTERM, -signal.SIGTERM),
        (signal.SIGHUP, -signal.SIGHUP),
        (signal.SIGINT, -signal.SIGINT),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_however_we_are_ended_nothing_stays(
    fake: FakeQmd, number: signal.Signals, code: int
) -> None:
    fake.on("search", child="group", delay=60)
    words = [sys.executable, "-c", RUNNER, str(fake.command), str(fake.folder)]

    with subprocess.Popen(words, cwd=REPOSITORY, env=fake.env, stderr=subprocess.DEVNULL) as ours:
        wait_until(lambda: bool(fake.children()))
        os.kill(ours.pid, number)
        ended_with = ours.wait()

    assert ended_with == code
    pids = [*fake.children(), *(int(run["pid"]) for run in fake.runs)]
    wait_until(lambda: not any(map(is_running, pids)))


def test_an_impatient_second_request_changes_nothing(fake: FakeQmd) -> None:
    fake.on("search", child="group", delay=60)
    words = [sys.executable, "-c", RUNNER, str(fake.command), str(fake.folder)]

    with subprocess.Popen(words, cwd=REPOSITORY, env=fake.env, stderr=subprocess.DEVNULL) as ours:
        wait_until(lambda: bool(fake.children()))
        for _ in range(20):
            os.kill(ours.pid, signal.SIGTERM)
        ours.wait()

    wait_until(lambda: not any(map(is_running, fake.children())))
