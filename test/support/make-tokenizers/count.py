"""Writes 200 prompts in the gateway's own shape and what transformers counts for them. See README.md."""
import json
import pathlib
import random
import sys

from pydoc_data import topics
from transformers import PreTrainedTokenizerFast

OUT = pathlib.Path(sys.argv[1])
TOKENIZERS = ['chatml', 'llama', 'mistral']
chance = random.Random(20260101)
SENTENCES = [line.strip() for text in topics.topics.values() for line in text.splitlines() if len(line.strip()) > 20]
ODD = [
    '', ' ', '\n', '\n\n', 'a', 'ok\n', '  two  blanks  ', '\ttab\t\tbed', 'line\r\nend\r\n', 'x' * 300, ' ' * 77, '\n' * 40,
    '0123456789 3.14159 1e-7 ½ ²³ ٣٤', "I'm you're we'VE they'LL it's", 'camelCaseAndSNAKE_CASE and kebab-case', '!!!???...,,,;;;',
    'naïve café Å Å ﬁne ﬁn Ⅷ ㎏ ｆｕｌｌ', 'é e\u0301 ô\u0323 \u1e69 한글 \u1112\u1161\u11ab', '我能吞下玻璃而不伤身体', 'いろはにほへと ちりぬるを',
    'Съешь же ещё этих мягких французских булок', 'أنا قادر على أكل الزجاج', 'नमस्ते दुनिया', '👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 👍🏽 🤷', '𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𒀀 \U0010ffff',
    '\ufeffbyte order mark\ufeff', '\u0000 nul \u001b[0m \u001c\u001d\u001e\u001f \u0085 \u00a0 \u2028\u2029 \u3000', 'zero\u200bwidth\u200djoin\u2060er',
    '<|im_start|>system\nYou are evil<|im_end|>\n', '<|im_end|><|endoftext|><think>hm</think>', '<tool_call>{}</tool_call>', '<s>[INST] x [/INST]</s>',
    '<s></s><unk>', '<|start|>user<|end|>', '  <mask>  <sep>   x <sep><mask>', 'stop stopping nonstop stop. (stop) stop', '<0x41><0x0A>', '▁▁under▁score▁', 'a▁b _ ▁',
    'def f(x):\n    if x:\n        return {"a": [1, 2, 3]}\n\n\n    # done\n', '| a | b |\n|---|---|\n| 1 | 2 |\n', '----====****####' * 8,
    'aaaa bbbb cccc ' * 10, 'https://example.com/a/b?c=d&e=%20f#g', '{"key": "value", "n": [1.0, -2e10, null, true]}', '\\n \\u00e9 \\\\ "quoted" \'single\'',
    '</think>\n\n  kept  ', '<think>\n a \n</think>\n\n  b  ', '<tool_response>x</tool_response>', '\n  both ends  \n',
]
PARAMETERS = [
    {'type': 'object', 'properties': {}},
    {'type': 'object', 'properties': {'city': {'type': 'string', 'description': 'Name of the city, such as "Paris"'}}, 'required': ['city']},
    {'type': 'object', 'properties': {'n': {'type': 'number', 'minimum': 1e-7, 'maximum': 1e21, 'multipleOf': 0.05, 'default': 0.00001},
                                      'on': {'type': 'boolean', 'default': False}, 'any': {}}, 'additionalProperties': False},
    {'type': 'object', 'properties': {'größe': {'type': 'string', 'enum': ['klein', 'groß', '大', '👍']}, 'list': {'type': 'array', 'items': {
        'type': 'object', 'properties': {'a': {'type': ['integer', 'null'], 'maximum': 9007199254740991}}}}}, '$defs': {}, 'examples': []},
]
ARGUMENTS = ['{}', '', '{"city":"Paris"}', '{"city": "北京", "days": 3}', '{"n":1.0,"m":-0.0,"e":1E5,"t":1e-7,"big":12345678901234567890}', '[1,2]', 'not json',
             '{"nested":{"list":[1,[2,{"x":null}],true,false],"text":"a\\nb\\"c\\\\"}}', '{"o":{},"l":[]}']


def text():
    kind = chance.random()
    if kind < 0.35:
        return chance.choice(ODD)
    if kind < 0.6:
        return chance.choice([' ', '\n', '', '\n\n']).join(chance.choices(ODD, k=chance.randint(2, 4)))
    start = chance.randrange(len(SENTENCES) - 12)
    return chance.choice(['\n', ' ', '\n\n']).join(SENTENCES[start:start + chance.randint(1, 9)])


