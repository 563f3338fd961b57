import { expect, it } from 'vitest';
import { catalogDelayMs, catalogsInForce } from './check-catalog.ts';
import type { Spell } from './world-view.ts';

const window = 8_192;
const catalogs = [
  { atMs: 0, factor: 1, window },
  { atMs: 10_000, factor: 2, window },
  { atMs: 20_000, factor: 3, window },
];
const known = 10_000 + catalogDelayMs;

it.each<[string, number, number, Spell[], number[]]>([
  ['the first one before any other', 1_000, 2_000, [], [1]],
  ['two while the second one is on its way', known - 1, 11_000, [], [1, 2]],
  ['only the second one when every service must have it', known, 11_000, [], [2]],
  ['two when one comes while the request runs', 19_000, 20_000, [], [2, 3]],
  ['not one that comes later', 19_000, 19_999, [], [2]],
  ['the one before a pause', 15_000, 16_000, [[9_000, 15_100]], [1, 2]],
  [
    'the one before two pauses in a row',
    17_000,
    18_000,
    [
      [9_000, 14_000],
      [13_000, 17_000],
    ],
    [1, 2],
  ],
  ['not one before a pause that ended long ago', 15_000, 16_000, [[9_000, 14_000]], [2]],
  ['one that comes in a pause after the caller has left', 19_000, 19_500, [[19_400, 21_000]], [2, 3]],
])('finds in force %s', (_, startedAt, endedAt, pauses, factors) => {
  expect(catalogsInForce(catalogs, { startedAt, endedAt }, pauses).map(({ factor }) => factor)).toEqual(factors);
});
