"""What went wrong with QMD, named: for people with what to try, for programs as one word."""

import re
import shutil
import signal
from collections.abc import Mapping
from typing import Literal

from ocmem.backends.qmd.process import MOST_CHARS, Output
from ocmem.core import redact, utf16
from ocmem.errors import QmdError

Cause = Literal[
    "missing",  # there is no such command
    "node",  # QMD is there, but not the Node.js that it needs
    "timeout",
    "crash",  # ended by a signal
    "locked",  # another process keeps the index
    "unreadable",  # the index may not be opened
    "damaged",  # the index is no database any more
    "collections",  # QMD does not know a collection
    "models",  # the mode needs models that are not there, or cannot run
    "output",  # an answer that is none
    "failed",  # everything else that QMD calls an error
    "query",  # the query cannot be handed over: nothing is wrong with QMD
    "resting",  # it failed a moment ago, and was not asked again
]

NODE_HINT = "QMD 2 needs Node.js 22 or later: install it, or put it first in PATH"
_REBUILD_HINT = "install QMD with the Node.js that runs it: npm install -g @tobilu/qmd"
_MODELS_HINT = "ocmem warmup fetches them; searchMode: search needs none"
_OLDEST_NODE = 22
_USER_INFO = re.compile(r"//[^/\s@]+@")  # a password in an address
_MOST_UNITS = 300
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_STACK = re.compile(
    r"at .*[)\d](?: \{)?$|file://\S+:\d+$|node:\S+:\d+$|Node\.js v[\d.]+$|\^+$|throw "
    r"|code: '\w+',?$|\}$"
)
_NODE_VERSION = re.compile(r"^Node\.js v(\d+)\.", re.MULTILINE)
_NO_NODE = re.compile(r"\bnode\W*: (?:No such file or directory|(?:command )?not found)")
_WRONG_MODULES = re.compile(r"NODE_MODULE_VERSION|ERR_DLOPEN_FAILED|compiled against a different")
_BUSY = re.compile(r"SQLITE_BUSY|SQLITE_LOCKED|database (?:table )?is locked", re.IGNORECASE)
_DAMAGED = re.compile(
    r"SQLITE_NOTADB|SQLITE_CORRUPT|file is not a database|disk image is malformed"
)
_NO_COLLECTION = re.compile(r"not found|does not exist|missing", re.IGNORECASE)
_NO_ENGINE = re.compile(r"NoBinaryFoundError|node-llama-cpp.*(?:not found|Cannot find)")
_NO_MODELS = re.compile(
    r"huggingface|fetch failed|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|model\b.*not found"
    r"|\.gguf\b",
    re.IGNORECASE,
)


def failure(output: Output, doing: str) -> QmdError:
    """The error of a command that ended with another exit code than 0."""
    said = output.stderr if output.stderr.strip() else output.stdout
    if output.code < 0:
        return _crash(-output.code, doing)
    version = _NODE_VERSION.search(said)
    if _NO_NODE.search(said):
        return QmdError("QMD needs Node.js, which is not in PATH", cause="node", hint=NODE_HINT)
    if _WRONG_MODULES.search(said):
        what = "QMD was installed for another Node.js than the one in PATH"
        return QmdError(what, cause="node", hint=_REBUILD_HINT)
    if version is not None and int(version[1]) < _OLDEST_NODE:
        what = f"the Node.js in PATH is too old for QMD ({version[0]})"
        return QmdError(what, cause="node", hint=NODE_HINT)
    if _BUSY.search(said):
        return QmdError(
            f"QMD could not {doing}: another process keeps its index locked", cause="locked"
        )
    if _DAMAGED.search(said):
        return damaged(doing)
    if _NO_ENGINE.search(said):
        what = f"QMD could not {doing}: it has no llama.cpp for this machine"
        return QmdError(what, cause="models", hint="searchMode: search works without")
    shown = excerpt(said) or f"exit code {output.code}, and no reason"
    cause: Cause = "failed"
    if "collection" in said.lower() and _NO_COLLECTION.search(said):
        cause = "collections"
    elif _NO_MODELS.search(said):
        cause = "models"
    hint = _MODELS_HINT if cause == "models" else None
    return QmdError(f"QMD could not {doing}: {shown}", cause=cause, hint=hint)


def unstartable(error: OSError, command: str, env: Mapping[str, str]) -> QmdError:
    """The error of a command that could not be started at all."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        if shutil.which(command, path=env.get("PATH")) is not None:
            return QmdError(
                f"{command} cannot run: the program that it is written for is missing",
                cause="node",
                hint=NODE_HINT,
            )
        return missing(command)
    if isinstance(error, PermissionError):
        return QmdError(f"{command} may not be run: {error.strerror}", cause="missing")
    if "too long" in (error.strerror or ""):
        return QmdError("the query is too long to be handed to QMD", cause="query")
    return QmdError(f"{command} cannot be run: {error.strerror}", cause="missing")


def missing(command: str) -> QmdError:
    return QmdError(
        f"QMD is not installed: there is no command {command}",
        cause="missing",
        hint="npm install -g @tobilu/qmd, or set memory.qmd.command to where it is",
    )


def timed_out(doing: str, *, timeout_ms: int, key: str) -> QmdError:
    return QmdError(
        f"QMD took longer than {timeout_ms / 1000:g} s to {doing}",
        cause="timeout",
        hint=f"memory.qmd.{key} sets how long it may take",
    )


def too_much(doing: str) -> QmdError:
    return QmdError(
        f"QMD printed more than {MOST_CHARS:,} characters while it was to {doing}", cause="output"
    )


def without_models() -> QmdError:
    return QmdError("QMD's models are not on this machine", cause="models", hint=_MODELS_HINT)


def damaged(doing: str) -> QmdError:
    return QmdError(
        f"QMD could not {doing}: its index is damaged",
        cause="damaged",
        hint="ocmem index --force builds it anew",
    )


def excerpt(text: str) -> str:
    """What matters of an error output: without escapes, secrets and stack traces, and short."""
    plain = _ESCAPES.sub("", text).splitlines()
    lines = [" ".join(_CONTROLS.sub(" ", line).split()) for line in plain]
    told = [line for line in lines if line and not _STACK.match(line)] or list(filter(None, lines))
    named = next((at for at, line in enumerate(told) if re.match(r"(?:\w*Error|fatal)\b", line)), 0)
    shown = _USER_INFO.sub("//***@", redact.redact(" ".join(told[named:])))
    if utf16.length(shown) <= _MOST_UNITS:
        return shown
    return utf16.prefix(shown, _MOST_UNITS - 1) + "…"


def _crash(number: int, doing: str) -> QmdError:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    hint = None
    if number in (signal.SIGSEGV, signal.SIGILL, signal.SIGBUS, signal.SIGABRT):
        hint = f"often another Node.js comes first in PATH than QMD was installed with; {NODE_HINT}"
    elif number == signal.SIGKILL:
        hint = "the system may have run out of memory"
    return QmdError(f"QMD was ended by {name} when it was to {doing}", cause="crash", hint=hint)
