"""The program with a model on this machine: a tiny one, made here and run for real."""

import json
import os
import sqlite3
from pathlib import Path

import pytest

from ocmem.settings.provider import has_local_engine
from tests import tiny_gguf
from tests.cli.program import Program
from tests.file_server import FileServer

pytestmark = pytest.mark.skipif(
    not has_local_engine(), reason="xllamacpp has no wheel for this machine"
)

UNAVAILABLE = "Local embeddings unavailable.\nReason: xllamacpp "


@pytest.fixture
def model(ocmem: Program) -> Path:
    """With room for a chunk of 2048 bytes, each a token."""
    return tiny_gguf.bert(ocmem.home / "model.gguf", context=2560)


@pytest.fixture
def notes(ocmem: Program) -> Program:
    ocmem.note("MEMORY.md", "# Health\n\nThe dentist is on Thursday.\n")
    ocmem.note("memory/boat.md", "# Boat\n\nThe boat lies in the harbour.\n")
    return ocmem


def without_engine(ocmem: Program, code: str) -> str:
    """A PYTHONPATH on which xllamacpp is not what it should be."""
    folder = ocmem.home / "broken"
    folder.mkdir()
    name, _, text = code.partition(":")
    (folder / name).write_text(text)
    return f"{folder}{os.pathsep}{ocmem.env['PYTHONPATH']}"


NOT_INSTALLED = """sitecustomize.py:
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "xllamacpp" else find(name, *more)
"""
BROKEN = 'xllamacpp.py:raise ImportError("GLIBC_9.99 not found")\n'


def rows(index: Path, statement: str) -> list[tuple[str, ...]]:
    db = sqlite3.connect(f"file:{index}?mode=ro", uri=True)
    try:
        return db.execute(statement).fetchall()
    finally:
        db.close()


def test_a_workspace_is_indexed_searched_and_described(ocmem: Program, model: Path) -> None:
    ocmem.example()
    ocmem.configure(provider="local", local={"modelPath": str(model)})

    indexed = ocmem("index")
    found = ocmem("search", "when is the dentist", "--json")
    status = ocmem("status", "--deep", "--json")

    assert (indexed.code, indexed.out) == (0, "Memory index updated (main).\n")
    assert found.json["provider"] == "local"
    assert found.json["model"] == str(model)
    assert (found.json["mode"], found.err) == ("hybrid", "")
    assert len(found.results) > 0
    state = status.json[0]
    assert state["status"]["vector"]["dims"] == tiny_gguf.DIMS
    assert state["embeddingProbe"] == {"ok": True}
    assert status.err == ""


def test_the_index_is_openclaws_with_the_configured_text_as_model(
    notes: Program, model: Path
) -> None:
    notes.configure(provider="local", local={"modelPath": str(model)})
    notes.index()

    assert rows(notes.shared_index, "SELECT DISTINCT model FROM chunks") == [(str(model),)]
    cached = rows(notes.shared_index, "SELECT provider, model FROM embedding_cache")
    assert cached == [("local", str(model))] * 2
    ((vector,), *_) = rows(notes.shared_index, "SELECT embedding FROM chunks")
    assert sum(value * value for value in json.loads(vector)) == pytest.approx(1.0)


def test_nothing_is_embedded_twice(notes: Program, model: Path) -> None:
    notes.configure(provider="local", local={"modelPath": str(model)})
    notes.index()

    again = notes("index", "--force", "--json")

    assert (again.json[0]["embedded"], again.json[0]["cached"]) == (0, 2)


def test_a_first_search_indexes_and_a_model_file_needs_no_provider(
    notes: Program, model: Path
) -> None:
    notes.configure(local={"modelPath": model.name})  # relative to where we are

    found = notes("search", "the boat in the harbour", "--json")

    assert (found.code, found.json["provider"]) == (0, "local")
    assert found.paths[0] == "memory/boat.md"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (None, 'No model file found at "'),
        (b"<html>", 'Invalid GGUF magic. Expected "GGUF" but got "<htm"'),
    ],
)
def test_a_model_that_cannot_be_used_fails_the_index_and_says_why(
    notes: Program, data: bytes | None, told: str
) -> None:
    path = notes.home / "m.gguf"
    if data is not None:
        path.write_bytes(data)
    notes.configure(provider="local", local={"modelPath": str(path)})

    done = notes("index")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"Memory index failed (main): {told}")


def test_a_lost_model_leaves_the_keywords(notes: Program, model: Path) -> None:
    notes.configure(provider="local", local={"modelPath": str(model)})
    notes.index()
    model.unlink()

    found = notes("search", "boat", "--json")

    assert (found.code, found.paths[0]) == (0, "memory/boat.md")
    assert found.json["degraded"] == f'No model file found at "{model}"'


def test_a_text_that_the_model_cannot_take_is_refused(notes: Program) -> None:
    small = tiny_gguf.bert(notes.home / "small.gguf")
    notes.note("memory/long.md", "oven " * 200)
    notes.configure(provider="local", local={"modelPath": str(small)})

    done = notes("index")

    assert done.code == 1
    assert "Input is longer than the context size." in done.err
    assert "lower chunking.tokens" in done.err


