import { afterAll, beforeEach, describe, expect, test } from 'vitest';

import type { BehaviourInput } from './behaviour.ts';
import { startProgrammableEngine } from './engine.ts';
import { rawExchange } from './raw-exchange.ts';
import { eventData, eventJson, joinedField } from './stream-events.ts';

const engine = await startProgrammableEngine({ behaviour: { identify: false } });
afterAll(async () => engine.close());
beforeEach(() => engine.reset());

const question = { model: 'demo-chat', messages: [{ role: 'user', content: 'go [[words=8]] [[reasoningWords=3]]' }] };
const streamed = async (behaviour: BehaviourInput): Promise<Awaited<ReturnType<typeof rawExchange>>> => {
  engine.set({ identify: false, ...behaviour });
  return rawExchange(engine.url, { ...question, stream: true });
};
const plain = async (behaviour: BehaviourInput): Promise<Awaited<ReturnType<typeof rawExchange>>> => {
  engine.set({ identify: false, ...behaviour });
  return rawExchange(engine.url, question);
};

describe('a stream', () => {
  test('is whole when nothing was asked for', async () => {
    const answer = await streamed({});
    expect(answer).toMatchObject({ status: 200, whole: true, ending: 'fin' });
    expect(eventData(answer.body.toString()).at(-1)).toBe('[DONE]');
  });

  test.each(['cut', 'reset', 'truncate', 'end'] as const)(
    '%s breaks it off after any number of events',
    async (fault) => {
      const whole = eventData((await streamed({})).body.toString()).length;
      for (let events = 0; events < whole; events += 1) {
        const answer = await streamed({ fault, at: { events } });
        expect(eventData(answer.body.toString())).toHaveLength(events);
        expect(answer.whole).toBe(fault === 'end');
        expect(answer.ending).toBe(fault === 'reset' ? 'reset' : 'fin');
      }
    },
  );

  test.each(['cut', 'reset', 'truncate', 'end'] as const)('%s breaks it off at any byte', async (fault) => {
    // Ids and times are of one length, so that offsets mean the same in every answer.
    const whole = (await streamed({})).body.length;
    for (let bytes = 0; bytes < whole; bytes += 97) {
      const answer = await streamed({ fault, at: { bytes } });
      expect(answer.body).toHaveLength(bytes);
      expect(answer.whole).toBe(fault === 'end');
    }
  });

  test('truncate promises a chunk that does not come', async () => {
    const answer = await streamed({ truncateAtByte: 500 });
    expect(answer.chunkSizes.reduce((sum, size) => sum + size, 0)).toBeGreaterThan(500);
    expect(answer.body).toHaveLength(500);
  });

  test('a malformed line before the headers comes first, and the answer follows it', async () => {
    const malformed = { fault: 'malformed', at: 'before-headers', malformedLine: '{"lost' } as const;
    const answer = await streamed(malformed);
    expect(answer).toMatchObject({ status: 200, whole: true });
    const events = eventData(answer.body.toString());
    expect([events[0], events.at(-1)]).toEqual(['{"lost', '[DONE]']);
    const inOnePiece = await plain(malformed);
    expect(inOnePiece).toMatchObject({ status: 200, whole: true });
    expect(inOnePiece.body.toString()).toMatch(/^data: \{"lost\n\n\{"id"/);
  });

  test.each(['cut', 'reset'] as const)('%s before the headers sends nothing at all', async (fault) => {
    expect(await streamed({ fault, at: 'before-headers' })).toMatchObject({ status: 0, whole: false });
  });

  test('cut after the headers sends those', async () => {
    expect(await streamed({ fault: 'cut' })).toMatchObject({ status: 200, whole: false, body: Buffer.alloc(0) });
  });

  test.each([
    ['error', true, []],
    ['error-then-done', true, ['[DONE]']],
    ['error-then-cut', false, []],
  ] as const)('%s puts an error among the events', async (fault, whole, after) => {
    const answer = await streamed({ fault, at: { events: 4 } });
    const events = eventData(answer.body.toString());
    expect(JSON.parse(events[4] ?? '')).toMatchObject({ error: { message: expect.any(String), code: 500 } });
    expect(events.slice(5)).toEqual(after);
    expect(answer.whole).toBe(whole);
  });

  test('an error event has the shape that was asked for', async () => {
    const text = await streamed({ errorAfterEvents: 1, errorBody: 'string' });
    expect(eventJson(text.body.toString())[1]).toEqual({ error: expect.stringContaining('EngineCore') });
    const custom = await streamed({ errorAfterEvents: 1, errorJson: { error: { code: 'overloaded' } } });
    expect(eventJson(custom.body.toString())[1]).toEqual({ error: { code: 'overloaded' } });
  });

  test('a malformed line leaves the rest of the answer as it was, at any event', async () => {
    const ideal = (await streamed({})).body.toString();
    for (const events of [0, 1, 5, 9]) {
      const text = (await streamed({ fault: 'malformed', at: { events } })).body.toString();
      expect(() => void JSON.parse(eventData(text)[events] ?? '')).toThrow(SyntaxError);
      expect(eventData(text)).toHaveLength(eventData(ideal).length + 1);
      expect(joinedField(text, 'content')).toBe(joinedField(ideal, 'content'));
    }
  });

  test('a malformed line can be the last of it', async () => {
    const answer = await streamed({ fault: 'malformed-then-cut', at: { events: 2 }, malformedLine: '{oops' });
    expect(eventData(answer.body.toString())).toHaveLength(3);
    expect(eventData(answer.body.toString())[2]).toBe('{oops');
    expect(answer.whole).toBe(false);
  });

  test('a stall that ends lets the answer go on', async () => {
    const ideal = (await streamed({})).body.toString();
    const text = (await streamed({ stallAfterEvents: 3, stallMs: 30, keepAliveMs: 8 })).body.toString();
    expect(joinedField(text, 'content')).toBe(joinedField(ideal, 'content'));
    expect(text).toContain('\n\n: keep-alive\n\ndata:');
  });

  test.each([
    [{ noFinish: true }, (text: string) => !/"finish_reason":"/u.test(text) && text.endsWith('[DONE]\n\n')],
    [{ done: 'absent' }, (text: string) => !text.includes('[DONE]') && text.includes('"finish_reason":"stop"')],
    [{ done: 'unterminated' }, (text: string) => text.endsWith('data: [DONE]\n') && !text.endsWith('\n\n')],
    [{ finishReason: 'abort' }, (text: string) => text.includes('"finish_reason":"abort"')],
    [{ finishReason: null }, (text: string) => !/"finish_reason":"/u.test(text) && text.includes('"delta":{}')],
    [{ roleChunk: 'absent' }, (text: string) => !text.includes('"role"')],
    [{ roleChunk: 'null-content' }, (text: string) => text.includes('{"role":"assistant","content":null}')],
    [{ roleChunk: 'repeated' }, (text: string) => text.match(/"role"/gu)?.length === eventJson(text).length],
    [{ emptyChunks: true }, (text: string) => (text.match(/"delta":\{"content":""\}/gu)?.length ?? 0) > 10],
    [{ contentType: 'text/plain' }, (text: string) => text.includes('[DONE]')],
  ] satisfies readonly (readonly [BehaviourInput, (text: string) => boolean])[])(
    'ends or begins as told: %j',
    async (behaviour, holds) => {
      const answer = await streamed(behaviour);
      expect(holds(answer.body.toString())).toBe(true);
      expect(answer.headers).toContain(
        `content-type: ${'contentType' in behaviour ? 'text/plain' : 'text/event-stream'}`,
      );
    },
  );
});

describe('a JSON answer', () => {
  test.each(['cut', 'reset', 'truncate', 'end'] as const)(
    '%s breaks it off half-way for an event, and at a byte',
    async (fault) => {
      const whole = (await plain({})).body.length;
      const half = await plain({ fault, at: { events: 3 } });
      expect(half.body).toHaveLength(Math.floor(whole / 2));
      expect(half.whole).toBe(fault === 'end');
      expect((await plain({ fault, at: { bytes: 10 } })).body).toHaveLength(10);
    },
  );

  test('has blank lines in front while it is waited for', async () => {
    const answer = await plain({ firstTokenDelayMs: 40, keepAliveMs: 10 });
    expect(answer.body.toString()).toMatch(/^\n+\{/u);
    expect(JSON.parse(answer.body.toString())).toMatchObject({ object: 'chat.completion' });
  });
});

describe('an error reply', () => {
  test.each([400, 401, 403, 404, 408, 413, 429, 500, 502, 503, 529])('has status %i', async (status) => {
    const answer = await streamed({ status });
    expect(answer).toMatchObject({ status, whole: true });
    expect(JSON.parse(answer.body.toString())).toMatchObject({ error: { code: status } });
  });

  test.each([
    ['flat', 'application/json', /^\{"object":"error","message"/u],
    ['detail', 'application/json', /^\{"detail":"/u],
    ['string', 'application/json', /^\{"error":"/u],
    ['array', 'application/json', /^\[\{"error":\{/u],
    ['text', 'text/plain', /^EngineCore/u],
    ['html', 'text/html', /^<html>/u],
    ['empty', 'application/json', /^$/u],
    ['not-json', 'application/json', /^\{"error": \{"message": Eng/u],
  ] as const)('has the shape %s', async (errorBody, type, shape) => {
    const answer = await plain({ status: 500, errorBody });
    expect(answer.headers).toContain(`content-type: ${type}`);
    expect(answer.body.toString()).toMatch(shape);
  });

  test('says when to come again, and hides in a 200', async () => {
    expect((await plain({ status: 429, retryAfter: '7' })).headers).toContain('retry-after: 7');
    const hidden = await streamed({ status: 200, errorBody: 'html' });
    expect(hidden).toMatchObject({ status: 200 });
    expect(hidden.body.toString()).toContain('<html>');
  });
});
