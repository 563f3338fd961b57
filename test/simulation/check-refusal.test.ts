import { expect, it } from 'vitest';
import {
  type CountedCall,
  countedWithinMs,
  mayBeBlocked,
  mayRefuseCalls,
  mayRefuseRate,
  pastCalls,
  pastRate,
  refusalsOf,
} from './check-refusal.ts';

const call = (startedAt: number, fields: Partial<CountedCall> = {}): CountedCall => ({
  ...{ startedAt, headAt: startedAt + 50, endedAt: startedAt + 1_000, status: 200 },
  ...fields,
});
const limit = { rate: 1, burst: 3 };
const calm = (): boolean => true;

it('lets the rate refuse a request only if the others may have taken all tokens', () => {
  const others = [call(0), call(10), call(20)];
  const refused = (at: number): CountedCall => call(at, { status: 429 });
  const asks = (at: number): boolean => mayRefuseRate(refused(at), others, limit);
  expect(mayRefuseRate(refused(30), others.slice(0, 1), limit)).toBe(false);
  expect(asks(30)).toBe(true);
  // One token is back, and may have come late.
  expect(asks(999 + countedWithinMs)).toBe(true);
  expect(asks(1_001 + countedWithinMs)).toBe(false);
});

it('finds a request that no order of the others explains', () => {
  const within = [0, 1, 2, 3].map((at) => call(at));
  expect(pastRate(within, limit, calm)).toEqual([]);
  expect(pastRate([...within, call(4)], limit, calm)).toEqual([call(4)]);
  expect(pastRate([...within, call(4, { status: 429 })], limit, calm)).toEqual([]);
  expect(pastRate([...within, call(4)], limit, (_, until) => until < 4)).toEqual([]);
});

it('lets the number in flight refuse a request only if there may be so many', () => {
  const refused = call(500, { status: 429 });
  expect(mayRefuseCalls(refused, [refused, call(0), call(10)], 2)).toBe(true);
  expect(mayRefuseCalls(refused, [refused, call(0)], 2)).toBe(false);
  expect(mayRefuseCalls(call(1_000 + countedWithinMs + 1), [call(0), call(0)], 2)).toBe(false);
});

it('finds a request that is in flight beside too many others', () => {
  expect(pastCalls([call(0), call(10)], 2)).toEqual([]);
  expect(pastCalls([call(0), call(10), call(20)], 2)).toEqual([call(20)]);
  // The first one may have ended before its last piece came.
  expect(pastCalls([call(0, { endedAt: 70 + countedWithinMs }), call(10), call(20)], 2)).toEqual([]);
});

it('lets an address be blocked after more than thirty failures', () => {
  const failures = Array.from({ length: 31 }, (_, at) => call(at, { status: 401, endedAt: at + 1 }));
  expect(mayBeBlocked(call(100), failures)).toBe(true);
  expect(mayBeBlocked(call(100), failures.slice(1))).toBe(false);
  expect(mayBeBlocked(call(100_000), failures)).toBe(false);
});

it('has a status for each state that stops a key', () => {
  expect([...refusalsOf(new Set(['active']))]).toEqual([]);
  expect([...refusalsOf(new Set(['suspended', 'revoked', 'expired']))]).toEqual([403, 401]);
});
