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
    architecture: str = "bert",
) -> Path:
    """Every token sees every other."""
    model = _Model(path, architecture, context)
    if pooling is not None:
        model.writer.add_pooling_type(pooling)
    model.writer.add_causal_attention(False)
    model.writer.add_layer_norm_eps(1e-12)
    model.vocabulary()
    model.matrix("token_embd.weight", len(model.tokens), DIMS)
    model.matrix("position_embd.weight", context, DIMS)
    model.matrix("token_types.weight", 2, DIMS)
    model.norm("token_embd_norm", with_bias=True)
    for layer in range(_LAYERS):
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            model.linear(f"blk.{layer}.{part}", DIMS, DIMS)
        model.norm(f"blk.{layer}.attn_output_norm", with_bias=True)
        model.linear(f"blk.{layer}.ffn_up", _FEED_FORWARD, DIMS)
        model.linear(f"blk.{layer}.ffn_down", DIMS, _FEED_FORWARD)
        model.norm(f"blk.{layer}.layer_output_norm", with_bias=True)
    return model.written()


def llama(path: Path) -> Path:
    """A model that was made to write: a token sees those before it, and no pooling is named."""
    model = _Model(path, "llama", CONTEXT)
    model.writer.add_head_count_kv(_HEADS)
    model.writer.add_layer_norm_rms_eps(1e-5)
    model.writer.add_rope_dimension_count(DIMS // _HEADS)
    model.vocabulary()
    model.matrix("token_embd.weight", len(model.tokens), DIMS)
    model.matrix("output.weight", len(model.tokens), DIMS)
    model.norm("output_norm")
    for layer in range(_LAYERS):
        model.norm(f"blk.{layer}.attn_norm")
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            model.matrix(f"blk.{layer}.{part}.weight", DIMS, DIMS)
        model.norm(f"blk.{layer}.ffn_norm")
        for part in ("ffn_up", "ffn_gate"):
            model.matrix(f"blk.{layer}.{part}.weight", _FEED_FORWARD, DIMS)
        model.matrix(f"blk.{layer}.ffn_down.weight", DIMS, _FEED_FORWARD)
    return model.written()


class _Model:
    def __init__(self, path: Path, architecture: str, context: int) -> None:
        self.path = path
        self.random = np.random.default_rng(7)
        self.tokens = _vocabulary()
        self.writer = gguf.GGUFWriter(str(path), architecture)
        self.writer.add_context_length(context)
        self.writer.add_embedding_length(DIMS)
        self.writer.add_block_count(_LAYERS)
        self.writer.add_feed_forward_length(_FEED_FORWARD)
        self.writer.add_head_count(_HEADS)

    def vocabulary(self) -> None:
        """WordPiece, with a few words and every ASCII character."""
        kinds = [
            gguf.TokenType.CONTROL if token in _SPECIAL else gguf.TokenType.NORMAL
            for token in self.tokens
        ]
        self.writer.add_tokenizer_model("bert")
        self.writer.add_tokenizer_pre("default")
        self.writer.add_token_type_count(2)
        self.writer.add_token_list(self.tokens)
        self.writer.add_token_types(kinds)
        self.writer.add_pad_token_id(0)
        self.writer.add_unk_token_id(1)
        self.writer.add_bos_token_id(CLS)
        self.writer.add_eos_token_id(SEP)
        self.writer.add_sep_token_id(SEP)
        self.writer.add_mask_token_id(4)

    def matrix(self, name: str, *shape: int) -> None:
        spread = 0.5 if "embd" in name else shape[-1] ** -0.5
        values = self.random.standard_normal(shape) * spread
        self.writer.add_tensor(name, values.astype(np.float32))

    def norm(self, name: str, *, with_bias: bool = False) -> None:
        self.writer.add_tensor(f"{name}.weight", np.ones(DIMS, np.float32))
        if with_bias:
            self.writer.add_tensor(f"{name}.bias", np.zeros(DIMS, np.float32))

    def linear(self, name: str, rows: int, columns: int) -> None:
        self.matrix(f"{name}.weight", rows, columns)
        self.writer.add_tensor(f"{name}.bias", np.zeros(rows, np.float32))

    def written(self) -> Path:
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()
        return self.path


def _vocabulary() -> list[str]:
    # GGUF marks the start of a word, where WordPiece marks its continuation.
    characters = string.ascii_lowercase + string.digits + string.punctuation
    return [
        *_SPECIAL,
        *(f"\u2581{word}" for word in _WORDS if len(word) > 1),
        *(f"\u2581{character}" for character in characters),
        *characters,
    ]
