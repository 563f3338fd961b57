import { expect, test } from 'vitest';
import { readRequest } from './read-request.ts';

const line = 'x-anthropic-billing-header: cc_version=2.1.300.a1f; cc_entrypoint=cli; cch=0f3a2;';
const text = (words: string) => ({ type: 'text', text: words });
const systemOf = (system: unknown, keepsBillingLines = false): unknown => {
  const body = { model: 'demo/tiny', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }], system };
  const [first] = readRequest(body, { keepsBillingLines }).messages;
  return first?.role === 'system' ? first.content : undefined;
};

test.each([
  ['a block of its own', [text(line), text('You write code.')], 'You write code.'],
  ['the first line of a block', [text(`${line}\n\nYou write code.`)], 'You write code.'],
  ['the first line of a string', `${line}\nYou write code.`, 'You write code.'],
  ['all there is', [text(line)], undefined],
])('the billing line of a coding agent is left out: %s', (_, system, expected) => {
  expect(systemOf(system)).toBe(expected);
});

test.each([
  ['later in the text', [text('You write code.'), text(line)], `You write code.${line}`],
  ['of another kind', [text('x-cost-center: 7')], 'x-cost-center: 7'],
])('a line %s stays', (_, system, expected) => {
  expect(systemOf(system)).toBe(expected);
});

test('the line stays where the operator says so', () => {
  expect(systemOf([text(line), text('You write code.')], true)).toBe(`${line}You write code.`);
});
