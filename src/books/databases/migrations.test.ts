// @suite both-databases
import { type Kysely, sql } from 'kysely';
import { expect, it } from 'vitest';
import { sampleDatabase } from '../../../test/support/sample-database.ts';
import { actorKinds } from '../core/administration.ts';
import { accountKinds } from '../core/declared-account.ts';
import { migrate, migrations } from './migrations.ts';
import type { Schema } from './schema.ts';
import { isSqlite } from './sql-dialect.ts';
import { requestColumns } from '../ledger/stored-request.ts';

it('brings the tables of an earlier version up to date and keeps their rows', async () => {
  const { queries, workspace } = await sampleDatabase();
  const later = {
    up: async ({ schema }: Kysely<unknown>) =>
      schema
        .alterTable('workspaces')
        .addColumn('color', 'text', (column) => column.notNull().defaultTo('red'))
        .execute(),
  };
  await migrate(queries, { ...migrations, '0002-colors': later });
  const { rows } = await sql`select id, color from workspaces`.execute(queries);
  expect(rows).toEqual([{ id: workspace.id, color: 'red' }]);
  await expect(migrate(queries)).rejects.toThrow('its tables come from a newer version of Weir (0002-colors');
});

it('knows the tables of the first version when they were made in steps', async () => {
  const { queries, workspace } = await sampleDatabase();
  const named = sql<{ name: string }>`select name from kysely_migration order by name`;
  await sql`update kysely_migration set name = '0020-outbox-counts'`.execute(queries);
  await sql`insert into kysely_migration (name, timestamp) values ('0001-accounts-and-ledger', '2026-01-01')`.execute(
    queries,
  );
  await migrate(queries);
  expect((await named.execute(queries)).rows).toEqual([{ name: '0001-first-version' }]);
  expect(await queries.selectFrom('workspaces').select('id').execute()).toEqual([{ id: workspace.id }]);
  await sql`update kysely_migration set name = '0019-local-users'`.execute(queries);
  await expect(migrate(queries)).rejects.toThrow('0019-local-users is not known here');
});

it('gives the audit trail its indexes and triggers', async () => {
  const { queries } = await sampleDatabase();
  const found = isSqlite(queries)
    ? sql<{ name: string }>`select name from sqlite_master where tbl_name = 'audit' and type <> 'table'`
    : sql<{ name: string }>`select indexname as name from pg_indexes
        where tablename = 'audit' and schemaname = current_schema() union all
        select tgname from pg_trigger where tgrelid = 'audit'::regclass and not tgisinternal`;
  const names = (await found.execute(queries)).rows.map(({ name }) => name).toSorted();
  expect(names).toEqual(
    [
      ...['audit_by_time', 'audit_of_object', 'audit_of_workspace', 'audit_keeps_rows'],
      ...(isSqlite(queries) ? ['audit_keeps_rows_as_they_are', 'audit_replaces_no_row'] : ['audit_pkey']),
    ].toSorted(),
  );
});

it('bounds declarations: known kinds, one account of an object, and one object of an account', async () => {
  const { queries } = await sampleDatabase();
  const declare = (id: string, kind: string, name: string) =>
    sql`
    insert into declarations (account_id, kind, namespace, name, is_locked, state, since)
    values (${id}, ${kind}, 'team', ${name}, 1, 'current', 5)
  `.execute(queries);
  for (const kind of accountKinds) await declare(`${kind}_1`, kind, 'prod');
  await expect(declare('x_1', 'Tenant', 'other')).rejects.toThrow(/constraint/i);
  await expect(declare('ApiKey_2', 'ApiKey', 'prod')).rejects.toThrow(/constraint/i);
  await expect(declare('ApiKey_1', 'ApiKey', 'other')).rejects.toThrow(/constraint/i);
});

it('accepts the authors of all kinds in the audit trail', async () => {
  const { queries } = await sampleDatabase();
  const entry = { at: 2n, actor_name: 'x', object_id: 'key_1', after: '{}', workspace_id: null, before: null } as const;
  for (const actor_kind of actorKinds)
    await queries
      .insertInto('audit')
      .values({ ...entry, actor_kind, action: 'key.update' })
      .execute();
  await expect(queries.deleteFrom('audit').execute()).rejects.toThrow('never changed or removed');
});

it('refuses tables of a version that it does not know, and leaves them as they are', async () => {
  const { queries } = await sampleDatabase();
  await sql`insert into kysely_migration (name, timestamp) values ('9999-later', '2030-01-01')`.execute(queries);
  await expect(migrate(queries)).rejects.toThrow('its tables come from a newer version of Weir (9999-later');
});

/** The columns of `requests` with their types, in the words of PostgreSQL or of SQLite. */
async function migratedColumns(queries: Kysely<Schema>): Promise<readonly string[]> {
  const found = isSqlite(queries)
    ? sql<{
        column: string;
      }>`select lower(name || ' ' || type) || ' ' || "notnull" as "column" from pragma_table_info('requests')`
    : sql<{ column: string }>`select column_name || ' ' || data_type || ' ' || (is_nullable = 'NO')::int as "column"
        from information_schema.columns where table_name = 'requests' and table_schema = current_schema()`;
  return (await found.execute(queries)).rows.map(({ column }) => column).toSorted();
}

it('leaves a table of requests that has a column for each stored field, of its type, and no other', async () => {
  const { queries } = await sampleDatabase();
  const inSqlite: Readonly<Record<string, string>> = { uuid: 'blob', smallint: 'integer' };
  const typeOf = (type: string): string => (isSqlite(queries) ? (inSqlite[type] ?? type) : type);
  const declared = requestColumns.map(({ name, type }) => `${name} ${typeOf(type)} 1`).toSorted();
  expect(await migratedColumns(queries)).toEqual(declared);

  await sql`alter table requests add column undeclared integer`.execute(queries);
  expect((await migratedColumns(queries)).filter((column) => !declared.includes(column))).toEqual([
    'undeclared integer 0',
  ]);
});
