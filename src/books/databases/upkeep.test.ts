// @suite both-databases
import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { differencesIn } from '../../../test/support/ledger-differences.ts';
import { databaseKind, sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { sqliteFile, storeAt } from '../../../test/support/sample-store.ts';
import { parseUsd } from '../../core/money.ts';
import { listAlerts, recordReached } from '../accounts/alerts.ts';
import { changeKey } from '../accounts/change-keys.ts';
import { addCredit } from '../accounts/credits.ts';
import { setTagBudget } from '../accounts/tag-budgets.ts';
import { keptSince } from '../ledger/kept-since.ts';
import { listRequests } from '../ledger/list-requests.ts';
import type { OpenDatabase, UpkeepOptions } from './database.ts';
import { openDatabase } from './open-database.ts';
import { settleBatch, settleOrExplain } from '../ledger/settle-batch.ts';
import { usageReport } from '../ledger/usage-report.ts';
import { verifyLedger } from '../ledger/verify-ledger.ts';

const day = 86_400_000;

/** Takes steps of upkeep until there is nothing to do; returns what was reported. */
async function keepUp(database: OpenDatabase, options: Partial<UpkeepOptions> = {}): Promise<readonly string[]> {
  const reports: string[] = [];
  const upkeep = database.beginUpkeep({
    ...{ retentionDays: 0, now: () => sampleNow + day, report: (message) => reports.push(message) },
    ...options,
  });
  try {
    while ((await upkeep.steps.next()).value !== 'done');
  } finally {
    await upkeep.stop();
  }
  return reports;
}

/** A database with a request in each of so many days, and what settles one more. */
async function daysOfRequests(days: number) {
  const sample = await sampleDatabase();
  const outcomes = Array.from({ length: days }, (_, index) =>
    sampleOutcome({ ...sample.ids, requestId: `r${index}`, startedAt: sampleNow + index * day + 5, cost: 5n }),
  );
  await sample.settle(outcomes);
  const kept = async () => (await listRequests(sample.queries, {}, 1_000)).map(({ requestId }) => requestId);
  const now = () => sampleNow + days * day;
  return { ...sample, outcomes, kept, now };
}

it('old alerts are deleted, except those of a period that goes on', async () => {
  const { database, queries, ids, settle } = await sampleDatabase('10');
  const cost = parseUsd('6') ?? 0n;
  const spend = (requestId: string, startedAt: number) =>
    settle([sampleOutcome({ ...ids, requestId, startedAt, cost, tags: 'team=search' })]);
  const limit = parseUsd('10') ?? 0n;
  await changeKey(queries, ids.keyId, { budget: { limit, period: 'total' } }, sampleAuthor);
  await setTagBudget(queries, 'acme', { tag: 'team=search', budget: { limit, period: 'month' } }, sampleAuthor);
  await spend('first', sampleNow);
  await recordReached(queries, sampleNow);
  const kinds = async () => (await listAlerts(queries, ids.workspaceId, 99)).map(({ kind }) => kind).toSorted();
  expect(await kinds()).toEqual(['balance', 'budget', 'tag']);
  await keepUp(database, { now: () => sampleNow + 400 * day });
  expect(await kinds()).toEqual(['balance', 'budget', 'tag']);
  const later = sampleNow + 400 * day + 1;
  await keepUp(database, { now: () => later });
  expect(await kinds()).toEqual(['balance', 'budget']);
  expect(await recordReached(queries, later)).toBe(0);
  // The credit begins another period of the balance.
  await addCredit(queries, 'acme', { amount: limit, note: undefined }, sampleAuthor);
  await keepUp(database, { now: () => later });
  expect(await kinds()).toEqual(['budget']);
});

describe('retention', () => {
  it('keeps everything where it is not asked for', async () => {
    const { database, kept, now } = await daysOfRequests(3);
    expect(await keepUp(database, { retentionDays: 0, now })).toEqual([]);
    expect(await kept()).toHaveLength(3);
    expect(await keptSince(database.queries)).toBe(0);
  });

  it('drops requests, and keeps what they add up to', async () => {
    const { database, queries, kept, now } = await daysOfRequests(100);
    const before = await usageReport(queries, {}, ['day', 'key', 'model']);
    expect(await keepUp(database, { retentionDays: 30, now })).toEqual([]);
    // July, August and the first days of September; PostgreSQL drops whole months.
    expect(await kept()).toHaveLength(databaseKind === 'sqlite' ? 30 : 100 - 62);
    expect(await usageReport(queries, {}, ['day', 'key', 'model'])).toEqual(before);
    expect(await differencesIn(database)).toEqual([]);
    expect((await verifyLedger(queries)).keptSince).toBeGreaterThan(sampleNow);
    expect(await keepUp(database, { retentionDays: 30, now })).toEqual([]);
    expect(await differencesIn(database)).toEqual([]);
  });

  it.runIf(databaseKind === 'sqlite')('makes the file smaller', async () => {
    const { location, database, settle, ids, now } = await daysOfRequests(1);
    for (let batch = 0; batch < 10; batch += 1) {
      const outcomes = Array.from({ length: 1_000 }, (_, index) =>
        sampleOutcome({ ...ids, requestId: `many-${batch}-${index}`, startedAt: sampleNow + index, cost: 1n }),
      );
      await settle(outcomes);
    }
    const bytes = async () => {
      await sql`pragma wal_checkpoint(truncate)`.execute(database.queries);
      return statSync(sqliteFile(location)).size;
    };
    const before = await bytes();
    expect(await keepUp(database, { retentionDays: 1, now: () => now() + 2 * day })).toEqual([]);
    expect(await bytes()).toBeLessThan(before / 2);
    expect(await differencesIn(database)).toEqual([]);
  });

  it.runIf(databaseKind === 'sqlite')(
    'makes an older file smaller once it was rewritten, beside a service',
    async () => {
      const { location, database, settle, ids, queries } = await daysOfRequests(1);
      const store = await storeAt(location);
      const other = new DatabaseSync(sqliteFile(location));
      onTestFinished(() => other.close());
      // As a file is that was made before files shrank.
      other.exec('pragma auto_vacuum = none; vacuum');
      const many = Array.from({ length: 5_000 }, (_, index) =>
        sampleOutcome({ ...ids, requestId: `many-${index}`, cost: 1n }),
      );
      await settle(many);
      await sql`delete from usage_hours`.execute(queries);
      await sql`delete from requests`.execute(queries);
      const during = store.settle(sampleOutcome({ ...ids, requestId: 'during', cost: 1n }));
      const shrunk = database.file?.shrink();
      expect(shrunk?.after).toBeLessThan((shrunk?.before ?? 0) / 2);
      await during;
      expect(other.prepare('pragma auto_vacuum').get()).toEqual({ auto_vacuum: 2 });
      expect(await database.queries.selectFrom('requests').select('request_text').execute()).toEqual([
        { request_text: 'during' },
      ]);
    },
  );

  it('refuses what is older than the requests that are kept, settled before or not, and charges nothing', async () => {
    const { location, database, ids, outcomes, settle, now } = await daysOfRequests(70);
    await keepUp(database, { retentionDays: 10, now });
    for (const old of [
      outcomes.slice(0, 1),
      [sampleOutcome({ ...ids, requestId: 'never', startedAt: sampleNow + 9 })],
    ]) {
      await expect(settle(old)).rejects.toThrow('older than 2026-0');
    }
    expect(await settle(outcomes.slice(-1))).toEqual({ balances: [], spendings: [] });
    expect(await differencesIn(database)).toEqual([]);
    // Another process, which has not seen the time that is gone.
    const other = await openDatabase(location, { missing: 'refuse', user: 'operator' });
    onTestFinished(() => other.close());
    await expect(settleBatch(other, outcomes.slice(0, 1))).rejects.toThrow('older than 2026-0');
  });

  it('charges nothing again after it ran by a clock that was ahead', async () => {
    const { database, ids, settle } = await sampleDatabase();
    const outcome = sampleOutcome({ ...ids, requestId: 'now', startedAt: Date.now(), cost: 5n });
    await settle([outcome]);
    await keepUp(database, { retentionDays: 1, now: () => Date.now() + 100 * day });
    const again = await settleOrExplain(database, [outcome], Date.now());
    expect(again).toMatchObject({ kind: 'settled', balances: [], refused: [{ index: 0 }] });
    expect(await differencesIn(database)).toEqual([]);
  });

  it('drops nothing that is not in the rollups, and says so', async () => {
    const { database, queries, kept, now } = await daysOfRequests(70);
    await sql`update requests set prompt_tokens = prompt_tokens + 1`.execute(queries);
    const reports = await keepUp(database, { retentionDays: 10, now });
    expect(reports).toEqual([
      expect.stringContaining('hour 2026-07-01T00:00:00.000Z do not match the rollups (prompt_tokens)'),
    ]);
    expect(await kept()).toHaveLength(70);
  });
});
