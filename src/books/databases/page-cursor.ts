import { type RawBuilder, sql, type SqlBool } from 'kysely';
import { refusal } from '../core/operator-refusals.ts';

// Lists with the newest object first are cut into pages. A cursor contains the moment and the id of the last object of a page.

export function cursorOf({ createdAt, id }: { readonly createdAt: number; readonly id: string }): string {
  return `${createdAt}.${id}`;
}

/** The rows after the row that the cursor names. Throws a `Refusal` for a cursor that Weir has not made. */
export function afterCursor(table: 'credits' | 'keys', cursor: string | undefined): RawBuilder<SqlBool> {
  if (cursor === undefined) return sql`1 = 1`;
  const [, createdAt = '', id = ''] = /^(\d{1,15})\.(\w{1,64})$/.exec(cursor) ?? [];
  if (id === '') throw refusal('cursor_malformed');
  const [at, name] = [sql.ref(`${table}.created_at`), sql.ref(`${table}.id`)];
  const moment = BigInt(createdAt);
  return sql`(${at} < ${moment} or (${at} = ${moment} and ${name} < ${id}))`;
}
