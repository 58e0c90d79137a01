"""The local provider, run for real: tiny models of random weights, made here."""

import http.client
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import gguf
import pytest

from ocmem.core.embedder import Embedder, document_timeout_s, query_timeout_s
from ocmem.errors import EmbedderError
from ocmem.model import Vector
from ocmem.providers import llama, local
from ocmem.providers.gguf import read_head
from ocmem.settings import provider as choice
from tests import tiny_gguf
from tests.unit.local_home import TEXT, TIMEOUT_S, failure, settings_of

needs_llama = pytest.mark.skipif(
    not choice.has_local_engine(), reason="xllamacpp has no wheel for this machine"
)


class FakeEngine:
    """Four tokens a word; the vector is what it was told."""

    def __init__(self, *vectors: Vector) -> None:
        self.vectors = list(vectors)
        self.embedded: list[Sequence[int]] = []

    def tokenize(self, text: str) -> list[int]:
        return [1] * 4 * len(text.split())

    def embed(self, tokens: Sequence[int]) -> Vector:
        self.embedded.append(tokens)
        return self.vectors.pop(0) if self.vectors else [3.0, 4.0]


def embedder_with(folder: Path, engine: FakeEngine, context: int = 64) -> local.LocalEmbedder:
    model = folder / "m.gguf"
    model.touch()
    file = local.connect(settings_of(folder, model))._file
    return local.LocalEmbedder(file, lambda path: (engine, context))


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_gguf.bert(tmp_path_factory.mktemp("models") / "tiny.gguf")


@pytest.fixture
def embedder(tiny: Path, tmp_path: Path) -> Iterator[local.LocalEmbedder]:
    yield local.connect(settings_of(tmp_path, tiny))


# The real thing


@needs_llama
def test_the_same_text_gives_the_same_vector_of_length_one(embedder: local.LocalEmbedder) -> None:
    as_protocol: Embedder = embedder

    query = as_protocol.embed_query(TEXT, timeout_s=TIMEOUT_S)
    first, second, again = as_protocol.embed_documents(
        [TEXT, "bread in the oven", TEXT], timeout_s=TIMEOUT_S
    )

    assert query == first == again != second
    assert len(query) == tiny_gguf.DIMS
    assert math.isclose(sum(value * value for value in query), 1.0)
    assert as_protocol.concurrency == 1


@needs_llama
@pytest.mark.parametrize("text", ["", " \n\t "])
def test_a_text_without_tokens_has_no_vector(embedder: local.LocalEmbedder, text: str) -> None:
    assert embedder.embed_query(text, timeout_s=TIMEOUT_S) == []
    assert embedder.embed_documents([], timeout_s=TIMEOUT_S) == []


@needs_llama
@pytest.mark.parametrize("text", ["é 日本 🦉", "half a pair: \ud83e", "nul: \x00.", '"\\'])
def test_any_text_has_a_vector(embedder: local.LocalEmbedder, text: str) -> None:
    assert len(embedder.embed_query(text, timeout_s=TIMEOUT_S)) == tiny_gguf.DIMS


@needs_llama
def test_a_text_up_to_the_context_is_embedded_and_a_longer_one_refused(
    embedder: local.LocalEmbedder,
) -> None:
    room = tiny_gguf.CONTEXT - 2  # a token begins the text and another ends it

    fits = embedder.embed_query("oven " * room, timeout_s=TIMEOUT_S)
    error = failure(embedder, "oven " * (room + 1))

    assert len(fits) == tiny_gguf.DIMS
    assert str(error).startswith("Input is longer than the context size. ")
    assert f"takes {tiny_gguf.CONTEXT} tokens" in str(error.hint)


@needs_llama
def test_words_that_look_like_control_tokens_are_words(tiny: Path) -> None:
    engine = llama.load(tiny, context=tiny_gguf.CONTEXT, threads=1)

    tokens = engine.tokenize("the [SEP]")

    assert tokens[0] == tiny_gguf.CLS
    assert tokens.count(tiny_gguf.SEP) == 1
    assert len(tokens) > 4


