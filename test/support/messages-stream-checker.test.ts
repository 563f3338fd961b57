import { describe, expect, it } from 'vitest';
import { messageOf } from '../../src/core/failure.ts';
import { checkMessagesStream } from './messages-stream-checker.ts';

type Event = { readonly type: string } & Readonly<Record<string, unknown>>;

const usage = { input_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 2, output_tokens: 0 };
const identity = { id: 'msg_1', type: 'message', role: 'assistant', model: 'a/b' };
const unstopped = { content: [], stop_reason: null, stop_sequence: null };
const start: Event = { type: 'message_start', message: { ...identity, ...unstopped, usage } };
const open = (index: number, block: object): Event => ({ type: 'content_block_start', index, content_block: block });
const fill = (index: number, delta: object): Event => ({ type: 'content_block_delta', index, delta });
const close = (index: number): Event => ({ type: 'content_block_stop', index });
const total = (reason: string, more: object = {}, sequence: string | null = null): Event => ({
  ...{ type: 'message_delta', delta: { stop_reason: reason, stop_sequence: sequence } },
  usage: { ...usage, output_tokens: 9, cost: 0.5, ...more },
});
const stop: Event = { type: 'message_stop' };
const ping: Event = { type: 'ping' };
const broken: Event = { type: 'error', error: { type: 'service_error', message: 'It broke.' } };

const thinking = [
  open(0, { type: 'thinking', thinking: '', signature: '' }),
  fill(0, { type: 'thinking_delta', thinking: 'Hm.' }),
  fill(0, { type: 'signature_delta', signature: 'x' }),
  close(0),
];
const text = (index: number): readonly Event[] => [
  open(index, { type: 'text', text: '' }),
  fill(index, { type: 'text_delta', text: 'Hel' }),
  fill(index, { type: 'text_delta', text: 'lo' }),
  close(index),
];
const call = (index: number, json: string): readonly Event[] => [
  open(index, { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }),
  fill(index, { type: 'input_json_delta', partial_json: json }),
  close(index),
];
const searched = (index: number): readonly Event[] => [
  open(index, { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }),
  fill(index, { type: 'input_json_delta', partial_json: '{"query":"x"}' }),
  close(index),
  open(index + 1, { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }),
  close(index + 1),
  open(index + 2, { type: 'text', text: '', citations: [] }),
  fill(index + 2, { type: 'citations_delta', citation: { url: 'https://a' } }),
  fill(index + 2, { type: 'text_delta', text: 'It is.' }),
  close(index + 2),
];

