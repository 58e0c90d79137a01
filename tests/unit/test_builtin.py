"""The embedding that needs no key: the mean of its tokens' rows, at length one."""

import json
import math
import random
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import TemplateProcessing

from ocmem.errors import EmbedderError
from ocmem.model import Vector
from ocmem.providers.builtin import BuiltinEmbedder, connect
from ocmem.settings import Overrides, resolve
from ocmem.settings.provider import builtin_files
from tests.fake_provider.vectors import unit

# A vocabulary small enough to reckon with. The first row belongs to a special token.
ROWS = {
    "[CLS]": [9.0, 9.0, 9.0],
    "tea": [3.0, 0.0, 0.0],
    "soup": [0.0, 4.0, 0.0],
    "anti": [-3.0, 0.0, 0.0],
    "tenth": [0.1, 0.2, 0.3],
}


def small(folder: Path, rows: dict[str, list[float]] | None = None) -> BuiltinEmbedder:
    """An embedder over a handful of words."""
    rows = ROWS if rows is None else rows
    tokenizer = Tokenizer(WordLevel({word: at for at, word in enumerate(rows)}, unk_token="[CLS]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 0)])
    tokenizer.save(str(folder / "tokenizer.json"))
    write_weights(folder / "weights.safetensors", list(rows.values()))
    return BuiltinEmbedder(folder / "weights.safetensors", folder / "tokenizer.json")


def write_weights(path: Path, rows: Sequence[Sequence[float]], *, dtype: str = "F16") -> None:
    data = b"".join(struct.pack(f"<{len(row)}e", *row) for row in rows)
    shape = [len(rows), len(rows[0])]
    header = {
        "__metadata__": {"format": "pt"},
        "embedding": {"dtype": dtype, "shape": shape, "data_offsets": [0, len(data)]},
    }
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def both(embedder: BuiltinEmbedder, text: str) -> tuple[Vector, Vector]:
    """The vector of a text from its rows alone, as for a query, and by way of numpy."""
    [tokens] = embedder._encode([text])
    return embedder.embed_query(text, timeout_s=1), embedder._mean(tokens)


def float32(values: Sequence[float]) -> Vector:
    return list(struct.unpack(f"<{len(values)}f", struct.pack(f"<{len(values)}f", *values)))


@pytest.fixture(scope="module")
def real() -> BuiltinEmbedder:
    """The embedder over the installed weights."""
    files = builtin_files()
    assert files is not None
    return BuiltinEmbedder(*files)


# --- the recipe ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tea", [1.0, 0.0, 0.0]),
        ("tea soup", [0.6, 0.8, 0.0]),
        ("soup tea", [0.6, 0.8, 0.0]),
        ("tea tea tea soup soup soup", [0.6, 0.8, 0.0]),
        ("tea tea tea soup", unit([9.0, 4.0, 0.0])),
    ],
)
def test_a_vector_is_the_mean_of_the_tokens_rows_at_length_one(
    tmp_path: Path, text: str, expected: Vector
) -> None:
    query, document = both(small(tmp_path), text)

    assert query == document == float32(expected)


def test_numbers_are_those_of_float32(tmp_path: Path) -> None:
    stored = struct.unpack("<3e", struct.pack("<3e", *ROWS["tenth"]))

    query, document = both(small(tmp_path), "tenth")

    assert query == document == float32(unit(stored))
    assert query != unit(stored)


def test_special_tokens_are_not_part_of_a_text(tmp_path: Path) -> None:
    query, document = both(small(tmp_path), "tea")

    assert query == document == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("text", ["", "tea anti"], ids=["no tokens", "rows that cancel out"])
def test_a_text_without_meaning_has_no_vector(tmp_path: Path, text: str) -> None:
    assert both(small(tmp_path), text) == ([], [])


def test_texts_without_vectors_keep_the_others_in_their_places(tmp_path: Path) -> None:
    found = small(tmp_path).embed_documents(["", "tea", "", "soup"], timeout_s=1)

    assert found == [[], [1.0, 0.0, 0.0], [], [0.0, 1.0, 0.0]]


def test_an_empty_batch_has_no_vectors(tmp_path: Path) -> None:
    assert small(tmp_path).embed_documents([], timeout_s=1) == []


def test_many_texts_come_back_in_order(tmp_path: Path) -> None:
    texts = ["tea", "soup", "tea soup"] * 200

    found = small(tmp_path).embed_documents(texts, timeout_s=1)

    expected = small(tmp_path).embed_documents(texts[:3], timeout_s=1)
    assert found == expected * 200


def test_sums_are_kept_in_doubles(tmp_path: Path) -> None:
    # In 16-bit floats 2048 + 1 is 2048, and in 32-bit ones ten thousand tenths are not a thousand.
    embedder = small(tmp_path, {"[CLS]": [0.0, 0.0], "big": [2048.0, 0.0], "one": [1.0, 0.1]})
    tenth = struct.unpack("<e", struct.pack("<e", 0.1))[0]

    query, document = both(embedder, "big " + "one " * 10_000)

    assert query == document == float32(unit([12048.0, tenth * 10_000]))