@needs_llama
@pytest.mark.parametrize(
    "pooling",
    [gguf.PoolingType.MEAN, gguf.PoolingType.CLS, gguf.PoolingType.LAST, None],
    ids=["mean", "cls", "last", "unsaid"],
)
def test_the_vectors_of_the_tokens_are_pooled_as_the_model_says(
    pooling: gguf.PoolingType | None, tmp_path: Path
) -> None:
    model = tiny_gguf.bert(tmp_path / "m.gguf", pooling=pooling)
    rows = token_vectors(model, TEXT)
    expected = {
        gguf.PoolingType.MEAN: [sum(column) / len(rows) for column in zip(*rows, strict=True)],
        gguf.PoolingType.CLS: rows[0],
        gguf.PoolingType.LAST: rows[-1],
        None: rows[-1],
    }

    vector = local.connect(settings_of(tmp_path, model)).embed_query(TEXT, timeout_s=TIMEOUT_S)

    assert vector == pytest.approx(local.normalized(expected[pooling]), abs=1e-5)
    others = [local.normalized(values) for kind, values in expected.items() if kind is not None]
    assert sum(vector == pytest.approx(other, abs=1e-5) for other in others) == 1


@needs_llama
def test_a_model_that_was_made_to_write_gives_its_last_tokens_vector(tmp_path: Path) -> None:
    model = tiny_gguf.llama(tmp_path / "m.gguf")
    embedder = local.connect(settings_of(tmp_path, model))

    first, _, again = embedder.embed_documents([TEXT, "bread", TEXT], timeout_s=TIMEOUT_S)

    assert first == again  # nothing is left of the texts before
    last = token_vectors(model, TEXT)[-1]
    assert first == pytest.approx(local.normalized(last), abs=1e-5)


def token_vectors(model: Path, text: str) -> list[list[float]]:
    """What the model makes of each token, by a way of its own: no pooling, and as JSON."""
    engine = llama.load(model, context=tiny_gguf.CONTEXT, threads=1, pooling=llama.POOLING_NONE)
    assert isinstance(engine, llama.XllamaEngine)
    connection: http.client.HTTPConnection = llama._UnixConnection(engine._socket)
    try:
        connection.request("POST", "/embedding", json.dumps({"content": text}))
        (answer,) = json.loads(connection.getresponse().read())
    finally:
        connection.close()
    rows: list[list[float]] = answer["embedding"]
    return rows


