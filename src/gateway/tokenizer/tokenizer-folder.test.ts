import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { BrokenTokenizer } from './tokenizer-folder.ts';
import { byteOfCharacter } from './byte-pairs.ts';
import { countPrompt } from './count-prompt.ts';
import { loadTokenizer } from './loaded-tokenizer.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'weir-tokenizers-'));
  mkdirSync(join(root, 'm'));
});
afterEach(() => rmSync(root, { recursive: true }));

const byteLevel = { type: 'ByteLevel', add_prefix_space: false, use_regex: true };
const model = {
  type: 'BPE',
  vocab: Object.fromEntries(byteOfCharacter),
  merges: [],
};
const tokenizer = { added_tokens: [], normalizer: null, pre_tokenizer: byteLevel, model };
const config = { chat_template: '{% for m in messages %}{{ m.content }}{% endfor %}' };

function write(files: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries({
    'tokenizer.json': tokenizer,
    'tokenizer_config.json': config,
    ...files,
  })) {
    if (value !== undefined)
      writeFileSync(join(root, 'm', name), typeof value === 'string' ? value : JSON.stringify(value));
  }
}

async function problem(path = 'm'): Promise<unknown> {
  try {
    const { render } = await loadTokenizer(root, path, () => 0);
    // Only chats need a template.
    if (typeof render !== 'function') throw new BrokenTokenizer(render.problem);
    return 'loaded';
  } catch (error) {
    return error instanceof BrokenTokenizer ? error.message : error;
  }
}

const withModel = (changes: object, parts: object = {}) => ({
  'tokenizer.json': { ...tokenizer, model: { ...model, ...changes }, ...parts },
});
const withPart = (changes: object) => ({ 'tokenizer.json': { ...tokenizer, ...changes } });

it.each<readonly [string, Readonly<Record<string, unknown>>, string]>([
  ['no tokenizer.json', { 'tokenizer.json': undefined }, 'm/tokenizer.json: there is no such file'],
  [
    'no tokenizer_config.json',
    { 'tokenizer_config.json': undefined },
    'm/tokenizer_config.json: there is no such file',
  ],
  ['JSON cut short', { 'tokenizer.json': '{"model":' }, 'm/tokenizer.json: expected JSON'],
  [
    'another kind of model',
    withModel({ type: 'WordLevel' }),
    'm/tokenizer.json: model.type: expected a model of type "BPE", "WordPiece" or "Unigram": other kinds cannot be counted',
  ],
  [
    'WordPiece without its unknown token',
    withModel({ type: 'WordPiece', unk_token: '[UNK]' }, { pre_tokenizer: null }),
    'm/tokenizer.json: model.unk_token: expected a token of model.vocab',
  ],
  [
    'a unigram model without its unknown token',
    withModel({ type: 'Unigram', vocab: [['a', -1]], unk_id: 1 }, { pre_tokenizer: null }),
    'm/tokenizer.json: model.unk_id: expected a place in model.vocab',
  ],
  [
    'a unigram model without its bytes',
    withModel({ type: 'Unigram', vocab: [['a', -1]], unk_id: 0, byte_fallback: true }, { pre_tokenizer: null }),
    'm/tokenizer.json: model.byte_fallback: expected <0x00> to <0xFF> in model.vocab',
  ],
  [
    'dropout',
    withModel({ dropout: 0.1 }),
    'm/tokenizer.json: model.dropout: expected none: it makes the count a matter of chance',
  ],
  [
    'a merge of unknown tokens',
    withModel({ merges: ['a b'] }),
    'm/tokenizer.json: model.merges[0]: expected two tokens of model.vocab that make a third',
  ],
  [
    'a missing byte',
    withModel({ vocab: { a: 0 } }),
    'm/tokenizer.json: model.vocab: expected a token for each of the 256 bytes',
  ],
  [
    'a fallback without bytes',
    { 'tokenizer.json': { ...tokenizer, pre_tokenizer: null, model: { ...model, byte_fallback: true } } },
    'm/tokenizer.json: model.byte_fallback: expected <0x00> to <0xFF> in model.vocab',
  ],
  [
    'a pattern that is none',
    withPart({ pre_tokenizer: { type: 'Split', pattern: { Regex: '(' }, behavior: 'Isolated' } }),
    'm/tokenizer.json: pre_tokenizer.pattern: expected a regular expression that can be written in JavaScript',
  ],
  [
    'no template',
    { 'tokenizer_config.json': {} },
    'm/tokenizer_config.json: chat_template: expected a chat template here or in chat_template.jinja in the same folder',
  ],
  [
    'a template that cannot be parsed',
    { 'tokenizer_config.json': { chat_template: '{% if %}' } },
    'm/tokenizer_config.json: chat_template: expected a Jinja template that can be parsed',
  ],
  [
    'a template that refuses all',
    { 'chat_template.jinja': '{{ raise_exception("no") }}' },
    'm/chat_template.jinja: expected a template that renders one message of a user',
  ],
])('names what is wrong: %s', async (_name, files, message) => {
  write(files);
  expect(await problem()).toBe(message);
});

it('refuses the normalizer Nmt, which it could not follow', async () => {
  write(withPart({ normalizer: { type: 'Nmt' } }));
  expect(await problem()).toContain('m/tokenizer.json: normalizer.type: ');
});

it('names a folder that is not there', async () => {
  expect(await problem('gone')).toBe('gone/tokenizer.json: there is no such file');
});

async function count(tools: number): Promise<unknown> {
  const loaded = await loadTokenizer(root, 'm', () => 0);
  const prompt = {
    messages: [{ role: 'user', content: 'abc' }],
    tools: Array.from({ length: tools }, () => ({ name: 'f' })),
  } as const;
  return countPrompt(loaded, prompt, { want: 'count', limit: 1000, milliseconds: 1000, elapsed: () => 0 });
}

it('takes the template beside before the one inside', async () => {
  write({ 'chat_template.jinja': 'x' });
  expect(await count(0)).toEqual({ kind: 'counted', tokens: 1 });
});

it('takes the template for tools when there are tools', async () => {
  write({
    'tokenizer_config.json': {
      chat_template: [
        { name: 'default', template: 'xx' },
        { name: 'tool_use', template: 'xxxx' },
      ],
    },
  });
  expect(await count(0)).toEqual({ kind: 'counted', tokens: 2 });
  expect(await count(1)).toEqual({ kind: 'counted', tokens: 4 });
});

it('lets the tokens of tokenizer_config.json win', async () => {
  const inside = [{ id: 300, content: 'abc', special: true }];
  write({
    ...withPart({ added_tokens: inside }),
    'tokenizer_config.json': {
      ...config,
      added_tokens_decoder: { 300: { content: 'abc', single_word: true, special: true } },
    },
    'chat_template.jinja': '{{ messages[0].content }}d abc',
  });
  expect(await count(0)).toEqual({ kind: 'counted', tokens: 6 });
});

it('finds added tokens that hold characters of regular expressions', async () => {
  const added = ['<|fim-middle|>', '[INST]', 'a.b'].map((content, at) => ({ id: 300 + at, content, special: true }));
  write({
    ...withPart({ added_tokens: added }),
    'tokenizer_config.json': config,
    'chat_template.jinja': '<|fim-middle|>[INST]a.baxb',
  });
  expect(await count(0)).toEqual({ kind: 'counted', tokens: 6 });
});
