// @suite both-databases
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { databaseKind, sampleDatabase, sampleAuthor, sampleNow } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { parseUsd } from '../../core/money.ts';
import { listRequests } from './list-requests.ts';
import { createKey } from '../accounts/keys.ts';
import { createWorkspace, findWorkspace } from '../accounts/workspaces.ts';
import { lockedByAnother } from '../../../test/support/sample-store.ts';
import { openDatabase } from '../databases/open-database.ts';
import { CommitInDoubt, type OpenDatabase } from '../databases/database.ts';
import { setKeptSince } from './kept-since.ts';
import { settleBatch, settleOrExplain, spendingsOf } from './settle-batch.ts';

const hour = 3_600_000;
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

  it('does nothing for no rows, whatever state the database is in', async () => {
    const { database } = await sampleDatabase();
    const down = { ...database, prepare: () => Promise.reject(new Error('away')) };
    expect(await settleBatch(down, [])).toEqual({ balances: [], spendings: [] });
  });

  it('writes workspaces, keys and days in the order of their ids, so that two processes cannot wait for each other', async () => {
    const { database, queries } = await sampleDatabase();
    const payers = await Promise.all(
      ['a', 'b', 'c', 'd'].map(async (name) => {
        const { id } = await createWorkspace(queries, { name, credit: 0n, maxInFlight: 1 }, sampleAuthor);
        const { key } = await createKey(queries, { workspace: id, rate: 1, burst: 1 }, sampleAuthor);
        return { workspaceId: id, keyId: key.id };
      }),
    );
    const written: (readonly unknown[])[] = [];
    const writes: OpenDatabase['writes'] = {
      ...database.writes,
      charge: (connection, costs) => {
        written.push(costs.map(([id]) => id));
        return database.writes.charge(connection, costs);
      },
      addSpending: async (connection, spending) => {
        written.push(spending.map(({ key_id: keyId, day }) => `${keyId} ${day}`));
      },
    };
    const startedAt = [sampleNow + 30 * hour, sampleNow];
    const rows = [...payers, ...payers.toReversed()].flatMap((ids, index) =>
      startedAt.map((moment) => sampleOutcome({ ...ids, requestId: `r${index} ${moment}`, startedAt: moment })),
    );
    await settleBatch({ ...database, writes }, rows);
    const days = [sampleNow, sampleNow + 24 * hour];
    expect(written).toEqual([
      payers.map(({ workspaceId }) => workspaceId).toSorted(),
      payers.flatMap(({ keyId }) => days.map((day) => `${keyId} ${day}`)).toSorted(),
    ]);
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

it('the spending of a key is summed by day, and that of each tag is listed', () => {
  const request = (hours: number, cost: bigint, tags?: string) => ({
    ...{ workspaceId: 'ws', keyId: 'k', cost, tags, startedAt: sampleNow + hours * hour },
  });
  const [day, nextDay] = [sampleNow, sampleNow + 24 * hour];
  expect(spendingsOf([request(1, 1n), request(24, 8n, 'app=a,team=b'), request(5, 2n), request(3, 4n)])).toEqual([
    { on: { keyId: 'k' }, day, amount: 7n },
    { on: { keyId: 'k' }, day: nextDay, amount: 8n },
    { on: { workspaceId: 'ws', tag: 'app=a' }, day: nextDay, amount: 8n },
    { on: { workspaceId: 'ws', tag: 'team=b' }, day: nextDay, amount: 8n },
  ]);
});

// PostgreSQL refuses these while it makes room for them: see upkeep.test.ts.
describe.runIf(databaseKind === 'sqlite')('a request from before the kept ones', () => {
  const now = sampleNow + 24 * hour;
  const settleFrom = async (startedAt: number, refuseDropped: boolean): Promise<void> => {
    const { database, queries, ids } = await sampleDatabase();
    await setKeptSince(queries, now - hour);
    const writes = { ...database.writes, refuseDropped };
    const rows = [now, startedAt].map((moment) =>
      sampleOutcome({ ...ids, requestId: `r${moment}`, startedAt: moment }),
    );
    await settleBatch({ ...database, writes }, rows, now);
    expect(await listRequests(queries, {}, 10)).toHaveLength(2);
  };

  it('is refused, because the ledger no longer shows whether it was settled', async () => {
    await expect(settleFrom(now - hour - 1, false)).rejects.toMatchObject({
      message: expect.stringContaining(
        'older than 2026-07-01T23:00:00.000Z, before which requests were dropped (WEIR_LEDGER_RETENTION_DAYS)',
      ),
    });
    await settleFrom(now - hour, false);
  });

  it('is looked for only past twenty hours, where the database refuses it by itself', async () => {
    await expect(settleFrom(now - 20 * hour - 1, true)).rejects.toThrow('before which requests were dropped');
    await settleFrom(now - 20 * hour, true);
  });
});

describe('settleOrExplain', () => {
  type Prepare = OpenDatabase['prepare'];
  /** The sample database, in which another function may prepare rows. */
  const withPrepare = async (make: (prepare: Prepare) => Partial<Pick<OpenDatabase, 'prepare' | 'classify'>>) => {
    const sample = await sampleDatabase();
    return { ...sample, database: { ...sample.database, ...make(sample.database.prepare) } };
  };

  it.each([
    [4, { kind: 'settled', refused: [] }],
    [5, { kind: 'down', message: 'conflict 5', mayHaveRows: false }],
  ])('tries five times: after %i conflicts with other transactions the result is %j', async (conflicts, result) => {
    let attempts = 0;
    const { database, ids } = await withPrepare((prepare) => ({
      prepare: (rows) => {
        attempts += 1;
        return attempts <= conflicts ? Promise.reject(new Error(`conflict ${attempts}`)) : prepare(rows);
      },
      classify: () => 'again',
    }));
    expect(await settleOrExplain(database, [sampleOutcome(ids)], sampleNow)).toMatchObject(result);
    expect(attempts).toBe(5);
  });

  it('has all rows settled again when the database goes down between two of them, and does not try at once', async () => {
    const attempts: (readonly string[])[] = [];
    const { database, ids } = await withPrepare((prepare) => ({
      prepare: (rows) => {
        attempts.push(rows.map(({ requestId }) => requestId));
        if (rows.length > 1) return Promise.reject(new RangeError('one of them is bad'));
        return rows[0]?.requestId === 'b' ? Promise.reject(new Error('no answer')) : prepare(rows);
      },
      classify: (error) => (error instanceof RangeError ? 'refused' : 'down'),
    }));
    const rows = ['a', 'b', 'c'].map((requestId) => sampleOutcome({ ...ids, requestId }));
    const down = { kind: 'down', message: 'no answer' };
    expect(await settleOrExplain(database, rows, sampleNow)).toEqual({ ...down, mayHaveRows: true });
    expect(attempts).toEqual([['a', 'b', 'c'], ['a'], ['b']]);
    // Before `b`, no row was settled.
    expect(await settleOrExplain(database, rows.slice(1), sampleNow)).toEqual({ ...down, mayHaveRows: false });
  });

  it.each([
    ['before its commit', new Error('no answer'), 'no answer', false],
    ['at its commit', new CommitInDoubt(new Error('no answer')), 'the outcome of a commit is unknown: no answer', true],
  ])('says whether the database may have the rows after an error %s', async (_, error, message, mayHaveRows) => {
    const { database, ids } = await withPrepare(() => ({ prepare: () => Promise.reject(error) }));
    const result = await settleOrExplain(database, [sampleOutcome(ids)], sampleNow);
    expect(result).toEqual({ kind: 'down', message, mayHaveRows });
  });

  it('charges no workspace that is gone, keeps no row of it, and tries once', async () => {
    let attempts = 0;
    const { database, queries, ids } = await withPrepare((prepare) => ({
      prepare: async (rows) => {
        attempts += 1;
        return (await prepare(rows)).map((entry) => ({
          ...entry,
          request: { ...entry.request, workspaceId: 'ws_gone' },
        }));
      },
    }));
    expect(await settleOrExplain(database, [sampleOutcome(ids)], sampleNow)).toEqual({
      ...{ kind: 'settled', balances: [], spendings: [] },
      refused: [{ index: 0, message: 'there is no workspace ws_gone to charge' }],
    });
    expect(attempts).toBe(1);
    expect(await listRequests(queries, {}, 10)).toEqual([]);
  });

  it('writes the good rows of a batch and names the bad one', async () => {
    const { database, queries, ids } = await sampleDatabase();
    const rows = ['a', 'b', 'c'].map((requestId) => sampleOutcome({ ...ids, requestId, cost: 1n }));
    const stranger = sampleOutcome({ ...ids, requestId: 'b', workspaceId: 'ws_nobody' });
    expect(await settleOrExplain(database, rows.with(1, stranger), Date.now())).toMatchObject({
      kind: 'settled',
      balances: [[ids.workspaceId, 9_999_999_999_998n]],
      spendings: [1, 2].map(() => ({ on: { keyId: ids.keyId }, day: sampleNow, amount: 1n })),
      refused: [{ index: 1, message: expect.stringMatching(/not of the workspace ws_nobody/) }],
    });
    expect((await listRequests(queries, {}, 10)).map(({ requestId }) => requestId).toSorted()).toEqual(['a', 'c']);
  });

  it('says that the database is down when another process lets nobody write, and the rows can be settled later', async () => {
    const { location, queries, ids } = await sampleDatabase();
    const impatient = await openDatabase(location, { missing: 'refuse', user: 'service' });
    const rows = ['a', 'b'].map((requestId) => sampleOutcome({ ...ids, requestId }));
    const { release } = await lockedByAnother(location);
    expect(await settleOrExplain(impatient, rows, Date.now())).toMatchObject({ kind: 'down', mayHaveRows: false });
    await release();

    expect(await settleOrExplain(impatient, rows, Date.now())).toMatchObject({ kind: 'settled', refused: [] });
    await impatient.close();
    expect(await listRequests(queries, {}, 10)).toHaveLength(2);
  });
});
