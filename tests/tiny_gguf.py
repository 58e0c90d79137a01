"""GGUF models small enough to make in a test: random weights, real architecture."""

import string
from pathlib import Path
from typing import Final

import gguf
import numpy as np

DIMS: Final = 32
CONTEXT: Final = 64
_HEADS: Final = 2
_FEED_FORWARD: Final = 64
_LAYERS: Final = 2
CLS: Final = 2
SEP: Final = 3
_SPECIAL: Final = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_WORDS: Final = "the a is at on dentist appointment boat harbour bread oven olive tooth".split()


def bert(
    path: Path,
    *,
    pooling: gguf.PoolingType | None = gguf.PoolingType.MEAN,
    context: int = CONTEXT,
    seed: int = 7,
    architecture: str = "bert",
) -> Path:
    """A BERT with a WordPiece vocabulary of a few words and every ASCII character."""
    random = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(str(path), architecture)
    writer.add_name("tiny")
    writer.add_context_length(context)
    writer.add_embedding_length(DIMS)
    writer.add_block_count(_LAYERS)
    writer.add_feed_forward_length(_FEED_FORWARD)
    writer.add_head_count(_HEADS)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    if pooling is not None:
        writer.add_pooling_type(pooling)
    tokens = _vocabulary()
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_type_count(2)
    writer.add_token_list(tokens)
    writer.add_token_types(
        [gguf.TokenType.CONTROL if token in _SPECIAL else gguf.TokenType.NORMAL for token in tokens]
    )
    writer.add_unk_token_id(1)
    writer.add_sep_token_id(SEP)
    writer.add_pad_token_id(0)
    writer.add_bos_token_id(CLS)
    writer.add_eos_token_id(SEP)
    writer.add_mask_token_id(4)

    def matrix(name: str, *shape: int) -> None:
        values = random.standard_normal(shape) * (0.5 if "embd" in name else shape[-1] ** -0.5)
        writer.add_tensor(name, values.astype(np.float32))

    def norm(name: str) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(DIMS, np.float32))
        writer.add_tensor(f"{name}.bias", np.zeros(DIMS, np.float32))

    def linear(name: str, rows: int, columns: int) -> None:
        matrix(f"{name}.weight", rows, columns)
        writer.add_tensor(f"{name}.bias", np.zeros(rows, np.float32))

    matrix("token_embd.weight", len(tokens), DIMS)
    matrix("position_embd.weight", context, DIMS)
    matrix("token_types.weight", 2, DIMS)
    norm("token_embd_norm")
    for layer in range(_LAYERS):
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            linear(f"blk.{layer}.{part}", DIMS, DIMS)
        norm(f"blk.{layer}.attn_output_norm")
        linear(f"blk.{layer}.ffn_up", _FEED_FORWARD, DIMS)
        linear(f"blk.{layer}.ffn_down", DIMS, _FEED_FORWARD)
        norm(f"blk.{layer}.layer_output_norm")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _vocabulary() -> list[str]:
    # GGUF marks the start of a word, where WordPiece marks its continuation.
    characters = string.ascii_lowercase + string.digits + string.punctuation
    return [
        *_SPECIAL,
        *(f"\u2581{word}" for word in _WORDS if len(word) > 1),
        *(f"\u2581{character}" for character in characters),
        *characters,
    ]
