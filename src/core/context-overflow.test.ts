import { expect, test } from 'vitest';
import { contextOverflow } from './context-overflow.ts';

test.each([
  ['coding agents that speak messages', /prompt is too long/i],
  ['agents over chat completions', /maximum context length is \d+ tokens/i],
  ['terminal agents', /exceeds the context window/i],
  ['clients of older engines', /reduce the length of the messages/i],
])('the refusal holds the phrase by which %s know that they must shorten the conversation', (_, phrase) => {
  const failure = contextOverflow({ contextLength: 8192 });
  expect(failure.code).toBe('context_length_exceeded');
  expect(failure.message).toMatch(phrase);
  expect(failure.message).toMatch(/^messages: /);
});
