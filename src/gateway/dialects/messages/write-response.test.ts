import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkMessagesStream } from '../../../../test/support/messages-stream-checker.ts';
import type { AskedAnswer } from '../../../core/dialect.ts';
import type { AnswerEvent, FinishReason, RelayedEvent } from '../../../core/event.ts';
import { Failure } from '../../../core/failure.ts';
import type { Bill, Usage } from '../../../core/money.ts';
import { createJsonWriter, createStreamWriter, writeError } from './write-response.ts';

const identity = { id: 'msg_1', created: 1_780_000_000, model: 'demo/tiny' };
const asked: AskedAnswer = { includeUsage: true, sampling: { stop: ['END', 'STOP'] } };
const bill: Bill = {
  usage: { promptTokens: 12, completionTokens: 7, cachedTokens: 4, reasoningTokens: 2 },
  cost: 6_000_001n,
};

const text = (words: string): AnswerEvent => ({ type: 'text-delta', choice: 0, text: words, deltas: 1 });
const thought = (words: string): AnswerEvent => ({ type: 'reasoning-delta', choice: 0, text: words, deltas: 1 });
const call = (tool: number): AnswerEvent => ({
  type: 'tool-start',
  choice: 0,
  tool,
  id: `toolu_${tool}`,
  name: `f${tool}`,
});
const more = (tool: number, words: string): AnswerEvent => ({ type: 'tool-delta', choice: 0, tool, text: words });
const usage = (counts: Usage): AnswerEvent => ({ type: 'usage', usage: counts });
const finish = (reason: FinishReason, stopSequence?: string): AnswerEvent => ({
  ...{ type: 'finish', choice: 0, reason, ...(stopSequence === undefined ? {} : { stopSequence }) },
});

/** The output of each step, and of the end. */
function stepsOf(...steps: readonly (readonly RelayedEvent[])[]): readonly string[] {
  const writer = createStreamWriter(identity, asked);
  return [...steps.map((events) => writer.push(events)), writer.finish(bill)];
}
const write = (...steps: readonly (readonly RelayedEvent[])[]): string => stepsOf(...steps).join('');
const names = (stream: string): readonly string[] =>
  [...stream.matchAll(/^event: (\w+)$/gm)].map(([, name = '']) => name);
const dataOf = (stream: string): readonly unknown[] =>
  [...stream.matchAll(/^data: (.*)$/gm)].map(([, data = '']): unknown => JSON.parse(data));

function object(...events: readonly RelayedEvent[]) {
  const writer = createJsonWriter(identity, asked);
  writer.push(events);
  return writer.finish(bill);
}

