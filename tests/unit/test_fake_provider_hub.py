"""The model hub of the fake: whole files, parts of them, and what can go wrong on the way."""

import hashlib
import http.client
from collections.abc import Iterator

import pytest

from tests.fake_provider import FOREVER, FakeProvider
from tests.unit.fake_client import Answer, call

MODEL = bytes(range(256)) * 400
DIGEST = hashlib.sha256(MODEL).hexdigest()
PATH = "/ggml-org/tiny-GGUF/resolve/main/tiny-Q8_0.gguf?download=true"
TOKEN = {"Authorization": "Bearer key-hub"}


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider() as fake:
        fake.models["ggml-org/tiny-GGUF/tiny-Q8_0.gguf"] = MODEL
        yield fake


def fetch(fake: FakeProvider, path: str = PATH, *, method: str = "GET", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return call(fake.base_url("hub") + path, method=method, headers=named)


def part(fake: FakeProvider, span: str) -> Answer:
    return fetch(fake, Range=f"bytes={span}")


def test_a_file_comes_with_its_size_and_hash(fake: FakeProvider) -> None:
    got, head = fetch(fake), fetch(fake, method="HEAD")

    assert got.body == MODEL and head.body == b""
    for answer in (got, head):
        assert answer.status == 200
        assert answer.headers["Content-Length"] == answer.headers["X-Linked-Size"] == "102400"
        assert answer.headers["ETag"] == answer.headers["X-Linked-ETag"] == f'"{DIGEST}"'
    assert fake.operations() == ["hub hub_get", "hub hub_head"]
    assert fake.violations() == []


@pytest.mark.parametrize(
    ("span", "body", "told"),
    [
        ("0-99", MODEL[:100], "bytes 0-99/102400"),
        ("102000-", MODEL[102000:], "bytes 102000-102399/102400"),
        ("102390-999999", MODEL[-10:], "bytes 102390-102399/102400"),
        ("-7", MODEL[-7:], "bytes 102393-102399/102400"),
    ],
)
def test_a_range_is_that_part_of_the_file(
    fake: FakeProvider, span: str, body: bytes, told: str
) -> None:
    answer = part(fake, span)

    assert (answer.status, answer.body) == (206, body)
    assert answer.headers["Content-Range"] == told


def test_a_range_behind_the_end_is_refused(fake: FakeProvider) -> None:
    answer = part(fake, "102400-")

    assert (answer.status, answer.headers["Content-Range"]) == (416, "bytes */102400")


@pytest.mark.parametrize(("tag", "status"), [(f'"{DIGEST}"', 206), ('"old"', 200)])
def test_a_part_of_a_file_that_has_changed_is_the_whole(
    fake: FakeProvider, tag: str, status: int
) -> None:
    assert fetch(fake, Range="bytes=5-", If_Range=tag).status == status


def test_a_server_may_ignore_ranges(fake: FakeProvider) -> None:
    fake.add_fault("ignore_range")

    answers = [part(fake, "5-"), fetch(fake), part(fake, "5-")]

    assert [(answer.status, len(answer.body)) for answer in answers] == [(200, 102400)] * 3
    assert [request.fault for request in fake.requests] == ["ignore_range", None, "ignore_range"]


def test_branches_and_folders_are_part_of_the_path(fake: FakeProvider) -> None:
    fake.models["u/r@v2/dir/a b.gguf"] = b"branch"

    assert fetch(fake, "/u/r/resolve/v2/dir/a%20b.gguf").body == b"branch"
    assert fetch(fake, "/u/r/resolve/main/dir/a%20b.gguf").status == 401


def test_what_is_missing_is_told_as_the_hub_does(fake: FakeProvider) -> None:
    no_file = fetch(fake, "/ggml-org/tiny-GGUF/resolve/main/other.gguf")
    no_repo = fetch(fake, "/ggml-org/none/resolve/main/other.gguf")

    assert (no_file.status, no_file.headers["X-Error-Code"]) == (404, "EntryNotFound")
    assert (no_repo.status, no_repo.headers["X-Error-Code"]) == (401, "RepoNotFound")


def test_a_token_is_optional_unless_the_hub_is_private(fake: FakeProvider) -> None:
    public = [fetch(fake), fetch(fake, **TOKEN), fetch(fake, Authorization="Bearer nonsense")]
    fake.hub.is_private = True
    private = [fetch(fake), fetch(fake, **TOKEN)]

    assert [answer.status for answer in public] == [200, 200, 401]
    assert [answer.status for answer in private] == [401, 200]
    assert fake.violations() == []


def test_a_key_of_an_embedding_service_is_a_leak_here(fake: FakeProvider) -> None:
    fetch(fake, Authorization="Bearer key-openai")

    assert fake.leaks() == ["the openai key went to hub in Authorization"]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_bytes_may_be_on_another_host(fake: FakeProvider, method: str) -> None:
    fake.hub.uses_cdn = True
    fake.hub.is_private = True

    told = fetch(fake, method=method, **TOKEN)
    got = call(told.headers["Location"], headers={"Range": "bytes=0-9"})

    assert told.status == 302
    assert told.headers["X-Linked-ETag"] == f'"{DIGEST}"'
    assert told.headers["X-Linked-Size"] == "102400"
    assert (got.status, got.body) == (206, MODEL[:10])
    assert fake.operations()[1] == "hub cdn_get"
    assert (fake.leaks(), fake.violations()) == ([], [])


def test_the_other_host_must_not_see_the_token(fake: FakeProvider) -> None:
    fake.hub.uses_cdn = True

    call(fetch(fake, **TOKEN).headers["Location"], headers=TOKEN)

    assert fake.leaks() == ["the hub key went to another origin in Authorization"]


def test_hash_and_bytes_may_disagree(fake: FakeProvider) -> None:
    fake.add_fault("wrong_hash", times=FOREVER)
    got, head = fetch(fake), fetch(fake, method="HEAD")
    fake.hub.uses_cdn = True
    told = fetch(fake)

    assert len(got.body) == len(MODEL) and got.body != MODEL
    assert got.headers["ETag"] == f'"{DIGEST}"'
    assert DIGEST not in head.headers["X-Linked-ETag"]
    assert DIGEST not in told.headers["X-Linked-ETag"]
    assert DIGEST in told.headers["Location"]


def test_a_download_may_break_off_and_be_refused_and_go_on(fake: FakeProvider) -> None:
    fake.add_fault("close_early", operation="hub_get", position=1000)
    fake.add_fault("status", code=503)
    with pytest.raises(http.client.IncompleteRead) as cut:
        fetch(fake)
    refused = part(fake, "1000-")
    rest = part(fake, "1000-")

    assert refused.status == 503
    assert cut.value.partial + rest.body == MODEL


def test_a_manifest_names_the_file_of_a_tag(fake: FakeProvider) -> None:
    fake.models["ggml-org/tiny-GGUF/tiny-Q4_K_M.gguf"] = b"small"
    fake.hub.manifests["u/r:own"] = {"ggufFile": {"rfilename": "own.gguf"}}

    def name(target: str) -> str:
        repo, tag = target.split(":")
        return str(fetch(fake, f"/v2/{repo}/manifests/{tag}").json["ggufFile"]["rfilename"])

    assert name("ggml-org/tiny-GGUF:Q8_0") == "tiny-Q8_0.gguf"
    assert name("ggml-org/tiny-GGUF:latest") == "tiny-Q4_K_M.gguf"
    assert name("u/r:own") == "own.gguf"
    assert fetch(fake, "/v2/ggml-org/tiny-GGUF/manifests/Q2_K").status == 404
    assert fetch(fake, "/v2/ggml-org/none/manifests/latest").status == 401
