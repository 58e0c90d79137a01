"""Each way in which QMD fails has a name, and something to try."""

import errno
import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocmem.backends.qmd import causes
from ocmem.backends.qmd.process import Output
from ocmem.errors import QmdError

NODE_20 = """file:///opt/qmd/dist/db.js:3
import { DatabaseSync } from "node:sqlite";
         ^^^^^^^^^^^^

SyntaxError: The requested module 'node:sqlite' does not provide an export named 'DatabaseSync'
    at ModuleJob._instantiate (node:internal/modules/esm/module_job:180:21)

Node.js v20.20.2
"""
OTHER_NODE = """Error: The module '/opt/qmd/node_modules/better-sqlite3/build/better_sqlite3.node'
was compiled against a different Node.js version using
NODE_MODULE_VERSION 115. This version of Node.js requires NODE_MODULE_VERSION 127.
"""
NO_ENGINE = """Expanding query...QMD Warning: GPU init failed (NoBinaryFoundError), falling back.
file:///opt/node_modules/node-llama-cpp/dist/bindings/getLlama.js:293
        throw new NoBinaryFoundError();
              ^

NoBinaryFoundError: NoBinaryFoundError
    at getLlamaForOptions (file:///opt/node_modules/node-llama-cpp/dist/getLlama.js:293:15)

Node.js v22.23.3
"""


def failed(stderr: str = "", *, stdout: str = "", code: int = 1) -> QmdError:
    return causes.failure(Output(code, stdout, stderr), "search")


@pytest.mark.parametrize(
    ("stderr", "code", "cause"),
    [
        ("/usr/bin/env: 'node': No such file or directory\n", 127, "node"),
        ("env: node: No such file or directory\n", 127, "node"),
        ("/opt/qmd: 3: exec: node: not found\n", 127, "node"),
        (NODE_20, 1, "node"),
        (OTHER_NODE, 1, "node"),
        ("Error: ERR_DLOPEN_FAILED\n", 1, "node"),
        ("SqliteError: database is locked\n", 1, "locked"),
        ("SQLITE_BUSY: database is busy", 1, "locked"),
        ("SqliteError: file is not a database\n", 1, "damaged"),
        ("SQLITE_CORRUPT: database disk image is malformed", 1, "damaged"),
        ("Collection not found: memory-dir-main\n", 1, "collections"),
        ("collection 'x' does not exist", 1, "collections"),
        (NO_ENGINE, 1, "models"),
        ("TypeError: fetch failed\n", 1, "models"),
        ("Error: getaddrinfo ENOTFOUND huggingface.co\n", 1, "models"),
        ("Usage: qmd search [options] <query>\n", 1, "failed"),
        ("", 1, "failed"),
    ],
)
def test_what_qmd_says_has_a_cause(stderr: str, code: int, cause: str) -> None:
    assert failed(stderr, code=code).cause == cause


def test_what_is_wrong_with_node_comes_with_what_to_do() -> None:
    assert "v20.20.2" in str(failed(NODE_20)) or "v20" in str(failed(NODE_20))
    assert "22" in (failed(NODE_20).hint or "")
    assert "npm install" in (failed(OTHER_NODE).hint or "")


def test_a_newer_node_in_a_stack_trace_is_not_to_blame() -> None:
    assert failed("TypeError: boom\n    at x (file:///a.js:1:2)\n\nNode.js v22.1.0\n").cause == (
        "failed"
    )


def test_a_crash_names_its_signal() -> None:
    error = failed(code=-signal.SIGSEGV)

    assert error.cause == "crash"
    assert "SIGSEGV" in str(error)
    assert "Node.js" in (error.hint or "")
    assert "memory" in (failed(code=-signal.SIGKILL).hint or "")


def test_without_words_on_one_stream_the_other_counts() -> None:
    assert "boom" in str(failed("", stdout="boom"))
    assert "boom" in str(failed("boom", stdout="fine"))
    assert "exit code 7" in str(failed(code=7))


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (errno.ENOENT, "missing"),
        (errno.EACCES, "missing"),
        (errno.ENOEXEC, "missing"),
        (errno.E2BIG, "query"),
    ],
)
def test_what_cannot_be_started_has_a_cause(number: int, cause: str) -> None:
    import os

    error = OSError(number, os.strerror(number))

    assert causes.unstartable(error, "/none/qmd", {"PATH": ""}).cause == cause


def test_a_program_whose_interpreter_is_missing_is_not_called_missing(tmp_path: Path) -> None:
    program = tmp_path / "qmd"
    program.write_text("#!/none/node\n")
    program.chmod(0o755)

    error = causes.unstartable(FileNotFoundError(), "qmd", {"PATH": str(tmp_path)})

    assert error.cause == "node"


# --- what is shown of its words ------------------------------------------------------------------


def test_the_error_is_picked_out_of_a_stack_trace() -> None:
    trace = "file:///a.js:3\n  throw x\n  ^\n\nTypeError: boom\n    at f (file:///a.js:3:4)\n"

    assert causes.excerpt(trace) == "TypeError: boom"


def test_the_fields_of_an_error_are_no_part_of_it() -> None:
    said = (
        "SqliteError: attempt to write a readonly database\n"
        "    at async file:///qmd/dist/cli/qmd.js:4093:13 {\n  code: 'SQLITE_READONLY'\n}\n"
    )

    assert str(failed(said)).endswith(": SqliteError: attempt to write a readonly database")


def test_a_plain_message_is_shown_in_one_line() -> None:
    assert causes.excerpt("Collection 'a' is odd.\n\n  Try b.\n") == (
        "Collection 'a' is odd. Try b."
    )


def test_escapes_and_control_characters_are_not_shown() -> None:
    shown = causes.excerpt(
        "\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07\x00\x07 end\r\n"
    )

    assert shown == "red link end"


def test_secrets_are_not_shown() -> None:
    secret = "sk-" + "a1B2c3D4" * 4

    assert secret not in causes.excerpt(
        f"Error: Authorization: Bearer {secret} OPENAI_KEY={secret}"
    )
    assert "hunter2" not in causes.excerpt("fetch failed: https://me:hunter2@mirror.example/m.gguf")
    assert secret not in causes.excerpt(" " * 10 + "x" * 280 + f" token={secret}")


@given(st.text())
def test_what_is_shown_is_short_and_one_line(text: str) -> None:
    shown = causes.excerpt(text)

    assert len(shown) <= 300
    assert not any(char < " " or "\x7f" <= char <= "\x9f" for char in shown)
