"""Model files from a server on loopback that breaks off, lies and sends us elsewhere."""

import errno
import hashlib
import shutil
import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

from ocmem.errors import EmbedderError
from ocmem.providers import download
from ocmem.providers.web import Place
from tests.file_server import FileServer

DATA = b"GGUF" + bytes(range(256)) * 40_000
SHA256 = hashlib.sha256(DATA).hexdigest()
TOKEN = "hf_secretsecretsecret"


class Usage(NamedTuple):
    total: int
    used: int
    free: int


@dataclass
class Run:
    """Downloads into a folder, and what people get to hear meanwhile."""

    target: Path
    notices: list[str] = field(default_factory=list)
    reports: list[tuple[int, int]] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)

    def __call__(self, url: str, token: str = "") -> None:
        download.fetch(
            Place(url, token),
            self.target,
            report=lambda done, total: self.reports.append((done, total)),
            notice=self.notices.append,
            sleep=self.slept.append,
        )

    def failure(self, url: str, token: str = "") -> EmbedderError:
        with pytest.raises(EmbedderError) as caught:
            self(url, token)
        assert TOKEN not in f"{caught.value}{caught.value.hint}{self.notices}"
        assert not self.target.exists()
        return caught.value

    @property
    def part(self) -> Path:
        return self.target.with_name(f"{self.target.name}.part")

    @property
    def left(self) -> list[str]:
        return sorted(path.name for path in self.target.parent.iterdir())


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer(DATA) as server:
        yield server


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "models" / "m.gguf")


def test_a_file_arrives_whole_for_its_owner_only(server: FileServer, run: Run) -> None:
    run(server.url)

    assert run.target.read_bytes() == DATA
    assert run.left == ["m.gguf"]
    assert stat.S_IMODE(run.target.stat().st_mode) == 0o600
    assert stat.S_IMODE(run.target.parent.stat().st_mode) == 0o700
    assert run.reports[-1] == (len(DATA), len(DATA))
    assert run.reports == sorted(run.reports)
    assert run.notices == []


def test_a_file_that_is_there_is_not_asked_for(server: FileServer, run: Run) -> None:
    run.target.parent.mkdir()
    run.target.write_bytes(b"mine")

    run(server.url)

    assert (run.target.read_bytes(), server.requests) == (b"mine", [])


def test_a_download_that_breaks_off_goes_on_where_it_was(server: FileServer, run: Run) -> None:
    server.breaks = [3_000_000, 2_000_000]

    run(server.url)

    assert run.target.read_bytes() == DATA
    ranges = [request.get("range") for request in server.requests]
    assert ranges == [None, "bytes=3000000-", "bytes=5000000-"]
    assert server.requests[1]["if-range"] == server.etag
    assert all("broke off" in notice and "retrying in" in notice for notice in run.notices)
    assert run.slept == [0.5, 0.5]  # each time it got on


def test_the_next_run_goes_on_where_this_one_was_interrupted(server: FileServer, run: Run) -> None:
    def interrupt(done: int, total: int) -> None:
        if done >= 2_000_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download.fetch(Place(server.url), run.target, report=interrupt, notice=run.notices.append)
    kept = run.part.stat().st_size
    assert not run.target.exists()
    assert kept >= 2_000_000
    assert stat.S_IMODE(run.part.stat().st_mode) == 0o600

    run(server.url)

    assert run.target.read_bytes() == DATA
    assert server.requests[1]["range"] == f"bytes={kept}-"
    assert run.left == ["m.gguf"]


def test_a_server_that_ignores_ranges_starts_over(server: FileServer, run: Run) -> None:
    server.honours_range = False
    server.breaks = [3_000_000]

    run(server.url)

    assert run.target.read_bytes() == DATA
    assert len(server.requests) == 2


def test_a_file_that_changed_meanwhile_is_not_mixed_with_the_old_one(
    server: FileServer, run: Run
) -> None:
    run.target.parent.mkdir()
    run.part.write_bytes(b"GGUF of yesterday")
    run.part.with_name("m.gguf.part.etag").write_text('"v0"')

    run(server.url)

    assert run.target.read_bytes() == DATA
    assert server.requests[0]["if-range"] == '"v0"'


def test_a_beginning_of_unknown_origin_is_not_used(server: FileServer, run: Run) -> None:
    run.target.parent.mkdir()
    run.part.write_bytes(b"GGUF of who knows what")

    run(server.url)

    assert run.target.read_bytes() == DATA
    assert "range" not in server.requests[0]


def test_a_server_that_names_no_version_is_asked_for_everything_again(
    server: FileServer, run: Run
) -> None:
    server.etag = ""
    server.breaks = [3_000_000]

    run(server.url)

    assert run.target.read_bytes() == DATA
    assert "range" not in server.requests[1]


def test_a_server_that_never_gets_to_the_end_is_given_up(server: FileServer, run: Run) -> None:
    server.etag = ""
    server.breaks = [1_000_000] * 99

    error = run.failure(server.url)

    assert "broke off" in str(error)
    assert len(server.requests) == 5


def test_a_download_that_was_complete_needs_no_second(server: FileServer, run: Run) -> None:
    run.target.parent.mkdir()
    run.part.write_bytes(DATA)
    run.part.with_name("m.gguf.part.etag").write_text(server.etag)

    run(server.url)

    assert run.target.read_bytes() == DATA
    assert len(server.requests) == 1


@pytest.mark.parametrize("name", ["x-linked-etag", "ETag"])
def test_a_file_with_another_hash_is_refused_and_deleted(
    server: FileServer, run: Run, name: str
) -> None:
    server.headers = {name: f'"{"0" * 64}"'}
    server.etag = "" if name == "ETag" else server.etag

    error = run.failure(server.url)

    assert SHA256 in str(error)
    assert "0" * 64 in str(error)
    assert run.left == []


