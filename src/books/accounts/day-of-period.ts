import { type RawBuilder, sql } from 'kysely';
import type { BudgetPeriod } from '../../core/account.ts';
import { periodEnd, periodStart } from '../core/budget-period.ts';

interface DayOfPeriod {
  /** Column of the day. */
  readonly day: string;
  /** Milliseconds of a unit of that column. */
  readonly unitMs: number;
  /** Column of the budget's period. Null counts as `total`. */
  readonly period: string;
  readonly now: number;
}

/**
 * The condition that a day is in the budget's current period. Spending of later days does not count: a clock that was
 * ahead counted it, and would exhaust a budget of a day for as long as it was ahead.
 */
export function dayOfPeriod({ day, unitMs, period, now }: DayOfPeriod): RawBuilder<boolean> {
  const bound = (of: (period: BudgetPeriod, now: number) => number): RawBuilder<bigint> => {
    const at = (name: BudgetPeriod) => sql.lit(Math.floor(of(name, now) / unitMs));
    return sql`case ${sql.ref(period)} when 'day' then ${at('day')} when 'week' then ${at('week')}
      when 'month' then ${at('month')} else ${at('total')} end`;
  };
  return sql`${sql.ref(day)} >= ${bound(periodStart)} and ${sql.ref(day)} < ${bound(periodEnd)}`;
}
