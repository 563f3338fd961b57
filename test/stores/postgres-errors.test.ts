import { sql } from 'kysely';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { OpenStore } from '../../src/books/store/connect-store.ts';
import { settleOrExplain } from '../../src/books/ledger/settle-batch.ts';
import type { StoreStatus } from '../../src/books/store/worker-message.ts';
import { differencesIn } from '../support/ledger-differences.ts';
import { startPostgres } from '../support/postgres.ts';
import { sampleDatabase } from '../support/sample-database.ts';
import { sampleOutcome } from '../support/sample-outcome.ts';
import { databaseUrl, storeAt } from '../support/sample-store.ts';
import { untilHolds } from '../support/until-holds.ts';

type Sample = Awaited<ReturnType<typeof sampleDatabase>>;

/** A store, what it says about the database, and what settles a request. */
async function openedStore(sample: Sample) {
  const told: StoreStatus[] = [];
  const store = await storeAt(sample.location, { onStatus: (status) => told.push(status) });
  await untilHere(store);
  const settle = (requestId: string) => store.settle(sampleOutcome({ ...sample.ids, requestId, cost: 7n }));
  return { store, told, settle };
}

async function untilHere(store: OpenStore): Promise<void> {
  await expect.poll(() => store.status()).toMatchObject({ database: 'up', journalBytes: 0 });
}

async function expectBilledOnce({ database, queries, workspace }: Sample, ids: readonly string[]): Promise<void> {
  const rows = await queries.selectFrom('requests').select('request_text').execute();
  expect(rows.map((row) => row.request_text).toSorted()).toEqual(ids.toSorted());
  const { balance } = await queries.selectFrom('workspaces').select('balance').executeTakeFirstOrThrow();
  expect(balance).toBe(workspace.balance - 7n * BigInt(ids.length));
  expect(await differencesIn(database)).toEqual([]);
}

