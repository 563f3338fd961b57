"""Trains the three small tokenizers that prompt counts are tested with. See README.md."""
import json
import pathlib
import random
import sys
from pydoc_data import topics

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

OUT = pathlib.Path(sys.argv[1])
FOREIGN = [
    'Der schnelle braune Fuchs springt über den faulen Hund. Größe, Straße, Übermut.',
    'Le cœur déçu mais l’âme plutôt naïve, Louÿs rêva de crapaüter en canoë.',
    'Съешь же ещё этих мягких французских булок, да выпей чаю.',
    '我能吞下玻璃而不伤身体。今天天气很好，我们去公园散步吧。',
    'いろはにほへと ちりぬるを。東京の天気を教えてください。',
    '나는 유리를 먹을 수 있어요. 그래도 아프지 않아요.',
    'أنا قادر على أكل الزجاج و هذا لا يؤلمني.',
    'नमस्ते दुनिया, आज मौसम कैसा है?',
    '{"name": "get_weather", "arguments": {"city": "Paris", "unit": "celsius"}}',
]


def corpus():
    return list(topics.topics.values()) + FOREIGN * 40


def write(folder, tokenizer, template, config, edit=lambda _: None, template_file=False):
    path = OUT / folder
    path.mkdir(parents=True, exist_ok=True)
    value = json.loads(tokenizer.to_str())
    edit(value)
    (path / 'tokenizer.json').write_text(json.dumps(value, ensure_ascii=False, separators=(',', ':')) + '\n', encoding='utf8')
    config = {'tokenizer_class': 'PreTrainedTokenizerFast', **config}
    if template_file:
        (path / 'chat_template.jinja').write_text(template, encoding='utf8')
    else:
        config['chat_template'] = template
    (path / 'tokenizer_config.json').write_text(json.dumps(config, ensure_ascii=False, indent=1) + '\n', encoding='utf8')


# ── Byte-level BPE with Qwen's pattern, and a ChatML template with Qwen3's structure ──────────────────────────────────

CHATML = r'''{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\n\n' }}
    {%- endif %}
    {{- "# Tools\n\nYou may call functions. Their signatures are within <tools></tools>:\n<tools>" }}
    {%- for tool in tools %}
        {{- "\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\n</tools>\n\nAnswer with <tool_call>\n{\"name\": <name>, \"arguments\": <object>}\n</tool_call><|im_end|>\n" }}
{%- else %}
    {%- if messages[0].role == 'system' %}
        {{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}
    {%- endif %}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set reasoning_content = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index %}
            {%- if loop.last or (not loop.last and reasoning_content) %}
                {{- '<|im_start|>' + message.role + '\n<think>\n' + reasoning_content.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') }}
            {%- else %}
                {{- '<|im_start|>' + message.role + '\n' + content }}
            {%- endif %}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\n' + content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if (loop.first and content) or (not loop.first) %}
                    {{- '\n' }}
                {%- endif %}
                {%- if tool_call.function %}
                    {%- set tool_call = tool_call.function %}
                {%- endif %}
                {{- '<tool_call>\n{"name": "' }}
                {{- tool_call.name }}
                {{- '", "arguments": ' }}
                {%- if tool_call.arguments is string %}
                    {{- tool_call.arguments }}
                {%- else %}
                    {{- tool_call.arguments | tojson }}
                {%- endif %}
                {{- '}\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\n<tool_response>\n' }}
        {{- content }}
        {{- '\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\n\n</think>\n\n' }}
    {%- endif %}
{%- endif %}
'''
QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def chatml():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(QWEN), 'isolated'),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=3000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
        special_tokens=['<|endoftext|>', '<|im_start|>', '<|im_end|>']))
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in
                          ['<think>', '</think>', '<tool_call>', '</tool_call>', '<tool_response>', '</tool_response>']])

    def edit(value):
        # Tokens that no merge leads to any more, which only `ignore_merges` finds.
        value['model']['ignore_merges'] = True
        merges = value['model']['merges']
        for index in sorted(random.Random(4).sample(range(1000, len(merges)), 200), reverse=True):
            del merges[index]

    write('chatml', tokenizer, CHATML, {'eos_token': '<|im_end|>', 'pad_token': '<|endoftext|>'}, edit)


# ── BPE with byte fallback and no pre-tokenizer, in the manner of SentencePiece, and a template like Llama's ──────────

LLAMA = r'''{{- bos_token }}
{%- if not date_string is defined %}
    {%- set date_string = strftime_now("%d %b %Y") %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- '<|start|>system<|end|>\n\nToday: ' + date_string + '\n' }}
{%- if tools is not none %}
    {{- "You have these functions:\n\n" }}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\n\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- eos_token }}
{%- for message in messages %}
    {%- if not (message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start|>' + message['role'] + '<|end|>\n\n' + message['content'] | trim + eos_token }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls | length == 1 %}
            {{- raise_exception("This model only supports single tool-calls at once!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|start|>assistant<|end|>\n\n' -}}
        {{- '{"name": "' + tool_call.name + '", ' }}
        {{- '"parameters": ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}" }}
        {{- eos_token }}
    {%- elif message.role == "tool" %}
        {{- "<|start|>ipython<|end|>\n\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- eos_token }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start|>assistant<|end|>\n\n' }}
{%- endif %}
'''


