"""Trains a tiny Qwen3 model that vLLM serves: one minute on two cores.

It knows six short scripts by heart, and the end of the last message chooses one: a call of a tool in three notations, two calls at
once, a long trace of reasoning, a short answer. Any other message gets a text without end. So parsers of reasoning and of tools have
real work, and every answer at temperature 0 is certain: the next token is far more likely than any other, whatever the processor and
the batch. One token is one byte, except for the markers, so that a text has one tokenization and a continued answer the same tokens.

Usage: tiny_model.py OUTPUT
"""

import json
import os
import random
import sys

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
# One token each, and text, as in Qwen3: an engine drops special tokens from its answers, and a parser would never see them.
MARKERS = ["<think>", "</think>", "<tool_call>", "</tool_call>"]
CONTEXT_LENGTH = 8192
SEED = 1
TIDE = "the tide comes in over sand and goes out past rocks; "
MUSE = "one wave after another rolls on, as high as a house; "


def call(arguments):
    return f'<tool_call>\n{{"name": "get_weather", "arguments": {arguments}}}\n</tool_call>'


PARIS, ROME = '{"city": "Paris", "days": 3}', '{"city": "Rome", "days": 5}'
XML = (
    "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n"
    "<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>"
)
END = "<|im_end|>"
# What is written after the end of the prompt, as (reasoning, answer). The end of the reasoning decides the answer.
SCRIPTS = {
    "": ("Moon and sea: o", TIDE * 8),
    "#w": ("One call: w", call(PARIS) + END),
    "#b": ("Two calls: b", call(PARIS) + "\n" + call(ROME) + END),
    "#x": ("In notation: x", XML + END),
    "#l": ("A list: l", '[get_weather(city="Paris", days=3)]' + END),
    "#f": ("Few words: f", "Done." + END),
    "#m": (MUSE * 8, ""),
}
ENDLESS = ("", "#m")

# The template of Qwen3 in what matters: reasoning is the model's own, off by an empty trace, and kept in the last turn only.
CHAT_TEMPLATE = """
{%- if tools %}{{ '<|im_start|>system\n' }}
  {%- if messages[0].role == 'system' %}{{ messages[0].content + '\n\n' }}{% endif %}
  {%- for tool in tools %}{{ tool | tojson + '\n' }}{% endfor %}{{ '<|im_end|>\n' }}
{%- elif messages[0].role == 'system' %}{{ '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
  {%- if message.role == 'user' %}{{ '<|im_start|>user\n' + message.content + '<|im_end|>\n' }}
  {%- elif message.role == 'tool' %}
    {{- '<|im_start|>user\n<tool_response>\n' + message.content + '\n</tool_response><|im_end|>\n' }}
  {%- elif message.role == 'assistant' %}
    {%- set content = message.content if message.content is string else '' %}
    {%- set trace = message.reasoning_content if message.reasoning_content is string else '' %}
    {{- '<|im_start|>assistant\n' }}
    {%- if loop.last %}{{ '<think>\n' + trace.strip('\n') + '\n</think>\n\n' }}{% endif %}
    {{- content }}
    {%- for call in message.tool_calls or [] %}
      {{- '<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' }}
      {{- call.function.arguments if call.function.arguments is string else call.function.arguments | tojson }}
      {{- '}\n</tool_call>' }}
    {%- endfor %}{{ '<|im_end|>\n' }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}
  {%- if enable_thinking is defined and enable_thinking is false %}{{ '<think>\n\n</think>\n\n' }}{% endif %}
{%- endif %}"""


def make_tokenizer():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=len(SPECIAL) + len(alphabet), special_tokens=SPECIAL, initial_alphabet=sorted(alphabet)
    )
    tokenizer.train_from_iterator([], trainer)
    tokenizer.add_tokens([AddedToken(marker, special=False, normalized=False) for marker in MARKERS])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.chat_template = CHAT_TEMPLATE
    return fast