@needs_llama
def test_llama_cpp_says_nothing_and_leaves_nothing(tiny: Path, short_folder: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from ocmem.providers.local import load\n"
        "engine, _ = load(Path(sys.argv[1])); engine.embed(engine.tokenize('the boat'))\n"
        "assert str(engine._socket).startswith(sys.argv[2])\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, str(tiny), str(short_folder)],
        capture_output=True,
        env={"TMPDIR": str(short_folder), "PYTHONPATH": ":".join(sys.path)},
        check=True,
    )

    assert (done.stdout, done.stderr) == (b"", b"")
    assert list(short_folder.iterdir()) == []


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """Sockets have short paths."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@needs_llama
def test_the_socket_is_for_its_owner_only(tiny: Path) -> None:
    engine = llama.load(tiny, context=tiny_gguf.CONTEXT, threads=1)
    assert isinstance(engine, llama.XllamaEngine)

    assert Path(engine._socket).parent.stat().st_mode & 0o077 == 0


# Files that are no model


@needs_llama
def test_a_damaged_model_is_refused_with_llama_cpps_reason(tiny: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(tiny.read_bytes()[:-4000])

    error = failure(local.connect(settings_of(tmp_path, broken)))

    assert str(error).startswith(f"llama.cpp cannot load {broken}: ")
    assert "corrupted or incomplete" in str(error)


@needs_llama
def test_an_unknown_architecture_is_named(tmp_path: Path) -> None:
    model = tiny_gguf.bert(tmp_path / "m.gguf", architecture="tomorrow")

    assert "unknown model architecture: 'tomorrow'" in str(
        failure(local.connect(settings_of(tmp_path, model)))
    )


def test_an_encoder_decoder_is_refused(tmp_path: Path) -> None:
    model = tiny_gguf.bert(tmp_path / "m.gguf", architecture="t5")

    assert "encoder-decoder" in str(failure(local.connect(settings_of(tmp_path, model))))


def test_a_model_that_ranks_is_refused(tmp_path: Path) -> None:
    model = tiny_gguf.bert(tmp_path / "m.gguf", pooling=gguf.PoolingType.RANK)

    assert "ranks texts" in str(failure(local.connect(settings_of(tmp_path, model))))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<html>", 'Invalid GGUF magic. Expected "GGUF" but got "<htm"'),
        (b"", 'Invalid GGUF magic. Expected "GGUF" but got ""'),
        (b"GGUF", "is not a complete GGUF file: it ends early"),
        (b"GGUF" + b"\xff" * 20, "GGUF version 4294967295 is not supported"),
        (b"GGUF\3\0\0\0" + b"\xff" * 99, "is not a complete GGUF file"),
    ],
)
def test_a_file_that_is_no_model_is_refused(data: bytes, message: str, tmp_path: Path) -> None:
    model = tmp_path / "m.gguf"
    model.write_bytes(data)

    assert message in str(failure(local.connect(settings_of(tmp_path, model))))


def test_the_head_of_a_model_is_read(tmp_path: Path) -> None:
    said = read_head(tiny_gguf.bert(tmp_path / "a.gguf", context=77))
    unsaid = read_head(tiny_gguf.bert(tmp_path / "b.gguf", pooling=None))

    assert (said.architecture, said.context_length, said.pooling) == ("bert", 77, 1)
    assert unsaid.pooling < 0


# Numbers


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3.0, 4.0], [0.6, 0.8]),
        ([math.nan, math.inf, -math.inf, 2.0], [0.0, 0.0, 0.0, 1.0]),
        ([0.0, 0.0], [0.0, 0.0]),
        ([1e-11, 0.0], [1e-11, 0.0]),
        ([1e-9, 0.0], [1.0, 0.0]),
        ([], []),
    ],
)
def test_a_vector_is_made_finite_and_of_length_one(values: Vector, expected: Vector) -> None:
    assert local.normalized(values) == pytest.approx(expected)


def test_a_model_is_loaded_once_and_at_the_first_text(tmp_path: Path) -> None:
    loads: list[Path] = []
    file = local.connect(settings_of(tmp_path, tmp_path / "m.gguf"))._file

    def load(path: Path) -> tuple[llama.Engine, int]:
        loads.append(path)
        return FakeEngine(), 64

    embedder = local.LocalEmbedder(file, load)
    assert embedder.embed_documents([], timeout_s=TIMEOUT_S) == []
    assert "No model file" in str(failure(embedder))  # and it may come later
    (tmp_path / "m.gguf").touch()
    embedder.embed_query("a", timeout_s=TIMEOUT_S)
    embedder.embed_documents(["a", "b"], timeout_s=TIMEOUT_S)

    assert loads == [tmp_path / "m.gguf"]


def test_time_is_looked_at_between_two_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = FakeEngine()
    embedder = embedder_with(tmp_path, engine)
    monkeypatch.setattr(time, "monotonic", lambda: 400.0 * len(engine.embedded))

    with pytest.raises(EmbedderError, match=r"^memory embeddings batch timed out after 600s$"):
        embedder.embed_documents(["a", "b", "c", "d"], timeout_s=600.0)

    assert len(engine.embedded) == 2


def test_a_local_model_is_given_more_time() -> None:
    assert (query_timeout_s("local"), document_timeout_s("local")) == (300, 600)
    assert (query_timeout_s("openai"), document_timeout_s("gemini")) == (30, 300)