/** Ends all other connections to the database of the queries. */
async function sendAllAway({ queries }: Pick<Sample, 'queries'>): Promise<void> {
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`.execute(queries);
}

describe('a settlement that PostgreSQL answers with an error of its own', () => {
  it.each([
    ['53100', 'could not extend file: No space left on device'],
    ['53200', 'out of memory'],
    ['57014', 'canceling statement due to statement timeout'],
    ['55P03', 'canceling statement due to lock timeout'],
    ['25006', 'cannot execute UPDATE in a read-only transaction'],
    ['57P01', 'terminating connection due to administrator command'],
    ['58030', 'could not fsync file'],
    ['42501', 'permission denied for table workspaces'],
    ['XX001', 'invalid page in block 0 of relation'],
  ])('%s: keeps the row, says why, and writes it once afterwards', async (code, message) => {
    const sample = await sampleDatabase();
    const { store, told, settle } = await openedStore(sample);
    await settle('before');
    await sql`create function fail() returns trigger language plpgsql as ${sql.lit(
      `begin raise exception '${message}' using errcode = '${code}'; end`,
    )}`.execute(sample.queries);
    await sql`create trigger fail before update on workspaces execute function fail()`.execute(sample.queries);
    await settle('during');
    expect(store.status()).toMatchObject({ database: 'down', reason: message });
    expect(told.filter((status) => status.message === message)).toHaveLength(1);
    await sql`drop trigger fail on workspaces`.execute(sample.queries);
    await untilHere(store);
    await settle('after');
    await expectBilledOnce(sample, ['before', 'during', 'after']);
  });

  it('that ends its connection inside the transaction: names the cause, not that nothing can be rolled back then', async () => {
    const sample = await sampleDatabase();
    const { store, settle } = await openedStore(sample);
    await sql`create function fail() returns trigger language plpgsql as ${sql.lit(
      'begin perform pg_terminate_backend(pg_backend_pid()); return null; end',
    )}`.execute(sample.queries);
    await sql`create trigger fail before update on workspaces execute function fail()`.execute(sample.queries);
    await settle('during');
    expect(store.status().reason).toBe('terminating connection due to administrator command');
    await sql`drop trigger fail on workspaces`.execute(sample.queries);
    await untilHere(store);
    await expectBilledOnce(sample, ['during']);
  });

  it.each([
    ['23514', 'refused for good', { kind: 'settled', refused: [{ index: 0, message: 'at its commit' }] }],
    ['40001', 'surely not there', { kind: 'down', message: 'at its commit', mayHaveRows: false }],
    ['53100', 'perhaps there', { kind: 'down', mayHaveRows: true }],
  ])('%s at its commit: the row is %s', async (code, _, result) => {
    const sample = await sampleDatabase();
    await sql`create function fail() returns trigger language plpgsql as ${sql.lit(
      `begin raise exception 'at its commit' using errcode = '${code}'; end`,
    )}`.execute(sample.queries);
    await sql`create constraint trigger fail after update on workspaces deferrable initially deferred
      for each row execute function fail()`.execute(sample.queries);
    const row = sampleOutcome({ ...sample.ids, requestId: 'a' });
    expect(await settleOrExplain(sample.database, [row], Date.now())).toMatchObject(result);
    await sql`drop trigger fail on workspaces`.execute(sample.queries);
    await expectBilledOnce(sample, []);
  });

  it.each(['40001', '40P01'])('%s: tries again at once, and says nothing', async (code) => {
    const sample = await sampleDatabase();
    const { told, settle } = await openedStore(sample);
    told.length = 0;
    await sql`create sequence tries`.execute(sample.queries);
    await sql`create function fail() returns trigger language plpgsql as ${sql.lit(
      `begin if nextval('tries') <= 3 then raise exception 'conflict' using errcode = '${code}'; end if; return null; end`,
    )}`.execute(sample.queries);
    await sql`create trigger fail before update on workspaces execute function fail()`.execute(sample.queries);
    await settle('a');
    expect(told).toEqual([]);
    await expectBilledOnce(sample, ['a']);
  });
});

describe('a server', () => {
  it('that ends all connections is connected to again, whether requests are under way or not', async () => {
    const sample = await sampleDatabase();
    const { store, settle } = await openedStore(sample);
    const settled: string[] = [];
    for (let round = 0; round < 5; round += 1) {
      const ids = Array.from({ length: 20 }, (_, index) => `r${round}-${index}`);
      const settling = Promise.all(ids.map(settle));
      await sendAllAway(sample);
      await settling;
      settled.push(...ids);
    }
    await untilHere(store);
    await expectBilledOnce(sample, settled);
  });

  it('that has become a standby keeps rows in the journal and is named as one, until it is written to again', async () => {
    const sample = await sampleDatabase();
    const { store, told, settle } = await openedStore(sample);
    const name = sql.ref(new URL(databaseUrl(sample.location)).pathname.slice(1));
    await sql`alter database ${name} set default_transaction_read_only = on`.execute(sample.queries);
    try {
      await sendAllAway(sample);
      await settle('a');
      const reason = 'the server only reads: it is a standby';
      await expect.poll(() => store.status().reason).toBe(reason);
      // It is in the log once.
      expect(told.filter(({ message }) => message === reason)).toHaveLength(1);
      // The reason stays while the journal grows.
      await settle('b');
      expect(store.status()).toMatchObject({ database: 'down', reason });
    } finally {
      await sql`set default_transaction_read_only = off`.execute(sample.queries);
      await sql`alter database ${name} reset default_transaction_read_only`.execute(sample.queries);
    }
    await untilHere(store);
    await expectBilledOnce(sample, ['a', 'b']);
  });

  it('that has no connection left is named as such, and is connected to when it has', async () => {
    const server = await startPostgres({ max_connections: '12', superuser_reserved_connections: '0' });
    onTestFinished(server.close);
    const url = await server.database('few');
    const sample = await sampleDatabase('10', { kind: 'postgres', url });
    const { store, told, settle } = await openedStore(sample);
    const others: Client[] = [];
    const takeAll = async (): Promise<void> => {
      for (;;) {
        const other = new Client({ connectionString: server.url });
        other.on('error', () => undefined);
        try {
          await other.connect();
        } catch {
          return;
        }
        others.push(other);
      }
    };
    const ofStore = sql`from pg_stat_activity where application_name = 'weir' and pid <> pg_backend_pid()`;
    await untilHolds(async () => {
      await sql`select pg_terminate_backend(pid) ${ofStore}`.execute(sample.queries);
      await takeAll();
      expect((await sql`select 1 ${ofStore}`.execute(sample.queries)).rows).toEqual([]);
    });
    await settle('a');
    await expect.poll(() => store.status().reason).toMatch(/too many clients|reserved/);
    expect(told).toContainEqual(expect.objectContaining({ message: store.status().reason }));
    await Promise.all(others.map((other) => other.end()));
    await untilHere(store);
    await expectBilledOnce(sample, ['a']);
  });
});
