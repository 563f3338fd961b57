// @suite apart
import { getHeapSpaceStatistics } from 'node:v8';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { collectGarbage } from '../../test/support/kept-heap.ts';
import { ByNumber } from './by-number.ts';

it('holds what a Map would', () => {
  const step = fc.record({
    how: fc.constantFrom('set', 'set', 'delete', 'clear'),
    number: fc.nat(8),
    value: fc.nat(3),
  });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const map = new Map<number, number>();
      const table = new ByNumber<number>();
      for (const { how, number, value } of steps) {
        if (how === 'set') {
          map.set(number, value);
          table.set(number, value);
        } else if (how === 'clear') {
          map.clear();
          table.clear();
        } else expect(table.delete(number)).toBe(map.delete(number));
        expect([table.get(number), table.size]).toEqual([map.get(number), map.size]);
      }
      const up = (a: number, b: number): number => a - b;
      expect(table.values().toSorted(up)).toEqual([...map.values()].toSorted(up));
    }),
  );
});

it('takes the numbers of HTTP/2 streams to the last', () => {
  const table = new ByNumber<string>();
  for (const number of [1, 3, 0x7fffffff]) table.set(number, `stream ${number}`);
  expect([table.get(0x7fffffff), table.get(5), table.size]).toEqual(['stream 2147483647', undefined, 3]);
});

function oldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? Number.NaN;
}

/** Bytes of the old generation that each of many values takes which come and go, sixteen at a time. */
function keptPerValue(table: ByNumber<object> | Map<number, object>): number {
  const values = 10_000;
  table.set(0, {});
  collectGarbage();
  const before = oldBytes();
  for (let number = 1; number <= values; number += 1) {
    table.set(number, { payload: Array.from({ length: 300 }, () => number) });
    table.delete(number - 16);
  }
  return (oldBytes() - before) / values;
}

it('lets go of what has been deleted while that is young, as a Map does not', () => {
  // Of 2.4 KB each. What a Map keeps is collected with all the heap, sooner or later, so this would be the least of it.
  expect(keptPerValue(new ByNumber())).toBeLessThan(100);
  expect(keptPerValue(new Map())).toBeGreaterThan(200);
});