# --- the installed weights ----------------------------------------------------------------------


def test_the_installed_model_has_256_dimensions_and_length_one(real: BuiltinEmbedder) -> None:
    for text in ("When is the dentist?", "회의는 언제", "x", " ", "🙂"):
        query, document = both(real, text)

        assert len(query) == len(document) == 256
        assert math.hypot(*query) == pytest.approx(1.0, abs=1e-6)
        assert query == float32(query)
        assert document == float32(document)


def test_the_installed_model_knows_what_is_alike(real: BuiltinEmbedder) -> None:
    dentist, tooth, soup = real.embed_documents(
        ["an appointment with the dentist", "the doctor fixed my tooth", "lentil soup recipe"],
        timeout_s=1,
    )

    def likeness(one: Vector, other: Vector) -> float:
        return sum(x * y for x, y in zip(one, other, strict=True))

    assert likeness(dentist, tooth) > likeness(dentist, soup) + 0.1


@settings(max_examples=100, deadline=None)
@given(text=st.text(st.characters(), max_size=200))
def test_any_text_has_the_same_vector_as_query_and_as_document(
    real: BuiltinEmbedder, text: str
) -> None:
    query, document = both(real, text)

    assert query == document
    assert len(query) == (256 if text else 0)


def test_a_long_text_has_the_same_vector_as_query_and_as_document(real: BuiltinEmbedder) -> None:
    words = ["garden", "router", "회의", "letter", "seven", "harbour", "ünï", "0x7f"]
    text = " ".join(random.Random(1).choices(words, k=20_000))

    query, document = both(real, text)

    assert query == document
    assert math.hypot(*query) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("text", ["half \ud83d of a pair", "\udc00", "\ud83d\ud83d"])
def test_half_a_surrogate_pair_counts_as_the_replacement_character(
    real: BuiltinEmbedder, text: str
) -> None:
    replaced = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)

    assert both(real, text) == both(real, replaced)


def test_many_texts_have_the_vectors_that_each_has_alone(real: BuiltinEmbedder) -> None:
    texts = [f"harbour {number} " * 20 for number in range(60)]

    together = real.embed_documents(texts, timeout_s=1)

    assert together == [real.embed_query(text, timeout_s=1) for text in texts]


def test_a_query_needs_no_numpy() -> None:
    probe = (
        "import sys\n"
        "from ocmem.providers.builtin import BuiltinEmbedder\n"
        "from ocmem.settings.provider import builtin_files\n"
        "assert len(BuiltinEmbedder(*builtin_files()).embed_query('tea', timeout_s=1)) == 256\n"
        "print({'numpy', 'wordllama'} & set(sys.modules))"
    )

    loaded = subprocess.check_output([sys.executable, "-c", probe], text=True)

    assert loaded.strip() == "set()"


# --- data files that are not there --------------------------------------------------------------


def test_missing_data_files_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "wordllama"
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    chosen = resolve(Overrides(provider="builtin"), {"HOME": str(tmp_path)})

    with pytest.raises(EmbedderError, match="data files of the wordllama package are missing"):
        connect(chosen)

    assert chosen.provider.missing is not None
    assert "wordllama" in chosen.provider.missing


@pytest.mark.parametrize("damage", ["gone", "empty", "nonsense", "short", "other numbers"])
@pytest.mark.parametrize("way", ["query", "documents"])
def test_damaged_weights_are_an_error_with_a_name(tmp_path: Path, damage: str, way: str) -> None:
    embedder = small(tmp_path)
    weights = tmp_path / "weights.safetensors"
    match damage:
        case "gone":
            weights.unlink()
        case "empty":
            weights.write_bytes(b"")
        case "nonsense":
            weights.write_bytes(b"not a matrix " * 10)
        case "short":
            weights.write_bytes(weights.read_bytes()[:-24])
        case _:
            write_weights(weights, list(ROWS.values()), dtype="F32")

    with pytest.raises(EmbedderError, match="wordllama weights"):
        if way == "query":
            embedder.embed_query("tenth", timeout_s=1)
        else:
            embedder.embed_documents(["tenth"], timeout_s=1)


@pytest.mark.parametrize("text", [None, "", "{}"], ids=["gone", "empty", "nonsense"])
def test_a_damaged_tokenizer_is_an_error_with_a_name(tmp_path: Path, text: str | None) -> None:
    embedder = small(tmp_path)
    file = tmp_path / "tokenizer.json"
    file.unlink() if text is None else file.write_text(text)

    with pytest.raises(EmbedderError, match="wordllama tokenizer"):
        embedder.embed_query("tea", timeout_s=1)
