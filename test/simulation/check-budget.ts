import type { Money } from '../../src/core/money.ts';
import type { BudgetPeriod } from '../../src/core/account.ts';
import { periodStart } from '../../src/books/core/budget-period.ts';
import type { SettledRequest } from '../../src/core/settled-request.ts';

/** A row, as far as it counts against the budget of its key. */
export type CountedRow = Pick<SettledRequest, 'requestId' | 'correlationId' | 'cost' | 'startedAt' | 'durationMs'>;

/**
 * The rows of requests that cost something and came when others had used up what there was for them in a period. A caller who leaves
 * during admission has a row that costs nothing. `limitAt`: what there was in all, at most, when a request came. `knownAfterMs`: how
 * long after the end of a request each replica knows its cost.
 */
export function pastFunds(
  rows: readonly CountedRow[],
  {
    limitAt,
    period,
    knownAfterMs,
  }: { readonly limitAt: (at: number) => Money; readonly period: BudgetPeriod; readonly knownAfterMs: number },
): readonly CountedRow[] {
  return rows.filter((row) => {
    const since = periodStart(period, row.startedAt);
    // Another replica's clock may have been set.
    if (row.cost === 0n || row.startedAt < since + knownAfterMs) return false;
    const earlier = rows.filter(
      ({ startedAt, durationMs }) =>
        periodStart(period, startedAt) === since && startedAt + durationMs + knownAfterMs < row.startedAt,
    );
    return earlier.reduce((sum, { cost }) => sum + cost, 0n) >= limitAt(row.startedAt);
  });
}
