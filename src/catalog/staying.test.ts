import { expect, it } from 'vitest';
import { stayingAt } from './staying.ts';

const hourMs = 3_600_000;

it.each<[string, readonly (number | undefined)[], object]>([
  ['nobody leaves: look again in an hour, clocks are set', [undefined], { items: [undefined], lookAgainMs: hourMs }],
  ['who leaves now has left', [1_000, 999, undefined], { items: [undefined], lookAgainMs: hourMs }],
  ['the next to leave says when to look', [1_500, 1_200], { items: [1_500, 1_200], lookAgainMs: 200 }],
  ['in a month is longer than a timer should wait', [1_000 + 30 * 24 * hourMs], { lookAgainMs: hourMs }],
])('%s', (_, items, expected) => {
  expect(stayingAt(items, { now: 1_000, leavesAtOf: (leavesAt) => leavesAt })).toMatchObject(expected);
});
