import { expect, test } from 'vitest';
import { verifyAnswer, type Expectation } from './verify-answer.ts';

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const done = 'data: [DONE]\n\n';
const expected: Expectation = { stream: true, text: 'ab', reasoning: '' };
const whole = `${chunk({ role: 'assistant', content: '' })}: a comment\n\n${chunk({ content: 'a' })}${chunk({ content: 'b' })}${chunk({}, 'stop')}${done}`;

test.each([
  ['a whole stream', whole, undefined],
  ['a stream without its end', whole.replace(done, ''), 'no [DONE]'],
  ['a stream that goes on after its end', `${whole}${chunk({ content: '!' })}`, 'data after [DONE]'],
  ['a lost word', whole.replace(chunk({ content: 'b' }), ''), 'another text than the engine sent'],
  [
    'a word twice',
    whole.replace(chunk({ content: 'b' }), chunk({ content: 'b' }).repeat(2)),
    'another text than the engine sent',
  ],
  ['a broken line', whole.replace('{"choices"', '{choices'), 'a chunk that is not JSON'],
  ['no finish reason', whole.replace(chunk({}, 'stop'), ''), 'no finish reason'],
  ['an interrupted stream', whole.replace(chunk({}, 'stop'), chunk({}, 'error')), 'no finish reason'],
])('%s', (_, body, verdict) => {
  expect(verifyAnswer(body, expected)).toBe(verdict);
});

test.each([
  ['an answer', { choices: [{ message: { content: 'ab' }, finish_reason: 'stop' }] }, undefined],
  [
    'another answer',
    { choices: [{ message: { content: 'a' }, finish_reason: 'stop' }] },
    'another text than the engine sent',
  ],
  ['an error in a 200', { error: { message: 'no', code: 'upstream_incomplete' } }, 'not a chat completion'],
])('%s as JSON', (_, body, verdict) => {
  expect(verifyAnswer(JSON.stringify(body), { ...expected, stream: false })).toBe(verdict);
});

const message = {
  content: [
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
  ],
  stop_reason: 'end_turn',
};
const response = {
  output: [{ type: 'message', content: [{ type: 'output_text', text: 'ab' }] }],
  status: 'completed',
};
test.each([
  ['messages', message, undefined],
  ['messages', { ...message, content: [] }, 'another text than the engine sent'],
  ['messages', { ...message, stop_reason: 'max_tokens' }, 'no finish reason'],
  ['messages', response, 'not a message'],
  ['responses', response, undefined],
  ['responses', { ...response, output: [{ type: 'reasoning' }] }, 'another text than the engine sent'],
  ['responses', { ...response, status: 'incomplete' }, 'no finish reason'],
  ['responses', message, 'not a response'],
] as const)('a whole answer of %s: %j', (surface, body, verdict) => {
  expect(verifyAnswer(JSON.stringify(body), { ...expected, stream: false, surface })).toBe(verdict);
});
