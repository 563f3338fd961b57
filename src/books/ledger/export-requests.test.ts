// @suite both-databases
import { describe, expect, it } from 'vitest';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import type { Outcome } from '../../core/account.ts';
import { exportRequests } from './export-requests.ts';
import { setKeptSince } from './kept-since.ts';
import { createKey } from '../accounts/keys.ts';
import { listRequests } from './list-requests.ts';
import { createWorkspace } from '../accounts/workspaces.ts';

const hour = 3_600_000;

async function all<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const read: Item[] = [];
  for await (const item of items) read.push(item);
  return read;
}

/** So many requests, so far apart. */
function outcomesOf(
  ids: Pick<Outcome, 'workspaceId' | 'keyId'>,
  count: number,
  { apart = 7 * 60_000, name = 'r' } = {},
): readonly Outcome[] {
  return Array.from({ length: count }, (_, index) =>
    sampleOutcome({
      ...ids,
      requestId: `${name}${String(index).padStart(5, '0')}`,
      startedAt: sampleNow + index * apart,
      cost: 1n + BigInt(index) * 1_000_000_007n,
    }),
  );
}

const idsOf = (outcomes: readonly Outcome[]) => outcomes.map(({ requestId }) => requestId);

describe('exportRequests', () => {
  it('reads what the ledger has, oldest first, in pages of at most so many', async () => {
    const { queries, ids, settle } = await sampleDatabase();
    const outcomes = outcomesOf(ids, 100);
    await settle(outcomes);
    const pages = await all(exportRequests(queries, {}, 5));
    expect(pages.flat()).toEqual(outcomes);
    expect((await listRequests(queries, {}, 1_000)).toReversed()).toEqual(pages.flat());
    expect(Math.max(...pages.map((page) => page.length))).toBe(5);
  });

  it('cuts no millisecond in two, though more than a page started in it', async () => {
    const { queries, ids, settle } = await sampleDatabase();
    const [early, crowd, late] = [
      outcomesOf(ids, 3, { apart: 1, name: 'early' }),
      outcomesOf(ids, 20, { apart: 0, name: 'crowd' }).map((outcome) => ({ ...outcome, startedAt: sampleNow + 10 })),
      outcomesOf(ids, 3, { name: 'late' }).map((outcome) => ({ ...outcome, startedAt: outcome.startedAt + 11 })),
    ];
    await settle([...early, ...crowd, ...late]);
    const pages = await all(exportRequests(queries, {}, 4));
    expect(pages.map((page) => page.length)).toEqual([3, 20, 3]);
    expect(new Set(idsOf(pages.flat()))).toEqual(new Set(idsOf([...early, ...crowd, ...late])));
  });

  it('reads one workspace, from one moment until before another', async () => {
    const { queries, ids, settle } = await sampleDatabase();
    const other = await createWorkspace(queries, { name: 'other', credit: 1n, maxInFlight: 1 }, sampleAuthor);
    const { key } = await createKey(queries, { workspace: 'other', rate: 1, burst: 1 }, sampleAuthor);
    const mine = outcomesOf(ids, 40);
    await settle(mine);
    await settle(outcomesOf({ workspaceId: other.id, keyId: key.id }, 40, { name: 'other' }));
    const filter = { workspaceId: ids.workspaceId, since: mine[3]!.startedAt, until: mine[31]!.startedAt };
    expect((await all(exportRequests(queries, filter, 6))).flat()).toEqual(mine.slice(3, 31));
  });

  it('goes on with what is settled meanwhile, where that started later', async () => {
    const { queries, ids, settle } = await sampleDatabase();
    const outcomes = outcomesOf(ids, 20);
    await settle(outcomes.slice(0, 10));
    const pages = exportRequests(queries, {}, 4);
    const first = await pages.next();
    await settle(outcomes.slice(10));
    expect([...(first.value ?? []), ...(await all(pages)).flat()]).toEqual(outcomes);
  });

  it('refuses to leave out what retention drops meanwhile, and leaves out what it had dropped before', async () => {
    const { queries, ids, settle } = await sampleDatabase();
    await settle(outcomesOf(ids, 40));
    const pages = exportRequests(queries, {}, 4);
    await pages.next();
    await setKeptSince(queries, sampleNow + 3 * hour);
    await expect(pages.next()).rejects.toThrow('deleted requests before 2026-07-01T03:00:00.000Z during the export');
    const kept = (await all(exportRequests(queries, {}, 4))).flat();
    expect(kept[0]?.startedAt).toBeGreaterThanOrEqual(sampleNow + 3 * hour);
  });
});
