// @suite both-databases
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { sampleDatabase, sampleNow, sampleAuthor } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { verifyLedger } from './verify-ledger.ts';
import { creditWorkspace } from '../accounts/credits.ts';
import { createWorkspace } from '../accounts/workspaces.ts';

const day = 86_400_000;

describe('verifyLedger', () => {
  it('finds the balance to be the credits less the costs', async () => {
    const { queries, ids, workspace, settle } = await sampleDatabase('0.000000000100');
    await creditWorkspace(queries, 'acme', { amount: 50n, note: undefined }, sampleAuthor);
    await settle(['a', 'b'].map((requestId) => sampleOutcome({ ...ids, requestId, cost: 80n })));
    expect((await verifyLedger(queries)).workspaces).toEqual([
      { id: workspace.id, name: 'acme', requests: 2, credits: 150n, costs: 160n, balance: -10n, expected: -10n },
    ]);
  });

  it('reports a workspace that never had credit nor cost', async () => {
    const { queries } = await sampleDatabase();
    await createWorkspace(queries, { name: 'empty', credit: 0n, maxInFlight: 1 }, sampleAuthor);
    const books = (await verifyLedger(queries)).workspaces.find(({ name }) => name === 'empty');
    expect(books).toMatchObject({ requests: 0, credits: 0n, costs: 0n, balance: 0n, expected: 0n });
  });

  it('sees a single unit that went missing from a balance', async () => {
    const { queries, ids, settle } = await sampleDatabase();
    await settle([sampleOutcome({ ...ids, cost: 5n })]);
    const difference = async () =>
      (await verifyLedger(queries)).workspaces.map(({ balance, expected }) => balance - expected);
    expect(await difference()).toEqual([0n]);
    await queries
      .updateTable('workspaces')
      .set((columns) => ({ balance: columns('balance', '-', 1n) }))
      .execute();
    expect(await difference()).toEqual([-1n]);
  });

  it('sees what counts against a budget and is not in the rollups, and the other way round', async () => {
    const { queries, ids, settle } = await sampleDatabase();
    for (const days of [0, 1, 2]) {
      await settle([sampleOutcome({ ...ids, requestId: `r${days}`, startedAt: sampleNow + days * day, cost: 5n })]);
    }
    expect(await verifyLedger(queries)).toMatchObject({ spendingDays: 3, spendingDifferences: [] });
    const on = (days: number) => BigInt(sampleNow + days * day);
    await queries.updateTable('spending').set({ amount: 6n }).where('day', '=', on(0)).execute();
    await queries.deleteFrom('spending').where('day', '=', on(1)).execute();
    await sql`delete from usage_days where period = ${(sampleNow + 2 * day) / day}`.execute(queries);
    const { spendingDifferences } = await verifyLedger(queries);
    expect(spendingDifferences).toEqual(
      [
        { counted: 6n, expected: 5n },
        { counted: 0n, expected: 5n },
        { counted: 5n, expected: 0n },
      ].map((sums, days) => ({ keyId: ids.keyId, day: sampleNow + days * day, ...sums })),
    );
  });

  it.each([
    ['a request that was changed', sql`update requests set cost = cost + 1`, ['cost']],
    ['the time of one', sql`update requests set duration_ms = 7`, ['duration_le_100', 'duration_le_500']],
    ['one that nobody counts now', sql`update requests set cached_tokens = -1`, ['cached_tokens']],
    ['a rollup that was changed', sql`update usage_hours set reasoning_tokens = 0`, ['reasoning_tokens']],
    ['a request that is gone', sql`delete from requests`, expect.arrayContaining(['requests', 'cost'])],
    ['one of another outcome', sql`update requests set traits = traits + 1`, expect.arrayContaining(['requests'])],
    ['a rollup that is gone', sql`delete from usage_hours`, expect.arrayContaining(['requests', 'cost'])],
  ] as const)('sees %s', async (_, change, measures) => {
    const { queries, ids, settle } = await sampleDatabase();
    await settle([sampleOutcome({ ...ids, startedAt: sampleNow + 5 })]);
    expect(await verifyLedger(queries)).toMatchObject({ hours: 1, rowDifferences: [], dayDifferences: [] });
    await change.execute(queries);
    expect((await verifyLedger(queries)).rowDifferences).toEqual([{ hour: sampleNow, measures }]);
  });

  it('sees a rollup of a day that is not the sum of its hours', async () => {
    const { queries, ids, settle } = await sampleDatabase();
    await settle(
      [0, 1].map((hours) =>
        sampleOutcome({ ...ids, requestId: `r${hours}`, startedAt: sampleNow + hours * 3_600_000, firstTokenMs: 3 }),
      ),
    );
    await sql`update usage_days set first_token_le_25 = 1`.execute(queries);
    expect((await verifyLedger(queries)).dayDifferences).toEqual([
      { keyId: ids.keyId, model: 'qwen/qwen3-8b', day: sampleNow, measures: ['first_token_le_25'] },
    ]);
  });
});
