// @suite both-databases
import { expect, it } from 'vitest';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { changeKey } from './change-keys.ts';
import { createKey } from './keys.ts';
import { moneyFigures } from './money-figures.ts';
import { createWorkspace, changeWorkspace } from './workspaces.ts';

const day = 86_400_000;
const usd = 1_000_000_000_000n;

it('has what is left, what is spent in a day, and the share of budgets, with the largest first', async () => {
  const { queries, ids, settle } = await sampleDatabase('10');
  const other = await createWorkspace(
    queries,
    { name: 'other', credit: 0n, creditLimit: 50n * usd, maxInFlight: 1 },
    { ...sampleAuthor, now: sampleNow - 30 * day },
  );
  await createWorkspace(queries, { name: 'idle', credit: 3n * usd, maxInFlight: 1 }, sampleAuthor);
  const gone = await createWorkspace(queries, { name: 'gone', credit: 9n * usd, maxInFlight: 1 }, sampleAuthor);
  await changeWorkspace(queries, gone.id, { status: 'suspended' }, sampleAuthor);
  const budget = (limit: bigint) => ({ limit, period: 'day' as const });
  const make = async (workspace: string, limit: bigint) =>
    (await createKey(queries, { workspace, rate: 1, burst: 1, budget: budget(limit) }, sampleAuthor)).key.id;
  const [half, most, stopped] = [await make('other', 4n * usd), await make('other', usd), await make('other', usd)];
  await changeKey(queries, stopped, { status: 'revoked' }, sampleAuthor);
  const spend = (keyId: string, cost: bigint, startedAt = sampleNow) =>
    sampleOutcome({ workspaceId: other.id, keyId, requestId: `${keyId}${startedAt}`, cost, startedAt });
  await settle([
    ...[spend(half, 2n * usd), spend(most, (9n * usd) / 10n), spend(stopped, usd)],
    // Of the days before, and one that no longer counts.
    ...[spend(half, 10n * usd, sampleNow - 2 * day), spend(half, usd, sampleNow - 20 * day)],
    sampleOutcome({ ...ids, requestId: 'mine', cost: usd, startedAt: sampleNow }),
  ]);

  const figures = await moneyFigures(queries, { max: 2 }, sampleNow + 1);
  const sevenDays = sampleNow + 1 - (Math.floor(sampleNow / day) - 6) * day;
  expect(figures.workspaces).toEqual([
    {
      ...{ name: 'other', balance: (-149n * usd) / 10n, available: (351n * usd) / 10n },
      spentPerDay: (((139n * usd) / 10n) * BigInt(day)) / BigInt(sevenDays),
    },
    { name: 'acme', balance: 9n * usd, available: 9n * usd, spentPerDay: usd },
  ]);
  expect(figures.otherWorkspaces).toEqual({ count: 1, balance: 3n * usd, available: 3n * usd, spentPerDay: 0n });
  expect(figures.keys).toEqual([
    { id: most, workspace: 'other', spent: (9n * usd) / 10n, limit: usd },
    { id: half, workspace: 'other', spent: 2n * usd, limit: 4n * usd },
  ]);
});
