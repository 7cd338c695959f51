"""A small language model with llama's architecture and random weights, as a GGUF file. It always writes the same nonsense."""

from __future__ import annotations

from pathlib import Path

import numpy as np

_VOCABULARY, _EMBEDDING, _LAYERS, _HEADS, _FORWARD, _CONTEXT = 512, 256, 2, 4, 512, 512
# Large enough for the next token to depend on those before it.
_GAIN, _OUTPUT_GAIN = 2.0, 8.0


def write_model(path: Path, seed: int) -> None:
    """Write the model with weights in half precision."""
    import gguf

    random = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, "llama")
    _describe(writer)
    writer.add_tensor("token_embd.weight", random.standard_normal((_VOCABULARY, _EMBEDDING)).astype(np.float16))
    writer.add_tensor("output_norm.weight", np.ones(_EMBEDDING, np.float32))
    writer.add_tensor("output.weight", _random_matrix(random, _VOCABULARY, _EMBEDDING, _OUTPUT_GAIN))
    for layer in range(_LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(_EMBEDDING, np.float32))
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", _random_matrix(random, _EMBEDDING, _EMBEDDING, _GAIN))
        for name in ("ffn_gate", "ffn_up"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", _random_matrix(random, _FORWARD, _EMBEDDING, _GAIN))
        writer.add_tensor(f"blk.{layer}.ffn_down.weight", _random_matrix(random, _EMBEDDING, _FORWARD, _GAIN))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _random_matrix(random: np.random.Generator, rows: int, columns: int, gain: float) -> np.ndarray:
    return (random.standard_normal((rows, columns)) * gain / columns**0.5).astype(np.float16)


def _describe(writer) -> None:
    import gguf

    writer.add_name("random")
    writer.add_context_length(_CONTEXT)
    writer.add_embedding_length(_EMBEDDING)
    writer.add_block_count(_LAYERS)
    writer.add_feed_forward_length(_FORWARD)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(_EMBEDDING // _HEADS)
    writer.add_vocab_size(_VOCABULARY)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    kind = gguf.TokenType
    special = [(b"<unk>", kind.UNKNOWN), (b"<s>", kind.CONTROL), (b"</s>", kind.CONTROL)]
    tokens = special + [(b"<0x%02X>" % byte, kind.BYTE) for byte in range(256)]
    tokens += [(b" w%d" % number, kind.NORMAL) for number in range(len(tokens), _VOCABULARY)]
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_scores([0.0] * _VOCABULARY)
    writer.add_token_types([int(kind) for _, kind in tokens])
    for number, add in enumerate((writer.add_unk_token_id, writer.add_bos_token_id, writer.add_eos_token_id)):
        add(number)
