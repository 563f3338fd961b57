import { DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sampleDatabase } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import type { Schema } from './schema.ts';
import { settleOrExplain } from './settle-or-explain.ts';
import { sqliteDialect } from './sqlite-dialect.ts';
import { listRequests } from './usage-report.ts';

describe('settleOrExplain', () => {
  it('writes the good rows of a batch and names the bad one', async () => {
    const { queries, ids } = await sampleDatabase();
    const rows = ['a', 'b', 'c'].map((requestId) => sampleOutcome({ ...ids, requestId, cost: 1n }));
    const { balances, faults } = await settleOrExplain(
      queries,
      rows.with(1, sampleOutcome({ ...ids, workspaceId: 'ws_nobody' })),
    );
    expect(faults).toEqual([{ index: 1, reason: 'refused', message: 'FOREIGN KEY constraint failed' }]);
    expect(balances).toEqual([[ids.workspaceId, 9_999_999_999_998n]]);
    expect((await listRequests(queries, {}, 10)).map(({ requestId }) => requestId).toSorted()).toEqual(['a', 'c']);
  });

  it('gives up on all rows when another process never lets go of the write lock, and they can be settled later', async () => {
    const { file, queries, ids } = await sampleDatabase();
    const impatient = new Kysely<Schema>({ dialect: sqliteDialect(new DatabaseSync(file, { timeout: 1 })) });
    const other = new DatabaseSync(file);
    onTestFinished(() => other.close());
    onTestFinished(() => impatient.destroy());
    const rows = ['a', 'b'].map((requestId) => sampleOutcome({ ...ids, requestId }));

    other.exec('begin immediate');
    const { faults } = await settleOrExplain(impatient, rows);
    expect(faults.map(({ index, reason }) => [index, reason])).toEqual([
      [0, 'busy'],
      [1, 'busy'],
    ]);
    other.exec('rollback');

    expect((await settleOrExplain(impatient, rows)).faults).toEqual([]);
    expect(await listRequests(queries, {}, 10)).toHaveLength(2);
  });
});
