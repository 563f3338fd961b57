import { expect, it } from 'vitest';
import { healedMs, mustRefuse, stopDelayMs } from './check-stopped.ts';
import type { Spell } from './world-view.ts';

const [stoppedAt, hour] = [1_000, 3_600_000];

it.each<[string, boolean, number, Spell[]]>([
  ['not before replicas must know it', false, stoppedAt + stopDelayMs - 1, []],
  ['when they must', true, stoppedAt + stopDelayMs, []],
  ['not in a fault soon after the stop', false, stoppedAt + 9_000, [[2_000, hour]]],
  ['not in a fault at the stop', false, stoppedAt + 9_000, [[0, 2_000]]],
  ['in spite of a fault that ended before the stop', true, stoppedAt + 2_000, [[0, 999]]],
  ['in a fault that began long after the stop', true, stoppedAt + 20_000, [[stoppedAt + healedMs, hour]]],
  ['long after a fault', true, 2_000 + healedMs, [[900, 2_000]]],
  [
    'not between faults without a pause that is long enough',
    false,
    25_000,
    [
      [900, 9_000],
      [18_000, 20_000],
    ],
  ],
  [
    'between faults with one',
    true,
    25_000,
    [
      [18_000, 20_000],
      [22_000, hour],
      [900, 8_000],
    ],
  ],
  ['whatever faults come later', true, stoppedAt + stopDelayMs, [[stoppedAt + 2_000, hour]]],
])('a stopped key is refused %s', (_, isRefused, startedAt, spells) => {
  expect(mustRefuse({ stoppedAt, startedAt }, spells)).toBe(isRefused);
});
