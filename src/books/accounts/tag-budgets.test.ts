// @suite both-databases
import { expect, it } from 'vitest';
import { Refusal } from '../core/operator-refusals.ts';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { listAudit } from './audit.ts';
import { findCredential } from './find-credentials.ts';
import { listTagBudgets, setTagBudget } from './tag-budgets.ts';

const day = 86_400_000;
const budget = { limit: 100n, period: 'month' } as const;

it('a budget of a tag counts what requests with it cost in the period, also before it was set', async () => {
  const { queries, ids, text, settle } = await sampleDatabase();
  const spend = (requestId: string, tags: string | undefined, cost: bigint, startedAt = sampleNow) =>
    settle([sampleOutcome({ ...ids, requestId, tags, cost, startedAt })]);
  await spend('before', 'team=search', 1n, sampleNow - day);
  await spend('first', 'team=search', 2n);
  await spend('other', 'team=ads', 4n);
  await spend('none', undefined, 8n);
  const set = await setTagBudget(queries, 'acme', { tag: 'team=search', budget }, sampleAuthor);
  // The sample begins with a month.
  expect(set).toMatchObject([{ tag: 'team=search', budget, spent: 2n }]);
  await spend('later', 'app=crawler,team=search', 16n, sampleNow + day);
  const credential = await findCredential(queries, text, sampleNow + day);
  const ofTag = (spent: bigint) => new Map([['team=search', { tag: 'team=search', ...budget, spent }]]);
  expect(credential?.tagBudgets).toEqual(ofTag(18n));
  const nextMonth = Date.UTC(2026, 7, 1);
  expect((await findCredential(queries, text, nextMonth))?.tagBudgets).toEqual(ofTag(0n));
});

it('is changed and taken away, each with an entry of the audit trail', async () => {
  const { queries, ids, text } = await sampleDatabase();
  await setTagBudget(queries, 'acme', { tag: 'team=search', budget }, sampleAuthor);
  await setTagBudget(
    queries,
    ids.workspaceId,
    { tag: 'team=search', budget: { limit: 5n, period: 'day' } },
    sampleAuthor,
  );
  expect(await listTagBudgets(queries, ids.workspaceId, sampleNow)).toEqual([
    { tag: 'team=search', budget: { limit: 5n, period: 'day' }, spent: 0n, thresholds: [50, 80, 95] },
  ]);
  expect(await setTagBudget(queries, 'acme', { tag: 'team=search', budget: undefined }, sampleAuthor)).toEqual([]);
  expect((await findCredential(queries, text, sampleNow))?.tagBudgets).toBeUndefined();
  const entries = await listAudit(queries, { action: 'workspace.tag-budget' }, 9);
  expect(entries.map(({ before, after }) => [before?.['budget'], after['budget']])).toEqual([
    [{ limit: '0.000000000005', period: 'day' }, null],
    [
      { limit: '0.0000000001', period: 'month' },
      { limit: '0.000000000005', period: 'day' },
    ],
    [null, { limit: '0.0000000001', period: 'month' }],
  ]);
});

it.each(['team', 'Team=x', 'a=b,c=d', 'a= b'])(
  'a tag "%s" gets none, and the refusal says what was expected',
  async (tag) => {
    const { queries } = await sampleDatabase();
    const refused = setTagBudget(queries, 'acme', { tag, budget }, sampleAuthor);
    await expect(refused).rejects.toBeInstanceOf(Refusal);
    await expect(refused).rejects.toThrow(`"${tag}" is not a tag: expected name=value`);
  },
);
