import { describe, expect, it } from 'vitest';
import { createAnswerReader } from './read-answer.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const headers = (values: Readonly<Record<string, string>>) => ({ header: (name: string) => values[name] });
const stream = headers({ 'content-type': 'text/event-stream; charset=utf-8' });
const whole = headers({ 'content-type': 'application/json' });
const event = (body: object): string => `data: ${JSON.stringify(body)}\n\n`;
const delta = (fields: object): string => event({ choices: [{ index: 0, delta: fields }] });

const chatUsage = { prompt_tokens: 100, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 64 } };
const counted = { outputTokens: 7, prompt: { tokens: 100, cachedTokens: 64 } };

/** How many events come before the first output, and what is known at the end. */
const streams = {
  chat: [
    [delta({ role: 'assistant', content: '' }), delta({ content: 'Hé' }), delta({ content: 'llo' })],
    [event({ choices: [], usage: chatUsage }), 'data: [DONE]\n\n'],
    { first: 2, counts: counted },
  ],
  'chat that begins with reasoning': [
    [delta({ role: 'assistant' }), delta({ reasoning_content: 'Hm' })],
    [delta({ content: 'yes' })],
    { first: 2, counts: { outputTokens: 2, prompt: undefined } },
  ],
  'chat with usage of null in each chunk': [
    [event({ choices: [{ delta: { tool_calls: [{ index: 0 }] } }], usage: null })],
    [event({ choices: [{ delta: { content: 'x' } }], usage: null }), event({ choices: [], usage: chatUsage })],
    { first: 1, counts: counted },
  ],
  'llama.cpp': [
    [delta({ content: 'a' })],
    [event({ choices: [], timings: { prompt_n: 36, cache_n: 64, predicted_n: 7 } })],
    { first: 1, counts: counted },
  ],
  completions: [
    [event({ choices: [{ text: '' }] }), event({ choices: [{ text: 'a' }] })],
    [event({ choices: [{ text: 'b' }], usage: chatUsage })],
    { first: 2, counts: counted },
  ],
  messages: [
    [
      `event: message_start\n${event({ type: 'message_start', message: { usage: { input_tokens: 30, cache_read_input_tokens: 64, cache_creation_input_tokens: 6, output_tokens: 1 } } })}`,
      event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
      event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } }),
    ],
    [event({ type: 'message_delta', delta: {}, usage: { output_tokens: 7 } })],
    { first: 3, counts: counted },
  ],
} as const;

describe.each(Object.entries(streams))('a stream: %s', (_, [before, after, { first, counts }]) => {
  it('has output from its first token on, and counts at its end', () => {
    const reader = createAnswerReader(stream);
    expect(before.map((text) => reader.push(bytes(text)))).toEqual(before.map((_, at) => at + 1 >= first));
    for (const text of after) expect(reader.push(bytes(text))).toBe(true);
    expect(reader.end()).toEqual(counts);
  });

  it('is read the same wherever it is cut', () => {
    const all = bytes([...before, ...after].join(''));
    for (let at = 1; at < all.length; at += 1) {
      const reader = createAnswerReader(stream);
      reader.push(all.subarray(0, at));
      reader.push(all.subarray(at));
      expect(reader.end(), `cut at ${at}`).toEqual(counts);
    }
  });
});

const none = { outputTokens: undefined, prompt: undefined };

describe('a whole answer', () => {
  it.each([
    ['chat', { choices: [], usage: chatUsage }, counted],
    ['messages', { usage: { input_tokens: 36, cache_read_input_tokens: 64, output_tokens: 7 } }, counted],
    [
      'without the cached tokens',
      { usage: { prompt_tokens: 9, completion_tokens: 3 } },
      { outputTokens: 3, prompt: undefined },
    ],
    ['without counts', { data: [] }, none],
  ] as const)('has its counts: %s', (_, body, counts) => {
    const reader = createAnswerReader(whole);
    const all = bytes(JSON.stringify(body));
    reader.push(all.subarray(0, 5));
    reader.push(all.subarray(5));
    expect(reader.end()).toEqual(counts);
  });

  it('of over 256 KiB is not read', () => {
    const reader = createAnswerReader(whole);
    reader.push(bytes(JSON.stringify({ usage: chatUsage, text: 'x'.repeat(256 * 1024) })));
    expect(reader.end()).toEqual(none);
  });

  it('that is no JSON has no counts', () => {
    const reader = createAnswerReader(whole);
    reader.push(bytes('<html>'));
    expect(reader.end()).toEqual(none);
  });
});

it.each([
  ['compressed', { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }],
  ['of another type', { 'content-type': 'audio/mpeg' }],
  ['without a type', {}],
])('of an answer that is %s, only the first byte is seen', (_, values) => {
  const reader = createAnswerReader(headers(values));
  expect([reader.push(bytes('')), reader.push(bytes('x')), reader.end()]).toEqual([false, true, none]);
});

it('a stream with an event of over a mebibyte is read no further', () => {
  const reader = createAnswerReader(stream);
  expect(reader.push(bytes(`data: ${'x'.repeat(1024 * 1024 + 1)}`))).toBe(true);
  expect(reader.push(bytes(`\n\n${event({ choices: [], usage: chatUsage })}`))).toBe(true);
  expect(reader.end()).toEqual(none);
});
