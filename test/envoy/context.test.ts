import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { backendManifest, modelManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const root = join(import.meta.dirname, '..', 'golden', 'tokens');
const window = 4096;

const engine = await forFile(startProgrammableEngine({ name: 'alpha', behaviour: { contextLength: 1_000_000_000 } }));
const model = (id: string, more: string): string =>
  modelManifest(id, ['one'], more).replace('contextLength: 131072', `contextLength: ${window}`);
const catalog = [
  backendManifest('one', engine),
  model('test/counted', '  tokenizer: {path: chatml, tokensPerImage: 1000}\n  inputModalities: [text, image]'),
  model('test/uncounted', ''),
  model('test/broken', '  tokenizer: {path: no-such-folder}'),
];
const weir = await forFile(
  startWeir({
    manifests: { 'catalog.yaml': catalog.join('') },
    env: { WEIR_TOKENIZERS: root },
  }),
);
beforeEach(() => engine.reset());

type Content = string | readonly object[];
const ask = (content: Content, more: object = {}) => ({
  model: 'test/counted',
  messages: [{ role: 'user', content }],
  reasoning_effort: 'none',
  ...more,
});

async function outcomeOf(body: object): Promise<string> {
  const response = await weir.chat(body);
  const { error } = (await response.json()) as { readonly error?: { readonly code?: string } };
  return `${response.status} ${error?.code ?? ''}`.trim();
}

const refused = '400 context_length_exceeded';
/** Words of one token each, more or less. */
const words = (count: number): string => Array.from({ length: count }, (_, at) => `word ${at % 10}`).join(' ');

test('a prompt that fits is served', async () => {
  expect(await outcomeOf(ask('[[words=3]] hello'))).toBe('200');
});

test('a prompt that does not fit is refused before an engine sees it, streamed or not', async () => {
  expect(await outcomeOf(ask(words(9000)))).toBe(refused);
  expect(await outcomeOf(ask(words(9000), { stream: true }))).toBe(refused);
  expect(engine.requests()).toHaveLength(0);
});

test('the cap counts: prompt and cap together must fit', async () => {
  expect(await outcomeOf(ask('[[words=3]]', { max_tokens: window - 100 }))).toBe('200');
  expect(await outcomeOf(ask('[[words=3]]', { max_tokens: window }))).toBe(refused);
  expect(await outcomeOf(ask('[[words=3]]', { max_completion_tokens: window + 1 }))).toBe(refused);
});

test('images count with what the model declares', async () => {
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
  const text = { type: 'text', text: '[[words=3]] what is this?' };
  expect(await outcomeOf(ask([text, image, image]))).toBe('200');
  expect(await outcomeOf(ask([text, image, image, image, image, image]))).toBe(refused);
});

test('tools are part of the prompt', async () => {
  const tool = (name: string) => ({ type: 'function', function: { name, description: words(200), parameters: {} } });
  expect(await outcomeOf(ask('[[words=3]]', { tools: [tool('a')] }))).toBe('200');
  const tools = Array.from({ length: 30 }, (_, at) => tool(`tool_${at}`));
  expect(await outcomeOf(ask('[[words=3]]', { tools }))).toBe(refused);
});

test.each(['test/uncounted', 'test/broken'])('%s: the engine decides, and its refusal is ours', async (model) => {
  expect(await outcomeOf(ask(`[[words=3]] ${words(3000)}`, { model }))).toBe('200');
  engine.set({ contextLength: 50 });
  expect(await outcomeOf(ask(words(100), { model }))).toBe(refused);
});
