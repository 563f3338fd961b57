// @suite both-databases
import { type Kysely, sql } from 'kysely';
import { expect, it } from 'vitest';
import { makeTablesOf } from '../../../test/support/earlier-tables.ts';
import { sampleDatabase } from '../../../test/support/sample-database.ts';
import { listAudit } from '../accounts/audit.ts';
import { migrate } from './migrations.ts';
import type { Schema } from './schema.ts';
import { isSqlite } from './sql-dialect.ts';
import { requestColumns } from '../ledger/stored-request.ts';
import { verifyLedger } from '../ledger/verify-ledger.ts';
import { nextMessages } from '../outbox/next-messages.ts';

it('brings the tables of an earlier version up to date and keeps their rows', async () => {
  const { queries } = await sampleDatabase();
  await makeTablesOf('0001', queries);
  await sql`insert into workspaces values ('ws_1', 'acme', 'active', 7, 1, 0)`.execute(queries);
  await sql`insert into keys (id, hash, workspace_id, status, rate, burst, created_at)
    values ('key_1', 'hash', 'ws_1', 'active', 1, 1, 0)`.execute(queries);
  await sql`insert into credits (id, workspace_id, amount, created_at) values ('cr_1', 'ws_1', 7, 0)`.execute(queries);
  await sql`insert into audit (at, actor_kind, actor_name, action, object_id, after)
    values (1, 'command-line', 'mia', 'key.create', 'key_1', '{}')`.execute(queries);
  await migrate(queries);
  const entry = { at: 2n, actor_kind: 'controller', actor_name: 'x', object_id: 'key_1', after: '{}' } as const;
  await queries
    .insertInto('audit')
    .values({ ...entry, action: 'key.update', workspace_id: null, before: null })
    .execute();
  expect((await listAudit(queries, {}, 9)).map(({ id, actor }) => [id, actor.kind])).toEqual([
    [2, 'controller'],
    [1, 'command-line'],
  ]);
  await expect(queries.deleteFrom('audit').execute()).rejects.toThrow('never changed or removed');
  expect(await queries.selectFrom('keys').select(['id', 'prefix']).execute()).toEqual([{ id: 'key_1', prefix: null }]);
  expect(await queries.selectFrom('credits').select(['id', 'idempotency_key']).execute()).toEqual([
    { id: 'cr_1', idempotency_key: null },
  ]);
  expect((await verifyLedger(queries)).workspaces).toMatchObject([{ balance: 7n, expected: 7n }]);
});

it('keeps the indexes and triggers of the audit trail while its kinds of actors become more', async () => {
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

it('keeps the declarations of an earlier version, with their bounds, and accepts those of identities', async () => {
  const { queries } = await sampleDatabase();
  await makeTablesOf('0013', queries);
  const declare = (id: string, kind: string, name: string) =>
    sql`
    insert into declarations (account_id, kind, namespace, name, is_locked, state, since, spec, override)
    values (${id}, ${kind}, 'team', ${name}, 1, 'current', 5, 'text', 'suspended')
  `.execute(queries);
  const kept = [
    ['ws_1', 'Workspace'],
    ['key_1', 'ApiKey'],
    ['credit_1', 'Credit'],
  ] as const;
  for (const [id, kind] of kept) await declare(id, kind, 'prod');
  await expect(declare('identity_1', 'Identity', 'prod')).rejects.toThrow(/constraint/i);
  await migrate(queries);
  const rows = await queries.selectFrom('declarations').selectAll().orderBy('account_id').execute();
  const columns = { namespace: 'team', name: 'prod', is_locked: 1n, state: 'current', since: 5n, spec: 'text' };
  expect(rows).toEqual(
    kept.map(([account_id, kind]) => ({ account_id, kind, ...columns, override: 'suspended' })).toSorted(byAccount),
  );
  await declare('identity_1', 'Identity', 'prod');
  await expect(declare('x_1', 'Tenant', 'other')).rejects.toThrow(/constraint/i);
  // Two accounts of one object, and one account of two.
  await expect(declare('key_2', 'ApiKey', 'prod')).rejects.toThrow(/constraint/i);
  await expect(declare('key_1', 'ApiKey', 'other')).rejects.toThrow(/constraint/i);
});

const byAccount = (one: { readonly account_id: string }, other: { readonly account_id: string }): number =>
  one.account_id < other.account_id ? -1 : 1;

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

it('keeps the webhooks of an earlier version that wait, with their tries', async () => {
  const { queries } = await sampleDatabase();
  await makeTablesOf('0014', queries);
  const alert = (id: string, state: string, tries: number, next: number) =>
    sql`
    insert into alerts (id, object_id, workspace_id, period, percent, used, allowance, at, body, state, tries, next_try_at)
    values (${id}, ${id}, 'ws_1', 'total:0', 50, '1', '2', 5, ${`{"id":"${id}"}`}, ${state}, ${tries}, ${next})
  `.execute(queries);
  await alert('alert_1', 'waiting', 3, 70);
  await alert('alert_2', 'waiting', 0, 60);
  await alert('alert_3', 'delivered', 1, 5);
  await migrate(queries);
  const next = (now: number) => nextMessages(queries, { subscription: 'alerts', holder: 'one', leaseMs: 1 }, now);
  expect((await next(59)).map(({ id }) => id)).toEqual([]);
  expect((await next(60)).map(({ id, body }) => [id, body])).toEqual([['alert_2', '{"id":"alert_2"}']]);
  expect((await next(70)).map(({ id }) => id).toSorted()).toEqual(['alert_1', 'alert_2']);
  const rows = await queries.selectFrom('outbox').select(['refs', 'tries']).orderBy('refs').execute();
  expect(rows).toEqual([
    { refs: 'alert_1', tries: 3n },
    { refs: 'alert_2', tries: 0n },
  ]);
});
