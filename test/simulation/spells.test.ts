import { expect, it } from 'vitest';
import { countsSince } from './spells.ts';
import type { Spell } from './world-view.ts';

const how = { delayMs: 100, healMs: 1_000 };

it.each<[string, Spell[], number]>([
  ['the delay without a fault', [], 9_900],
  ['the delay before a fault that has just ended', [[7_000, 8_900]], 6_900],
  ['the delay after one that ended a moment earlier', [[7_000, 8_899]], 9_900],
  [
    'the delay before the first of several faults without a pause',
    [
      [5_000, 6_100],
      [7_000, 9_000],
    ],
    4_900,
  ],
  ['the delay in spite of a fault that comes later', [[10_001, 20_000]], 9_900],
])('what counts began %s', (_, spells, from) => {
  expect(countsSince(10_000, spells, how)).toBe(from);
});
