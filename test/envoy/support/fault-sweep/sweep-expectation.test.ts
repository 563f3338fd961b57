import { describe, expect, test } from 'vitest';
import { putTogether } from '../put-together.ts';
import type { LedgerRow } from '../../../support/weir.ts';
import { faultOfRequests } from './continuation-request.ts';
import type { SweepAnswer } from './sweep-answer.ts';
import { faultOfWhole } from './sweep-expectation.ts';
import { referenceOf, sentBefore } from './sweep-reference.ts';
import { lostOf, type Checked } from './check-sweep.ts';

const id = `chatcmpl-${'a'.repeat(24)}`;
const identity = { id, object: 'chat.completion.chunk', created: 1_780_000_000, model: 'test/text-0' };
const delta = (fields: object, finish: string | null = null, index = 0): object => ({
  ...{ ...identity, usage: null },
  choices: [{ index, delta: fields, logprobs: null, finish_reason: finish }],
});
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, cost: 0.00000165 };
const role = delta({ role: 'assistant', content: '' });
const [one, other, finish] = [delta({ content: 'One' }), delta({ content: ' two' }), delta({}, 'stop')];
const counted = { ...identity, choices: [], usage };
const sse = (...chunks: readonly object[]): string =>
  [...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}`), 'data: [DONE]', ''].join('\n\n');

const good = sse(role, one, other, finish, counted);
const row: LedgerRow = {
  ...{ id, outcome: 'completed', prompt_tokens: 3, completion_tokens: 2, cached_tokens: null },
  cost: '0.00000165',
};
const shape = { name: 'text', fields: {}, behaviour: {} };
const reference = referenceOf(shape, { answer: putTogether(good), engine: good });
const answer = (body: string, rows: readonly LedgerRow[] = [row], status = 200): SweepAnswer => ({
  status,
  body,
  rows,
});
const whole = (given: SweepAnswer): string | undefined => faultOfWhole(given, reference);

describe('an answer as if nothing had happened', () => {
  test('is held', () => {
    expect(whole(answer(good))).toBeUndefined();
  });

  const extra = (fields: object): object => ({ ...counted, usage: { ...usage, ...fields } });
  test.each<readonly [string, SweepAnswer]>([
    ['a word twice', answer(sse(role, one, one, other, finish, counted))],
    ['a word less', answer(sse(role, one, finish, counted))],
    ['another word', answer(good.replace(' two', ' 2'))],
    [
      'reasoning that there was not',
      answer(sse(role, delta({ reasoning: 'So', reasoning_content: 'So' }), one, other, finish, counted)),
    ],
    [
      'a call that there was not',
      answer(
        sse(
          role,
          one,
          other,
          delta({
            tool_calls: [{ index: 0, id: 'call_a', type: 'function', function: { name: 'f', arguments: '{}' } }],
          }),
          finish,
          counted,
        ),
      ),
    ],
    ['a second role', answer(sse(role, one, role, other, finish, counted))],
    ['no role', answer(sse(one, other, finish, counted))],
    ['another id in the middle', answer(sse(role, one, { ...other, id: 'chatcmpl-b' }, finish, counted))],
    ['another time in the middle', answer(sse(role, one, { ...other, created: 1 }, finish, counted))],
    ['another model', answer(good.replaceAll('test/text-0', 'test/other-0'))],
    ['no finish', answer(sse(role, one, other, counted))],
    ['two finishes', answer(sse(role, one, other, finish, finish, counted))],
    ['another finish', answer(good.replace('"stop"', '"length"'))],
    ['no usage', answer(sse(role, one, other, finish))],
    ['usage twice', answer(sse(role, one, other, finish, counted, counted))],
    [
      'a choice too many',
      answer(sse(role, one, other, delta({ role: 'assistant' }, null, 1), delta({}, 'stop', 1), finish, counted)),
    ],
    ['no [DONE]', answer(good.replace('data: [DONE]\n\n', ''))],
    ['something after [DONE]', answer(`${good}: more\n\n`)],
    ['a prompt counted twice', answer(sse(role, one, other, finish, extra({ prompt_tokens: 6, total_tokens: 8 })))],
    [
      'an output counted twice',
      answer(sse(role, one, other, finish, extra({ completion_tokens: 4, total_tokens: 7 }))),
    ],
    ['tokens that do not add up', answer(sse(role, one, other, finish, extra({ total_tokens: 6 })))],
    ['another cost than the row', answer(sse(role, one, other, finish, extra({ cost: 0.1 })))],
    ['no row', answer(good, [])],
    ['two rows', answer(good, [row, row])],
    ['a row with other tokens', answer(good, [{ ...row, completion_tokens: 3, cost: '0.00000225' }])],
    ['a row with a wrong price', answer(good, [{ ...row, cost: '0.000002' }])],
    ['a row of another request', answer(good, [{ ...row, id: 'chatcmpl-b' }])],
    ['a row of an interruption', answer(good, [{ ...row, outcome: 'interrupted' }])],
    ['a failure', answer('{}', [], 502)],
  ])('is not %s', (_, bad) => {
    expect(whole(bad)).toEqual(expect.any(String));
  });

  test('may have tokens that nobody could count exactly, when they add up and are billed', () => {
    const guessed = sse(role, one, other, finish, extra({ completion_tokens: 4, total_tokens: 7, cost: 0.00000285 }));
    const billed = { ...row, completion_tokens: 4, cost: '0.00000285' };
    const fault = (rows: readonly LedgerRow[]): string | undefined =>
      faultOfWhole(answer(guessed, rows), reference, { counting: 'reconciled' });
    expect(fault([billed])).toBeUndefined();
    expect(fault([row])).toEqual(expect.any(String));
  });
});

describe('two choices', () => {
  const part = (index: number, content: string): readonly object[] => [
    delta({ role: 'assistant', content: '' }, null, index),
    delta({ content }, null, index),
    delta({}, 'stop', index),
  ];
  const both = (first: string, second: string): string => sse(...part(0, first), ...part(1, second), counted);
  const two = referenceOf(shape, {
    answer: putTogether(both('One', 'Two')),
    engine: both('One', 'Two'),
  });
  const fault = (body: string, interchangeable: boolean): string | undefined =>
    faultOfWhole(answer(body), two, { interchangeable });

  test('each go on as they began; either will do where nothing tells which was meant', () => {
    expect(fault(both('One', 'Two'), false)).toBeUndefined();
    expect(fault(both('One', 'One'), true)).toBeUndefined();
    expect(fault(both('One', 'One'), false)).toEqual(expect.any(String));
    expect(fault(both('One', 'Three'), true)).toEqual(expect.any(String));
    expect(fault(sse(...part(0, 'One'), counted), true)).toEqual(expect.any(String));
  });
});

test('JSON may have other white space only where the shape says so', () => {
  const [tight, loose] = ['{"a":[1]}', '{ "a": [1] }'].map((content) =>
    sse(role, delta({ content }), finish, counted),
  ) as [string, string];
  const fault = (looseJson: object, body: string): string | undefined => {
    const json = referenceOf({ ...shape, ...looseJson }, { answer: putTogether(tight), engine: tight });
    return faultOfWhole(answer(body), json);
  };
  expect(fault({}, loose)).toEqual(expect.any(String));
  expect(fault({ looseJson: true }, loose)).toBeUndefined();
  expect(fault({ looseJson: true }, loose.replace('[1]', '[2]'))).toEqual(expect.any(String));
});

describe('a request to go on', () => {
  const messages = [{ role: 'user', content: 'Go on.' }];
  const first = { model: 'm', messages, stream: true, max_tokens: 9 };
  const partial = { role: 'assistant', content: 'One' };
  const fault = (next: object): string | undefined => faultOfRequests({ broken: [first], spare: [next] }, reference);

  test('is the first one, with what was delivered as a partial turn and what is left of the cap', () => {
    const next = { ...first, messages: [...messages, partial], max_tokens: 8, continue_final_message: true };
    expect(fault(next)).toBeUndefined();
    expect(fault(first)).toBeUndefined();
  });
  test.each<readonly [string, object]>([
    ['another word', { ...first, messages: [...messages, { ...partial, content: 'Two' }] }],
    ['reasoning that there was not', { ...first, messages: [...messages, { ...partial, reasoning: 'So' }] }],
    [
      'a prompt of somebody else',
      { ...first, messages: [{ role: 'system', content: 'Go on.' }, ...messages, partial] },
    ],
    ['a larger cap', { ...first, messages: [...messages, partial], max_tokens: 10 }],
    ['no cap', { model: 'm', messages: [...messages, partial], stream: true }],
    ['another field', { ...first, messages: [...messages, partial], temperature: 0 }],
  ])('has not %s', (_, next) => {
    expect(fault(next)).toEqual(expect.any(String));
  });
});

test('what an engine had sent before a fault is known at each event and byte', () => {
  const bytes = reference.events.map(({ endByte }) => endByte);
  expect(bytes.at(-1)).toBe(Buffer.byteLength(good));
  const [second = 0] = bytes.slice(1);
  const places = ['after-headers', { events: 1 }, { events: 2 }, { bytes: second - 1 }, { bytes: second }] as const;
  expect(places.map((at) => sentBefore(reference, at))).toEqual([0, 0, 1, 0, 1]);
});

test('a case whose fault was not met is not held', () => {
  const swept = { reference, fault: 'cut', at: 'after-headers' } as const;
  const checked: Checked = { swept, met: true, fault: undefined };
  expect(lostOf([checked])).toEqual([]);
  expect(lostOf([checked, { ...checked, met: false }])).toEqual(['text cut after-headers: the fault was not met']);
  expect(lostOf([{ ...checked, fault: 'wrong' }])).toEqual(['text cut after-headers: wrong']);
  expect(lostOf([])).toEqual(['nothing was tried']);
});
