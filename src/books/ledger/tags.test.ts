// @suite both-databases
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import type { LedgerFilter, UsageDimension } from '../core/administration.ts';
import type { SettledRequest } from '../../core/settled-request.ts';
import { createKey } from '../accounts/keys.ts';
import { createWorkspace } from '../accounts/workspaces.ts';
import { listBounds } from '../../core/limits.ts';
import { createTagNumbers } from './ledger-tags.ts';
import { listRequests } from './list-requests.ts';
import { usageReport } from './usage-report.ts';
import { verifyLedger } from './verify-ledger.ts';

const day = 86_400_000;

/** Requests of one key with tags. Each costs another power of two, so that a sum shows what is in it. */
async function taggedRequests() {
  const sample = await sampleDatabase();
  const tags = ['app=crawler,team=search', 'team=search', 'team=ads', undefined, 'team=search'];
  await sample.settle(
    tags.map((text, index) =>
      sampleOutcome({
        ...sample.ids,
        ...{ requestId: `r${index}`, tags: text, cost: 1n << BigInt(index), startedAt: sampleNow + index },
      }),
    ),
  );
  return sample;
}

async function costsOf(
  queries: Parameters<typeof usageReport>[0],
  filter: LedgerFilter,
  by: readonly UsageDimension[] = ['tag'],
) {
  const lines = await usageReport(queries, filter, by, { measures: 'performance' });
  return lines.map(({ tag, cost, requests }) => [tag, cost, requests]);
}

describe('the ledger', () => {
  it('keeps the tags of a request, and sums usage by the values of one', async () => {
    const { queries } = await taggedRequests();
    const listed = await listRequests(queries, {}, 9);
    expect(listed.map(({ tags }) => tags)).toEqual([
      ...['team=search', undefined, 'team=ads', 'team=search', 'app=crawler,team=search'],
    ]);
    expect(await costsOf(queries, { tagName: 'team' })).toEqual([
      ['', 0b01000n, 1],
      ['ads', 0b00100n, 1],
      ['search', 0b10011n, 3],
    ]);
    expect(await costsOf(queries, { tagName: 'app' })).toEqual([
      ['', 0b11110n, 4],
      ['crawler', 0b00001n, 1],
    ]);
    expect(await costsOf(queries, { tagName: 'unknown' })).toEqual([['', 0b11111n, 5]]);
    expect((await verifyLedger(queries)).tagDifferences).toEqual([]);
  });

  it('adds up the same value of several workspaces, and tells them apart where only one is asked for', async () => {
    const { queries, ids, settle } = await taggedRequests();
    const other = await createWorkspace(queries, { name: 'other', credit: 0n, maxInFlight: 1 }, sampleAuthor);
    const { key } = await createKey(queries, { workspace: 'other', rate: 1, burst: 1 }, sampleAuthor);
    const theirs = { workspaceId: other.id, keyId: key.id, requestId: 'theirs', startedAt: sampleNow };
    await settle([sampleOutcome({ ...theirs, tags: 'team=search', cost: 1n << 8n })]);
    const searching = async (filter: LedgerFilter) =>
      (await costsOf(queries, { ...filter, tagName: 'team' })).find(([tag]) => tag === 'search');
    expect(await searching({})).toEqual(['search', 0b1_0001_0011n, 4]);
    expect(await searching({ workspaceId: other.id })).toEqual(['search', 0b1_0000_0000n, 1]);
    expect(await searching({ keyId: ids.keyId })).toEqual(['search', 0b1_0011n, 3]);
  });

  it('gives lines of their own to the most expensive values, one to all others, and one to requests without the tag', async () => {
    const { queries } = await taggedRequests();
    const lines = await usageReport(queries, { tagName: 'team' }, ['day', 'tag'], { top: 1 });
    expect(lines.map(({ tag, cost }) => [tag, cost])).toEqual([
      ['search', 0b10011n],
      ['', 0b01000n],
      [undefined, 0b00100n],
    ]);
    const none = await usageReport(queries, { tagName: 'unknown' }, ['tag'], { top: 1 });
    expect(none.map(({ tag, cost }) => [tag, cost])).toEqual([['', 0b11111n]]);
  });

  it.each<[string, LedgerFilter, readonly UsageDimension[]]>([
    ['without the name of the tag', {}, ['tag']],
    ['of a name without the dimension', { tagName: 'team' }, ['day']],
    ['of hours', { tagName: 'team' }, ['tag', 'hour']],
    ['of a part of a day', { tagName: 'team', since: sampleNow + 3_600_000 }, ['tag']],
  ])('refuses a report by tag %s', async (_, filter, by) => {
    const { queries } = await sampleDatabase();
    await expect(usageReport(queries, filter, by)).rejects.toThrow(/among the dimensions|whole UTC days/);
  });

  it('finds rollups of tags that are not what their requests say', async () => {
    const { queries } = await taggedRequests();
    await sql`update usage_tags set cost = cost + 1 where tag = (select number from ledger_tags where value = 'ads')`.execute(
      queries,
    );
    await sql`delete from usage_tags where tag = (select number from ledger_tags where value = 'crawler')`.execute(
      queries,
    );
    const { tagDifferences } = await verifyLedger(queries);
    expect(new Set(tagDifferences)).toEqual(
      new Set([
        { tag: 'app=crawler', day: sampleNow, counted: 0n, expected: 1n },
        { tag: 'team=ads', day: sampleNow, counted: 5n, expected: 4n },
      ]),
    );
  });
});

