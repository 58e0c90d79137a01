"""Which file a configured model means. The names are OpenClaw's: both share one copy."""

from pathlib import Path

import pytest

from ocmem.errors import EmbedderError
from ocmem.providers import models
from ocmem.providers.models import WebFile, WebRepository
from ocmem.settings.provider import DEFAULT_MODELS

HUB = "https://huggingface.co/"


def web_file(text: str) -> WebFile:
    found = models.parse(text)
    assert isinstance(found, WebFile)
    return found


def repository(text: str) -> WebRepository:
    found = models.parse(text)
    assert isinstance(found, WebRepository)
    return found


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (DEFAULT_MODELS["local"], "hf_ggml-org_embeddinggemma-300m-qat-Q8_0.gguf"),
        ("hf:user/repo/f.gguf", "hf_user_repo_f.gguf"),
        ("hf:user/repo/dir/f.gguf", "hf_user_repo_dir_f.gguf"),
        ("hf:user/repo/a/b/f.gguf", "hf_user_repo_a__b_f.gguf"),
        ("hf:user/repo/f.gguf#branch", "hf_user_repo_branch_f.gguf"),
        ("hf:user/repo/f.gguf#main", "hf_user_repo_f.gguf"),
        ("hf:user/repo/f.gguf#", "hf_user_repo_f.gguf"),
        ("hf:user/repo/d/f.gguf#v/2", "hf_user_repo_v!2_d_f.gguf"),
        ("hf:user/nice-GGUF/nice-Q8_0.gguf", "hf_user_nice-Q8_0.gguf"),
        ("hf:user/nice-GGUF/Nice-Q8_0.gguf", "hf_user_Nice-Q8_0.gguf"),
        ("hf:user/nice-GGUF/other.gguf", "hf_user_nice-GGUF_other.gguf"),
        ("hf:user/nice-GGUF/nice.gguf#dev", "hf_user_nice-GGUF_dev_nice.gguf"),
        ("hf:user/nice-GGUF/Q8/nice.gguf", "hf_user_Q8_nice.gguf"),
        ("hf:user/repo/big/big.gguf", "hf_user_repo_big.gguf"),
        ("hf:user/repo/big/big-00001-of-00002.gguf", "hf_user_repo_big-00001-of-00002.gguf"),
        ("https://huggingface.co/user/repo/resolve/main/f.gguf", "hf_user_repo_f.gguf"),
        ("https://huggingface.co/user/repo/blob/main/f.gguf", "hf_user_repo_f.gguf"),
        ("https://hf.co/user/repo/resolve/dev/f.gguf?download=true", "hf_user_repo_dev_f.gguf"),
        ("https://models.example/pub/m%20x.gguf?sig=1", "m x.gguf"),
        ("HTTPS://models.example/pub/m.gguf", "m.gguf"),
        ("https://models.example/model", "model.gguf"),
        ("https://models.example/..%2F..%2Fx.gguf", "..!..!x.gguf"),
    ],
)
def test_a_file_has_openclaws_name(text: str, name: str) -> None:
    assert web_file(text).name == name


@pytest.mark.parametrize(
    "prefix", ["hf:", "hf://", "huggingface:", "huggingface://", "hf.co/", "huggingface.co/"]
)
def test_every_prefix_means_the_hub(prefix: str) -> None:
    assert models.parse(f"{prefix}user/repo/f.gguf") == WebFile(
        "hf_user_repo_f.gguf", f"{HUB}user/repo/resolve/main/f.gguf?download=true"
    )


@pytest.mark.parametrize(
    "text", ["m.gguf", "/abs/m.gguf", "../m.gguf", "HF:user/repo/f.gguf", "C:\\m.gguf", "httpx/m"]
)
def test_everything_else_is_a_path(text: str) -> None:
    assert models.parse(text) is None


@pytest.mark.parametrize(
    ("text", "url"),
    [
        (
            DEFAULT_MODELS["local"],
            f"{HUB}ggml-org/embeddinggemma-300m-qat-q8_0-GGUF/resolve/main/"
            "embeddinggemma-300m-qat-Q8_0.gguf?download=true",
        ),
        ("hf:u/r/a b/f.gguf#x/y", f"{HUB}u/r/resolve/x%2Fy/a%20b/f.gguf?download=true"),
        ("https://models.example/m.gguf?sig=1", "https://models.example/m.gguf?sig=1"),
    ],
)
def test_a_file_has_an_address(text: str, url: str) -> None:
    assert web_file(text).url == url


@pytest.mark.parametrize("text", ["hf:user", "hf:user/", "hf:", "hf:/repo", "hf:user/:Q8"])
def test_half_an_address_is_refused(text: str) -> None:
    with pytest.raises(EmbedderError, match=f"^Invalid Hugging Face URI: {text}$"):
        models.parse(text)


@pytest.mark.parametrize("text", ["https://", "https://user:secret@models.example/m.gguf"])
def test_a_url_that_is_none_is_refused_without_quoting_it(text: str) -> None:
    with pytest.raises(EmbedderError, match=r"^Invalid URL") as caught:
        models.parse(text)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "hf:user/repo:Q4_K_M",
            ["hf_user_repo_repo.Q4_K_M.gguf", "hf_user_repo_repo.Q4_K_M-00001-of-?????.gguf"],
        ),
        (
            "hf:user/repo",
            [
                "hf_user_repo_repo.Q4_K_M.gguf",
                "hf_user_repo_repo.Q4_K_M-00001-of-?????.gguf",
                "hf_user_repo_repo.gguf",
                "hf_user_repo_repo-00001-of-?????.gguf",
            ],
        ),
        (
            "hf:user/nice-GGUF:q8_0",
            ["hf_user_nice.Q8_0.gguf", "hf_user_nice.Q8_0-00001-of-?????.gguf"],
        ),
    ],
)
def test_a_repository_is_looked_for_under_openclaws_names(text: str, names: list[str]) -> None:
    assert repository(text).names == names


