import { type Kysely, sql } from 'kysely';
import type { Schema } from './schema.ts';
import { isSqlite } from './sql-dialect.ts';

// The words in which migrations declare tables. Kysely's schema builder takes any name of a column; here a column that `Schema`
// has and a table lacks does not compile, and the constraints of both databases stand beside their columns.

/** The SQL of a column: one for both databases, or one for each. */
export type ColumnSql = string | { readonly sqlite: string; readonly postgres: string };

/** The columns of tables in SQL. The compiler compares their names with `Schema`. */
export type TablesSql<Table extends keyof Schema> = {
  readonly [Name in Table]: Readonly<Record<keyof Schema[Name] & string, ColumnSql>>;
};

/** A bound on every amount, a little below 64 bits. SQLite turns a sum past 64 bits into a float without an error. */
const maxAmount = '9000000000000000000';
export const isAmount = (column: string): string => `check (${column} between -${maxAmount} and ${maxAmount})`;
export const isPositiveAmount = (column: string): string => `check (${column} between 0 and ${maxAmount})`;

export const isOneOf = (column: string, words: readonly string[]): string =>
  `check (${column} in (${words.map((word) => `'${word}'`).join(', ')}))`;

/** A row's number, which the database never uses twice. */
export const counted = {
  sqlite: 'integer primary key autoincrement',
  postgres: 'bigint generated always as identity primary key',
} as const;

/** Makes tables in this order. `constraints`: those of several columns. */
export async function createTables(
  database: Kysely<unknown>,
  tables: Readonly<Record<string, Readonly<Record<string, ColumnSql>>>>,
  constraints: Readonly<Record<string, string>>,
): Promise<void> {
  const dialect = isSqlite(database) ? 'sqlite' : 'postgres';
  for (const [table, columns] of Object.entries(tables)) {
    const lines = Object.entries(columns).map(
      ([name, column]) => `"${name}" ${typeof column === 'string' ? column : column[dialect]}`,
    );
    const constraint = constraints[table];
    const all = constraint === undefined ? lines : [...lines, `constraint ${constraint}`];
    await sql.raw(`create table ${table} (${all.join(', ')})`).execute(database);
  }
}

/**
 * Makes the database refuse to change or remove the rows of a table. On SQLite `insert or replace` removes the row of the same id
 * without calling triggers of `delete`; `replaces`: refuse that, too.
 */
export async function keepRows(
  database: Kysely<unknown>,
  table: string,
  { why, replaces }: { readonly why: string; readonly replaces?: 'refused' },
): Promise<void> {
  const name = (suffix: string) => sql.ref(`${table}_${suffix}`);
  const refused = sql.lit(why);
  if (!isSqlite(database)) {
    await sql`
      create or replace function ${name('keeps_rows')}() returns trigger language plpgsql as $$
      begin raise exception ${refused}; end $$
    `.execute(database);
    await sql`
      create trigger ${name('keeps_rows')} before update or delete or truncate on ${sql.table(table)}
      for each statement execute function ${name('keeps_rows')}()
    `.execute(database);
    return;
  }
  const refuse = (trigger: string, event: string, when = sql``) =>
    sql`
      create trigger ${name(trigger)} before ${sql.raw(event)} on ${sql.table(table)} ${when}
      begin select raise(abort, ${refused}); end
    `.execute(database);
  await refuse('keeps_rows_as_they_are', 'update');
  await refuse('keeps_rows', 'delete');
  if (replaces === 'refused') {
    const isThere = sql`when exists (select 1 from ${sql.table(table)} where id = new.id)`;
    await refuse('replaces_no_row', 'insert', isThere);
  }
}
