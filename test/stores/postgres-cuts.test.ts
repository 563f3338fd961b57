import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { addCredit } from '../../src/books/accounts/credits.ts';
import { createKey } from '../../src/books/accounts/keys.ts';
import { openDatabase } from '../../src/books/databases/open-database.ts';
import { createWorkspace, findWorkspace } from '../../src/books/accounts/workspaces.ts';
import { settleOrExplain } from '../../src/books/ledger/settle-batch.ts';
import { differencesIn } from '../support/ledger-differences.ts';
import { type Cut, type PostgresProxy, startPostgresProxy } from '../support/postgres-proxy.ts';
import { sampleAuthor, sampleDatabase, temporaryFolder } from '../support/sample-database.ts';
import { sampleOutcome } from '../support/sample-outcome.ts';
import { runWeir } from '../support/run-weir.ts';
import { databaseUrl, storeAt } from '../support/sample-store.ts';

/** A database with two workspaces, behind a proxy that cuts connections. `near` is the same database without the proxy. */
async function behindProxy() {
  const near = await sampleDatabase();
  const other = await createWorkspace(near.queries, { name: 'other', credit: 0n, maxInFlight: 1 }, sampleAuthor);
  const { key } = await createKey(near.queries, { workspace: 'other', rate: 1, burst: 1 }, sampleAuthor);
  const proxy = await startPostgresProxy(Number(new URL(inject('postgres') ?? '').port));
  onTestFinished(proxy.close);
  const location = { kind: 'postgres', url: proxy.through(databaseUrl(near.location)) } as const;
  const owners = [near.ids, { workspaceId: other.id, keyId: key.id }];
  return { near, proxy, location, owners };
}

/** Has each statement of an operation cut, one after the other, until the operation has no more. Gives what was cut. */
async function atEachStatement(
  proxy: PostgresProxy,
  when: Cut['when'],
  operation: (turn: number) => Promise<void>,
  /** Makes the connection again that was cut, and all that is made with it: the statements then are the same in each turn. */
  before: (turn: number) => Promise<void> = () => Promise.resolve(),
): Promise<readonly string[]> {
  const cuts: string[] = [];
  for (let statement = 1; ; statement += 1) {
    await before(statement);
    proxy.arm({ statement, when });
    await operation(statement);
    const cut = proxy.disarm();
    if (cut === undefined) return cuts;
    cuts.push(cut);
  }
}

const moments = ['before', 'after'] as const;

const statementsOfSettlement = [
  ...[/^insert into "ledger_models"/, /attach partition/, /^start transaction/, /^insert into requests/],
  ...[/for no key update$/, /^update workspaces set balance/, /insert into spending/],
  ...[/^insert into usage_hours/, /^insert into usage_days/, /^commit/],
];

describe.each(moments)('a connection that is cut %s any statement', (when) => {
  it('of a settlement: each row is acknowledged, written once and charged once', async () => {
    const { near, proxy, location, owners } = await behindProxy();
    const store = await storeAt(location);
    await expect.poll(() => store.upkeep().upkeep.doneAt).toBeDefined();
    const settled: string[] = [];
    const settle = async (name: string, startedAt: number): Promise<void> => {
      await Promise.all(
        owners.map(async (owner, index) => {
          const requestId = `${name}-${index}`;
          const of = { modelId: `model-${name}`, routeId: `model-${name}@a`, startedAt };
          await store.settle(sampleOutcome({ ...owner, ...of, requestId, cost: 7n }));
          settled.push(requestId);
        }),
      );
      await expect.poll(() => store.status()).toMatchObject({ database: 'up', journalBytes: 0 });
    };
    const cuts = await atEachStatement(
      proxy,
      when,
      // A model, a route and a month of its own, so that their names and the partition are made, too.
      (turn) => settle(`r${turn}`, Date.UTC(2000, turn, 1)),
      (turn) => settle(`before-r${turn}`, Date.UTC(2000, 0, 1)),
    );
    for (const [index, statement] of statementsOfSettlement.entries()) {
      // A busy machine settles rows in other batches, which shifts the numbers of statements. Then a turn misses a statement.
      if (cuts.some((cut) => statement.test(cut))) continue;
      await settle(`before-missed-${index}`, Date.UTC(2000, 0, 1));
      proxy.arm({ statement, when });
      await settle(`missed-${index}`, Date.UTC(2010, index, 1));
      expect(proxy.disarm(), String(statement)).toMatch(statement);
    }
    const rows = await near.queries.selectFrom('requests').select('request_text').execute();
    expect(rows.map((row) => row.request_text).toSorted()).toEqual(settled.toSorted());
    expect(await differencesIn(near.database)).toEqual([]);
    const { balance } = await findWorkspace(near.queries, 'acme');
    expect(balance).toBe(near.workspace.balance - 7n * BigInt(settled.length / 2));
  });

  it('of a credit or a correction: tried again with its idempotency key, it is there once', async () => {
    const { near, proxy, location } = await behindProxy();
    const database = await openDatabase(location, { missing: 'refuse', user: 'operator' });
    onTestFinished(() => database.close());
    let expected = near.workspace.balance;
    for (const amount of [5n, -3n]) {
      const cuts = await atEachStatement(proxy, when, async (turn) => {
        const credit = { amount, note: 'a reason', idempotencyKey: `${amount}-${turn}` };
        const add = () => addCredit(database.queries, 'acme', credit, sampleAuthor);
        await add().catch(add);
        expected += amount;
        expect((await findWorkspace(near.queries, 'acme')).balance).toBe(expected);
      });
      expect(cuts.length).toBeGreaterThan(5);
    }
    expect(await differencesIn(near.database)).toEqual([]);
  });
});