def test_a_file_with_its_hash_is_accepted(server: FileServer, run: Run) -> None:
    server.headers = {"x-linked-etag": f'"{SHA256}"', "x-linked-size": str(len(DATA))}
    server.breaks = [3_000_000]  # also where it came in two halves

    run(server.url)

    assert run.target.read_bytes() == DATA


def test_a_file_of_another_size_is_refused(server: FileServer, run: Run) -> None:
    server.headers = {"x-linked-size": str(len(DATA) - 1)}

    assert "keeps changing" in str(run.failure(server.url))


def test_a_page_instead_of_a_model_is_refused(server: FileServer, run: Run) -> None:
    server.data = b"<!doctype html>"

    error = run.failure(server.url)

    assert str(error) == 'Invalid GGUF magic. Expected "GGUF" but got "<!do"'
    assert run.left == []


def test_a_token_does_not_follow_to_another_origin(server: FileServer, run: Run) -> None:
    with FileServer(b"") as hub:
        hub.headers = {"x-linked-etag": f'"{SHA256}"', "x-linked-size": str(len(DATA))}
        hub.redirect = f"{server.url}signed?Signature=abc"
        server.etag = f'"{"1" * 64}"'  # the store's own hash, of another kind

        run(hub.url, TOKEN)

    assert hub.requests[0]["authorization"] == f"Bearer {TOKEN}"
    assert "authorization" not in server.requests[0]
    assert run.target.read_bytes() == DATA


def test_a_token_does_not_come_back(server: FileServer, run: Run) -> None:
    with FileServer(b"") as detour:
        server.redirect, detour.redirect = detour.url, server.url

        error = run.failure(server.url, TOKEN)

    assert "redirects without end" in str(error)
    assert ["authorization" in request for request in server.requests] == [True] + [False] * 5


def test_a_redirect_to_a_file_is_refused(server: FileServer, run: Run) -> None:
    server.redirect = "file:///etc/passwd"

    assert "redirects to file:" in str(run.failure(server.url))


@pytest.mark.parametrize(("status", "word"), [(404, "modelPath"), (401, "HF_TOKEN"), (403, "HF_")])
def test_a_refusal_is_not_repeated(server: FileServer, run: Run, status: int, word: str) -> None:
    server.statuses = [status]

    error = run.failure(f"{server.url}a.gguf?download=true", TOKEN)

    assert str(error).startswith(f"the model cannot be downloaded: {server.url}a.gguf: {status} ")
    assert word in str(error.hint)
    assert len(server.requests) == 1


def test_a_busy_server_is_asked_again(server: FileServer, run: Run) -> None:
    server.statuses = [503, 429, 500]

    run(server.url)

    assert run.target.read_bytes() == DATA
    assert run.slept == [0.5, 1.0, 2.0]


def test_a_server_that_stays_busy_is_given_up(server: FileServer, run: Run) -> None:
    server.statuses = [503] * 99

    assert ": 503 " in str(run.failure(server.url))
    assert len(server.requests) == 5


def test_a_server_that_is_not_there_is_named(run: Run) -> None:
    with FileServer(b"") as server:
        url = server.url

    assert str(run.failure(url, TOKEN)).startswith(f"cannot reach {url.rstrip('/')}: ")
    assert len(run.slept) == 4


def test_a_token_that_cannot_be_a_header_is_not_shown(server: FileServer, run: Run) -> None:
    error = run.failure(server.url, f"{TOKEN}\nX: y")

    assert "characters that HTTP does not allow" in str(error)
    assert server.requests == []


def test_a_full_disk_is_seen_before_it_is_full(
    server: FileServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(0, 0, 1_000_000))

    assert str(run.failure(server.url)).endswith("models: it needs 10 MB")


def test_a_disk_that_fills_up_keeps_what_there_is(
    server: FileServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []

    def fill(file: object, data: bytes) -> None:
        written.append(len(data))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download, "_write", fill)

    error = run.failure(server.url)

    assert str(error) == f"no room for the model in {run.target.parent}"
    assert "kept" in str(error.hint)


def test_a_folder_that_cannot_be_made_is_named(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    run = Run(tmp_path / "file" / "models" / "m.gguf")

    with pytest.raises(EmbedderError) as caught:
        run(server.url)

    assert str(caught.value).startswith(f"cannot write in {run.target.parent}: ")
    assert "modelCacheDir" in str(caught.value.hint)


def test_of_two_downloads_at_once_the_second_waits_and_finds_the_file(
    server: FileServer, run: Run
) -> None:
    second = Run(run.target)
    is_second_waiting = threading.Event()
    is_first_done = threading.Event()

    def wait(seconds: float) -> None:
        is_second_waiting.set()
        assert is_first_done.wait(30)

    def follow() -> None:
        download.fetch(
            Place(server.url),
            second.target,
            report=lambda done, total: second.reports.append((done, total)),
            notice=second.notices.append,
            sleep=wait,
        )

    follower = threading.Thread(target=follow)

    def report(done: int, total: int) -> None:
        if not is_second_waiting.is_set():
            follower.start()
            assert is_second_waiting.wait(30)

    download.fetch(Place(server.url), run.target, report=report, notice=run.notices.append)
    is_first_done.set()
    follower.join(30)

    assert second.notices == ["another process is downloading m.gguf; waiting"]
    assert (second.reports, len(server.requests)) == ([], 1)
    assert run.left == ["m.gguf"]


def test_the_lock_is_free_after_a_failure(server: FileServer, run: Run) -> None:
    server.statuses = [404]
    run.failure(server.url)

    run(server.url)

    assert run.target.exists()
