import type { BudgetPeriod } from '../../core/account.ts';

const dayMs = 86_400_000;
/** The Unix epoch was a Thursday; weeks begin on Monday. */
const daysFromMondayToEpoch = 3;

/** First moment of the UTC day that contains a moment. Both are milliseconds since the Unix epoch. */
export function dayStart(moment: number): number {
  return Math.floor(moment / dayMs) * dayMs;
}

/**
 * First moment of the budget's period that contains a moment, in UTC (docs/concepts/architecture.md §4.2): of its day, of its
 * week from Monday, of its month, or of all time.
 */
export function periodStart(period: BudgetPeriod, moment: number): number {
  switch (period) {
    case 'day':
      return dayStart(moment);
    case 'week': {
      const day = Math.floor(moment / dayMs);
      return (day - ((((day + daysFromMondayToEpoch) % 7) + 7) % 7)) * dayMs;
    }
    case 'month': {
      const date = new Date(moment);
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
    }
    case 'total':
      return 0;
  }
}

/** First moment after the budget's period that contains a moment. A day after it was counted by a clock that was ahead. */
export function periodEnd(period: BudgetPeriod, moment: number): number {
  switch (period) {
    case 'day':
      return dayStart(moment) + dayMs;
    case 'week':
      return periodStart('week', moment) + 7 * dayMs;
    case 'month': {
      const date = new Date(moment);
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
    }
    case 'total':
      return Number.MAX_SAFE_INTEGER;
  }
}
