import { describe, expect, it } from 'vitest';
import { faultOfAnswer, type ReceivedAnswer } from './contract-answer.ts';

type Json = Readonly<Record<string, unknown>>;

const identity = { id: `chatcmpl-${'a'.repeat(22)}`, created: 1_780_000_000, model: 'test/model' };
const message = { role: 'assistant', content: 'hi', reasoning: 'so', reasoning_content: 'so' };
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, cost: 0.000001 };
const whole = {
  ...{ ...identity, object: 'chat.completion', usage },
  choices: [{ index: 0, message, finish_reason: 'stop' }],
};
const chunk = {
  ...identity,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
};
const sse = (...chunks: readonly unknown[]): string =>
  [...chunks.map((one) => `data: ${JSON.stringify(one)}`), 'data: [DONE]', ''].join('\n\n');

const answer = (body: unknown): ReceivedAnswer => ({
  ...{ status: 200, contentType: 'application/json', body: JSON.stringify(body) },
});
const stream = (body: string): ReceivedAnswer => ({
  ...{ status: 200, contentType: 'text/event-stream; charset=utf-8', body },
});
const refusal = (error: Json, more: Partial<ReceivedAnswer> = {}): ReceivedAnswer => ({
  ...{ status: 400, contentType: 'application/json', body: JSON.stringify({ error }), ...more },
});
const wrong = { message: 'n: too big', type: 'invalid_request_error' };

describe('an answer of the contract', () => {
  it.each([
    ['a whole answer', answer(whole)],
    ['a stream', stream(sse(chunk, { ...chunk, choices: [], usage }))],
    ['a refusal without a code', refusal(wrong)],
    ['a refusal with one', refusal({ ...wrong, code: 'param_not_supported' })],
    ['a body that is too large', { status: 413, contentType: 'text/plain', body: 'too large' }],
  ])('is %s', (_, good) => {
    expect(faultOfAnswer(good)).toBeUndefined();
  });

  it.each<readonly [string, ReceivedAnswer]>([
    ['a failure of the service', refusal(wrong, { status: 502 })],
    ['an unexpected status', refusal(wrong, { status: 404 })],
    ['no JSON', { ...answer(whole), body: '<html>' }],
    ['a whole answer as text', { ...answer(whole), contentType: 'text/plain' }],
    ['the envelope in a 200', answer({ error: wrong })],
    ['an answer with an error in it', answer({ ...whole, error: null })],
    ['no choice', answer({ ...whole, choices: [] })],
    ['no finish', answer({ ...whole, choices: [{ index: 0, message, finish_reason: null }] })],
    ['a sparse index', answer({ ...whole, choices: [{ index: 1, message, finish_reason: 'stop' }] })],
    [
      'traces that differ',
      answer({ ...whole, choices: [{ index: 0, message: { ...message, reasoning: 'x' }, finish_reason: 'stop' }] }),
    ],
    [
      'a call without a name',
      answer({
        ...whole,
        choices: [
          {
            index: 0,
            message: { ...message, tool_calls: [{ id: 'a', type: 'function', function: {} }] },
            finish_reason: 'stop',
          },
        ],
      }),
    ],
    ['an id of somebody else', answer({ ...whole, id: 'cmpl-1' })],
    ['no usage', answer({ ...whole, usage: undefined })],
    ['tokens that do not add up', answer({ ...whole, usage: { ...usage, total_tokens: 6 } })],
    ['a cost in words', answer({ ...whole, usage: { ...usage, cost: '0.1' } })],
    ['a stream without [DONE]', stream(sse(chunk).replace('data: [DONE]\n\n', ''))],
    ['a stream without a finish', stream(sse({ ...chunk, choices: [] }))],
    ['a stream that broke', stream(sse(chunk, { ...chunk, error: { code: 'stream_interrupted' } }))],
    ['a stream with a stray line', stream(`: hello\n\n${sse(chunk)}`)],
    ['a refusal with an unknown code', refusal({ ...wrong, code: 'oops' })],
    ['a refusal with a hidden code', refusal({ ...wrong, code: 'invalid_request' })],
    ['a refusal of another type', refusal({ ...wrong, type: 'service_error' })],
    ['a refusal without a message', refusal({ type: wrong.type })],
    ['a refusal that quotes the body', refusal({ ...wrong, message: 'x'.repeat(501) })],
    ['a refusal with more in it', refusal({ ...wrong, stack: 'at …' })],
    ['a refusal as text', refusal(wrong, { contentType: 'text/plain' })],
  ])('is not %s', (_, bad) => {
    expect(faultOfAnswer(bad)).toEqual(expect.any(String));
  });
});