describe('a messages stream', () => {
  it('is written to the letter', () => {
    const stream = write(
      [usage({ promptTokens: 12, completionTokens: 1 }), thought('Hm.')],
      [text('Hi "you"')],
      [finish('stop')],
    );
    expect(stream).toBe(
      [
        [
          'message_start',
          '"message":{"id":"msg_1","type":"message","role":"assistant","model":"demo/tiny","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}',
        ],
        ['content_block_start', '"index":0,"content_block":{"type":"thinking","thinking":"","signature":""}'],
        ['content_block_delta', '"index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}'],
        ['content_block_delta', '"index":0,"delta":{"type":"signature_delta","signature":"d2Vpcjptc2dfMTow"}'],
        ['content_block_stop', '"index":0'],
        ['content_block_start', '"index":1,"content_block":{"type":"text","text":""}'],
        ['content_block_delta', '"index":1,"delta":{"type":"text_delta","text":"Hi \\"you\\""}'],
        ['content_block_stop', '"index":1'],
        [
          'message_delta',
          '"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":8,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":7,"output_tokens_details":{"thinking_tokens":2},"cost":0.000006000001}',
        ],
        ['message_stop', ''],
      ]
        .map(
          ([name = '', fields = '']) =>
            `event: ${name}\ndata: {"type":"${name}"${fields === '' ? '' : ','}${fields}}\n\n`,
        )
        .join(''),
    );
  });

  it('sends text that came together as one delta, and nothing for empty events', () => {
    const [first, second, third] = stepsOf(
      [text('a'), usage({ promptTokens: 1, completionTokens: 1 }), text('b'), text(''), text('c')],
      [usage({ promptTokens: 1, completionTokens: 2 })],
      [text('')],
    );
    expect(names(first ?? '')).toEqual(['message_start', 'content_block_start', 'content_block_delta']);
    expect(first).toContain('"text":"abc"');
    expect([second, third]).toEqual(['', '']);
  });

  it('begins only with output, with the counts of the input so far', () => {
    const [nothing, begun] = stepsOf([usage({ promptTokens: 9, completionTokens: 0, cachedTokens: 4 })], [text('a')]);
    expect(nothing).toBe('');
    expect(dataOf(begun ?? '')[0]).toMatchObject({
      message: { usage: { input_tokens: 5, cache_read_input_tokens: 4, output_tokens: 0 } },
    });
  });

  it('of an empty answer is complete', () => {
    expect(names(write([finish('stop')]))).toEqual(['message_start', 'message_delta', 'message_stop']);
    expect(checkMessagesStream(write([]))).toMatchObject({ content: [], stop_reason: 'end_turn' });
  });

  it('fills silence with pings, never before its start', () => {
    const writer = createStreamWriter(identity, asked);
    const stream = [
      writer.keepAlive(),
      writer.keepAlive(),
      writer.push([text('a')]),
      writer.keepAlive(),
      writer.finish(bill),
    ];
    expect(names(stream[0] ?? '')).toEqual(['message_start', 'ping']);
    expect(stream[1]).toBe('event: ping\ndata: {"type":"ping"}\n\n');
    expect(checkMessagesStream(stream.join('')).events.get('ping')).toBe(3);
  });

  it.each<readonly [FinishReason, string | undefined, string, string | null]>([
    ['stop', undefined, 'end_turn', null],
    ['stop', 'STOP', 'stop_sequence', 'STOP'],
    ['stop', '<|im_end|>', 'end_turn', null],
    ['length', undefined, 'max_tokens', null],
    ['length', 'STOP', 'max_tokens', null],
    ['content_filter', undefined, 'refusal', null],
  ])('that ended in %s at %j ends in %s', (reason, sequence, stopReason, stopSequence) => {
    const expected = { stop_reason: stopReason, stop_sequence: stopSequence };
    expect(checkMessagesStream(write([text('a')], [finish(reason, sequence)]))).toMatchObject(expected);
    expect(JSON.parse(object(text('a'), finish(reason, sequence)))).toMatchObject(expected);
  });

  it('that breaks off ends with an error, and nothing more', () => {
    const writer = createStreamWriter(identity, asked);
    const stream =
      writer.push([text('a')]) + writer.fail(new Failure('stream_interrupted', 'It broke off.', { cause: 'CANARY' }));
    expect(checkMessagesStream(stream)).toMatchObject({
      ending: 'error',
      error: { type: 'service_error', code: 'stream_interrupted', message: 'It broke off.' },
    });
    expect(stream).not.toContain('CANARY');
  });
});