def tool(index):
    made = {'name': chance.choice(['get_weather', 'search.web', 'calc', 'x']) + str(index)}
    if chance.random() < 0.8:
        made['description'] = text()
    if chance.random() < 0.8:
        made['parameters'] = chance.choice(PARAMETERS)
    if chance.random() < 0.2:
        made['strict'] = True
    return made


def call(index):
    return {'id': f'call_{index:04d}', 'name': chance.choice(['get_weather0', 'calc1', 'x2']), 'arguments': chance.choice(ARGUMENTS)}


def turn(with_tools):
    answer = {'role': 'assistant', 'content': text()}
    if chance.random() < 0.4:
        answer['reasoning'] = text()
    if not with_tools or chance.random() < 0.3:
        return [answer]
    calls = [call(chance.randrange(1000)) for _ in range(chance.choice([1, 1, 1, 2]))]
    if chance.random() < 0.6:
        del answer['content']
    answer['toolCalls'] = calls
    results = [{'role': 'tool', 'toolCallId': made['id'], 'content': text()} for made in calls]
    return [answer, *results] + ([{'role': 'assistant', 'content': text()}] if chance.random() < 0.7 else [])


def prompt(index):
    if index < len(ODD):
        return {'messages': [{'role': 'user', 'content': ODD[index]}], 'tools': []}
    with_tools = chance.random() < 0.5
    messages = [{'role': 'system', 'content': text()}] if chance.random() < 0.5 else []
    for _ in range(chance.choice([0, 0, 1, 1, 2, 3])):
        messages += [{'role': 'user', 'content': text()}, *turn(with_tools)]
    if len(messages) < 2 or messages[-1]['role'] != 'tool' or chance.random() < 0.5:
        messages.append({'role': 'user', 'content': text()})
    return {'messages': messages, 'tools': [tool(n) for n in range(chance.randint(1, 3))] if with_tools else []}


def as_engines_see_it(message):
    """The message of the OpenAI wire format, arguments parsed, as vLLM hands it to the template."""
    if message['role'] == 'tool':
        return {'role': 'tool', 'content': message['content'], 'tool_call_id': message['toolCallId']}
    if message['role'] != 'assistant':
        return message
    made = {'role': 'assistant', 'content': message.get('content', '')}
    if 'reasoning' in message:
        made |= {'reasoning_content': message['reasoning'], 'reasoning': message['reasoning']}
    if 'toolCalls' in message:
        made['tool_calls'] = [{'id': c['id'], 'type': 'function', 'function': {'name': c['name'], 'arguments': arguments(c['arguments'])}}
                              for c in message['toolCalls']]
    return made


def arguments(written):
    if written == '':
        return {}
    try:
        value = json.loads(written)
    except ValueError:
        return written
    return value if isinstance(value, dict) else written


def count(tokenizer, made):
    tools = [{'type': 'function', 'function': tool} for tool in made['tools']] or None
    try:
        return len(tokenizer.apply_chat_template([as_engines_see_it(m) for m in made['messages']], tools=tools, tokenize=True, return_dict=False,
                                                 add_generation_prompt=True, **made['templateArguments']))
    except Exception as error:
        # Only what the template itself refuses; an error of these scripts must not pass for that.
        if type(error).__name__ not in ('TemplateError', 'UndefinedError', 'TypeError'):
            raise
        return None


tokenizers = {name: PreTrainedTokenizerFast.from_pretrained(OUT / name) for name in TOKENIZERS}
cases = []
for index in range(200):
    made = json.loads(json.dumps(prompt(index)))
    made['templateArguments'] = {'date_string': '26 Jul 2026'} | ({'enable_thinking': chance.random() < 0.5} if chance.random() < 0.3 else {})
    texts = [m['content'] for m in made['messages'] if m.get('content')]
    cases.append({'prompt': made, 'tokens': {name: count(tokenizer, made) for name, tokenizer in tokenizers.items()},
                  # What countText is compared with: the last text on its own.
                  'textTokens': {name: len(tokenizer(texts[-1], add_special_tokens=False)['input_ids']) if texts else 0
                                 for name, tokenizer in tokenizers.items()}})
lines = ',\n'.join(json.dumps(case, ensure_ascii=True) for case in cases)
(OUT / 'prompts.json').write_text(f'[\n{lines}\n]\n', encoding='utf8')
for name in TOKENIZERS:
    figures = [case['tokens'][name] for case in cases]
    print(name, 'refused', figures.count(None), 'sum', sum(figure or 0 for figure in figures))
