/** Fields of answers in every JSON type, in streams and in whole answers. */
import { describe, expect, it } from 'vitest';
import type { AnswerEvent, ResponseReader } from '../../../core/event.ts';
import { createJsonReader, createStreamReader } from './read-response.ts';

const options = {
  toolNames: new Set(['look']),
  newToolId: (choice: number, tool: number) => `call_${choice}_${tool}`,
  choices: 1,
};
const usual = { prompt_tokens: 9, completion_tokens: 2 };

function readingOf(reader: ResponseReader, text: string) {
  const steps = [reader.push(new TextEncoder().encode(text)), reader.end()];
  const events: readonly AnswerEvent[] = steps.flatMap((step) => step.events);
  const textOf = (type: AnswerEvent['type']): string =>
    events.map((event) => (event.type === type && 'text' in event ? event.text : '')).join('');
  const usage = events.findLast((event) => event.type === 'usage');
  const [finish] = events.flatMap((event) => (event.type === 'finish' ? [event.reason] : []));
  const calls = events.flatMap((event) => (event.type === 'tool-start' ? [event.name] : []));
  const end = steps.find(({ state }) => state !== 'open')?.state;
  return {
    ...{ text: textOf('text-delta'), reasoning: textOf('reasoning-delta'), refusal: textOf('refusal-delta') },
    ...{ calls: calls.join(), arguments: textOf('tool-delta'), finish, usage: usage?.usage },
    end: typeof end === 'object' ? end.kind : end,
  };
}

type Json = Readonly<Record<string, unknown>>;

/** Reads a message whole, and as a delta. `top`: further fields of the answer; `choice`: of its choice. */
function read(message: unknown, { choice = {}, top = {} }: { readonly choice?: Json; readonly top?: Json } = {}) {
  const ending = { index: 0, finish_reason: 'stop', ...choice };
  const whole = { choices: [{ message, ...ending }], usage: usual, ...top };
  const chunk = { choices: [{ delta: message, ...ending, finish_reason: null }] };
  const last = { choices: [{ delta: {}, ...ending }], usage: usual, ...top };
  const frames = [chunk, last].map((each) => `data: ${JSON.stringify(each)}\n\n`).join('');
  return [
    readingOf(createJsonReader(options), JSON.stringify(whole)),
    readingOf(createStreamReader(options), `${frames}data: [DONE]\n\n`),
  ];
}

const both = (expected: object) => [expect.objectContaining(expected), expect.objectContaining(expected)];