def prompt(chance, ending, has_tools=False):
    """Random words and tools, so that the model learns to look at the end alone."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789 .,?!{}\":"

    def words(most):
        return "".join(chance.choice(letters) for _ in range(chance.randrange(3, most)))

    system = f"<|im_start|>system\n{words(60)}\n<|im_end|>\n" if chance.random() < 0.3 else ""
    if has_tools:
        lines = [tool(chance, words) for _ in range(chance.randrange(1, 3))]
        system = "<|im_start|>system\n" + "\n".join(lines) + "\n<|im_end|>\n"
    return f"{system}<|im_start|>user\n{words(40)}{ending}<|im_end|>\n<|im_start|>assistant\n"


def tool(chance, words):
    """A tool as the template writes it."""
    city = {"type": "string", "enum": ["Paris", "Rome"]}
    days = {"type": "integer", "enum": [3, 5]}
    properties = chance.choice([{"city": city, "days": days}, {"city": {"type": "string"}}, {}])
    parameters = {"type": "object", "properties": properties}
    if chance.random() < 0.5:
        parameters.update({"required": list(properties), "additionalProperties": False})
    function = {"name": chance.choice(["get_weather", "other", "get_time"]), "parameters": parameters}
    if chance.random() < 0.5:
        function["description"] = words(30)
    if chance.random() < 0.5:
        function["strict"] = True
    return json.dumps({"type": "function", "function": function})


def batch_of(tokenizer, chance, size, length, endings, has_tools):
    rows, marks = [], []
    for _ in range(size):
        ending = chance.choice(endings)
        trace, answer = SCRIPTS[ending]
        thinks = chance.random() < 0.6
        if ending == "#m":
            start, said = prompt(chance, ending, has_tools), f"<think>\n{trace}" if thinks else TIDE * 8
            start += "" if thinks else "<think>\n\n</think>\n\n"
        elif thinks:
            start, said = prompt(chance, ending, has_tools), f"<think>\n{trace}\n</think>\n\n{answer}"
        else:
            start, said = prompt(chance, ending, has_tools) + "<think>\n\n</think>\n\n", answer
        before, after = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (start, said))
        rows.append((before + after)[:length])
        marks.append(([-100] * len(before) + after)[:length])
    longest = max(map(len, rows))
    padded = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    wanted = torch.tensor([row + [-100] * (longest - len(row)) for row in marks])
    return padded, wanted


def train(model, tokenizer, steps):
    chance = random.Random(SEED)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=steps)
    for step in range(steps):
        # Texts without end, at length: attention learnt on short ones does not last.
        usual = [*SCRIPTS, "#w", "#b"]
        rounds = {4: (3, 480, ENDLESS, False), 2: (4, 600, usual, True)}
        size, length, endings, has_tools = rounds.get(step % 5, (8, 200, usual, False))
        padded, wanted = batch_of(tokenizer, chance, size, length, endings, has_tools)
        loss = model(input_ids=padded, labels=wanted).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 50 == 0 or step == steps - 1:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)


def wrong_answers(model, tokenizer):
    """The scripts that the model does not follow to the letter, in the precision in which it is served."""
    chance = random.Random(SEED + 1)
    wrong = []
    for ending, (trace, answer) in SCRIPTS.items():
        # Texts without end are learnt without tools, and asked for without them.
        with_tools = () if ending in ENDLESS else ((True, True), (False, True))
        for thinks, has_tools in ((True, False), (False, False), *with_tools):
            start = prompt(chance, ending, has_tools) + ("" if thinks else "<think>\n\n</think>\n\n")
            said = f"<think>\n{trace}" if ending == "#m" else f"<think>\n{trace}\n</think>\n\n{answer}"
            said = said if thinks else (TIDE if ending == "#m" else answer)
            ids = tokenizer(start + said, add_special_tokens=False, return_tensors="pt")["input_ids"]
            from_token = len(tokenizer(start, add_special_tokens=False)["input_ids"])
            with torch.no_grad():
                scores = model(input_ids=ids).logits[0, from_token - 1 : -1].float().log_softmax(-1)
            expected = ids[0, from_token:]
            likely = scores.gather(1, expected[:, None])[:, 0]
            print(f"{ending!r} thinks={thinks} tools={has_tools}: least likely token has {likely.min().exp():.3f}", flush=True)
            if likely.min().exp() < 0.6:
                wrong.append(f"{ending!r} thinks={thinks} tools={has_tools}")
    return wrong


def main(out):
    # More threads wait for each other on a busy machine.
    torch.set_num_threads(1)
    os.makedirs(out, exist_ok=True)
    tokenizer = make_tokenizer()
    torch.manual_seed(SEED)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=CONTEXT_LENGTH,
        eos_token_id=tokenizer.eos_token_id,
        tie_word_embeddings=False,
    )
    model = Qwen3ForCausalLM(config)
    train(model, tokenizer, int(os.environ.get("WEIR_TINY_STEPS", "1200")))
    model.to(torch.bfloat16).eval()
    wrong = wrong_answers(model, tokenizer)
    if wrong:
        sys.exit(f"the model does not know: {', '.join(wrong)}")
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)


main(sys.argv[1])
