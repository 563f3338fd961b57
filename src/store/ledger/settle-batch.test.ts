// @suite both-databases
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sampleDatabase, sampleAuthor } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { parseUsd } from '../../core/money.ts';
import { listRequests } from './list-requests.ts';
import { createKey } from '../accounts/keys.ts';
import { createWorkspace, findWorkspace } from '../accounts/workspaces.ts';
import { lockedByAnother } from '../../../test/support/sample-store.ts';
import { openDatabase } from '../databases/open-database.ts';
import { settleOrExplain } from './settle-batch.ts';

const tenUsd = parseUsd('10') ?? 0n;

describe('settleBatch', () => {
  it('keeps every field of an outcome, and knows absent from zero', async () => {
    const { queries, ids, settle } = await sampleDatabase();
    const full = sampleOutcome({ ...ids, requestId: 'full' });
    const { routeId: _, firstTokenMs: __, ...rest } = full;
    const bare = {
      ...rest,
      requestId: 'bare',
      stream: false,
      countedBy: 'estimate' as const,
      usage: { promptTokens: 0, completionTokens: 0 },
    };
    const zero = {
      ...full,
      requestId: 'zero',
      usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0, reasoningTokens: 0 },
    };
    await settle([full, bare, zero]);
    const rows = await listRequests(queries, {}, 10);
    expect(new Map(rows.map((row) => [row.requestId, row]))).toEqual(
      new Map([
        ['full', full],
        ['bare', bare],
        ['zero', zero],
      ]),
    );
  });

  it('takes exactly what was spent, whatever the amounts', async () => {
    const { queries, ids, settle } = await sampleDatabase();
    let [spent, count] = [0n, 0];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.bigInt({ min: 0n, max: 10n ** 12n }), { maxLength: 20 }), async (costs) => {
        await settle(costs.map((cost) => sampleOutcome({ ...ids, requestId: `r${(count += 1)}`, cost })));
        spent += costs.reduce((sum, cost) => sum + cost, 0n);
        expect((await findWorkspace(queries, 'acme')).balance).toBe(tenUsd - spent);
      }),
    );
  });

  it('answers with the balances as they are afterwards, of those who paid', async () => {
    const { queries, ids, settle } = await sampleDatabase();
    const other = await createWorkspace(queries, { name: 'other', credit: 5n, maxInFlight: 1 }, sampleAuthor);
    const { key } = await createKey(queries, { workspace: 'other', rate: 1, burst: 1 }, sampleAuthor);
    const { balances } = await settle([
      sampleOutcome({ ...ids, requestId: 'a', cost: 1n }),
      sampleOutcome({ ...ids, requestId: 'b', cost: 2n, workspaceId: other.id, keyId: key.id }),
      sampleOutcome({ ...ids, requestId: 'c', cost: 4n }),
    ]);
    expect(new Map(balances)).toEqual(
      new Map([
        [ids.workspaceId, tenUsd - 5n],
        [other.id, 3n],
      ]),
    );
  });

  it('takes money once per request id: repeated later, and within one batch', async () => {
    const { queries, ids, settle } = await sampleDatabase();
    const outcome = sampleOutcome({ ...ids, cost: 7n });
    await settle([outcome, outcome, { ...outcome, cost: 1_000n }]);
    expect(await settle([outcome])).toEqual({ balances: [], spendings: [] });
    expect((await findWorkspace(queries, 'acme')).balance).toBe(tenUsd - 7n);
    expect(await listRequests(queries, {}, 10)).toEqual([outcome]);
  });

  it('lets a balance fall below zero: what ran is paid for', async () => {
    const { queries, ids, settle } = await sampleDatabase('0');
    await settle([sampleOutcome({ ...ids, cost: 3n })]);
    expect((await findWorkspace(queries, 'acme')).balance).toBe(-3n);
  });

  it('writes all of a large batch', async () => {
    const { queries, ids, settle } = await sampleDatabase();
    const outcomes = Array.from({ length: 1_000 }, (_, index) =>
      sampleOutcome({ ...ids, requestId: `r${index}`, cost: 1n }),
    );
    await settle(outcomes);
    expect(await listRequests(queries, {}, 2_000)).toHaveLength(1_000);
    expect((await findWorkspace(queries, 'acme')).balance).toBe(tenUsd - 1_000n);
  });

  it.each([
    ['an unknown workspace', { workspaceId: 'ws_nobody' }, /is not of the workspace ws_nobody/],
    ['an unknown key', { keyId: 'key_nobody' }, /there is no key key_nobody/],
    ['a negative cost', { cost: -1n }, /check/i],
    ['a cost past 64 bits', { cost: 2n ** 64n }, /BigInt|out of range/],
    ['a count past 32 bits', { usage: { promptTokens: 2 ** 31, completionTokens: 0 } }, /prompt_tokens is 2147483648/],
    [
      'a count that is not a number',
      { usage: { promptTokens: Number.NaN, completionTokens: 0 } },
      /prompt_tokens is NaN, and must be a whole number from 0/,
    ],
  ])('keeps nothing of a batch with %s, neither rows nor costs', async (_, fault, reason) => {
    const { queries, ids, settle } = await sampleDatabase();
    const good = sampleOutcome({ ...ids, requestId: 'good' });
    const both = [good, sampleOutcome({ ...ids, requestId: 'bad', ...fault })];
    await expect((async () => settle(both))()).rejects.toThrow(reason);
    expect(await listRequests(queries, {}, 10)).toEqual([]);
    expect((await findWorkspace(queries, 'acme')).balance).toBe(tenUsd);
  });
});

describe('settleOrExplain', () => {
  it('writes the good rows of a batch and names the bad one', async () => {
    const { database, queries, ids } = await sampleDatabase();
    const rows = ['a', 'b', 'c'].map((requestId) => sampleOutcome({ ...ids, requestId, cost: 1n }));
    const stranger = sampleOutcome({ ...ids, requestId: 'b', workspaceId: 'ws_nobody' });
    expect(await settleOrExplain(database, rows.with(1, stranger), Date.now())).toMatchObject({
      kind: 'settled',
      balances: [[ids.workspaceId, 9_999_999_999_998n]],
      refused: [{ index: 1, message: expect.stringMatching(/not of the workspace ws_nobody/) }],
    });
    expect((await listRequests(queries, {}, 10)).map(({ requestId }) => requestId).toSorted()).toEqual(['a', 'c']);
  });

  it('says that the database is away when another process lets nobody write, and the rows can be settled later', async () => {
    const { location, queries, ids } = await sampleDatabase();
    const impatient = await openDatabase(location, { missing: 'refuse', user: 'service' });
    const rows = ['a', 'b'].map((requestId) => sampleOutcome({ ...ids, requestId }));
    const { release } = await lockedByAnother(location);
    expect(await settleOrExplain(impatient, rows, Date.now())).toMatchObject({ kind: 'away' });
    await release();

    expect(await settleOrExplain(impatient, rows, Date.now())).toMatchObject({ kind: 'settled', refused: [] });
    await impatient.close();
    expect(await listRequests(queries, {}, 10)).toHaveLength(2);
  });
});