describe('a settlement whose connection is cut', () => {
  it.each([
    ['before', /^start transaction/, false],
    ['before', /^insert into requests/, false],
    ['after', /^insert into requests/, false],
    ['before', /^commit/, true],
    ['after', /^commit/, true],
  ] as const)('%s %s: whether the database may have its rows is %s', async (when, statement, mayHaveRows) => {
    const { near, proxy, location } = await behindProxy();
    const database = await openDatabase(location, { missing: 'refuse', user: 'service' });
    onTestFinished(() => database.close());
    const settle = (requestId: string) =>
      settleOrExplain(database, [sampleOutcome({ ...near.ids, requestId, cost: 7n })], Date.now());
    // Makes the partition and the names, which are commits, too.
    expect(await settle('before')).toMatchObject({ kind: 'settled' });
    proxy.arm({ statement, when });
    expect(await settle('a')).toMatchObject({ kind: 'down', mayHaveRows });
    expect(proxy.disarm()).toMatch(statement);
    await database.probe();
    expect(await settle('a')).toMatchObject({ kind: 'settled', refused: [] });
    expect((await findWorkspace(near.queries, 'acme')).balance).toBe(near.workspace.balance - 14n);
  });

  it('after its commit, while the journal cannot be written: the row is acknowledged and charged once', async () => {
    const { near, proxy, location } = await behindProxy();
    const journal = join(temporaryFolder(), 'journal');
    const messages: (string | undefined)[] = [];
    const store = await storeAt(location, { journal, onStatus: ({ message }) => messages.push(message) });
    const settle = (requestId: string) => store.settle(sampleOutcome({ ...near.ids, requestId, cost: 7n }));
    await settle('before');
    // The commits of the upkeep would be cut, too.
    await expect.poll(() => store.upkeep().upkeep.doneAt).toBeDefined();
    rmSync(join(journal, '0'), { recursive: true });
    proxy.arm({ statement: /^commit/, when: 'after' });
    await settle('a');
    expect(proxy.disarm()).toBe('commit');
    expect(messages).toContainEqual(expect.stringContaining('the journal: ENOENT'));
    await expect.poll(() => store.status().database).toBe('up');
    expect(await near.queries.selectFrom('requests').select('request_text').execute()).toHaveLength(2);
    expect((await findWorkspace(near.queries, 'acme')).balance).toBe(near.workspace.balance - 14n);
    mkdirSync(join(journal, '0'));
  });
});

