import { expect, it } from 'vitest';
import { healedMs, stopDelayMs } from './check-stopped.ts';
import { believedStates, type StateChange } from './key-states.ts';
import type { Spell } from './world-view.ts';

const changes: readonly StateChange[] = [
  { of: 'key 0', state: 'suspended', fromMs: 10_000, doneMs: 10_500 },
  { of: 'key 0', state: 'active', fromMs: 60_000, doneMs: 60_500 },
  { of: 'workspace 0', state: 'suspended', fromMs: 90_000, doneMs: Infinity },
  { of: 'end of key 0', state: 'expired', fromMs: 200_000, doneMs: 200_000 },
];
const known = 10_500 + stopDelayMs;

it.each<[string, number, number, Spell[], readonly string[]]>([
  ['is active before any change', 1_000, 9_999, [], ['active']],
  ['may have changed while a request runs', 1_000, 10_000, [], ['active', 'suspended']],
  ['may be known by its old state for a moment', known - 1, 20_000, [], ['active', 'suspended']],
  ['is known by its new state then', known, 20_000, [], ['suspended', 'active']],
  [
    'may be known by its old state after a fault',
    25_000,
    25_000,
    [[9_000, 25_000 - healedMs - stopDelayMs]],
    ['active', 'suspended'],
  ],
  ['is active again', 70_000, 70_001, [], ['active']],
  ['may have a change that nobody knows of', 100_000, 100_001, [], ['active', 'suspended']],
  ['has ended', 300_000, 300_001, [], ['active', 'expired', 'suspended']],
])('a key %s', (_, startedAt, endedAt, spells, states) => {
  const found = believedStates({ number: 0, workspace: 0 }, { startedAt, endedAt }, { changes, spells });
  expect([...found].toSorted()).toEqual(states.toSorted());
});