describe('text in any form is read, whole and on a stream', () => {
  const a = { type: 'text', text: 'a' };
  it.each([
    ['a string', { content: 'ab' }, { text: 'ab' }],
    ['a list of parts', { content: [a, { type: 'text', text: 'b' }] }, { text: 'ab' }],
    ['a list of strings', { content: ['a', 'b'] }, { text: 'ab' }],
    ['one part', { content: a }, { text: 'a' }],
    ['a part without a type', { content: [{ text: 'a' }] }, { text: 'a' }],
    ['a part of tomorrow with a text', { content: [{ type: 'prose', text: 'a' }] }, { text: 'a' }],
    ['output_text', { content: [{ type: 'output_text', text: 'a', annotations: [] }] }, { text: 'a' }],
    ['a text with a value', { content: [{ type: 'text', text: { value: 'a' } }] }, { text: 'a' }],
    [
      'parts',
      { content: { role: 'model', parts: [{ text: 'h', thought: true }, { text: 'a' }] } },
      { text: 'a', reasoning: 'h' },
    ],
    [
      'thinking of Mistral',
      { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'h' }], closed: true }, a] },
      { text: 'a', reasoning: 'h' },
    ],
    [
      'thinking as a string',
      { content: [{ type: 'thinking', thinking: 'h', signature: 's' }, a] },
      { text: 'a', reasoning: 'h' },
    ],
    [
      'reasoning of Databricks',
      { content: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'h' }] }, a] },
      { text: 'a', reasoning: 'h' },
    ],
    ['sealed reasoning', { content: [{ type: 'redacted_thinking', data: 'x' }, a] }, { text: 'a', reasoning: '' }],
    ['a reference', { content: [a, { type: 'reference', reference_ids: [1] }] }, { text: 'a' }],
    [
      'a refusal',
      { content: [{ type: 'refusal', refusal: 'no' }] },
      { text: '', refusal: 'no', finish: 'content_filter' },
    ],
    [
      'a trace as a list',
      { reasoning_content: [{ type: 'text', text: 'h' }], content: 'a' },
      { text: 'a', reasoning: 'h' },
    ],
    ['a trace as an object', { reasoning: { content: 'h' }, content: 'a' }, { text: 'a', reasoning: 'h' }],
    [
      'details of a trace',
      { reasoning_details: [{ type: 'reasoning.text', text: 'h' }], content: 'a' },
      { reasoning: 'h' },
    ],
    [
      'no trace',
      { reasoning: {}, reasoning_content: false, reasoning_details: [], content: 'a' },
      { text: 'a', reasoning: '' },
    ],
    ['a message that is a string', 'a', { text: 'a' }],
    ['a message that is a list', [a], { text: 'a' }],
    ['nothing', { content: null }, { text: '' }],
    ['an empty list', { content: [] }, { text: '' }],
    ['an empty part', { content: [{ type: 'text', text: '' }] }, { text: '' }],
  ])('%s', (_, message, expected) => {
    expect(read(message)).toEqual(both({ ...expected, end: 'complete' }));
  });

  it('of a completion without a message', () => {
    expect(read(undefined, { choice: { text: 'a' } })[0]).toMatchObject({ text: 'a', end: 'complete' });
  });

  it('in every chunk of a stream', () => {
    const frames = ['a', 'b', 'c'].map((text) => ({
      choices: [{ index: 0, delta: { content: [{ type: 'text', text }] } }],
    }));
    const all = [...frames, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }];
    const stream = all.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('');
    expect(readingOf(createStreamReader(options), stream)).toMatchObject({ text: 'abc', end: 'complete' });
  });
});

describe('a value that means nothing to us fails the attempt, and is no silence', () => {
  it.each([
    ...(
      [7, true, false, {}, { a: 1 }, [7], [{ type: 'image_url', image_url: {} }], [{ type: 'text', text: 7 }]] as const
    ).map((content) => ({ content })),
    ...[{ reasoning: 7 }, { reasoning: { effort: 'high' } }, { refusal: true }],
    ...[
      { tool_calls: 7 },
      { tool_calls: 'look' },
      { tool_calls: [7] },
      { tool_calls: ['look'] },
      { function_call: 'auto' },
    ],
    ...[{ tool_calls: [{ id: 'x', function: { name: {}, arguments: '{}' } }] }, 7, true],
  ])('%j', (message) => {
    expect(read(message)).toEqual(both({ end: 'malformed' }));
  });

  it.each([{ choices: 'x' }, { choices: 7 }, { choices: [7] }, { choices: [[]] }])('%j', (top) => {
    expect(read({ content: 'a' }, { top })).toEqual(both({ end: 'malformed' }));
  });

  it.each([{}, { message: null }])('a whole answer that stops without a message: %j', (choice) => {
    const whole = JSON.stringify({ choices: [{ index: 0, finish_reason: 'stop', ...choice }] });
    expect(readingOf(createJsonReader(options), whole).end).toBe('malformed');
  });
});

describe('calls in any form are read', () => {
  const expected = { calls: 'look', arguments: '{"a":1}', finish: 'tool_calls', end: 'complete' };
  const text = '{"a":1}';
  it.each([
    [
      'usual ones',
      { tool_calls: [{ index: 0, id: 'x', type: 'function', function: { name: 'look', arguments: text } }] },
    ],
    [
      'an id and an index of other types',
      { tool_calls: [{ index: '0', id: 7, function: { name: 'look', arguments: text } }] },
    ],
    ['arguments as an object', { tool_calls: [{ id: 'x', function: { name: 'look', arguments: { a: 1 } } }] }],
    ['one call without a list', { tool_calls: { id: 'x', function: { name: 'look', arguments: text } } }],
    ['a list as text', { tool_calls: JSON.stringify([{ function: { name: 'look', arguments: text } }]) }],
    ['a function by its name', { tool_calls: [{ id: 'x', function: 'look', arguments: text }] }],
    ['a type of tomorrow', { tool_calls: [{ id: 'x', type: 'builtin', function: { name: 'look', arguments: text } }] }],
    ['a call without a function', { tool_calls: [{ type: 7, name: 'look', parameters: { a: 1 } }] }],
    ['empty entries', { tool_calls: [null, { id: 'x', function: { name: 'look', arguments: text } }] }],
    ['the old field as a list', { function_call: [{ name: 'look', arguments: text }] }],
  ])('%s', (_, message) => {
    expect(read(message)).toEqual(both(expected));
  });

  it('a name that is a number', () => {
    expect(read({ tool_calls: [{ id: 'x', function: { name: 42, arguments: text } }] })).toEqual(both({ calls: '42' }));
  });
});