// Most statements are transactions of their own, so the server is left as by a cut before the next one.
it('a connection that is cut after any statement of retention: what was dropped is in the rollups, and the next round ends the work', async () => {
  const { near, proxy, location } = await behindProxy();
  const statements = [
    ...[/pg_try_advisory_lock/, /kept_since|^select "value" from "ledger_state"/, /from "?requests"?/],
    ...[/^begin/, /pg_advisory_xact_lock/, /^insert into "ledger_state"/, /^commit/, /to_regclass/],
    ...[/detach partition/, /^drop table/, /pg_advisory_unlock/],
  ];
  // One more month is too old in each round.
  const months = statements.length + 1;
  await near.settle(
    Array.from({ length: months }, (_, month) =>
      sampleOutcome({ ...near.ids, requestId: `r${month}`, startedAt: Date.UTC(2000, month, 3), cost: 5n }),
    ),
  );
  const database = await openDatabase(location, { missing: 'refuse', user: 'operator' });
  onTestFinished(() => database.close());
  const now = Date.UTC(2000, months, 2);
  const reports: string[] = [];
  const keepUp = async (retentionDays: number): Promise<void> => {
    const upkeep = database.beginUpkeep({ retentionDays, now: () => now, report: (text) => void reports.push(text) });
    try {
      while ((await upkeep.steps.next()).value !== 'done');
    } finally {
      await upkeep.stop();
    }
  };
  for (const [index, statement] of statements.entries()) {
    const retentionDays = (now - Date.UTC(2000, index + 1, 1)) / 86_400_000;
    proxy.arm({ statement, when: 'after' });
    await expect(keepUp(retentionDays), String(statement)).rejects.toThrow(/connection/i);
    expect(proxy.disarm()).toMatch(statement);
    expect(await differencesIn(near.database)).toEqual([]);
    // The server may take a moment to notice that a connection has ended, which had the lock of upkeep.
    const kept = async () => {
      await keepUp(retentionDays);
      return near.queries.selectFrom('requests').select('request_text').execute();
    };
    await expect.poll(kept).toHaveLength(months - index - 1);
  }
  expect(await differencesIn(near.database)).toEqual([]);
  expect(reports).toEqual([]);
  const days = await near.queries.selectFrom('usage_days').select('requests').execute();
  expect(days.reduce((sum, { requests }) => sum + requests, 0n)).toBe(BigInt(months));
});

describe('a credit whose connection is cut when it was committed', () => {
  const lost = { statement: /^commit/, when: 'after' } as const;

  it('is added once by the command, which tries again', async () => {
    const { near, proxy, location } = await behindProxy();
    proxy.arm(lost);
    const env = { WEIR_DATABASE_URL: databaseUrl(location) };
    expect(await runWeir(['workspace', 'credit', 'acme', '5'], { env })).toMatchObject({ code: 0, stderr: '' });
    expect(proxy.disarm()).toBe('commit');
    expect((await findWorkspace(near.queries, 'acme')).balance).toBe(15_000_000_000_000n);
    expect(await differencesIn(near.database)).toEqual([]);
  });

  it('would be added twice without an idempotency key', async () => {
    const { near, proxy, location } = await behindProxy();
    const database = await openDatabase(location, { missing: 'refuse', user: 'operator' });
    onTestFinished(() => database.close());
    proxy.arm(lost);
    const add = () =>
      addCredit(database.queries, 'acme', { amount: 5_000_000_000_000n, note: undefined }, sampleAuthor);
    await expect(add()).rejects.toThrow('Connection terminated');
    await add();
    expect((await findWorkspace(near.queries, 'acme')).balance).toBe(20_000_000_000_000n);
  });
});

it.each(moments)(
  'of many connections that are cut %s their first statement, none takes a place in the pool',
  async (when) => {
    const { proxy, location } = await behindProxy();
    const database = await openDatabase(location, { missing: 'refuse', user: 'service' });
    onTestFinished(() => database.close());
    for (let cut = 1; cut <= 4; cut += 1) {
      proxy.arm({ statement: 1, when });
      // Drops what is open, so that the statement that is cut is the first one of a new connection.
      await expect(database.probe()).rejects.toThrow(/terminated/);
      expect(proxy.disarm()).toContain('synchronous_commit');
    }
    await database.probe();
  },
);

it('every connection waits for the disk, also of a server that is set not to', async () => {
  const near = await sampleDatabase();
  const url = new URL(databaseUrl(near.location));
  url.searchParams.set('options', `${url.searchParams.get('options') ?? ''} -c synchronous_commit=off`);
  const location = { kind: 'postgres', url: url.href.replaceAll('+', '%20') } as const;
  for (const user of ['service', 'operator'] as const) {
    const database = await openDatabase(location, { missing: 'refuse', user });
    onTestFinished(() => database.close());
    const { rows } = await sql<{ synchronous_commit: string }>`show synchronous_commit`.execute(database.queries);
    expect(rows).toEqual([{ synchronous_commit: 'on' }]);
  }
});
