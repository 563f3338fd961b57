import type { Money } from '../../src/core/money.ts';
import { dayStart } from '../../src/books/accounts/budget-period.ts';
import type { SettledRequest } from '../../src/core/settled-request.ts';

/** A row, as far as it counts against the budget of its key. */
export type CountedRow = Pick<SettledRequest, 'requestId' | 'correlationId' | 'cost' | 'startedAt' | 'durationMs'>;

/**
 * The rows of requests that cost something and came when others had used up the key's budget of the day. A caller who leaves during
 * admission has a row that costs nothing. `knownAfterMs`: how long after the end of a request each replica knows its cost.
 */
export function pastBudget(
  rows: readonly CountedRow[],
  { limit, knownAfterMs }: { readonly limit: Money; readonly knownAfterMs: number },
): readonly CountedRow[] {
  return rows.filter((row) => {
    const day = dayStart(row.startedAt);
    // Another replica's clock may have been set.
    if (row.cost === 0n || row.startedAt < day + knownAfterMs) return false;
    const earlier = rows.filter(
      ({ startedAt, durationMs }) =>
        dayStart(startedAt) === day && startedAt + durationMs + knownAfterMs < row.startedAt,
    );
    return earlier.reduce((sum, { cost }) => sum + cost, 0n) >= limit;
  });
}
