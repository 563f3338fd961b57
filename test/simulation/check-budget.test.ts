import { expect, it } from 'vitest';
import { type CountedRow, pastBudget } from './check-budget.ts';

const dayMs = 86_400_000;
const [limit, knownAfterMs] = [10n, 1_000];

const row = (requestId: string, startedAt: number, cost: bigint): CountedRow => ({
  ...{ requestId, correlationId: requestId, startedAt, cost, durationMs: 500 },
});

it.each([
  ['that came after the budget was spent', [row('a', 5_000, 10n), row('b', 6_501, 1n)], ['b']],
  ['not one that came when no one knew it yet', [row('a', 5_000, 10n), row('b', 6_500, 1n)], []],
  ['not one that came before the last part was spent', [row('a', 5_000, 9n), row('b', 9_000, 5n)], []],
  ['not one that cost nothing', [row('a', 5_000, 10n), row('b', 7_000, 0n)], []],
  ['not one of the next day', [row('a', 5_000, 10n), row('b', dayMs + 5_000, 1n)], []],
  ['not one at the very beginning of a day', [row('a', 1, 10n), row('b', 999, 1n)], []],
  ['each of them', [row('a', 5_000, 10n), row('b', 7_000, 1n), row('c', 8_000, 1n)], ['b', 'c']],
] as const)('finds a request %s', (_, rows, found) => {
  expect(pastBudget(rows, { limit, knownAfterMs }).map(({ requestId }) => requestId)).toEqual(found);
});
