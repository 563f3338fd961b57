import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Prompt, Tokenizers } from '../../core/prompt.ts';
import { startThread } from '../../process/worker-thread.ts';
import { startTokenizers, type TokenizersOptions } from './start-tokenizers.ts';

let root: string;
let tokenizers: Tokenizers;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'weir-tokenizers-'));
  cpSync(join(import.meta.dirname, '../../../test/golden/tokens/chatml'), join(root, 'chatml'), { recursive: true });
});
afterEach(async () => {
  await tokenizers.close();
  rmSync(root, { recursive: true });
});

function start(options: Partial<Omit<TokenizersOptions, 'startThread'>> = {}): Tokenizers {
  tokenizers = startTokenizers({ root, startThread, ...options });
  return tokenizers;
}

const says = (content: string): Prompt => ({ messages: [{ role: 'user', content }], tools: [] });
const all = { want: 'count', limit: Number.POSITIVE_INFINITY } as const;

it('loads a tokenizer and then knows its bounds without waiting', async () => {
  const made = start();
  expect(made.boundsOf('chatml')).toBeUndefined();
  expect(await made.load('chatml')).toEqual({ kind: 'loaded', bounds: made.boundsOf('chatml') });
  expect(made.boundsOf('chatml')?.tokensPerAsciiByte).toBe(1);
});

it('answers a missing folder with a problem, and counts on it with unknown', async () => {
  const made = start();
  const problem = { file: 'gone/tokenizer.json', field: '', message: 'there is no such file' };
  expect(await made.load('gone')).toEqual({ kind: 'broken', problem });
  expect(await made.countPrompt('gone', says('a'), all)).toEqual({ kind: 'unknown', reason: 'tokenizer' });
  expect(await made.countText('gone', 'a')).toBeUndefined();
});

it('counts prompts and texts', async () => {
  const made = start();
  expect(await made.countText('chatml', '<|im_end|>\n')).toBe(2);
  const short = await made.countPrompt('chatml', says('a'), all);
  expect(short).toMatchObject({ kind: 'counted' });
  expect(await made.countPrompt('chatml', says('a'), { want: 'count', limit: 1 })).toMatchObject({ kind: 'over' });
});

it('answers a short prompt before a long one that came first', async () => {
  const made = start();
  await made.load('chatml');
  const order: string[] = [];
  const long = made.countText('chatml', 'some words and 12345\n'.repeat(200_000)).then(() => order.push('long'));
  const short = made.countPrompt('chatml', says('a'), all).then(() => order.push('short'));
  await Promise.all([long, short]);
  expect(order).toEqual(['short', 'long']);
});

it('gives up a count after its allowance', async () => {
  const made = start({ allowanceMs: 0 });
  const words = Array.from({ length: 200_000 }, (_, index) => `word${index * 7919}`).join(' ');
  expect(await made.countPrompt('chatml', says(words), all)).toEqual({ kind: 'unknown', reason: 'time' });
});

it('outlives a template that never ends', async () => {
  cpSync(join(root, 'chatml'), join(root, 'endless'), { recursive: true });
  const loops = Array.from({ length: 4 }, (_, depth) => `{% for i${depth} in range(100000) %}`).join('');
  const endless = `{% if messages[0].content == 'hang' %}${loops}${'{% endfor %}'.repeat(4)}{% endif %}x`;
  writeFileSync(join(root, 'endless', 'chat_template.jinja'), endless);
  const made = start({ silenceMs: 4_000 });
  await made.load('endless');
  const hung = made.countPrompt('endless', says('hang'), all);
  expect(await hung).toEqual({ kind: 'unknown', reason: 'time' });
  expect(await made.countPrompt('endless', says('a'), all)).toEqual({ kind: 'counted', tokens: 1 });
});

it('answers unknown once it is closed', async () => {
  const made = start();
  await made.close();
  expect(await made.countPrompt('chatml', says('a'), all)).toEqual({ kind: 'unknown', reason: 'time' });
});