@pytest.mark.parametrize(
    ("text", "path", "name"),
    [
        ("hf:user/repo:Q8_0", "dir/repo-q8_0.gguf", "hf_user_repo_repo.Q8_0.gguf"),
        ("hf:user/repo", "repo-Q4_K_M.gguf", "hf_user_repo_repo.Q4_K_M.gguf"),
        ("hf:user/repo", "repo-IQ4_XS.gguf", "hf_user_repo_repo.IQ4_XS.gguf"),
        ("hf:user/repo", "repo.gguf", "hf_user_repo_repo.gguf"),
        (
            "hf:user/nice-GGUF",
            "nice-Q8_0-00001-of-00002.gguf",
            "hf_user_nice.Q8_0-00001-of-00002.gguf",
        ),
    ],
)
def test_the_file_that_a_manifest_names_gets_openclaws_name(
    text: str, path: str, name: str
) -> None:
    file = repository(text).file(path)

    assert file.name == name
    repo = repository(text).repo
    assert file.url == f"{HUB}user/{repo}/resolve/main/{path}?download=true"


def test_a_manifest_is_the_hubs() -> None:
    assert repository("hf:user/repo").manifest_url == f"{HUB}v2/user/repo/manifests/latest"
    assert repository("hf:u/r:Q8_0").manifest_url == f"{HUB}v2/u/r/manifests/Q8_0"


def test_a_model_in_parts_is_all_of_them() -> None:
    parts = web_file("hf:user/repo/m-00002-of-00003.gguf").parts()

    assert [part.name for part in parts] == [
        f"hf_user_repo_m-0000{at}-of-00003.gguf" for at in (1, 2, 3)
    ]
    assert parts[2].url == f"{HUB}user/repo/resolve/main/m-00003-of-00003.gguf?download=true"
    assert web_file("hf:user/repo/m.gguf").parts() == [web_file("hf:user/repo/m.gguf")]


def test_a_file_cut_by_another_tool_is_refused() -> None:
    with pytest.raises(EmbedderError, match="cut in pieces"):
        models.parse("hf:user/repo/m.gguf.part1of2")


def test_a_model_counts_as_here_when_all_of_its_parts_are(tmp_path: Path) -> None:
    names = repository("hf:user/repo").names
    first, second = (tmp_path / f"hf_user_repo_repo-0000{at}-of-00002.gguf" for at in (1, 2))

    assert models.find(names, directory=tmp_path / "nowhere") is None
    first.touch()
    assert models.find(names, directory=tmp_path) is None
    second.touch()
    assert models.find(names, directory=tmp_path) == first
    assert models.find([second.name], directory=tmp_path) == first
    better = tmp_path / "hf_user_repo_repo.Q4_K_M.gguf"
    better.touch()
    assert models.find(names, directory=tmp_path) == better


def test_models_are_kept_where_openclaw_keeps_them(tmp_path: Path) -> None:
    usual = tmp_path / ".node-llama-cpp" / "models"

    assert models.directory_of(None, home=tmp_path) == usual
    assert models.directory_of("  ", home=tmp_path) == usual
    assert models.directory_of(" /big/models ", home=tmp_path) == Path("/big/models")


@pytest.mark.parametrize(
    ("env", "hub"),
    [
        ({}, HUB),
        ({"HF_ENDPOINT": "http://mirror"}, "http://mirror/"),
        ({"HF_ENDPOINT": "http://mirror/", "MODEL_ENDPOINT": "http://own//"}, "http://own/"),
        ({"HF_ENDPOINT": "http://mirror/", "MODEL_ENDPOINT": " "}, "http://mirror/"),
    ],
)
def test_the_hub_may_be_another(env: dict[str, str], hub: str) -> None:
    assert models.hub_of(env) == hub
    found = models.parse("hf:u/r/f.gguf", hub=hub)
    assert isinstance(found, WebFile)
    assert found.url == f"{hub}u/r/resolve/main/f.gguf?download=true"


def test_a_token_is_taken_from_the_nearest_place(tmp_path: Path) -> None:
    def stored(*path: str) -> str:
        file = tmp_path.joinpath(*path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{'-'.join(path)}\n")
        return str(file)

    assert models.token_of({}, home=tmp_path) == ""
    stored(".cache", "huggingface", "token")
    assert models.token_of({}, home=tmp_path) == ".cache-huggingface-token"
    stored("xdg", "huggingface", "token")
    env = {"XDG_CACHE_HOME": str(tmp_path / "xdg")}
    assert models.token_of(env, home=tmp_path) == "xdg-huggingface-token"
    stored("hf", "token")
    env["HF_HOME"] = str(tmp_path / "hf")
    assert models.token_of(env, home=tmp_path) == "hf-token"
    env["HF_TOKEN_PATH"] = stored("mine")
    assert models.token_of(env, home=tmp_path) == "mine"
    env["HF_TOKEN"] = " own "
    assert models.token_of(env, home=tmp_path) == "own"
