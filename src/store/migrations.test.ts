import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { makeTablesOf } from '../../test/support/earlier-tables.ts';
import { sampleDatabase } from '../../test/support/sample-database.ts';
import { migrate } from './migrations.ts';
import { verifyLedger } from './verify-ledger.ts';

it('brings the tables of an earlier version up to date and keeps their rows', async () => {
  const { queries } = await sampleDatabase();
  await makeTablesOf('0001', queries);
  await sql`insert into workspaces values ('ws_1', 'acme', 'active', 7, 1, 0)`.execute(queries);
  await sql`insert into keys (id, hash, workspace_id, status, rate, burst, created_at)
    values ('key_1', 'hash', 'ws_1', 'active', 1, 1, 0)`.execute(queries);
  await sql`insert into credits (id, workspace_id, amount, created_at) values ('cr_1', 'ws_1', 7, 0)`.execute(queries);
  await migrate(queries);
  expect(await queries.selectFrom('keys').select(['id', 'prefix']).execute()).toEqual([{ id: 'key_1', prefix: null }]);
  expect(await queries.selectFrom('credits').select(['id', 'idempotency_key']).execute()).toEqual([
    { id: 'cr_1', idempotency_key: null },
  ]);
  expect((await verifyLedger(queries)).workspaces).toMatchObject([{ balance: 7n, expected: 7n }]);
});

it('refuses tables of a version that it does not know, and leaves them as they are', async () => {
  const { queries } = await sampleDatabase();
  await sql`insert into kysely_migration (name, timestamp) values ('9999-later', '2030-01-01')`.execute(queries);
  await expect(migrate(queries)).rejects.toThrow('its tables were made by a newer version of Weir (9999-later');
});
