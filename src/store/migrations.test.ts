import { type Kysely, sql } from 'kysely';
import { expect, it } from 'vitest';
import { sampleDatabase, sampleNow } from '../../test/support/sample-database.ts';
import { makeTablesOf } from '../../test/support/old-ledger.ts';
import { migrate } from './migrations.ts';
import type { Schema } from './schema.ts';
import { listRequests } from './list-requests.ts';
import { verifyLedger } from './verify-ledger.ts';

/** The tables as the first version made them, with three requests of two days in them. */
async function firstVersion(queries: Kysely<Schema>): Promise<void> {
  await makeTablesOf('0001', queries);
  await sql`insert into workspaces values ('ws_1', 'acme', 'active', -7, 1, 0)`.execute(queries);
  await sql`insert into keys values ('key_1', 'hash', 'ws_1', 'active', null, null, 1, 1, 0)`.execute(queries);
  for (const [id, startedAt, cost, estimated] of [
    ['a', sampleNow, 1, 0],
    ['b', sampleNow + 1, 2, 1],
    ['c', sampleNow + 86_400_000, 4, 0],
  ] as const) {
    await sql`insert into ledger values (${id}, '', 'ws_1', 'key_1', 'a/b', null, 'chat', 1, 'completed', 1, 1, null, null,
      ${estimated}, ${cost}, 1, ${startedAt}, null, 5)`.execute(queries);
  }
}

it('brings what an earlier version has written up to date: budgets count it, and rows say who counted', async () => {
  const { queries } = await sampleDatabase();
  await firstVersion(queries);
  await migrate(queries);
  expect(await queries.selectFrom('spending').selectAll().orderBy('day').execute()).toEqual([
    { key_id: 'key_1', day: BigInt(sampleNow), amount: 3n, last_used_at: BigInt(sampleNow + 1) },
    { key_id: 'key_1', day: BigInt(sampleNow + 86_400_000), amount: 4n, last_used_at: BigInt(sampleNow + 86_400_000) },
  ]);
  const rows = await listRequests(queries, {}, 10);
  expect(rows.map(({ requestId, countedBy }) => [requestId, countedBy])).toEqual([
    ['c', 'engine'],
    ['b', 'estimate'],
    ['a', 'engine'],
  ]);
  expect(await verifyLedger(queries)).toMatchObject({
    workspaces: [{ balance: -7n, expected: -7n }],
    spendingDays: 2,
    spendingDifferences: [],
  });
});