describe('interleaved calls of an engine', () => {
  it('are sent one after the other, each as soon as the one before it is complete', () => {
    const [first, second, third, last] = stepsOf(
      [call(0), more(0, '{"a":'), call(1), more(1, '{"b":1')],
      [more(0, '"}{"'), more(1, '}')],
      [more(0, '}'), call(2)],
      [more(2, '{}'), finish('tool_calls')],
    );
    expect(dataOf(first ?? '').slice(1)).toEqual([
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'tool_use', id: 'toolu_0', name: 'f0', input: {} },
      },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"a":' } },
    ]);
    expect(dataOf(second ?? '')).toMatchObject([{ index: 0, delta: { partial_json: '"}{"' } }]);
    expect(dataOf(third ?? '')).toMatchObject([
      { type: 'content_block_delta', index: 0, delta: { partial_json: '}' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1 },
      { type: 'content_block_delta', index: 1, delta: { partial_json: '{"b":1}' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'content_block_start', index: 2 },
    ]);
    expect(names(last ?? '').slice(0, 2)).toEqual(['content_block_delta', 'content_block_stop']);
  });

  it('wait for arguments that never become JSON until the end, and lose nothing', () => {
    const steps = [
      [call(0), more(0, 'not json')],
      [text('said'), call(1), more(1, '{}')],
      [more(0, ' at all'), finish('length')],
    ];
    const stream = write(...steps);
    const pieces = dataOf(stream).flatMap(
      (event) => Object(Object(event).delta)?.partial_json ?? [],
    ) as readonly string[];
    expect(pieces).toEqual(['not json', ' at all', '{}']);
    expect(names(stepsOf(...steps)[1] ?? 'x')).toEqual([]);
  });
});

describe('interleaved calls that an engine does not end', () => {
  it('are sent before the error, since they are billed', () => {
    const writer = createStreamWriter(identity, asked);
    const stream =
      writer.push([call(0), more(0, '{"a":'), call(1), more(1, '{"b":1')]) +
      writer.fail(new Failure('stream_interrupted', 'It broke off.'));
    expect(checkMessagesStream(stream)).toMatchObject({
      ...{ ending: 'error' },
      content: [{ input: { cut: '{"a":' } }, { input: { cut: '{"b":1' } }],
    });
    expect(names(stream).slice(-2)).toEqual(['content_block_delta', 'error']);
  });
});

describe('a message in one piece', () => {
  it('holds the same blocks', () => {
    const events = [
      thought('Hm.'),
      text('I '),
      text('look.'),
      call(0),
      more(0, '{"big":12345678901234567890}'),
      finish('tool_calls'),
    ];
    expect(object(...events)).toBe(
      '{"id":"msg_1","type":"message","role":"assistant","model":"demo/tiny","content":[' +
        '{"type":"thinking","thinking":"Hm.","signature":"d2Vpcjptc2dfMTow"},{"type":"text","text":"I look."},' +
        '{"type":"tool_use","id":"toolu_0","name":"f0","input":{"big":12345678901234567890}}],' +
        '"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":8,"cache_creation_input_tokens":0,' +
        '"cache_read_input_tokens":4,"output_tokens":7,"output_tokens_details":{"thinking_tokens":2},"cost":0.000006000001}}',
    );
  });

  it.each(['', '{"a":', '[1]', 'null', '"x"'])('has no input where the arguments are %j', (words) => {
    expect(JSON.parse(object(call(0), more(0, words), finish('length')))).toMatchObject({ content: [{ input: {} }] });
  });
});

