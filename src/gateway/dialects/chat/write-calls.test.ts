import { describe, expect, it } from 'vitest';
import type { AnswerEvent } from '../../../core/event.ts';
import type { CallFormat } from '../../../core/request.ts';
import { createJsonWriter, createStreamWriter } from './write-response.ts';

const identity = { id: 'chatcmpl-1', created: 1_780_000_000, model: 'demo/tiny' };
const bill = { usage: { promptTokens: 1, completionTokens: 1 }, cost: 0n };

const events: readonly AnswerEvent[] = [
  { type: 'tool-start', choice: 0, tool: 0, id: 'call_a', name: 'run' },
  { type: 'tool-delta', choice: 0, tool: 0, text: '{"input":"l' },
  { type: 'tool-delta', choice: 0, tool: 0, text: 's"}' },
  { type: 'tool-start', choice: 0, tool: 1, id: 'call_b', name: 'look' },
  { type: 'tool-delta', choice: 0, tool: 1, text: '{}' },
  { type: 'finish', choice: 0, reason: 'tool_calls' },
];

function written(callFormat: CallFormat) {
  const json = createJsonWriter(identity, { callFormat });
  json.push(events);
  const stream = createStreamWriter(identity, { includeUsage: false, callFormat });
  const chunks = events.flatMap((event) =>
    stream
      .push([event])
      .split('\n\n')
      .filter((frame) => frame !== ''),
  );
  return {
    whole: JSON.parse(json.finish(bill)).choices[0],
    deltas: chunks.map((chunk) => JSON.parse(chunk.slice(6)).choices[0]),
  };
}

describe('a call of a custom tool', () => {
  const { whole, deltas } = written({ customTools: ['run'], functionCall: false });

  it('has its text in place of arguments', () => {
    expect(whole.message.tool_calls).toEqual([
      { id: 'call_a', type: 'custom', custom: { name: 'run', input: 'ls' } },
      { id: 'call_b', type: 'function', function: { name: 'look', arguments: '{}' } },
    ]);
    expect(whole.finish_reason).toBe('tool_calls');
  });

  it('streams the text when it is complete, before the end', () => {
    expect(deltas.map(({ delta }) => delta.tool_calls?.[0]).filter((call) => call !== undefined)).toEqual([
      { index: 0, id: 'call_a', type: 'custom', custom: { name: 'run', input: '' } },
      { index: 1, id: 'call_b', type: 'function', function: { name: 'look', arguments: '' } },
      { index: 1, function: { arguments: '{}' } },
      { index: 0, custom: { input: 'ls' } },
    ]);
    expect(deltas.at(-1)).toMatchObject({ delta: {}, finish_reason: 'tool_calls' });
  });
});

describe('a caller that knows the first version only', () => {
  const { whole, deltas } = written({ customTools: [], functionCall: true });

  it('gets the first call as function_call', () => {
    expect(whole.message).toMatchObject({ function_call: { name: 'run', arguments: '{"input":"ls"}' } });
    expect(whole.message).not.toHaveProperty('tool_calls');
    expect(whole.finish_reason).toBe('function_call');
  });

  it('gets it in pieces on a stream', () => {
    expect(deltas.map(({ delta }) => delta.function_call).filter((call) => call !== undefined)).toEqual([
      { name: 'run', arguments: '' },
      { arguments: '{"input":"l' },
      { arguments: 's"}' },
    ]);
    expect(deltas.at(-1)).toMatchObject({ finish_reason: 'function_call' });
  });
});