describe('distinct tags', () => {
  const requestWith = (tags: string, workspaceId: string): SettledRequest =>
    sampleOutcome({ workspaceId, keyId: 'k', tags });

  it('are counted as "other" beyond the bounds, so that no number of values makes more rollups', async () => {
    const { queries, ids, settle } = await sampleDatabase();
    const numbers = createTagNumbers(queries);
    const count = 4 * listBounds.maxTagValues;
    // The bound comes in the middle of a batch.
    const size = 700;
    for (let at = 0; at < count; at += size) {
      const some = Array.from({ length: size }, (_, index) => requestWith(`id=${at + index}`, ids.workspaceId));
      const given = await numbers.number(some);
      expect(given.every((tags) => tags.numbers.length === 1)).toBe(true);
    }
    const { rows } = await sql<{ size: number | bigint }>`select count(*) as size from ledger_tags`.execute(queries);
    // And `other`.
    expect(Number(rows[0]?.size)).toBe(listBounds.maxTagValues + 1);

    await settle(
      ['id=new', 'id=newer', 'id=0'].map((tags, index) =>
        sampleOutcome({ ...ids, requestId: `r${index}`, tags, cost: 1n << BigInt(index), startedAt: sampleNow }),
      ),
    );
    const lines = await usageReport(queries, { tagName: 'id', since: sampleNow, until: sampleNow + day }, ['tag']);
    expect(lines.map(({ tag, cost }) => [tag, cost])).toEqual([
      ['0', 4n],
      ['other', 3n],
    ]);
    expect((await listRequests(queries, {}, 9)).map(({ tags }) => tags ?? '').toSorted()).toEqual([
      ...['id=0', 'id=other', 'id=other'],
    ]);
    expect((await verifyLedger(queries)).tagDifferences).toEqual([]);
  });

  it('have a bound for names, too, and a request with two of them beyond it is counted once', async () => {
    const { queries, ids } = await sampleDatabase();
    const numbers = createTagNumbers(queries);
    const names = Array.from({ length: listBounds.maxTagNames }, (_, index) =>
      requestWith(`n${index}=1`, ids.workspaceId),
    );
    await numbers.number(names);
    const [beyond] = await numbers.number([requestWith('x=1,y=2', ids.workspaceId)]);
    expect(beyond).toEqual({ numbers: [expect.any(Number)], text: 'other=other' });
    const tags = await queries
      .selectFrom('ledger_tags')
      .selectAll()
      .where('number', '=', beyond?.numbers[0] ?? 0)
      .execute();
    expect(tags).toMatchObject([{ name: 'other', value: 'other' }]);
  });

  it('are numbered alike by several processes, also after they were forgotten', async () => {
    const { queries, ids } = await sampleDatabase();
    const requests = ['a=1,b=2', 'b=2', 'c=3'].map((tags) => requestWith(tags, ids.workspaceId));
    const [one, other] = [createTagNumbers(queries), createTagNumbers(queries)];
    const [first, second] = await Promise.all([one.number(requests), other.number(requests)]);
    expect(second).toEqual(first);
    one.forget();
    expect(await one.number(requests)).toEqual(first);
  });
});
