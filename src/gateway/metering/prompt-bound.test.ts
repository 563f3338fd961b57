import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { promptShape } from '../../../test/support/prompt-shape.ts';
import { estimatePromptText } from '../core/count-tokens.ts';
import type { Prompt } from '../../core/prompt.ts';
import { loadTokenizer } from '../tokenizer/loaded-tokenizer.ts';
import { maxPromptTokens, minPromptTokens } from './prompt-bound.ts';

const root = join(import.meta.dirname, '../../../test/golden/tokens');
/** Prompts of every kind, each with what three real tokenizers and their templates make of it. */
const counted = JSON.parse(readFileSync(join(root, 'prompts.json'), 'utf8')) as readonly {
  readonly prompt: Prompt;
  readonly tokens: Readonly<Record<string, number | null>>;
}[];

function sentOf({ messages, tools }: Prompt) {
  const calls = messages.map((message) => (message.role === 'assistant' ? (message.toolCalls?.length ?? 0) : 0));
  const shape = promptShape({
    ...estimatePromptText({ messages, tools }),
    ...{ messages: messages.length, tools: tools.length, toolCalls: calls.reduce((sum, count) => sum + count, 0) },
  });
  return { bodyBytes: Buffer.byteLength(JSON.stringify({ messages, tools })), shape };
}

describe.each(['chatml', 'llama', 'mistral'])('honest counts of %s', (name) => {
  const honest = counted.flatMap(({ prompt, tokens }) => {
    const count = tokens[name];
    return typeof count === 'number' ? [{ count, sent: sentOf(prompt) }] : [];
  });

  it('are within the bounds, without and with the tokenizer', async () => {
    expect(honest.length).toBeGreaterThan(100);
    const { bounds } = await loadTokenizer(root, name, () => 0);
    for (const known of [undefined, bounds]) {
      const refused = honest.filter(
        ({ count, sent }) =>
          count > maxPromptTokens(sent, { bounds: known }) || count < minPromptTokens(sent.shape, known),
      );
      expect(refused).toEqual([]);
    }
  });
});

describe('the bound of a prompt', () => {
  const hi = { bodyBytes: 100, shape: promptShape({ messages: 1 }) };
  const withImages = (callerImages: number) => ({
    bodyBytes: 1_000_100,
    shape: promptShape({ messages: 1, images: 1, callerImages, imageBytes: 1_000_000 }),
  });
  const tokenizer = { path: 'm', tokensPerImage: 256 };

  it('is far below the window for a word, and lower with a measured template', () => {
    expect(maxPromptTokens(hi, { bounds: undefined })).toBe(100 + 2048 + 64);
    const template = { base: 20, perMessage: 5 };
    const bounds = { tokensPerByte: 1, tokensPerAsciiByte: 1, maxTokenBytes: 100, template };
    expect(maxPromptTokens(hi, { bounds })).toBe(100 + 2 * 25 + 256);
  });

  it('counts the bytes of a text, and images by what the model declares', () => {
    expect(maxPromptTokens(withImages(1), { bounds: undefined, tokenizer })).toBe(100 + 2048 + 64 + 512);
    // The image of a tool may have become a text.
    expect(maxPromptTokens(withImages(0), { bounds: undefined, tokenizer })).toBeGreaterThan(1_000_000);
  });

  it('is only the window for images of unknown size, and for tokenizers that expand text', () => {
    expect(maxPromptTokens(withImages(1), { bounds: undefined })).toBe(Infinity);
    const bounds = { tokensPerByte: undefined, tokensPerAsciiByte: undefined, maxTokenBytes: 100 };
    expect(maxPromptTokens(hi, { bounds })).toBe(Infinity);
  });

  it('leaves room for tools, which templates write with blanks', () => {
    const shape = promptShape({ messages: 1, tools: 2, toolCalls: 1 });
    expect(maxPromptTokens({ bodyBytes: 1000, shape }, { bounds: undefined })).toBe(2000 + 2048 + 2048 + 128 + 1024);
  });
});

describe('the least count of a prompt', () => {
  const shape = (messageTokens: number) => promptShape({ messageTokens });

  it.each([
    ['one token for any prompt', 0, undefined, 1],
    ['a token for each run of the longest known one', 25_601, undefined, 800],
    ['more where the vocabulary is known', 25_601, 16, 6400],
    ['one where its tokens have no longest', 25_601, Infinity, 1],
  ])('is %s', (_, messageTokens, maxTokenBytes, expected) => {
    const bounds = maxTokenBytes === undefined ? undefined : { maxTokenBytes };
    expect(minPromptTokens(shape(messageTokens), bounds)).toBe(expected);
  });
});
