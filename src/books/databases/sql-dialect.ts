import { type Kysely, type RawBuilder, sql, SqliteAdapter } from 'kysely';
import type { PackedId } from '../core/packed-id.ts';

// The words in which the SQL of the two databases differs, in queries that they otherwise share.

export function isSqlite(queries: Pick<Kysely<unknown>, 'getExecutor'>): boolean {
  return queries.getExecutor().adapter instanceof SqliteAdapter;
}

/** A packed id as a value of a query. */
export function idValue(queries: Pick<Kysely<unknown>, 'getExecutor'>, id: PackedId): RawBuilder<unknown> {
  return isSqlite(queries) ? sql`unhex(${id})` : sql`${id}::uuid`;
}

/** A column of 16 bytes as 32 hexadecimal digits. */
export function idDigits(queries: Pick<Kysely<unknown>, 'getExecutor'>, column: string): RawBuilder<string> {
  return isSqlite(queries) ? sql`lower(hex(${sql.ref(column)}))` : sql`replace(${sql.ref(column)}::text, '-', '')`;
}