const write = (events: readonly Event[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
const check = (events: readonly Event[]): string => {
  try {
    return checkMessagesStream(write(events)).ending;
  } catch (error) {
    return messageOf(error);
  }
};

describe('a messages stream as it should be', () => {
  it.each<readonly [string, readonly Event[]]>([
    ['without content', [start, total('end_turn'), stop]],
    ['of thinking and text', [start, ...thinking, ping, ...text(1), total('end_turn'), stop]],
    ['that calls tools', [start, ...text(0), ...call(1, '{"a":1}'), ...call(2, '{}'), total('tool_use'), stop]],
    ['with a call that the cap has cut', [start, ...call(0, '{"a":'), total('max_tokens'), stop]],
    ['that stopped at a sequence', [start, ...text(0), total('stop_sequence', {}, 'END'), stop]],
    ['that searched', [start, ...searched(0), total('end_turn'), stop]],
    ['with a ping anywhere', [start, ping, ...text(0), total('end_turn'), ping, stop]],
    [
      'whose cached input is known at the end',
      [start, total('end_turn', { input_tokens: 3, cache_read_input_tokens: 4 }), stop],
    ],
  ])('%s is whole', (_, events) => {
    expect(check(events)).toBe('whole');
  });

  it('is put together as an answer in one piece has it', () => {
    const events = [start, ...thinking, ...text(1), ...call(2, '{"a":1}'), total('tool_use'), stop];
    expect(checkMessagesStream(write(events))).toMatchObject({
      ...{ id: 'msg_1', model: 'a/b', stop_reason: 'tool_use', stop_sequence: null },
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 'x' },
        { type: 'text', text: 'Hello' },
        { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
      ],
      usage: { output_tokens: 9, cost: 0.5 },
    });
  });

  it.each<readonly [string, readonly Event[]]>([
    ['before its start', [broken]],
    ['inside a block', [start, ...text(0).slice(0, 2), broken]],
  ])('may end in an error %s', (_, events) => {
    expect(check(events)).toBe('error');
  });
});

describe('a messages stream is refused', () => {
  const [opened, filled] = text(0);
  if (opened === undefined || filled === undefined) throw new Error('no text');

  it.each<readonly [string, readonly Event[], string]>([
    ['that starts twice', [start, start, total('end_turn'), stop], 'there is one message_start'],
    ['that begins with a block', [...text(0), start], 'message_start comes first'],
    ['that begins with a ping', [ping, start, total('end_turn'), stop], 'message_start comes first'],
    [
      'with a delta of the wrong type',
      [start, opened, fill(0, { type: 'thinking_delta', thinking: 'x' })],
      'a delta has the type',
    ],
    ['with text in a block of thinking', [start, ...thinking.slice(0, 1), filled], 'a delta has the type'],
    [
      'with a delta after a result',
      [start, ...searched(0).slice(0, 4), fill(1, { type: 'text_delta', text: 'x' })],
      'a delta has the type',
    ],
    ['with a delta of another block', [start, opened, fill(1, { type: 'text_delta', text: 'x' })], 'a delta belongs'],
    ['with a delta of no block', [start, filled], 'a delta belongs'],
    ['with two open blocks', [start, opened, open(1, { type: 'text', text: '' })], 'a block is closed before'],
    ['with an unclosed block', [start, opened, total('end_turn'), stop], 'all blocks are closed'],
    ['that closes another block', [start, opened, close(1)], 'the block that is closed'],
    ['that counts its blocks from one', [start, ...text(1)], 'blocks are numbered densely'],
    ['that skips a block', [start, ...text(0), ...text(2)], 'blocks are numbered densely'],
    ['whose block begins full', [start, open(0, { type: 'text', text: 'x' })], 'a block begins empty'],
    ['with a block of an unknown type', [start, open(0, { type: 'audio' })], 'the type of a block is known'],
    ['with unsigned thinking', [start, ...thinking.slice(0, 2), close(0)], 'a block of thinking is signed'],
    [
      'that thinks after its signature',
      [start, ...thinking.slice(0, 3), ...thinking.slice(1, 2)],
      'nothing follows the signature',
    ],
    ['with two signatures', [start, ...thinking.slice(0, 3), ...thinking.slice(2, 3)], 'nothing follows the signature'],
    [
      'with arguments that are no JSON',
      [start, ...call(0, '{"a"'), total('tool_use'), stop],
      'the arguments of a call',
    ],
    [
      'that goes on after a call that was cut',
      [start, ...call(0, '{"a"'), ...text(1), total('max_tokens'), stop],
      'nothing follows a call',
    ],
    [
      'with a citation after its text',
      [start, opened, filled, fill(0, { type: 'citations_delta', citation: {} })],
      'citations come before',
    ],
    ['that ends in tool_use without a call', [start, ...text(0), total('tool_use'), stop], 'it ends in tool_use only'],
    ['that ends in end_turn with a call', [start, ...call(0, '{}'), total('end_turn'), stop], 'with a call'],
    ['that ends in an unknown way', [start, total('tool_calls'), stop], 'the stop reason is known'],
    ['that names no sequence', [start, total('stop_sequence'), stop], 'a stop sequence is named'],
    ['that names a sequence for nothing', [start, total('end_turn', {}, 'END'), stop], 'a stop sequence is named'],
    ['whose input shrinks', [start, total('end_turn', { input_tokens: 4 }), stop], 'the input never shrinks'],
    ['whose output shrinks', [start, total('end_turn', { output_tokens: -1 }), stop], 'output_tokens of message_delta'],
    ['without its cost', [start, total('end_turn', { cost: undefined }), stop], 'the usage has its cost'],
    ['without a count', [start, total('end_turn', { cache_read_input_tokens: null }), stop], 'cache_read_input_tokens'],
    ['with two totals', [start, total('end_turn'), total('end_turn'), stop], 'only the end follows'],
    ['with text after its totals', [start, total('end_turn'), ...text(0), stop], 'only the end follows'],
    ['that does not end', [start, ...text(0), total('end_turn')], 'the stream ends in message_stop'],
    ['without totals', [start, ...text(0), stop], 'message_delta comes before'],
    ['that goes on after its end', [start, total('end_turn'), stop, ping], 'nothing follows the end'],
    ['that goes on after an error', [start, broken, stop], 'nothing follows the end'],
    ['with an event of no known name', [start, { type: 'message_middle' }], 'there is no event'],
  ])('%s', (_, events, fault) => {
    expect(check(events)).toContain(fault);
  });

  it.each([
    ['whose event has no name', `data: ${JSON.stringify(start)}\n\n`],
    ['whose event has another name', `event: ping\ndata: ${JSON.stringify(start)}\n\n`],
    ['with a comment', `${write([start])}: keep-alive\n\n`],
    ['with [DONE]', `${write([start, total('end_turn'), stop])}data: [DONE]\n\n`],
    ['whose last frame is not closed', write([start, total('end_turn'), stop]).trimEnd()],
    ['of nothing', ''],
  ])('%s', (_, stream) => {
    expect(() => checkMessagesStream(stream)).toThrow(Error);
  });
});
