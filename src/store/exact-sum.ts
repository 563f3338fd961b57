import { sql } from 'kysely';
import type { AliasedRawBuilder } from 'kysely';
import type { Money } from '../core/money.ts';

const unit = 1_000_000;

/**
 * Sums a column of amounts as two columns, `<alias>_high` and `<alias>_low`. All that a workspace ever spent may pass 64 bits,
 * which SQLite refuses and PostgreSQL widens to a type of its own; the sums of the parts stay within.
 * Both databases truncate towards zero and give the remainder the sign of the dividend.
 */
export function exactSum<Alias extends string>(
  column: string,
  alias: Alias,
): [AliasedRawBuilder<bigint, `${Alias}_high`>, AliasedRawBuilder<bigint, `${Alias}_low`>] {
  const [amount, by] = [sql.ref(column), sql.lit(unit)];
  return [
    sql<bigint>`cast(coalesce(sum(${amount} / ${by}), 0) as bigint)`.as(`${alias}_high`),
    sql<bigint>`cast(coalesce(sum(${amount} % ${by}), 0) as bigint)`.as(`${alias}_low`),
  ];
}

/** Puts the two sums together again. */
export function exactTotal(high: bigint, low: bigint): Money {
  return high * BigInt(unit) + low;
}
