"""Writes a tiny Qwen2-VL model with random weights that vLLM serves. Its answers are noise: what is tested is what images do to a request.

One token is one byte, except for the markers. An image of 56 by 56 pixels is four tokens.

Usage: tiny_vision_model.py OUTPUT
"""

import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2VLConfig,
    Qwen2VLForConditionalGeneration,
    Qwen2VLImageProcessor,
    Qwen2VLProcessor,
    Qwen2VLVideoProcessor,
)

SPECIAL = [
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
    *("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"),
]
PIXELS = 56 * 56
SEED = 1

CHAT_TEMPLATE = """
{%- for message in messages %}{{ '<|im_start|>' + message.role + '\n' }}
  {%- if message.content is string %}{{ message.content }}
  {%- else %}
    {%- for part in message.content %}
      {%- if part.type == 'text' %}{{ part.text }}
      {%- else %}{{ '<|vision_start|><|image_pad|><|vision_end|>' }}{% endif %}
    {%- endfor %}
  {%- endif %}{{ '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"""


def make_tokenizer():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=len(SPECIAL) + len(alphabet), special_tokens=SPECIAL, initial_alphabet=sorted(alphabet)
    )
    tokenizer.train_from_iterator([], trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.chat_template = CHAT_TEMPLATE
    return fast


def main(out):
    tokenizer = make_tokenizer()
    ids = tokenizer.get_vocab()
    rope = {"rope_type": "default", "type": "mrope", "mrope_section": [4, 6, 6], "rope_theta": 10000.0}
    config = Qwen2VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": 128,
            "intermediate_size": 256,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 4096,
            "rope_parameters": rope,
            "rope_scaling": rope,
            "eos_token_id": tokenizer.eos_token_id,
            "bos_token_id": None,
        },
        vision_config={"depth": 2, "embed_dim": 64, "hidden_size": 128, "num_heads": 2, "mlp_ratio": 2},
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
        tie_word_embeddings=False,
    )
    torch.manual_seed(SEED)
    model = Qwen2VLForConditionalGeneration(config)
    with torch.no_grad():
        # Printable characters win, so that the answer is text.
        model.lm_head.weight.mul_(8)
        for text, index in ids.items():
            if not (len(text) == 1 and " " < text < "~"):
                model.lm_head.weight[index] = 0
    model.to(torch.bfloat16).save_pretrained(out)
    processor = Qwen2VLProcessor(
        image_processor=Qwen2VLImageProcessor(min_pixels=PIXELS, max_pixels=4 * PIXELS),
        video_processor=Qwen2VLVideoProcessor(),
        tokenizer=tokenizer,
        chat_template=CHAT_TEMPLATE,
    )
    processor.save_pretrained(out)


main(sys.argv[1])
