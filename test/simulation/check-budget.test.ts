import { expect, it } from 'vitest';
import { type CountedRow, pastFunds } from './check-budget.ts';

const dayMs = 86_400_000;
const [limit, knownAfterMs] = [10n, 1_000];
/** A Sunday, and the last day of a month. */
const sunday = Date.UTC(2026, 4, 31);

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
  expect(
    pastFunds(rows, { limitAt: () => limit, period: 'day', knownAfterMs }).map(({ requestId }) => requestId),
  ).toEqual(found);
});

it.each([
  ['day', 1, []],
  ['week', -1, ['b']],
  ['week', 1, []],
  ['month', -1, ['b']],
  ['month', 1, []],
  ['total', 1, ['b']],
] as const)('finds requests of the same %s, %d days later', (period, days, found) => {
  const first = row('a', sunday + 5_000, 10n);
  const second = row('b', sunday + days * dayMs + 5_000, 1n);
  const [earlier, later] =
    days > 0
      ? [first, second]
      : [
          { ...first, startedAt: second.startedAt },
          { ...second, startedAt: first.startedAt },
        ];
  expect(
    pastFunds([earlier, later], { limitAt: () => limit, period, knownAfterMs }).map(({ requestId }) => requestId),
  ).toEqual(found);
});
