"""What has just failed is left alone for a while, and never for ever."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocmem.backends.qmd import cooldown, state
from ocmem.backends.qmd.cooldown import FIRST_MS, LONGEST_MS, Failure
from ocmem.backends.qmd.state import Memory, State
from ocmem.errors import QmdError
from tests.fake_qmd import mode_of

NOW = 1_000_000_000_000


def failure(at_ms: int = NOW, count: int = 1) -> Failure:
    return Failure(at_ms, count, "crash", "QMD crashed", None)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path / state.NAME, "qmd", "search")


def remember(memory: Memory, cause: str = "crash", now_ms: int = NOW) -> None:
    memory.remember(QmdError("QMD crashed", cause=cause), now_ms)


def test_the_rest_doubles_from_a_minute_to_an_hour() -> None:
    minutes = [failure(count=count).rest_ms / 60_000 for count in range(1, 10)]

    assert minutes == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_it_is_over_when_its_time_has_passed() -> None:
    assert failure().left_ms(NOW) == FIRST_MS
    assert failure().left_ms(NOW + FIRST_MS - 1) == 1
    assert failure().left_ms(NOW + FIRST_MS) == 0


@given(st.integers(0, 2**62), st.integers(1, 10**6), st.integers(0, 2**62))
def test_no_clock_keeps_it_up_for_longer_than_the_longest(at: int, count: int, now: int) -> None:
    left = failure(at, count).left_ms(now)

    assert 0 <= left <= LONGEST_MS
    assert now >= at or left == 0  # the clock was set back


def test_failures_in_a_row_are_counted() -> None:
    first = cooldown.after(None, now_ms=1, cause="crash", reason="a")
    second = cooldown.after(first, now_ms=2, cause="timeout", reason="b", hint="h")

    assert (first.count, second) == (1, Failure(2, 2, "timeout", "b", "h"))


def test_who_asks_again_at_once_is_told_why_not(memory: Memory) -> None:
    remember(memory)

    with pytest.raises(QmdError) as caught:
        memory.check_rest(NOW + 1000)

    assert caught.value.cause == "resting"
    assert "QMD crashed" in str(caught.value)
    assert "59 s" in str(caught.value)
    memory.check_rest(NOW + FIRST_MS)


def test_a_success_ends_it(memory: Memory) -> None:
    remember(memory)
    remember(memory)

    memory.forget()

    memory.check_rest(NOW)
    remember(memory)
    assert memory.state().failure == failure(count=1)


@pytest.mark.parametrize("cause", ["query", "missing", "resting"])
def test_what_is_not_qmds_fault_or_costs_nothing_needs_no_rest(memory: Memory, cause: str) -> None:
    remember(memory, cause)

    memory.check_rest(NOW)
    assert not memory.path.exists()


def test_another_command_or_mode_has_not_failed_yet(memory: Memory) -> None:
    memory.keep(State(updated_at_ms=5, failure=failure(), command="qmd", mode="search"))

    other = Memory(memory.path, "/new/qmd", "search").state()

    assert (other.failure, other.updated_at_ms) == (None, 5)
    assert Memory(memory.path, "qmd", "query").state().failure is None
    assert memory.state().failure == failure()


def test_the_state_is_for_its_owner_and_replaced_at_once(memory: Memory) -> None:
    before = os.umask(0)
    try:
        remember(memory)
    finally:
        os.umask(before)

    assert mode_of(memory.path) == 0o600
    assert [path.name for path in memory.path.parent.iterdir()] == [state.NAME]


@given(
    st.builds(
        State,
        updated_at_ms=st.none() | st.integers(0, 2**53),
        managed=st.lists(st.text()).map(tuple),
        failure=st.none()
        | st.builds(
            Failure,
            at_ms=st.integers(0, 2**53),
            count=st.integers(1, 100),
            cause=st.just("crash"),
            reason=st.text(),
            hint=st.none() | st.text(),
        ),
        command=st.just("qmd"),
        mode=st.just("search"),
    )
)
def test_what_is_kept_comes_back(tmp_path_factory: pytest.TempPathFactory, kept: State) -> None:
    memory = Memory(tmp_path_factory.getbasetemp() / "kept.json", "qmd", "search")

    memory.keep(kept)

    assert memory.state() == kept


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        "null",
        "{}",
        '{"version": 2}',
        '{"version": 1, "failure": 3}',
        '{"version": 1, "failure": {"at_ms": "soon"}}',
        '{"version": 1, "failure": {"at_ms": Infinity, "count": 1, "cause": "", "reason": "",'
        ' "hint": null}}',
        '{"version": 1, "updated_at_ms": []}',
    ],
)
def test_a_state_that_cannot_be_read_is_none(memory: Memory, text: str) -> None:
    memory.path.write_text(text)

    assert memory.state() == State(command="qmd", mode="search")


def test_a_folder_that_cannot_be_written_costs_only_the_rest(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "none" / state.NAME, "qmd", "search")

    remember(memory)

    memory.check_rest(NOW)


def test_the_file_says_in_plain_words_what_failed(memory: Memory) -> None:
    remember(memory)

    assert json.loads(memory.path.read_text())["failure"]["reason"] == "QMD crashed"