describe('searches that the service made', () => {
  const source = { url: 'https://a.example', title: 'A', sealed: 'sealed' };
  const citation = { url: source.url, title: source.title, citedText: 'It is.', sealed: 'number' };
  const events: readonly RelayedEvent[] = [
    text('I look.'),
    { type: 'search-call', choice: 0, id: 'srvtoolu_1', input: '{"query":"x"}' },
    {
      type: 'search-result',
      choice: 0,
      id: 'srvtoolu_1',
      result: { kind: 'found', sources: [source, { ...source, pageAge: '2 days' }] },
    },
    { type: 'search-call', choice: 0, id: 'srvtoolu_2', input: '{"query":"y"}' },
    { type: 'search-result', choice: 0, id: 'srvtoolu_2', result: { kind: 'error', code: 'max_uses_exceeded' } },
    text('So: '),
    { type: 'text-delta', choice: 0, text: 'It is.', deltas: 2, citations: [citation] },
    text(' Bye.'),
    finish('stop'),
  ];
  const searched: Bill = { ...bill, usage: { ...bill.usage, webSearches: 1 } };
  const found = { ...{ type: 'web_search_result', url: source.url, title: 'A', encrypted_content: 'sealed' } };
  const expected = [
    { type: 'text', text: 'I look.' },
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
    {
      ...{ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1' },
      content: [
        { ...found, page_age: null },
        { ...found, page_age: '2 days' },
      ],
    },
    { type: 'server_tool_use', id: 'srvtoolu_2', name: 'web_search', input: { query: 'y' } },
    {
      ...{ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_2' },
      content: { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' },
    },
    { type: 'text', text: 'So: ' },
    {
      ...{ type: 'text', text: 'It is.' },
      citations: [
        {
          ...{ type: 'web_search_result_location', url: source.url, title: 'A' },
          ...{ encrypted_index: 'number', cited_text: 'It is.' },
        },
      ],
    },
    { type: 'text', text: ' Bye.' },
  ];

  it.each([
    ['at once', [events]],
    ['one by one', events.map((event) => [event])],
  ])('are blocks of their own, and so is cited text (%s)', (_, steps) => {
    const writer = createStreamWriter(identity, asked);
    const stream = steps.map((some) => writer.push(some)).join('') + writer.finish(searched);
    expect(checkMessagesStream(stream)).toMatchObject({
      content: expected,
      usage: { server_tool_use: { web_search_requests: 1 } },
    });
    const whole = createJsonWriter(identity, asked);
    for (const some of steps) whole.push(some);
    expect(JSON.parse(whole.finish(searched))).toMatchObject({
      content: expected,
      usage: { server_tool_use: { web_search_requests: 1 } },
    });
  });
});

it('names the part of a request by this format’s name', () => {
  const failure = new Failure('param_combination_not_supported', 'no route can', {
    about: ['stop', 'reasoning', 'response_format', 'parallel_tool_calls', 'tools'],
  });
  expect(writeError(failure)).toBe(
    '{"type":"error","error":{"message":"stop_sequences and thinking and output_config.format and tool_choice.disable_parallel_tool_use and tools: no route can","type":"invalid_request_error","code":"param_combination_not_supported"}}',
  );
});

/** Events as a reader gives them: calls begin in order, their arguments come in any pieces, one after the other or interleaved. */
const answers: fc.Arbitrary<readonly AnswerEvent[]> = fc
  .array(
    fc.oneof(
      fc.string().map(text),
      fc.string({ unit: 'grapheme' }).map(thought),
      fc.constant(usage({ promptTokens: 5, completionTokens: 1 })),
      fc.constant<'call'>('call'),
      fc.tuple(fc.constant<'more'>('more'), fc.nat(), fc.nat({ max: 12 })),
    ),
    { maxLength: 40 },
  )
  .map((steps) => {
    const waiting: string[] = [];
    const events = steps.flatMap((step): readonly AnswerEvent[] => {
      if (step === 'call') return [call(waiting.push(`{"at":${waiting.length},"}{\\"":[{"x":"\\u00e9"}, null]} `) - 1)];
      if (!Array.isArray(step)) return [step];
      const [, which, length] = step;
      const tool = waiting.length === 0 ? -1 : which % waiting.length;
      const words = waiting[tool]?.slice(0, length) ?? '';
      if (words === '') return [];
      waiting[tool] = waiting[tool]?.slice(length) ?? '';
      return [more(tool, words)];
    });
    const rest = waiting.map((words, tool) => more(tool, words));
    return [...events, ...rest, finish(waiting.length > 0 ? 'tool_calls' : 'stop')];
  });

it('is a valid stream with the content of the whole message, whatever comes and however it is grouped', () => {
  fc.assert(
    fc.property(answers, fc.infiniteStream(fc.nat({ max: 4 })), (events, sizes) => {
      const steps: AnswerEvent[][] = [];
      for (let at = 0; at < events.length;) {
        const size = 1 + sizes.next().value;
        steps.push(events.slice(at, at + size));
        at += size;
      }
      const { content, stop_reason, usage: counts } = checkMessagesStream(write(...steps));
      expect(JSON.parse(object(...events))).toMatchObject({ content, stop_reason, usage: counts });
    }),
    { numRuns: 500 },
  );
});
