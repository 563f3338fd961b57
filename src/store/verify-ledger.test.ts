import { describe, expect, it } from 'vitest';
import { sampleDatabase, sampleNow, sampleAuthor } from '../../test/support/sample-database.ts';
import { sampleOutcome } from '../../test/support/sample-outcome.ts';
import { verifyLedger } from './verify-ledger.ts';
import { createWorkspace, creditWorkspace } from './workspaces.ts';

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

  it('sees a single unit that went missing, a row that was changed, and one that was removed', async () => {
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
    await queries.updateTable('ledger').set({ cost: 3n }).execute();
    expect(await difference()).toEqual([-3n]);
    await queries.deleteFrom('ledger').execute();
    expect(await difference()).toEqual([-6n]);
  });

  it('sees what counts against a budget and is not in the rows, and the other way round', async () => {
    const { queries, ids, settle } = await sampleDatabase();
    const day = 86_400_000;
    for (const days of [0, 1, 2]) {
      await settle([sampleOutcome({ ...ids, requestId: `r${days}`, startedAt: sampleNow + days * day, cost: 5n })]);
    }
    expect(await verifyLedger(queries)).toMatchObject({ spendingDays: 3, spendingDifferences: [] });
    const on = (days: number) => BigInt(sampleNow + days * day);
    await queries.updateTable('spending').set({ amount: 6n }).where('day', '=', on(0)).execute();
    await queries.deleteFrom('spending').where('day', '=', on(1)).execute();
    await queries.deleteFrom('ledger').where('request_id', '=', 'r2').execute();
    const { spendingDifferences } = await verifyLedger(queries);
    expect(spendingDifferences).toEqual(
      [
        { counted: 6n, expected: 5n },
        { counted: 0n, expected: 5n },
        { counted: 5n, expected: 0n },
      ].map((sums, days) => ({ keyId: ids.keyId, day: sampleNow + days * day, ...sums })),
    );
  });
});
