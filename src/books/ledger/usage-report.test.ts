// @suite both-databases
import { describe, expect, it } from 'vitest';
import { databaseKind, sampleDatabase, sampleNow, sampleAuthor } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { maxBalance } from '../../core/money.ts';
import { createKey } from '../accounts/keys.ts';
import type { LedgerFilter, UsageDimension } from '../core/administration.ts';
import { listRequests } from './list-requests.ts';
import { usageReport } from './usage-report.ts';
import { createWorkspace } from '../accounts/workspaces.ts';

const hour = 3_600_000;
const day = 24 * hour;

/** Two workspaces, two models, two days; every cost a different power of two, so that a sum tells what is in it. */
async function twoByTwoByTwo() {
  const { queries, ids, settle } = await sampleDatabase();
  const other = await createWorkspace(queries, { name: 'other', credit: 0n, maxInFlight: 1 }, sampleAuthor);
  const { key } = await createKey(queries, { workspace: 'other', rate: 1, burst: 1 }, sampleAuthor);
  const owners = [ids, { workspaceId: other.id, keyId: key.id }];
  const outcomes = Array.from({ length: 8 }, (_, index) =>
    sampleOutcome({
      ...owners[index & 1],
      requestId: `r${index}`,
      modelId: index & 2 ? 'b/b' : 'a/a',
      startedAt: sampleNow + (index & 4 ? day : 0) + index,
      cost: 1n << BigInt(index),
    }),
  );
  await settle(outcomes);
  return { queries, ids, settle, otherIds: { workspaceId: other.id, keyId: key.id } };
}