describe('counts in any form are read', () => {
  const expected = { promptTokens: 12, completionTokens: 2, cachedTokens: 4, reasoningTokens: 1 };
  const details = (some: unknown) => ({
    prompt_tokens_details: { cached_tokens: some === 'text' ? '4' : 4 },
    completion_tokens_details: { reasoning_tokens: some === 'text' ? '1.0' : 1 },
  });
  it.each([
    ['numbers', { prompt_tokens: 12, completion_tokens: 2, ...details('number') }],
    ['texts', { prompt_tokens: '12', completion_tokens: '2', ...details('text') }],
    ['texts of fractions', { prompt_tokens: '12.0', completion_tokens: ' 2.00 ', ...details('text') }],
    ['a list', [{ prompt_tokens: 12, completion_tokens: 2, ...details('number') }]],
    ['a text', JSON.stringify({ prompt_tokens: 12, completion_tokens: 2, ...details('number') })],
    ['a total', { prompt_tokens: '12', total_tokens: '14', ...details('text') }],
  ])('%s', (_, usage) => {
    expect(read({ content: 'a' }, { top: { usage } })).toEqual(both({ usage: expected, end: 'complete' }));
  });

  it.each([
    7,
    true,
    'x',
    [],
    [7],
    { prompt_tokens: {}, completion_tokens: [] },
    { prompt_tokens: '0x9', completion_tokens: '' },
  ])('what is no count is none: %j', (usage) => {
    expect(read({ content: 'a' }, { top: { usage } })).toEqual(both({ usage: undefined, end: 'complete' }));
  });
});

describe('other fields of a choice', () => {
  it.each([
    [['length'], 'length'],
    [{ type: 'length', length: 9 }, 'length'],
    [{ type: 'stop', matched: 7 }, 'stop'],
    [[{ reason: 'SAFETY' }], 'content_filter'],
    [2, 'stop'],
    [true, 'stop'],
  ])('finish_reason %j is %s', (finish, expected) => {
    expect(read({ content: 'a' }, { choice: { finish_reason: finish } })).toEqual(
      both({ finish: expected, end: 'complete' }),
    );
  });

  it.each([[{}], [[]], [{ type: {} }]])('finish_reason %j means nothing', (finish) => {
    expect(read({ content: 'a' }, { choice: { finish_reason: finish } })).toEqual(both({ end: 'malformed' }));
  });

  it.each([0, '0', null, undefined, 'first', {}])('index %j', (index) => {
    expect(read({ content: 'a' }, { choice: { index } })).toEqual(both({ text: 'a', end: 'complete' }));
  });

  it('choices without indices are in their order', () => {
    const two = { choices: ['a', 'b'].map((content) => ({ message: { content }, finish_reason: 'stop' })) };
    expect(readingOf(createJsonReader({ ...options, choices: 2 }), JSON.stringify(two))).toMatchObject({
      ...{ text: 'ab', end: 'complete' },
    });
  });

  it.each([
    { created: '1780000000' },
    { created: null },
    { id: 7 },
    { model: ['m'] },
    { object: 7 },
    { service_tier: 7 },
  ])('what is not needed may have any type: %j', (top) => {
    expect(read({ content: 'a', role: 'model' }, { top })).toEqual(both({ text: 'a', end: 'complete' }));
  });

  it('one choice without a list', () => {
    const choices = { message: { content: 'a' }, finish_reason: 'stop' };
    expect(readingOf(createJsonReader(options), JSON.stringify({ choices }))).toMatchObject({
      text: 'a',
      end: 'complete',
    });
  });
});

