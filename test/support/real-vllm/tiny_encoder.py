"""Writes a tiny random BERT that vLLM serves: one that makes vectors, or one that ranks documents.

The weights come from a fixed seed, and one token is one byte, so that counts are plain. What the vectors mean is noise, which is
enough: what is tested is that callers get them as they are.

Usage: tiny_encoder.py OUTPUT vectors|ranks [SEED]
"""

import json
import os
import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
CONTEXT_LENGTH = 512
HIDDEN = 64


def make_tokenizer():
    symbols = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate([*SPECIAL, *symbols])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=CONTEXT_LENGTH,
        **{"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"},
    ), len(vocabulary)


def write_pooling(output):
    """How sentence-transformers says that the vector is the mean over all tokens, of length 1."""
    modules = ["", "1_Pooling", "2_Normalize"]
    kinds = ["Transformer", "Pooling", "Normalize"]
    with open(os.path.join(output, "modules.json"), "w") as file:
        steps = [
            {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for at, (path, kind) in enumerate(zip(modules, kinds))
        ]
        json.dump(steps, file)
    os.makedirs(os.path.join(output, "1_Pooling"))
    with open(os.path.join(output, "1_Pooling", "config.json"), "w") as file:
        json.dump({"word_embedding_dimension": HIDDEN, "pooling_mode_mean_tokens": True}, file)
    os.makedirs(os.path.join(output, "2_Normalize"))


def main(output, kind, seed="1"):
    torch.manual_seed(int(seed))
    tokenizer, size = make_tokenizer()
    config = BertConfig(
        vocab_size=size,
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=2 * HIDDEN,
        max_position_embeddings=CONTEXT_LENGTH,
        initializer_range=0.3,
        num_labels=1,
    )
    model = BertModel(config) if kind == "vectors" else BertForSequenceClassification(config)
    model.save_pretrained(output)
    tokenizer.save_pretrained(output)
    if kind == "vectors":
        write_pooling(output)


main(*sys.argv[1:])
