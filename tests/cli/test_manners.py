"""Global options, signals, pipes, secrets."""

import signal
import subprocess
import time

import pytest

from tests.cli.program import Program, digest
from tests.fake_provider import FOREVER, FakeProvider


def workspaces(ocmem: Program) -> None:
    for name in ("one", "two"):
        folder = ocmem.home / name
        folder.mkdir()
        (folder / f"{name}.md").write_text(f"The heron stood on pier {name}.\n")


@pytest.mark.parametrize(
    "args",
    [
        ["--workspace", "two", "search", "heron"],
        ["search", "--workspace", "two", "heron"],
        ["search", "heron", "--workspace", "two"],
        ["--workspace", "one", "search", "heron", "--workspace", "two"],
        ["--workspace", "one", "--workspace", "two", "search", "heron"],
        ["search", "heron", "--workspace", "one", "--workspace", "two"],
    ],
)
def test_global_options_go_anywhere_and_the_later_one_wins(ocmem: Program, args: list[str]) -> None:
    workspaces(ocmem)

    found = ocmem(*args, "--json")

    assert found.paths == ["two.md"]


def test_the_state_directory_can_be_named(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "Prefers tea.\n")
    elsewhere = ocmem.home / "elsewhere"
    (elsewhere / "workspace").mkdir(parents=True)
    (elsewhere / "workspace" / "MEMORY.md").write_text("Prefers coffee.\n")

    (entry,) = ocmem("--state-dir", str(elsewhere), "status", "--json").json

    assert entry["status"]["dbPath"].startswith(str(elsewhere))


def test_another_config_can_be_named(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "Prefers tea.\n")
    other = ocmem.home / "other.json"
    other.write_text("{ broken")

    done = ocmem("status", "--config", str(other))

    assert (done.code, done.out) == (1, "")
    assert "Config invalid" in done.err


def test_the_version_is_told(ocmem: Program) -> None:
    done = ocmem("--version")

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("ocmem ")


@pytest.mark.parametrize(
    "args",
    [
        ["index"],
        ["search", "tea"],
        ["tool", "memory_search", '{"query": "tea"}'],
        ["status", "--deep"],
    ],
)
def test_ctrl_c_ends_a_run_at_once(ocmem: Program, fake: FakeProvider, args: list[str]) -> None:
    ocmem.note("MEMORY.md", "Prefers tea.\n")
    ocmem.use(fake)
    fake.add_fault("hang", times=FOREVER)

    with ocmem.start(*args) as child:
        _wait_for_request(fake, child)
        interrupted = time.monotonic()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=20)
        took_s = time.monotonic() - interrupted

    assert child.returncode == 130
    assert out == b""
    assert b"Traceback" not in err
    assert took_s < 3


def test_ctrl_c_leaves_the_index_as_it_was(ocmem: Program, fake: FakeProvider) -> None:
    ocmem.note("MEMORY.md", "Prefers tea.\n")
    ocmem.use(fake)
    ocmem.index()
    before = digest(ocmem.shared_index)
    ocmem.note("memory/new.md", "Prefers coffee.\n")
    fake.forget()
    fake.add_fault("hang", times=FOREVER)

    with ocmem.start("index", "--force") as child:
        _wait_for_request(fake, child)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=20)

    assert child.returncode == 130
    assert digest(ocmem.shared_index) == before
    assert [path.name for path in ocmem.shared_index.parent.glob("*.tmp-*")] == []


@pytest.mark.parametrize(
    "args",
    [
        ["search", "tomatoes", "--max-results", "50"],
        ["get", "MEMORY.md"],
        ["tool", "memory_get", '{"path": "MEMORY.md"}'],
        ["status"],
    ],
)
def test_a_reader_that_leaves_early_is_no_reason_to_complain(
    ocmem: Program, args: list[str]
) -> None:
    ocmem.example()
    ocmem.note("MEMORY.md", "tomatoes\n" * 50_000)
    ocmem.index()

    with ocmem.start(*args) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        err = child.stderr.read()

    assert child.returncode == 0
    assert err == b""


def test_text_is_utf_8_in_any_locale(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "어제 비밀번호를 바꿨다 é\n")

    got = ocmem("get", "MEMORY.md", LC_ALL="C", PYTHONIOENCODING="ascii")
    found = ocmem("search", "비밀번호", "--json", LC_ALL="C", PYTHONUTF8="0")

    assert got.out == "어제 비밀번호를 바꿨다 é\n"
    assert "비밀번호를" in found.out


def test_colour_only_when_it_is_asked_for(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "Prefers tea.\n")

    piped = ocmem("search", "tea")
    forced = ocmem("search", "tea", "--color", "always")
    status = ocmem("status")
    refused = ocmem("search", "tea", "--no-color", bound=False, FORCE_COLOR="1")
    refused_first = ocmem("--color", "always", "search", "tea", "--no-color")
    asked_again = ocmem("--no-color", "search", "tea", "--color", "always")

    assert "\x1b[" not in piped.out + status.out
    assert "\x1b[" in forced.out
    assert piped.out == refused.out == refused_first.out
    assert "\x1b[" in asked_again.out


def test_several_agents_are_indexed_each_on_its_own(ocmem: Program) -> None:
    ocmem.state.mkdir()
    ocmem.config.write_text(
        """{ agents: { list: [
            { id: "Alpha One", default: true, workspace: "~/alpha" },
            { id: "beta", workspace: "~/beta" },
            { id: "gamma", memorySearch: { enabled: false } },
        ] } } // JSON5
        """
    )
    for name in ("alpha", "beta"):
        (ocmem.home / name).mkdir()
        (ocmem.home / name / "MEMORY.md").write_text(f"I am {name}.\n")

    done = ocmem("index")
    found = ocmem("search", "am", "--agent", "beta", "--json")

    assert done.out == "Memory index updated (Alpha One).\nMemory index updated (beta).\n"
    assert "Memory search disabled." in done.err
    assert "beta" in found.results[0]["snippet"]


def test_disabled_search_still_answers_in_json(ocmem: Program) -> None:
    ocmem.configure(enabled=False)

    done = ocmem("search", "tea", "--json")

    assert done.code == 0
    assert done.json["disabled"] is True
    assert done.json["results"] == []
    assert done.err == "Memory search disabled.\n"


def _wait_for_request(fake: FakeProvider, child: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 20
    while not fake.requests and time.monotonic() < deadline and child.poll() is None:
        time.sleep(0.02)
    assert fake.requests, "the program never asked the provider"


@pytest.mark.parametrize(
    "args",
    [
        ("search", "tea", "--json"),
        ("search", "--frob"),
        ("search", "--agent"),
        ("sessions", "list"),
        ("sessions", "frob"),
        ("flush-threshold", "--json"),
        ("flush_threshold",),
        ("get",),
        ("index", "extra"),
        ("frob",),
    ],
)
def test_a_command_says_the_same_wherever_it_stands(ocmem: Program, args: tuple[str, ...]) -> None:
    first = ocmem(*args)  # the others are not even built

    after_an_option = ocmem("--no-color", *args)

    assert (first.code, first.out, first.err) == (
        after_an_option.code,
        after_an_option.out,
        after_an_option.err,
    )


def test_a_command_can_be_the_value_of_an_option(ocmem: Program) -> None:
    done = ocmem("--agent", "search", "sessions", "list")

    assert (done.code, done.out) == (0, "No sessions.\n")
