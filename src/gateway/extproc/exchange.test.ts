import { describe, expect, it } from 'vitest';
import { createBodyCollector } from '../core/body-collector.ts';
import type { Call } from './call.ts';
import { ExtProcExchange } from './exchange.ts';

const call = { readMore: () => undefined, write: () => true, end: () => undefined } as unknown as Call;

function exchangeOf(endOfStream = false): ExtProcExchange {
  return new ExtProcExchange(call, new Map(), {
    endOfStream,
    openDelivery: () => ({ wrote: () => true, onRoom: (run) => run(), release: () => undefined }),
    loss: { settled: () => Promise.resolve(false) } as never,
  });
}

type Piece = readonly [text: string, isEnd: boolean];
const cases: readonly (readonly [string, readonly Piece[], string])[] = [
  [
    'a second end',
    [
      ['{"a"', false],
      [':1}', true],
      ['', true],
    ],
    '{"a":1}',
  ],
  [
    'data after the end',
    [
      ['{"a"', false],
      [':1}', true],
      ['{"b":2}', false],
    ],
    '{"a":1}',
  ],
  [
    'data with a second end',
    [
      ['{"a":1}', true],
      ['{"b":2}', true],
    ],
    '{"a":1}',
  ],
  [
    'data after an empty end',
    [
      ['', true],
      ['{"b":2}', false],
    ],
    '',
  ],
];

describe('a body whose end has come before a stage waits for it', () => {
  it.each(cases)('is not changed by %s', async (_, pieces, body) => {
    const exchange = exchangeOf();
    for (const [text, isEnd] of pieces) exchange.receive(Buffer.from(text), isEnd);
    expect(String(Buffer.from(await exchange.body(100)))).toBe(body);
  });

  it('is empty when the head was the end, whatever comes after it', async () => {
    const exchange = exchangeOf(true);
    exchange.receive(Buffer.from('{"b":2}'), true);
    expect(String(Buffer.from(await exchange.body(100)))).toBe('');
  });

  it('twin: without the guard, data after the end becomes a part of the body', () => {
    const collector = createBodyCollector();
    collector.add(Buffer.from('{"a"'), false);
    collector.add(Buffer.from(':1}'), true);
    collector.add(Buffer.from('{"b":2}'), false);
    expect(String(Buffer.from(collector.take()))).toBe('{"a":1}{"b":2}');
  });

  it('is held to its bound without the bytes after its end', async () => {
    const exchange = exchangeOf();
    exchange.receive(Buffer.from('1234567890'), true);
    exchange.receive(Buffer.alloc(1000), true);
    expect(await exchange.body(10)).toHaveLength(10);
  });
});
