import { describe, expect, it } from 'vitest';
import { dialects } from '../../src/gateway/dialects/dialects.ts';
import { Failure } from '../../src/core/failure.ts';
import { checkResponsesStream } from './responses-stream-checker.ts';

const writer = dialects.responses.createStreamWriter(
  { id: 'resp_1', created: 1, model: 'demo/tiny' },
  { includeUsage: true, sampling: {} },
);
const begun =
  writer.push([{ type: 'text-delta', choice: 0, text: 'Flo', deltas: 1 }]) +
  writer.push([{ type: 'text-delta', choice: 0, text: 'ws.', deltas: 1 }]) +
  writer.push([{ type: 'tool-start', choice: 0, tool: 0, id: 'call_1', name: 'look' }]) +
  writer.push([{ type: 'tool-delta', choice: 0, tool: 0, text: '{}' }]);
const whole = begun + writer.finish({ usage: { promptTokens: 2, completionTokens: 3 }, cost: 5n });

/** A stream in which one thing is changed. */
const bent = (from: string | RegExp, to: string): string => {
  const text = whole.replace(from, to);
  if (text === whole) throw new Error('nothing was changed');
  return text;
};

describe('the checker of responses streams', () => {
  it('reads what the writer writes', () => {
    const { status, output, usage } = checkResponsesStream(whole);
    expect([status, output.map(({ type }) => type), usage?.['total_tokens']]).toEqual([
      'completed',
      ['message', 'function_call'],
      5,
    ]);
  });

  it('reads a stream that broke off', () => {
    const broken = dialects.responses.createStreamWriter(
      { id: 'resp_1', created: 1, model: 'm' },
      { includeUsage: true, sampling: {} },
    );
    const text = broken.push([{ type: 'text-delta', choice: 0, text: 'Flo', deltas: 1 }]);
    const checked = checkResponsesStream(text + broken.fail(new Failure('stream_interrupted', 'It broke off.')));
    expect(checked).toMatchObject({ status: 'failed', error: { code: 'stream_interrupted' }, usage: null });
    expect(checked.output).toMatchObject([{ status: 'incomplete', content: [{ text: 'Flo' }] }]);
  });

  it.each<readonly [string, string, () => string]>([
    ['a missing start', 'events are numbered densely', () => bent(/^event: response\.created\n.*\n\n/, '')],
    ['a number twice', 'events are numbered densely', () => bent('"sequence_number":5', '"sequence_number":4')],
    [
      'a name that is not its type',
      'an event has the type of its name',
      () => bent('event: response.output_text.delta', 'event: response.refusal.delta'),
    ],
    ['a lost delta', 'a text is what its deltas add up to', () => bent('"delta":"ws."', '"delta":"ws"')],
    [
      'an item of another place',
      'items are numbered densely',
      () => bent('"output_index":1,"item"', '"output_index":2,"item"'),
    ],
    [
      'an id that changes',
      'an item stays itself',
      () => bent(/("response\.output_item\.done".*?"id":"msg_1_)0/, '$11'),
    ],
    [
      'an end that has other items',
      'the response has the items that were done',
      () => bent(/("type":"response\.completed".*)"Flows\."/, '$1"Flow."'),
    ],
    [
      'no usage',
      'an answer that is complete has usage',
      () => bent(/"usage":\{"input_tokens".*?"cost":[\d.]+\}/, '"usage":null'),
    ],
    [
      'an end that is missing',
      'the stream ends with the whole response',
      () => bent(/event: response\.completed\n.*\n\n/, ''),
    ],
    ['something behind the end', 'a frame is the name of an event', () => `${whole}data: [DONE]\n\n`],
  ])('finds %s', (_, promise, stream) => {
    expect(() => checkResponsesStream(stream())).toThrow(promise);
  });
});
