// @suite long
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { DatabaseLocation } from '../../src/books/databases/database.ts';
import { openDatabase } from '../../src/books/databases/open-database.ts';
import { hashKey } from '../../src/books/accounts/key-text.ts';
import { createKey } from '../../src/books/accounts/keys.ts';
import { verifyLedger } from '../../src/books/ledger/verify-ledger.ts';
import { createWorkspace } from '../../src/books/accounts/workspaces.ts';
import { startPostgres } from '../support/postgres.ts';
import { sampleAuthor, temporaryFolder } from '../support/sample-database.ts';
import { sampleOutcome } from '../support/sample-outcome.ts';
import { databaseUrl, storeAt } from '../support/sample-store.ts';
import { untilHolds } from '../support/until-holds.ts';
import { forFile } from '../support/for-file.ts';

const program = join(import.meta.dirname, '..', 'support', 'settle-until-killed.ts');

const server = await forFile(startPostgres());

let databases = 0;

/** A database with an account in it, on a server that may be killed. */
async function mortalServer() {
  const location: DatabaseLocation = { kind: 'postgres', url: await server.database(`weir_${(databases += 1)}`) };
  const database = await openDatabase(location, { missing: 'create', user: 'operator' });
  const workspace = await createWorkspace(database.queries, { name: 'acme', credit: 0n, maxInFlight: 1 }, sampleAuthor);
  const { key, text } = await createKey(database.queries, { workspace: 'acme', rate: 1, burst: 1 }, sampleAuthor);
  await database.close();
  const journal = join(temporaryFolder(), 'journal');
  return { location, journal, hash: hashKey(text), ids: { workspaceId: workspace.id, keyId: key.id } };
}

type Mortal = Awaited<ReturnType<typeof mortalServer>>;

/** A process that settles without end. `acknowledged` grows with every row that it was told is durable. */
function settler({ location, journal, ids }: Mortal, name: string) {
  const args = [program, databaseUrl(location), journal, ids.workspaceId, ids.keyId, name];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  const acknowledged: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line !== 'open') acknowledged.push(line);
  });
  const reaches = (count: number) => untilHolds(() => expect(acknowledged.length).toBeGreaterThanOrEqual(count), 5);
  const kill = async (): Promise<readonly string[]> => {
    child.kill('SIGKILL');
    await exit;
    return acknowledged;
  };
  return { acknowledged, reaches, kill };
}

/** Every acknowledged row is there, once; and the books agree to the last unit. Gives how many rows there are. */
async function expectTrueBooks({ location, journal }: Mortal, acknowledged: readonly string[]): Promise<number> {
  const heir = await storeAt(location, { journal });
  await expect.poll(() => heir.status()).toMatchObject({ database: 'up', journalBytes: 0 });
  await heir.close();
  const database = await openDatabase(location, { missing: 'refuse', user: 'operator' });
  const rows = await database.queries.selectFrom('requests').select('request_text').execute();
  const { workspaces, spendingDifferences } = await verifyLedger(database.queries);
  await database.close();
  const written = new Set(rows.map((row) => row.request_text));
  expect(acknowledged.filter((id) => !written.has(id))).toEqual([]);
  expect(new Set(acknowledged).size).toBe(acknowledged.length);
  expect(workspaces).toMatchObject([{ requests: rows.length, balance: -3n * BigInt(rows.length) }]);
  expect(workspaces[0]?.expected).toBe(workspaces[0]?.balance);
  expect(spendingDifferences).toEqual([]);
  return rows.length;
}

describe('no acknowledged row is lost, none is written twice and no money is taken without one', () => {
  it('when PostgreSQL is killed under load and comes back, twice', async () => {
    const mortal = await mortalServer();
    const process = settler(mortal, 'a');
    for (const count of [300, 900]) {
      await process.reaches(count);
      await server.kill();
      // Rows go on being acknowledged: the journal has them.
      await process.reaches(process.acknowledged.length + 300);
      await server.start();
      await process.reaches(process.acknowledged.length + 300);
    }
    const acknowledged = await process.kill();
    expect(await expectTrueBooks(mortal, acknowledged)).toBeGreaterThanOrEqual(1_500);
  });

  it('when the process is killed while PostgreSQL is away, and the next one while it settles what was left', async () => {
    const mortal = await mortalServer();
    const first = settler(mortal, 'a');
    await first.reaches(300);
    await server.kill();
    await first.reaches(first.acknowledged.length + 1_500);
    const acknowledged = [...(await first.kill())];

    const second = settler(mortal, 'b');
    await second.reaches(500);
    await server.start();
    await second.reaches(second.acknowledged.length + 40);
    acknowledged.push(...(await second.kill()));
    await expectTrueBooks(mortal, acknowledged);
  });

  it('when several replicas share the database and all are killed, again and again', async () => {
    const mortal = await mortalServer();
    const acknowledged: string[] = [];
    for (const life of ['a', 'b']) {
      const replicas = [0, 1].map((number) => settler(mortal, `${life}${number}`));
      await Promise.all(replicas.map((replica) => replica.reaches(200)));
      for (const replica of replicas) acknowledged.push(...(await replica.kill()));
    }
    await expectTrueBooks(mortal, acknowledged);
  });
});

describe('a service', () => {
  it('that starts while PostgreSQL is away has a secret of its own, and that of all replicas when it comes', async () => {
    const mortal = await mortalServer();
    const one = await storeAt(mortal.location);
    const shared = one.secret();
    await one.close();
    await server.kill();
    const store = await storeAt(mortal.location);
    expect(store.status().database).toBe('down');
    expect(store.secret()).toMatch(/^[0-9a-f]{64}$/);
    expect(store.secret()).not.toBe(shared);
    await server.start();
    await expect.poll(() => store.secret()).toBe(shared);
    await expect.poll(() => store.status().database).toBe('up');
  });

  it('starts while PostgreSQL is away, serves nobody it does not know, and is well when it comes', async () => {
    const mortal = await mortalServer();
    await server.kill();
    const store = await storeAt(mortal.location, { journal: mortal.journal });
    expect(store.status().database).toBe('down');
    await expect(Promise.resolve(store.findCredential(mortal.hash))).rejects.toMatchObject({ code: 'internal' });
    await store.settle(sampleOutcome({ ...mortal.ids, requestId: 'early', cost: 3n }));
    await server.start();
    await expect.poll(() => store.status().database).toBe('up');
    expect(await store.findCredential(mortal.hash)).toMatchObject({ workspace: { balance: -3n } });
    await store.close();
    await expectTrueBooks(mortal, ['early']);
  });

  it('is not held up by a server that says nothing any more', async () => {
    const mortal = await mortalServer();
    const store = await storeAt(mortal.location, { journal: mortal.journal });
    await store.findCredential(mortal.hash);
    await server.freeze();
    // The server says nothing until it is thawed below.
    await store.settle(sampleOutcome({ ...mortal.ids, requestId: 'a', cost: 3n }));
    expect(store.status().database).toBe('down');
    // The event loop turned all the while, and goes on to.
    await sleep(10);
    expect(store.findCredential(mortal.hash)).toMatchObject({ workspace: { balance: -3n } });
    await server.thaw();
    await store.close();
    await expectTrueBooks(mortal, ['a']);
  });
});
