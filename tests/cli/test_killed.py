"""A run that is killed leaves a valid index, and what was paid for stays paid for."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.cli.program import REPOSITORY, Program

FILES = 60
CONCURRENCY = 4
QUERY = "heron"
NOT_STORED = ([QUERY], ["ping"])  # a search, and the question for the number of dimensions


@dataclass
class Service:
    """The fake provider as a process of its own."""

    url: str
    port: int

    def requests(self) -> list[dict[str, Any]]:
        with urlopen(f"http://127.0.0.1:{self.port}/__ctl/requests") as answer:
            found: list[dict[str, Any]] = json.load(answer)
        return [request for request in found if request["texts"] not in NOT_STORED]

    def count(self) -> int:
        return len(self.requests())

    def paid_twice(self, first: int, last: int) -> int:
        """How many of those requests were for texts that a later one asked for again."""
        requests = sorted(self.requests(), key=lambda request: int(request["seq"]))
        return sum(
            any(set(request["texts"]) & set(later["texts"]) for later in requests[at + 1 :])
            for at, request in enumerate(requests)
            if first <= at < last
        )


@pytest.fixture
def service() -> Iterator[Service]:
    command = [sys.executable, "-m", "tests.fake_provider", "--mode", "words", "--dims", "8"]
    process = subprocess.Popen(
        [*command, "--latency", "0.01"], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process, process.stdout as out:
        ready = json.loads(out.readline())
        yield Service(ready["openai"], ready["port"])
        process.terminate()


@pytest.fixture
def chance() -> random.Random:
    seed = int(os.environ.get("OCMEM_TEST_SEED") or time.time_ns() % 1_000_000)
    sys.stdout.write(f"OCMEM_TEST_SEED={seed}\n")  # pytest shows it when a test fails
    return random.Random(seed)


def edit(ocmem: Program, chance: random.Random, numbers: range | list[int]) -> None:
    """New text, a few chunks of it, in some of the files."""
    for number in numbers:
        mark = chance.getrandbits(48)
        lines = [f"{QUERY} {number} {mark} {line} " + "words of a note " * 6 for line in range(45)]
        ocmem.note(f"memory/{number:02}.md", "\n".join(lines))


def kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def assert_sound(ocmem: Program, index: Path) -> None:
    if index.exists():
        with closing(sqlite3.connect(index)) as db:
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    done = ocmem("search", QUERY, "--no-sync", "--json")
    assert done.code == 0, done.err
    assert done.results or not index.exists()


def assert_complete(index: Path) -> None:
    with closing(sqlite3.connect(index)) as db:
        ids = [
            {id for (id,) in db.execute(f"SELECT id FROM {table}")}
            for table in ("chunks", "chunks_fts", "chunks_vec_rowids", "ocmem_docs")
        ]
        assert db.execute("SELECT count(*) FROM files").fetchone() == (FILES,)
    assert ids[0]
    assert all(each == ids[0] for each in ids)


@pytest.mark.parametrize("options", [[], ["--force"]], ids=["incremental", "full"])
def test_a_killed_run_leaves_a_valid_index_and_pays_nothing_twice(
    ocmem: Program, service: Service, chance: random.Random, options: list[str]
) -> None:
    remote = {"baseUrl": service.url, "apiKey": "key-openai"}
    ocmem.configure(provider="openai", remote=remote)
    edit(ocmem, chance, range(FILES))
    ocmem.index()
    runs = []

    for attempt in range(5):
        edit(ocmem, chance, chance.sample(range(FILES), FILES // 2))
        before = service.count()
        process = ocmem.start("index", *options)
        # Twice in the writing after the last answer, otherwise amid the answers.
        wanted = FILES // 2 if attempt > 2 else chance.randint(1, FILES // 2)
        while service.count() < before + wanted and process.poll() is None:
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.3 if attempt > 2 else 0.01))
        kill(process)
        runs.append((before, service.count()))
        assert_sound(ocmem, ocmem.shared_index)

    done = ocmem("index", *options)

    assert done.code == 0, done.err
    assert_complete(ocmem.shared_index)
    # What was under way at the moment of the kill may be lost, and nothing else.
    assert max(service.paid_twice(*run) for run in runs) <= CONCURRENCY


def test_a_killed_run_of_the_builtin_provider_leaves_a_valid_index(
    ocmem: Program, chance: random.Random
) -> None:
    ocmem.configure_own(provider="builtin")
    edit(ocmem, chance, range(FILES))
    for options in ([], [], ["--force"], ["--force"]):
        process = ocmem.start("index", *options)
        time.sleep(chance.uniform(0.2, 1.5))
        kill(process)
        assert_sound(ocmem, ocmem.own_index)
        edit(ocmem, chance, chance.sample(range(FILES), 20))

    done = ocmem("index")

    assert done.code == 0, done.err
    assert_complete(ocmem.own_index)
