import { describe, expect, it } from 'vitest';
import { sampleDatabase } from '../../test/support/sample-database.ts';
import { sampleOutcome } from '../../test/support/sample-outcome.ts';
import { lockedByAnother } from '../../test/support/sample-store.ts';
import { ledgerRow } from './ledger-row.ts';
import { openDatabase } from './open-database.ts';
import { settleOrExplain } from './settle-or-explain.ts';
import { listRequests } from './usage-report.ts';

describe('settleOrExplain', () => {
  it('writes the good rows of a batch and names the bad one', async () => {
    const { database, queries, ids } = await sampleDatabase();
    const rows = ['a', 'b', 'c'].map((requestId) => ledgerRow(sampleOutcome({ ...ids, requestId, cost: 1n })));
    const stranger = ledgerRow(sampleOutcome({ ...ids, requestId: 'b', workspaceId: 'ws_nobody' }));
    expect(await settleOrExplain(database, rows.with(1, stranger))).toMatchObject({
      kind: 'settled',
      balances: [[ids.workspaceId, 9_999_999_999_998n]],
      refused: [{ index: 1, message: expect.stringMatching(/foreign key/i) }],
    });
    expect((await listRequests(queries, {}, 10)).map(({ requestId }) => requestId).toSorted()).toEqual(['a', 'c']);
  });

  it('says that the database is away when another process lets nobody write, and the rows can be settled later', async () => {
    const { location, queries, ids } = await sampleDatabase();
    const impatient = await openDatabase(location, { missing: 'refuse', user: 'service' });
    const rows = ['a', 'b'].map((requestId) => ledgerRow(sampleOutcome({ ...ids, requestId })));
    const { release } = await lockedByAnother(location);
    expect(await settleOrExplain(impatient, rows)).toMatchObject({ kind: 'away' });
    await release();

    expect(await settleOrExplain(impatient, rows)).toMatchObject({ kind: 'settled', refused: [] });
    await impatient.close();
    expect(await listRequests(queries, {}, 10)).toHaveLength(2);
  });
});