def llama():
    tokenizer = Tokenizer(models.BPE(unk_token='<unk>', fuse_unk=True, byte_fallback=True))
    # Trained on words, used on whole texts, as SentencePiece does it.
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend('▁'), normalizers.Replace(' ', '▁')])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme='never')
    fallback = ['<0x%02X>' % byte for byte in range(256)]
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=3000, limit_alphabet=160, show_progress=False, special_tokens=['<unk>', '<s>', '</s>', *fallback]))
    value = json.loads(tokenizer.to_str())
    value['pre_tokenizer'] = None
    value['added_tokens'] = [token for token in value['added_tokens'] if not token['content'].startswith('<0x')]
    # Runs of blanks, as the real ones have them.
    vocab, merges = value['model']['vocab'], value['model']['merges']
    for length in (2, 4, 8, 16):
        if '▁' * length not in vocab:
            vocab['▁' * length] = max(vocab.values()) + 1
            merges.append(['▁' * (length // 2), '▁' * (length // 2)])
    tokenizer = Tokenizer.from_str(json.dumps(value))
    tokenizer.decoder = decoders.Sequence([decoders.Replace('▁', ' '), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens(['<|start|>', '<|end|>'])
    tokenizer.post_processor = processors.TemplateProcessing('<s> $A', None, [('<s>', tokenizer.token_to_id('<s>'))])
    write('llama', tokenizer, LLAMA,
          {'bos_token': '<s>', 'eos_token': {'content': '</s>', '__type': 'AddedToken'}, 'unk_token': '<unk>'},
          template_file=True)


# ── Metaspace BPE without byte fallback, digits and punctuation apart, tokens with every flag; a template like Mistral's ─

MISTRAL = r'''{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("roles must alternate") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}
                        {{- '"' + key + '": "' + val + '"' }}
                    {%- else %}
                        {{- '"' + key + '": ' + val|tojson }}
                    {%- endif %}
                    {%- if not loop.last %}
                        {{- ", " }}
                    {%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}
                    {{- ", " }}
                {%- else %}
                    {{- "]" }}
                {%- endif %}
            {%- endfor %}
            {{- "[/AVAILABLE_TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\n\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {{- "[TOOL_CALLS] [" }}
        {%- for tool_call in message.tool_calls %}
            {%- set out = tool_call.function|tojson(ensure_ascii=False) %}
            {{- out[:-1] }}
            {{- ', "id": "' + tool_call.id + '"}' }}
            {%- if not loop.last %}
                {{- ", " }}
            {%- else %}
                {{- "]" + eos_token }}
            {%- endif %}
        {%- endfor %}
    {%- elif message["role"] == "assistant" %}
        {%- generation %}
        {{- " " + message["content"]|trim + eos_token }}
        {%- endgeneration %}
    {%- elif message["role"] == "tool" %}
        {{- '[TOOL_RESULTS] {"content": ' + message.content|string + ", " }}
        {{- '"call_id": "' + message.tool_call_id + '", "ok": ' + (true|string) + '}[/TOOL_RESULTS]' }}
    {%- else %}
        {{- raise_exception("Only user and assistant roles are supported") }}
    {%- endif %}
{%- endfor %}
'''


def mistral():
    tokenizer = Tokenizer(models.BPE(unk_token='<unk>', fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(r'[ \t]{3,}'), '  ')])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=False),
        pre_tokenizers.Punctuation('contiguous'),
        pre_tokenizers.Split('\n', 'merged_with_previous'),
        pre_tokenizers.Metaspace(prepend_scheme='first'),
    ])
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=2600, limit_alphabet=140, show_progress=False,
        special_tokens=['<unk>', '<s>', '</s>', '[INST]', '[/INST]', '[TOOL_CALLS]', '[TOOL_RESULTS]', '[/TOOL_RESULTS]',
                        '[AVAILABLE_TOOLS]', '[/AVAILABLE_TOOLS]']))
    tokenizer.add_tokens([
        AddedToken('<mask>', lstrip=True, normalized=False),
        AddedToken('<sep>', rstrip=True, normalized=False),
        AddedToken('stop', single_word=True, normalized=True),
        AddedToken('ﬁn', normalized=True),
    ])
    decoder = {str(token['id']): {key: token[key] for key in ('content', 'single_word', 'lstrip', 'rstrip', 'normalized', 'special')}
               for token in json.loads(tokenizer.to_str())['added_tokens'][:3]}
    write('mistral', tokenizer, MISTRAL,
          {'bos_token': '<s>', 'eos_token': '</s>', 'unk_token': '<unk>', 'added_tokens_decoder': decoder})


chatml()
llama()
mistral()
