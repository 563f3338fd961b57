import { describe, expect, it } from 'vitest';
import type { PreparedRequest } from '../../core/prompt.ts';
import { prepareHere } from '../../gateway/request/prepare.ts';
import { createPromptReader, type ReadPrompt } from './read-prompt.ts';

const bytes = (value: unknown): Uint8Array =>
  new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));
const elsewhere: number[] = [];
const read = createPromptReader({
  secret: 'secret',
  prepare: async (body, surface): Promise<PreparedRequest> => {
    elsewhere.push(body.length);
    const countPrompt = async () => ({ kind: 'unknown', reason: 'tokenizer' }) as const;
    return prepareHere(body, { surface, countPrompt });
  },
});
const promptOf = async (path: string, body: unknown): Promise<ReadPrompt> => read({ path, body: bytes(body) });

const text = 'How deep is the water at the old bridge today? '.repeat(60);
const messages = [{ role: 'user', content: text }];
const paths = { chat: '/v1/chat/completions', messages: '/some/prefix/v1/messages?beta=true', text: '/v1/completions' };

describe.each([
  ['chat completions', paths.chat, { model: 'm', messages }],
  ['messages', paths.messages, { model: 'm', max_tokens: 10, messages }],
  ['responses', '/v1/responses', { model: 'm', input: text }],
  ['completions', paths.text, { model: 'm', prompt: text }],
  ['completions with a list of one', paths.text, { model: 'm', prompt: [text] }],
])('a prompt of %s', (_, path, body) => {
  it('has blocks, which it shares with prompts to the same model that begin with it', async () => {
    const { prompt, stream } = await promptOf(path, body);
    expect(prompt.digests.length).toBeGreaterThan(3);
    expect(prompt.ends.at(-1)).toBeLessThanOrEqual(prompt.tokens);
    expect(stream).toBe(false);
    const longer = JSON.parse(JSON.stringify(body).replaceAll(text, text + text)) as object;
    const { prompt: next } = await promptOf(path, { ...longer, stream: true });
    expect(next.digests.slice(0, prompt.digests.length)).toEqual(prompt.digests);
    expect((await promptOf(path, { ...longer, stream: true })).stream).toBe(true);
  });

  it('shares no block with a prompt to another model, which may be an adapter', async () => {
    const { prompt } = await promptOf(path, body);
    const { prompt: other } = await promptOf(path, { ...body, model: 'adapter' });
    expect(other.digests).toHaveLength(prompt.digests.length);
    expect(other.digests.filter((digest) => prompt.digests.includes(digest))).toEqual([]);
  });
});

it('a body of over 128 KiB is read in another thread, and stays as it is here', async () => {
  elsewhere.length = 0;
  const body = bytes({ model: 'm', messages: [{ role: 'user', content: text.repeat(60) }] });
  const { prompt } = await read({ path: paths.chat, body });
  expect(elsewhere).toEqual([body.length]);
  expect(prompt.digests.length).toBeGreaterThan(40);
  expect(body.length).toBe(elsewhere[0]);
});

it.each([
  ['that is no JSON', paths.chat, 'hello '.repeat(100)],
  ['that is JSON and no request', paths.chat, ['a'.repeat(590)]],
  ['with fields that Weir refuses', paths.chat, { model: 'm', messages: 'x'.repeat(570) }],
  ['of another API', '/v1/embeddings', { model: 'm', input: 'x'.repeat(570) }],
  ['to completions without one text', paths.text, { model: 'm', prompt: ['x'.repeat(280), 'y'.repeat(270)] }],
  ['that is a list of tokens', paths.text, { model: 'm', prompt: Array.from({ length: 285 }, () => 1) }],
  ['in another thread that is no request', paths.chat, `{"model": ${' '.repeat(130 * 1024)}`],
])('a body %s has a likely size and no blocks', async (_, path, body) => {
  const found = await promptOf(path, body);
  const tokens = Math.round(bytes(body).length / 6);
  expect(found).toEqual({ prompt: { digests: [], ends: [], tokens }, stream: false, conversation: undefined });
});

it('a request without a body has a prompt of one token', async () => {
  expect((await read({ path: '/v1/models', body: undefined })).prompt).toEqual({ digests: [], ends: [], tokens: 1 });
});
