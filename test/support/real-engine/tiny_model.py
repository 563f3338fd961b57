"""Writes a tiny random-weight llama model (GGUF) that a real engine loads and runs.

The vocabulary is byte-level BPE, so every text has tokens and counts can be compared with another tokenizer. The weights
come from a fixed seed: two servers with this file and temperature 0 give the same answer. The answers are noise made of
printable characters, which is enough: what is tested is the engine's protocol, not its wit.

Usage: tiny_model.py OUTPUT
"""

import sys

import gguf
import numpy as np

CONTEXT_LENGTH = 4096
EMBEDDING = 64
LAYERS = 2
HEADS = 4
FEED_FORWARD = 128
SEED = 7

CHAT_TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def byte_symbols():
    """The printable stand-in of each byte in a byte-level BPE vocabulary (GPT-2's table)."""
    keep = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {byte: chr(byte) for byte in keep}
    for byte in range(256):
        if byte not in table:
            table[byte] = chr(256 + len(table) - len(keep))
    return [table[byte] for byte in range(256)]


SPECIAL = ["<unk>", "<s>", "</s>"]
MERGES = ["\u0120 t", "h e"]
TOKENS = [*SPECIAL, *byte_symbols(), *(merge.replace(" ", "") for merge in MERGES)]
CONTROL, UNKNOWN, NORMAL = 3, 2, 1


def add_vocabulary(writer):
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(TOKENS)
    writer.add_token_merges(MERGES)
    writer.add_token_types([UNKNOWN, CONTROL, CONTROL] + [NORMAL] * (len(TOKENS) - len(SPECIAL)))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_chat_template(CHAT_TEMPLATE)


def add_shape(writer):
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT_LENGTH)
    writer.add_embedding_length(EMBEDDING)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(EMBEDDING // HEADS)
    writer.add_vocab_size(len(TOKENS))
    writer.add_file_type(0)


def add_weights(writer):
    random = np.random.default_rng(SEED)

    def tensor(*shape):
        return (random.standard_normal(shape) * 0.05).astype(np.float32)

    ones = np.ones(EMBEDDING, np.float32)
    embedding = tensor(len(TOKENS), EMBEDDING)
    embedding[2] = 0
    output = tensor(len(TOKENS), EMBEDDING) * 20
    output[:35] = 0  # Control and whitespace-like tokens …
    output[130:259] = 0  # … and bytes above ASCII never win, so printable letters do.
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output_norm.weight", ones)
    writer.add_tensor("output.weight", output)
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(block + norm + ".weight", ones)
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            writer.add_tensor(block + part + ".weight", tensor(EMBEDDING, EMBEDDING))
        writer.add_tensor(block + "ffn_gate.weight", tensor(FEED_FORWARD, EMBEDDING))
        writer.add_tensor(block + "ffn_up.weight", tensor(FEED_FORWARD, EMBEDDING))
        writer.add_tensor(block + "ffn_down.weight", tensor(EMBEDDING, FEED_FORWARD))


def main(path):
    writer = gguf.GGUFWriter(path, "llama")
    add_shape(writer)
    add_vocabulary(writer)
    add_weights(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main(sys.argv[1])
