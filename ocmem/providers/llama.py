"""The seam to llama.cpp: one small protocol, and xllamacpp behind it."""

import base64
import contextlib
import http.client
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from ocmem.errors import EmbedderError
from ocmem.model import Vector

POOLING_NONE, POOLING_LAST, POOLING_RANK = 0, 3, 4
MODEL_POOLING = -1  # whatever the file says

_NO_LOG, _ERRORS = 0, 1
_LONGEST_SOCKET_PATH = 100  # the system's own limit is 104 or 108 bytes
_EXPLAIN_S = 120.0
_TOKENIZE_S = 60.0


class Engine(Protocol):
    """A model that is loaded. Raises EmbedderError and nothing else."""

    def tokenize(self, text: str) -> list[int]:
        """The tokens with those that begin and end a text; none where the text itself has none."""
        ...

    def embed(self, tokens: Sequence[int]) -> Vector:
        """The pooled vector as the model gives it, not scaled."""
        ...


class XllamaEngine:
    def __init__(self, server: Any, folder: str) -> None:  # noqa: ANN401
        self._server = server
        self._socket = str(server.listening_address).removeprefix("unix://")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        # Waits until its thread is at work: one that is told to stop before never does.
        server.handle_metrics()

    def tokenize(self, text: str) -> list[int]:
        # Words that look like control tokens are words: notes may well hold "</s>".
        plain = {"content": text, "parse_special": False}
        if not self._tokens({**plain, "add_special": False}):
            return []
        return self._tokens({**plain, "add_special": True})

    def embed(self, tokens: Sequence[int]) -> Vector:
        # base64 rather than JSON numbers: it carries NaN and infinity as well.
        request = {"input": [list(tokens)], "encoding_format": "base64", "embd_normalize": -1}
        try:
            answer = json.loads(self._server.handle_embeddings(json.dumps(request)))
        except (RuntimeError, ValueError) as error:
            raise EmbedderError(f"local embeddings failed: {error}") from error
        if "error" in answer:
            raise EmbedderError(f"local embeddings failed: {answer['error'].get('message')}")
        data = base64.b64decode(answer["data"][0]["embedding"])
        return list(struct.unpack(f"<{len(data) // 4}f", data))

    def _tokens(self, request: dict[str, object]) -> list[int]:
        # The package offers no call for this; its own server does.
        connection = _UnixConnection(self._socket)
        try:
            headers = {"Content-Type": "application/json", "Connection": "close"}
            connection.request("POST", "/tokenize", json.dumps(request), headers)
            tokens: list[int] = json.loads(connection.getresponse().read())["tokens"]
        except (OSError, http.client.HTTPException, ValueError, LookupError) as error:
            raise EmbedderError(f"local embeddings failed: no tokens: {error}") from error
        finally:
            connection.close()
        return tokens


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_TOKENIZE_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def load(path: Path, *, context: int, threads: int, pooling: int = MODEL_POOLING) -> Engine:
    """The model in that file. ImportError if there is no llama.cpp."""
    try:
        return _loaded(path, context, threads, pooling, _NO_LOG)
    except (RuntimeError, MemoryError):
        why = _reason(path, context, threads, pooling)
    except OSError as error:
        why = str(error)
    raise EmbedderError(
        f"llama.cpp cannot load {path}: {why}",
        hint="the file may be damaged, or newer than xllamacpp: pip install -U xllamacpp",
    )


def usable_threads() -> int:
    """As many as OpenClaw takes, on a machine that has them."""
    with contextlib.suppress(AttributeError):  # macOS
        return min(6, len(os.sched_getaffinity(0)))
    return min(6, os.cpu_count() or 1)


def _loaded(path: Path, context: int, threads: int, pooling: int, verbosity: int) -> XllamaEngine:
    import xllamacpp

    folder = _private_folder()
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.offline = True
    params.embedding = True
    params.pooling_type = xllamacpp.llama_pooling_type(pooling)
    # A text is embedded in one piece: it must fit one batch.
    params.n_ctx = params.n_batch = params.n_ubatch = context
    params.n_parallel = 1
    params.fit_params = False
    params.warmup = False
    params.cache_prompt = False
    params.cache_ram_mib = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.verbosity = verbosity
    # The package always listens; here, only on a socket in a folder that others cannot enter.
    params.hostnames = [str(Path(folder) / "llama.sock")]
    params.n_threads_http = 1
    params.endpoint_metrics = True
    params.ui = False
    try:
        return XllamaEngine(xllamacpp.Server(params), folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _private_folder() -> str:
    usual = tempfile.gettempdir()
    is_short = len(os.fsencode(usual)) < _LONGEST_SOCKET_PATH - 30
    return tempfile.mkdtemp(prefix="ocmem-", dir=usual if is_short else "/tmp")


def _reason(path: Path, context: int, threads: int, pooling: int) -> str:
    """What llama.cpp has to say. It only ever says so on stderr, so another process asks."""
    code = (
        "import pathlib, sys; from ocmem.providers import llama; "
        f"llama._loaded(pathlib.Path(sys.argv[1]), {context}, {threads}, {pooling}, {_ERRORS})"
    )
    command = [sys.executable, "-P", "-c", code, str(path)]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_EXPLAIN_S,
            check=False,
        )
        for line in done.stderr.splitlines():
            _, found, reason = line.partition("error loading model: ")
            if found:
                return reason.strip()
    return "no reason given"
