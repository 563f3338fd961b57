// @suite apart
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { hostileAnswers } from '../../../../test/support/fuzz/hostile-answers.ts';
import { longestHold, longestHoldMs } from '../../../../test/support/loop-delay.ts';
import type { ReadStep } from '../../../core/event.ts';
import { parseJson } from '../../../core/json.ts';
import type { ResponseOptions } from './read-answer.ts';
import { createJsonReader, createStreamReader } from './read-response.ts';

const options: ResponseOptions = { toolNames: new Set(['f']), newToolId: (_, tool) => `call_${tool}`, choices: 1 };

/** The bytes that are read from a socket in one turn of the event loop. */
const pieceBytes = 64 * 1024;

async function read(type: string, bytes: Buffer): Promise<void> {
  const reader = type === 'application/json' ? createJsonReader(options) : createStreamReader(options);
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    if (reader.push(bytes.subarray(at, at + pieceBytes)).state !== 'open') return;
    await nextTurn();
  }
  reader.end();
}

describe('an engine’s answer', () => {
  it.each(hostileAnswers)('does not block the event loop while it is read: $name', async ({ type, bytes }) => {
    const sent = bytes();
    expect(await longestHold(() => read(type, sent))).toBeLessThan(longestHoldMs);
  });

  it('would block the event loop if it were parsed whatever it holds', async () => {
    const nested = '['.repeat(3_000_000) + ']'.repeat(3_000_000);
    expect(await longestHold(() => parseJson(nested))).toBeGreaterThan(longestHoldMs);
  });

  it('is read when it is large and valid', () => {
    const content = 'hello '.repeat(1_000_000);
    const reader = createJsonReader(options);
    reader.push(Buffer.from(JSON.stringify({ choices: [{ index: 0, message: { content }, finish_reason: 'stop' }] })));
    expect(reader.end()).toMatchObject({ state: 'complete', events: [{ type: 'text-delta', text: content }, {}] });
  });

  it('has as many probabilities as were asked for', () => {
    const token = { token: 'a', logprob: -1, bytes: [97], top_logprobs: Array(20).fill({ token: 'a', logprob: -1 }) };
    const choice = { index: 0, message: { content: 'a' }, logprobs: { content: Array(4000).fill(token) } };
    const body = Buffer.from(JSON.stringify({ choices: [{ ...choice, finish_reason: 'stop' }] }));
    const reader = createJsonReader({ ...options, logprobs: true });
    reader.push(body);
    expect(reader.end().state).toBe('complete');
    expect(createJsonReader(options).push(body).state).toMatchObject({ kind: 'too-large' });
  });

  it.each([
    ['has a maximum size when it is held', true, 'too-large'],
    ['has none when its caller takes it away', false, 'open'],
  ])('that comes as a stream without end %s', (_, isHeld, expected) => {
    const reader = createStreamReader({ ...options, isHeld });
    const delta = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'a'.repeat(4_000) } }] })}\n\n`;
    const piece = Buffer.from(delta.repeat(256));
    let state: ReadStep['state'] = 'open';
    for (let sent = 0; sent <= 66 && state === 'open'; sent += 1) ({ state } = reader.push(piece));
    expect(typeof state === 'string' ? state : state.kind).toBe(expected);
  });

  it('goes on after a malformed line, and not after dozens', () => {
    const reader = createStreamReader(options);
    const lines = (many: number): Buffer => Buffer.from('data: {\n\n'.repeat(many));
    expect(reader.push(lines(60)).state).toBe('open');
    expect(reader.push(lines(10)).state).toMatchObject({ kind: 'malformed' });
  });
});
