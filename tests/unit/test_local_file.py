"""Which file a local model is, and when it is fetched from where."""

from pathlib import Path
from typing import Any

import pytest

from ocmem.core.embedder import identity_of
from ocmem.errors import EmbedderError
from ocmem.providers import local
from ocmem.settings import Settings
from tests.file_server import FileServer
from tests.unit.local_home import failure, settings_of


def test_an_index_of_the_default_model_is_openclaws(tmp_path: Path) -> None:
    identity = identity_of(settings_of(tmp_path).provider)

    assert identity.cache_key.provider_key == (
        "a65bf29e73a7aa6d94f94c77377b9d4e17a2298505ddb598523262bdc77ac89b"
    )
    assert (identity.costs, identity.has_vectors, identity.max_bytes) == (True, True, 2048)


def file_of(settings: Settings, **options: Any) -> Path:  # noqa: ANN401
    return local.connect(settings, **options)._file.path(is_hurried=False)


def test_a_model_that_openclaw_downloaded_is_used_without_asking(tmp_path: Path) -> None:
    here = tmp_path / ".node-llama-cpp/models/hf_ggml-org_embeddinggemma-300m-qat-Q8_0.gguf"
    here.parent.mkdir(parents=True)
    here.touch()

    assert file_of(settings_of(tmp_path, offline=True)) == here


def test_a_path_starts_at_home_in_the_models_directory_or_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / ".node-llama-cpp/models/sub/m.gguf"
    kept.parent.mkdir(parents=True)
    kept.touch()
    (tmp_path / "m.gguf").touch()
    monkeypatch.chdir(tmp_path)

    assert file_of(settings_of(tmp_path, "~/m.gguf")) == tmp_path / "m.gguf"
    assert file_of(settings_of(tmp_path, tmp_path / "m.gguf")) == tmp_path / "m.gguf"
    assert file_of(settings_of(tmp_path, "sub/m.gguf")) == kept
    assert file_of(settings_of(tmp_path, "m.gguf")) == tmp_path / "m.gguf"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    expected = tmp_path / ".node-llama-cpp/models/m.gguf"

    error = failure(local.connect(settings_of(tmp_path, "m.gguf")))

    assert str(error) == f'No model file found at "{expected}"'


@pytest.mark.parametrize(
    ("is_offline", "is_watched", "timeout_s", "word"),
    [
        (True, True, 600.0, "--offline: the model hf:u/r/m.gguf is not in "),
        (False, False, 600.0, "yet"),
        (False, True, 5.0, "yet"),
    ],
)
def test_nothing_is_downloaded_offline_unwatched_or_in_a_hurry(
    is_offline: bool, is_watched: bool, timeout_s: float, word: str, tmp_path: Path
) -> None:
    with FileServer(b"GGUF") as hub:
        settings = settings_of(tmp_path, "hf:u/r/m.gguf", offline=is_offline, HF_ENDPOINT=hub.url)
        progress = (lambda label, done, total: None) if is_watched else None

        error = failure(local.connect(settings, progress=progress), timeout_s=timeout_s)

    assert word in str(error)
    assert error.hint
    assert hub.requests == []


def test_a_model_is_downloaded_with_progress_and_the_hubs_token(tmp_path: Path) -> None:
    shown: list[tuple[str, int, int]] = []
    notices: list[str] = []
    with FileServer(b"GGUF" + bytes(3_000_000)) as hub:
        settings = settings_of(
            tmp_path, "hf:u/r/m-00001-of-00002.gguf", HF_ENDPOINT=hub.url, HF_TOKEN="hf_secret"
        )

        path = file_of(
            settings,
            notice=notices.append,
            progress=lambda label, done, total: shown.append((label, done, total)),
        )

    assert path == tmp_path / ".node-llama-cpp/models/hf_u_r_m-00001-of-00002.gguf"
    assert [at.partition("?")[0] for at in hub.paths] == [
        f"/u/r/resolve/main/m-0000{at}-of-00002.gguf" for at in (1, 2)
    ]
    assert all(request["authorization"] == "Bearer hf_secret" for request in hub.requests)
    assert shown[-1] == ("Downloading hf_u_r_m-00002-of-00002.gguf, MB", 3, 3)
    assert len(notices) == 2
    assert "hf_secret" not in f"{notices}{shown}{local.connect(settings)._file}"


def test_a_token_is_for_the_hub_only(tmp_path: Path) -> None:
    with FileServer(b"GGUF") as elsewhere:
        settings = settings_of(tmp_path, f"{elsewhere.url}pub/m.gguf", HF_TOKEN="hf_secret")

        path = file_of(settings, progress=lambda label, done, total: None)

    assert path == tmp_path / ".node-llama-cpp/models/m.gguf"
    assert "authorization" not in elsewhere.requests[0]


def test_a_repository_is_asked_which_file_it_means(tmp_path: Path) -> None:
    class Hub(FileServer):
        def answer(self, handler: Any) -> None:  # noqa: ANN401
            is_manifest = "/manifests/" in handler.path
            self.data = b'{"ggufFile":{"rfilename":"x/r-Q8_0.gguf"}}' if is_manifest else b"GGUF"
            super().answer(handler)

    with Hub(b"") as hub:
        settings = settings_of(tmp_path, "hf:u/r:Q8_0", MODEL_ENDPOINT=hub.url)

        path = file_of(settings, progress=lambda label, done, total: None)
        again = file_of(settings)

    assert path == again == tmp_path / ".node-llama-cpp/models/hf_u_r_r.Q8_0.gguf"
    assert hub.paths == [
        "/v2/u/r/manifests/Q8_0",
        "/u/r/resolve/main/x/r-Q8_0.gguf?download=true",
    ]
    assert hub.requests[0]["user-agent"] == "llama-cpp"


@pytest.mark.parametrize("answer", [b"", b"[]", b"{}", b'{"ggufFile":{"rfilename":7}}', b"<html>"])
def test_a_manifest_that_names_no_file_is_refused(answer: bytes, tmp_path: Path) -> None:
    with FileServer(answer) as hub:
        settings = settings_of(tmp_path, "hf:u/r", HF_ENDPOINT=hub.url)

        with pytest.raises(EmbedderError, match="names no GGUF file"):
            file_of(settings, progress=lambda label, done, total: None)
