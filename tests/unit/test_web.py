"""Small documents from a server on loopback."""

from collections.abc import Iterator

import pytest

from ocmem.errors import EmbedderError
from ocmem.providers import web
from ocmem.providers.web import Place
from tests.file_server import FileServer

TOKEN = "hf_secretsecretsecret"


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer(bytes(2_000_000)) as server:
        yield server


def test_a_small_document_is_asked_for_until_it_comes(server: FileServer) -> None:
    server.data, server.statuses = b"{}", [500, 503]
    slept: list[float] = []

    data = web.fetch_small(Place(server.url, TOKEN), user_agent="ua", sleep=slept.append)

    assert (data, slept) == (b"{}", [0.5, 1.0])
    assert server.requests[-1]["user-agent"] == "ua"


def test_a_document_that_never_ends_is_refused(server: FileServer) -> None:
    with pytest.raises(EmbedderError, match="answers with too much"):
        web.fetch_small(Place(server.url), user_agent="ua")


def test_a_token_is_in_no_representation() -> None:
    assert TOKEN not in repr(Place("http://x", TOKEN))