describe('an answer that says that it failed is a fault, although it stopped', () => {
  const error = { code: 502, message: 'Provider returned error' };
  it.each([
    ...([error, 'boom', [error], true, 502, { metadata: {} }] as const).map((one) => ({ top: { error: one } })),
    ...[
      { top: { errors: [error] } },
      { top: { status: 'failed' } },
      { top: { status: 500 } },
      { top: { success: false } },
    ],
    ...[
      { top: { base_resp: { status_code: 1008, status_msg: 'insufficient balance' } } },
      { top: { error_code: 336003 } },
    ],
    ...[
      { top: { code: 1234, msg: 'busy' } },
      { top: { code: 'InternalError', message: 'x' } },
      { top: { object: 'error' } },
    ],
    ...[{ choice: { error } }, { choice: { error: 'boom' } }, { choice: { status: 'error' } }],
    ...[{ choice: { finish_reason: 'error' } }, { choice: { finish_reason: 'ERROR' } }],
  ])('%j', (more) => {
    expect(read({ content: '' }, more)).toEqual(both({ end: 'engine-error' }));
    expect(read({ content: 'a' }, more)).toEqual(both({ end: 'engine-error' }));
  });

  it.each([{ error }, { error: 'boom' }, { status: 'failed' }, { errors: [error] }])(
    'in its message: %j',
    (message) => {
      expect(read({ content: '', ...message })).toEqual(both({ end: 'engine-error' }));
    },
  );

  it.each([
    ...[{ error: null }, { error: '' }, { error: false }, { error: [] }, { errors: [] }, { errors: null }],
    ...[{ error: { code: null, message: null } }, { error: { code: 0, message: 'ok', type: '' } }],
    ...[{ error: { code: 0, message: '' } }, { base_resp: { status_code: 0, status_msg: 'success' } }],
    ...[
      { code: 0, message: 'Success' },
      { code: 200, msg: 'ok' },
      { code: '0', msg: '' },
      { code: 'success', message: 'x' },
    ],
    ...[{ status: 'completed' }, { status: 200 }, { success: true }, { error_code: 0 }],
  ])('and %j is not one', (top) => {
    expect(read({ content: 'a' }, { top })).toEqual(both({ text: 'a', end: 'complete' }));
  });

  it.each([
    [{ choices: [{ index: 0, message: {}, error: { code: 429, message: 'x' }, finish_reason: 'stop' }] }, 'rate-limit'],
    [{ base_resp: { status_code: 1039, status_msg: 'token limit' }, choices: null }, 'context-length'],
    [{ code: 500, msg: 'prompt is too long', choices: [] }, 'context-length'],
    [
      {
        error: {
          message: 'Provider returned error',
          metadata: { raw: '{"error":{"code":"context_length_exceeded"}}' },
        },
      },
      'context-length',
    ],
    [{ error: '{"message":"no","code":"insufficient_quota"}' }, 'account'],
  ])('%j means %s', (answer, engineError) => {
    const text = JSON.stringify(answer);
    for (const [reader, sent] of [
      [createJsonReader(options), text],
      [createStreamReader(options), `data: ${text}\n\n`],
    ] as const) {
      const steps = [reader.push(new TextEncoder().encode(sent)), reader.end()];
      expect(steps.find(({ state }) => typeof state === 'object')?.state).toMatchObject({
        kind: 'engine-error',
        engineError,
      });
    }
  });
});

describe('names of events', () => {
  const said = 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n';
  const last = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';
  it.each(['error', 'ERROR', 'response.failed', 'chat.error'])('%s is a fault, whatever the data is', (name) => {
    for (const data of ['The prompt is too long', '"x"', '{}', '{"choices":[]}']) {
      const reading = readingOf(createStreamReader(options), `${said}event: ${name}\ndata: ${data}\n\n${last}`);
      expect(reading).toMatchObject({ text: 'a', end: 'engine-error' });
    }
  });

  it.each(['message', 'chunk', 'delta', 'completion', 'ping', 'a name of tomorrow'])('%s is none', (name) => {
    const stream = [said, said, last, 'data: [done]\n\n'].map((event) => `event: ${name}\n${event}`).join('');
    expect(readingOf(createStreamReader(options), stream)).toMatchObject({ text: 'aa', end: 'complete' });
  });
});
