import { expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { sampleRefusal } from '../../../test/support/sample-refusal.ts';
import { type RefusalRow, refusalsOf } from '../core/refusal.ts';
import { createRefusalCounter, maxRowsInMinute, maxWaitingRows } from './refusal-counter.ts';

function counter() {
  const clock = createFakeClock();
  const written: (readonly RefusalRow[])[] = [];
  const state = { isUp: true };
  const refusals = createRefusalCounter(clock, { isUp: () => state.isUp, write: (rows) => void written.push(rows) });
  return { clock, written, state, ...refusals };
}

const counts = (rows: readonly RefusalRow[] = []) => rows.map(({ key_id: key, count }) => [key, count]);

it('writes a row for each key, model, code and minute, soon after the first and once a second, and is quiet otherwise', () => {
  const { clock, written, add } = counter();
  expect(clock.armed()).toBe(0);
  const first = sampleRefusal();
  for (const id of ['r1', 'r2']) add({ ...first, requestId: id });
  add({ ...first, code: 'insufficient_funds' });
  add({ ...first, modelId: undefined, keyId: undefined, workspaceId: undefined });
  add({ ...first, startedAt: first.startedAt + 60_000 });
  clock.advance(20);
  expect(counts(written[0])).toEqual([
    ['key_1', 2n],
    ['key_1', 1n],
    ['', 1n],
    ['key_1', 1n],
  ]);
  add(first);
  clock.advance(999);
  expect(written).toHaveLength(1);
  clock.advance(1);
  expect(counts(written[1])).toEqual([['key_1', 1n]]);
  clock.advance(10_000);
  expect([written.length, clock.armed()]).toEqual([2, 0]);
});

it('keeps the ids of the first requests of a row and counts all: a flood makes no row longer', () => {
  const { clock, written, add } = counter();
  for (let index = 0; index < 10_000; index += 1) add(sampleRefusal({ requestId: `r${index}` }));
  clock.advance(1_000);
  const [row] = written[0] ?? [];
  if (row === undefined) throw new Error('nothing was written');
  expect(refusalsOf(row).map(({ requestId, count }) => [requestId, count])).toEqual(
    Array.from({ length: 5 }, (_, index) => [`r${index}`, 10_000]),
  );
  expect(row.samples.length).toBeLessThan(1_000);
});

it('names models that callers make up in half of the rows at most', () => {
  const { clock, written, add } = counter();
  for (let index = 0; index < maxRowsInMinute; index += 1) {
    add(sampleRefusal({ code: 'model_not_found', modelId: `made/up-${index}` }));
  }
  add(sampleRefusal({ keyId: 'key_2' }));
  clock.advance(1_000);
  const rows = written[0] ?? [];
  expect(rows.filter(({ model }) => model.startsWith('made/'))).toHaveLength(maxRowsInMinute / 2);
  expect(counts(rows.filter(({ model }) => !model.startsWith('made/')))).toEqual([
    ['key_1', BigInt(maxRowsInMinute / 2)],
    ['key_2', 1n],
  ]);
});

it('begins a limited number of rows a minute: further keys count in the row without a key', () => {
  const { clock, written, add } = counter();
  const flood = (): void => {
    for (let index = 0; index < maxRowsInMinute + 50; index += 1) add(sampleRefusal({ keyId: `key_${index}` }));
    clock.advance(1_000);
  };
  flood();
  expect(written[0]).toHaveLength(maxRowsInMinute + 1);
  expect(counts(written[0]).at(-1)).toEqual(['', 50n]);
  // A key that has a row in this minute keeps it; the others are beyond the bound also in the next second.
  flood();
  expect(written[1]).toHaveLength(maxRowsInMinute + 1);
  clock.advance(60_000);
  add(sampleRefusal({ keyId: `key_${maxRowsInMinute + 1}` }));
  clock.advance(1_000);
  expect(counts(written[2])).toEqual([[`key_${maxRowsInMinute + 1}`, 1n]]);
});

it('waits while the database is down, in bounded memory, and writes afterwards', () => {
  const { clock, written, state, add } = counter();
  state.isUp = false;
  for (let minute = 0; minute < 10; minute += 1) {
    for (let index = 0; index < 200; index += 1) add(sampleRefusal({ keyId: `key_${index}`, startedAt: clock.now() }));
    clock.advance(60_000);
  }
  expect(written).toEqual([]);
  state.isUp = true;
  clock.advance(1_000);
  expect(written.map(({ length }) => length)).toEqual([maxWaitingRows]);
});

it('writes what waits when it is closed, and counts nothing afterwards', () => {
  const { clock, written, add, close } = counter();
  add(sampleRefusal());
  close();
  add(sampleRefusal());
  clock.advance(10_000);
  expect([written.map(counts), clock.armed()]).toEqual([[[['key_1', 1n]]], 0]);
});