@pytest.mark.parametrize("broken", [NOT_INSTALLED, BROKEN], ids=["missing", "broken"])
def test_without_the_extra_the_way_to_it_is_shown(notes: Program, model: Path, broken: str) -> None:
    notes.configure(provider="local", local={"modelPath": str(model)})

    done = notes("index", PYTHONPATH=without_engine(notes, broken))

    assert (done.code, done.out) == (1, "")
    assert f"Memory index failed (main): {UNAVAILABLE}" in done.err
    assert "pip install 'ocmem[local]'" in done.err


def test_without_the_extra_an_automatic_choice_goes_on(notes: Program, model: Path) -> None:
    notes.configure(local={"modelPath": str(model)})

    found = notes("search", "boat", "--json", PYTHONPATH=without_engine(notes, NOT_INSTALLED))

    assert (found.code, found.json["provider"]) == (0, "builtin")
    assert found.json["fallback"]["from"] == "local"
    assert UNAVAILABLE in found.json["fallback"]["reason"]
    assert not notes.shared_index.exists()


def test_a_model_is_downloaded_once_and_never_offline(notes: Program, model: Path) -> None:
    notes.configure(provider="local", local={"modelPath": "hf:u/r/m.gguf", "modelCacheDir": "~/m"})
    with FileServer(model.read_bytes()) as hub:
        refused = notes("index", "--offline", HF_ENDPOINT=hub.url)
        looked = notes("status", "--deep", "--json", HF_ENDPOINT=hub.url)
        assert hub.requests == []
        done = notes("index", HF_ENDPOINT=hub.url, HF_TOKEN="hf_secret")

    assert refused.code == 1
    assert "--offline: the model hf:u/r/m.gguf is not in " in refused.err
    assert "yet" in looked.json[0]["embeddingProbe"]["error"]
    assert done.code == 0, done.err
    assert f"[memory] downloading {hub.url}u/r/resolve/main/m.gguf to " in done.err
    assert "hf_secret" not in done.err + done.out
    assert [path.name for path in (notes.home / "m").iterdir()] == ["hf_u_r_m.gguf"]
    assert notes("search", "boat", "--json").json["mode"] == "hybrid"
    model_texts = rows(notes.shared_index, "SELECT DISTINCT model FROM chunks")
    assert model_texts == [("hf:u/r/m.gguf",)]


def test_warmup_fetches_the_model_and_tells_how_long_each_step_took(
    notes: Program, model: Path
) -> None:
    notes.configure(provider="local", local={"modelPath": "hf:u/r/m.gguf", "modelCacheDir": "~/m"})
    with FileServer(model.read_bytes()) as hub:
        done = notes("warmup", "--json", HF_ENDPOINT=hub.url)

    (entry,) = done.json
    assert done.code == 0, done.err
    assert [step["step"] for step in entry["steps"]] == [
        "provider",
        "model",
        "load",
        "embed",
        "search",
    ]
    assert entry["steps"][1]["detail"] == "hf_u_r_m.gguf"
    assert entry["steps"][2]["seconds"] > 0


def test_an_interrupted_download_goes_on_in_the_next_run(notes: Program, model: Path) -> None:
    notes.configure(provider="local", local={"modelPath": "hf:u/r/m.gguf"})
    data = model.read_bytes()
    part = notes.home / ".node-llama-cpp/models/hf_u_r_m.gguf.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(data[:100_000])  # what a run that was killed leaves behind
    part.with_name(f"{part.name}.etag").write_text('"v1"')

    with FileServer(data) as hub:
        done = notes("index", HF_ENDPOINT=hub.url)

    assert done.code == 0, done.err
    assert hub.requests[0]["range"] == "bytes=100000-"
    assert not part.exists()


def test_a_models_folder_that_may_not_be_entered_is_named(
    notes: Program, permissions: None
) -> None:
    folder = notes.home / "closed"
    folder.mkdir()
    notes.configure(
        provider="local", local={"modelPath": "hf:u/r/m.gguf", "modelCacheDir": str(folder)}
    )
    folder.chmod(0)

    try:
        done = notes("index", bound=True)
    finally:
        folder.chmod(0o700)

    assert done.code == 1
    assert f"Memory index failed (main): {folder}" in done.err
    assert "cannot be read: Permission denied" in done.err


def test_an_automatic_choice_survives_a_model_behind_a_closed_door(
    notes: Program, model: Path, permissions: None
) -> None:
    folder = notes.home / "closed"
    folder.mkdir()
    notes.configure(local={"modelPath": str(model.rename(folder / model.name))})
    folder.chmod(0)

    try:
        found = notes("search", "boat", "--json", bound=True)
    finally:
        folder.chmod(0o700)

    assert (found.code, found.json["provider"]) == (0, "builtin")