describe('usageReport', () => {
  it('sums all when no dimension is asked for', async () => {
    const { queries } = await twoByTwoByTwo();
    expect(await usageReport(queries, {}, [])).toEqual([
      {
        ...{ requests: 8, promptTokens: 960, completionTokens: 240, cachedTokens: 80, reasoningTokens: 40 },
        ...{ webSearches: 0, cost: 255n },
      },
    ]);
  });

  it('sums searches of the web, and tells none made from none asked for', async () => {
    const { queries, ids, settle } = await sampleDatabase();
    const tokens = { promptTokens: 1, completionTokens: 1 };
    const outcomes = [{ ...tokens, webSearches: 3 }, { ...tokens, webSearches: 0 }, tokens].map((usage, index) =>
      sampleOutcome({ ...ids, requestId: `r${index}`, usage, startedAt: sampleNow - index }),
    );
    await settle(outcomes);
    expect(await usageReport(queries, {}, [])).toMatchObject([{ requests: 3, webSearches: 3 }]);
    expect((await listRequests(queries, {}, 9)).map(({ usage }) => usage)).toEqual(outcomes.map(({ usage }) => usage));
  });

  it('sums along each dimension, in order', async () => {
    const { queries, ids, otherIds } = await twoByTwoByTwo();
    const costs = async (dimension: 'workspace' | 'key' | 'model' | 'day') =>
      (await usageReport(queries, {}, [dimension])).map((line) => [line[dimension], line.cost]);
    expect(await costs('workspace')).toEqual([
      ['acme', 0b01010101n],
      ['other', 0b10101010n],
    ]);
    expect(new Map((await costs('key')) as [string, bigint][])).toEqual(
      new Map([
        [ids.keyId, 0b01010101n],
        [otherIds.keyId, 0b10101010n],
      ]),
    );
    expect(await costs('model')).toEqual([
      ['a/a', 0b00110011n],
      ['b/b', 0b11001100n],
    ]);
    expect(await costs('day')).toEqual([
      ['2026-07-01', 0b00001111n],
      ['2026-07-02', 0b11110000n],
    ]);
  });

  it('sums along several dimensions at once', async () => {
    const { queries } = await twoByTwoByTwo();
    const lines = await usageReport(queries, {}, ['model', 'day']);
    expect(lines.map(({ model, day: of, cost }) => [model, of, cost])).toEqual([
      ['a/a', '2026-07-01', 0b00000011n],
      ['a/a', '2026-07-02', 0b00110000n],
      ['b/b', '2026-07-01', 0b00001100n],
      ['b/b', '2026-07-02', 0b11000000n],
    ]);
  });

  it.each<[readonly UsageDimension[], number | undefined]>([
    [['model', 'day'], undefined],
    [['workspace', 'model'], undefined],
    [['day', 'model'], 1],
  ])('gives the lines of a page by %j, top %j, as the whole report has them', async (by, top) => {
    const { queries } = await twoByTwoByTwo();
    const all = await usageReport(queries, {}, by, { top });
    expect(all.length).toBe(4);
    const pages = [0, 3, 6].map((offset) => usageReport(queries, {}, by, { top, page: { offset, limit: 3 } }));
    expect(await Promise.all(pages)).toEqual([all.slice(0, 3), all.slice(3), []]);
  });

  it('sums by hour, whatever the day', async () => {
    const { queries, ids, settle } = await sampleDatabase();
    const at = [sampleNow, sampleNow + 5, sampleNow + 3 * hour, sampleNow + day + 3 * hour];
    await settle(
      at.map((startedAt, index) =>
        sampleOutcome({ ...ids, requestId: `r${index}`, startedAt, cost: 1n << BigInt(index) }),
      ),
    );
    const lines = await usageReport(queries, {}, ['hour']);
    expect(lines.map((line) => [line.hour, line.requests, line.cost])).toEqual([
      ['2026-07-01T00:00Z', 2, 3n],
      ['2026-07-01T03:00Z', 1, 4n],
      ['2026-07-02T03:00Z', 1, 8n],
    ]);
  });

  it.each<[string, (ids: { workspaceId: string; keyId: string }) => LedgerFilter, bigint]>([
    ['a workspace', ({ workspaceId }) => ({ workspaceId }), 0b01010101n],
    ['a key', ({ keyId }) => ({ keyId }), 0b01010101n],
    ['a model', () => ({ modelId: 'b/b' }), 0b11001100n],
    ['a model that nobody used', () => ({ modelId: 'c/c' }), 0n],
    ['from a moment on', () => ({ since: sampleNow + day }), 0b11110000n],
    ['up to a moment', () => ({ until: sampleNow + day }), 0b00001111n],
    ['hours of two days', () => ({ since: sampleNow - hour, until: sampleNow + day + hour }), 0b11111111n],
    ['an hour', () => ({ since: sampleNow, until: sampleNow + hour }), 0b00001111n],
    ['no time at all', () => ({ since: sampleNow, until: sampleNow }), 0n],
    [
      'all of these',
      ({ workspaceId }) => ({ workspaceId, modelId: 'a/a', since: sampleNow + day, until: sampleNow + 2 * day }),
      0b00010000n,
    ],
  ])('restricts to %s, as the list of requests does', async (_, filterOf, cost) => {
    const { queries, ids } = await twoByTwoByTwo();
    const filter = filterOf(ids);
    expect((await usageReport(queries, filter, []))[0]?.cost).toBe(cost);
    const listed = await listRequests(queries, filter, 100);
    expect(listed.reduce((sum, row) => sum + row.cost, 0n)).toBe(cost);
  });

  it('refuses a time that is not made of whole hours, which the list of requests takes', async () => {
    const { queries } = await twoByTwoByTwo();
    await expect(usageReport(queries, { since: sampleNow + 2 }, [])).rejects.toThrow('Change --since');
    await expect(usageReport(queries, { until: sampleNow + 2 }, [])).rejects.toThrow('Change --until');
    const listed = async (filter: LedgerFilter) =>
      (await listRequests(queries, filter, 100)).map(({ requestId }) => requestId);
    expect(await listed({ since: sampleNow + 2 })).toEqual(['r7', 'r6', 'r5', 'r4', 'r3', 'r2']);
    expect(await listed({ until: sampleNow + 2 })).toEqual(['r1', 'r0']);
  });

  it('gives lines of their own to the top, and one of each day to all others', async () => {
    const { queries, ids, settle } = await sampleDatabase();
    const at = (index: number) => sampleNow + (index >> 2) * day + index;
    // Model 3 costs most, then 2, 1 and 0; on both days.
    const costs = [1n, 10n, 100n, 1_000n];
    await settle(
      Array.from({ length: 8 }, (_, index) =>
        sampleOutcome({
          ...{ ...ids, requestId: `r${index}`, modelId: `m/${index & 3}`, startedAt: at(index) },
          ...{ cost: costs[index & 3] ?? 0n },
        }),
      ),
    );
    const report = async (by: readonly UsageDimension[], top: number, filter: LedgerFilter = {}) =>
      (await usageReport(queries, filter, by, { measures: 'performance', top })).map((line) => [
        ...(line.day === undefined ? [] : [line.day]),
        ...[line.model, line.cost, line.requests],
      ]);
    expect(await report(['model'], 2)).toEqual([
      ['m/3', 2_000n, 2],
      ['m/2', 200n, 2],
      [undefined, 22n, 4],
    ]);
    expect(await report(['day', 'model'], 1)).toEqual([
      ['2026-07-01', 'm/3', 1_000n, 1],
      ['2026-07-01', undefined, 111n, 3],
      ['2026-07-02', 'm/3', 1_000n, 1],
      ['2026-07-02', undefined, 111n, 3],
    ]);
    // Where all are in the top there are no others; and the ranks are those of what the filter leaves.
    expect(await report(['model'], 9)).toHaveLength(4);
    expect(await report(['model'], 1, { modelId: 'm/0' })).toEqual([['m/0', 2n, 2]]);
    expect(await report(['model'], 1, { modelId: 'm/none' })).toEqual([]);
    const keys = await usageReport(queries, {}, ['key'], { top: 1 });
    expect(keys.map(({ key, cost }) => [key, cost])).toEqual([[ids.keyId, 2_222n]]);
    for (const by of [[], ['day'], ['model', 'key'], ['workspace', 'key'], ['model', 'surface']] as const) {
      await expect(report(by, 1)).rejects.toThrow('models, keys, workspaces or values of a tag');
    }
  });

  it('gives lines of their own to the workspaces of the top, with all their keys, and one to all others', async () => {
    const { queries, ids, otherIds, settle } = await twoByTwoByTwo();
    const third = await createWorkspace(queries, { name: 'third', credit: 0n, maxInFlight: 1 }, sampleAuthor);
    const ofThird = await createKey(queries, { workspace: 'third', rate: 1, burst: 1 }, sampleAuthor);
    const second = await createKey(queries, { workspace: 'other', rate: 1, burst: 1 }, sampleAuthor);
    await settle([
      sampleOutcome({ ...otherIds, keyId: second.key.id, requestId: 's', startedAt: sampleNow, cost: 1_000n }),
      sampleOutcome({ workspaceId: third.id, keyId: ofThird.key.id, requestId: 't', startedAt: sampleNow, cost: 7n }),
    ]);
    const report = async (by: readonly UsageDimension[], top: number, filter: LedgerFilter = {}) =>
      (await usageReport(queries, filter, by, { measures: 'performance', top })).map((line) => [
        ...(line.day === undefined ? [] : [line.day]),
        ...[line.workspace, line.cost],
      ]);
    expect(await report(['workspace'], 1)).toEqual([
      ['other', 1_000n + 0b10101010n],
      [undefined, 7n + 0b01010101n],
    ]);
    expect(await report(['workspace'], 3)).toEqual([
      ['other', 1_000n + 0b10101010n],
      ['acme', 0b01010101n],
      ['third', 7n],
    ]);
    expect(await report(['day', 'workspace'], 1)).toEqual([
      ['2026-07-01', 'other', 1_000n + 0b00001010n],
      ['2026-07-01', undefined, 7n + 0b00000101n],
      ['2026-07-02', 'other', 0b10100000n],
      ['2026-07-02', undefined, 0b01010000n],
    ]);
    expect(await report(['workspace'], 1, { workspaceId: ids.workspaceId })).toEqual([['acme', 0b01010101n]]);
  });

  it('sums weeks from Monday to Sunday', async () => {
    const { queries, ids, settle } = await sampleDatabase();
    const days = ['2026-06-28', '2026-06-29', '2026-07-05', '2026-07-06'];
    await settle(
      days.map((text, index) =>
        sampleOutcome({ ...ids, requestId: text, startedAt: Date.parse(text), cost: 10n ** BigInt(index) }),
      ),
    );
    const of = { since: Date.parse('2026-06-28'), until: Date.parse('2026-07-07') };
    const weeks = (await usageReport(queries, of, ['week', 'model'])).map(({ week, cost }) => [week, cost]);
    expect(weeks).toEqual([
      ['2026-06-22', 1n],
      ['2026-06-29', 110n],
      ['2026-07-06', 1_000n],
    ]);
  });

  it('is exact past 64 bits, where a plain sum overflows', async () => {
    const { queries, ids, settle } = await sampleDatabase();
    await queries.updateTable('workspaces').set({ balance: maxBalance }).execute();
    const most = { ...ids, cost: 4_499_999_999_999_999_999n };
    for (const days of [0, 1, 2, 3]) {
      await settle([sampleOutcome({ ...most, requestId: `r${days}`, startedAt: sampleNow + days * day })]);
    }
    expect((await usageReport(queries, {}, []))[0]?.cost).toBe(4n * most.cost);
    const plain = queries.selectFrom('usage_days').select(({ fn }) => fn.sum<bigint>('cost').as('sum'));
    // SQLite refuses; PostgreSQL answers with a type of its own, which is no bigint any more.
    const sum = await plain.executeTakeFirstOrThrow().catch((error: unknown) => error);
    expect(sum).toMatchObject(
      databaseKind === 'sqlite' ? { message: 'integer overflow' } : { sum: String(4n * most.cost) },
    );
  });
});

describe('listRequests', () => {
  it('lists as many of a key as asked for, over hours that have others', async () => {
    const { queries, ids } = await twoByTwoByTwo();
    const listed = await listRequests(queries, { keyId: ids.keyId }, 3);
    expect(listed.map(({ requestId }) => requestId)).toEqual(['r6', 'r4', 'r2']);
  });

  it('lists the newest first, as many as asked for', async () => {
    const { queries } = await twoByTwoByTwo();
    const rows = await listRequests(queries, {}, 3);
    expect(rows.map(({ requestId }) => requestId)).toEqual(['r7', 'r6', 'r5']);
  });
});
