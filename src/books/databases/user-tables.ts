import { type Kysely, sql } from 'kysely';
import type { localUserFields } from '../core/local-user.ts';
import type { ColumnsOf } from './account-columns.ts';

export interface LocalUserTable extends ColumnsOf<typeof localUserFields> {
  /** Argon2id, in the PHC string format; null before the first invitation is accepted. */
  readonly password: string | null;
  /** SHA-256 of the token of the invitation link, lowercase hex; null: it was used. */
  readonly invitation: string | null;
}

/** Adds people who sign in with a password (docs/how-to/portal.md). */
export async function addLocalUsers({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('local_users')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('address', 'text', (column) => column.notNull().unique())
    .addColumn('role', 'text', (column) => column.notNull().check(sql`role in ('member', 'admin')`))
    .addColumn('password', 'text')
    .addColumn('invitation', 'text', (column) => column.unique())
    .addColumn('invited_until', 'bigint')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('last_sign_in_at', 'bigint')
    .execute();
}
