import { type AliasedRawBuilder, sql } from 'kysely';
import type { Money } from '../../core/money.ts';

/** Amounts are summed in two parts: the multiples of this number, and the remainders. */
export const moneyUnit = 1_000_000;

/**
 * Sums a column of amounts as two columns, `<alias>_high` and `<alias>_low`. The sum of all that a workspace ever spent
 * may exceed 64 bits: SQLite then fails, and PostgreSQL returns another type. The sums of the two parts stay within 64
 * bits. Both databases truncate towards zero and give the remainder the sign of the dividend.
 */
export function exactSum<Alias extends string>(
  column: string,
  alias: Alias,
): [AliasedRawBuilder<bigint, `${Alias}_high`>, AliasedRawBuilder<bigint, `${Alias}_low`>] {
  const [amount, by] = [sql.ref(column), sql.lit(moneyUnit)];
  return [
    sql<bigint>`cast(coalesce(sum(${amount} / ${by}), 0) as bigint)`.as(`${alias}_high`),
    sql<bigint>`cast(coalesce(sum(${amount} % ${by}), 0) as bigint)`.as(`${alias}_low`),
  ];
}

/** Adds up the two columns of `exactSum`. */
export function exactTotal(high: bigint, low: bigint): Money {
  return high * BigInt(moneyUnit) + low;
}
