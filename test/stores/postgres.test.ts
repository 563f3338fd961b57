import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../src/books/databases/open-database.ts';
import { hashKey } from '../../src/books/accounts/key-text.ts';
import { verifyLedger } from '../../src/books/ledger/verify-ledger.ts';
import { createWorkspace } from '../../src/books/accounts/workspaces.ts';
import { createKey } from '../../src/books/accounts/keys.ts';
import { startPostgres } from '../support/postgres.ts';
import { newLocation, sampleAuthor, sampleDatabase, temporaryFolder } from '../support/sample-database.ts';
import { sampleOutcome } from '../support/sample-outcome.ts';
import { databaseUrl, storeAt } from '../support/sample-store.ts';
import { selfSigned } from '../support/self-signed.ts';
import { runWeir } from '../support/run-weir.ts';

describe('the tables', () => {
  it('are made once when several open a new database at the same moment', async () => {
    const location = await newLocation();
    const opened = await Promise.all(
      Array.from({ length: 6 }, () => openDatabase(location, { missing: 'create', user: 'service' })),
    );
    const [first] = opened;
    const names = await first?.queries.selectFrom('workspaces').selectAll().execute();
    await Promise.all(opened.map((database) => database.close()));
    expect(names).toEqual([]);
  });

  it('are refused when a newer version made them, by commands and by a service', async () => {
    const { location, queries } = await sampleDatabase();
    await sql`insert into kysely_migration values ('9999-later', '2030-01-01T00:00:00.000Z')`.execute(queries);
    await expect(openDatabase(location, { missing: 'create', user: 'service' })).rejects.toThrow(
      'newer version of Weir (9999-later',
    );
    await expect(storeAt(location)).rejects.toThrow('newer version of Weir (9999-later');
    const { code, stderr } = await runWeir(['key', 'list'], { env: { WEIR_DATABASE_URL: databaseUrl(location) } });
    expect([code, stderr]).toEqual([1, expect.stringContaining('newer version of Weir')]);
  });
});

describe('several replicas', () => {
  it('settle into the same accounts at once, each request once, and nobody is in anybody’s way for good', async () => {
    const { location, queries, ids } = await sampleDatabase();
    const owners = [ids];
    for (const name of ['b', 'c', 'd']) {
      const workspace = await createWorkspace(queries, { name, credit: 0n, maxInFlight: 1 }, sampleAuthor);
      const { key } = await createKey(queries, { workspace: name, rate: 1, burst: 1 }, sampleAuthor);
      owners.push({ workspaceId: workspace.id, keyId: key.id });
    }
    const states: string[] = [];
    const onStatus = ({ database }: { readonly database: string }) => states.push(database);
    const replicas = await Promise.all([0, 1, 2].map(() => storeAt(location, { onStatus })));
    // Every request is settled by two of them, and each goes through the owners in another order.
    await Promise.all(
      replicas.flatMap((replica, index) =>
        Array.from({ length: 2_000 }, (_, turn) => {
          const number = (turn * (index + 7)) % 2_000;
          const owner = owners[(number + index) % owners.length];
          return replica.settle(
            sampleOutcome({ ...owner, requestId: `r${(number + index * 1_000) % 3_000}`, cost: 1n }),
          );
        }),
      ),
    );
    const { workspaces, spendingDifferences } = await verifyLedger(queries);
    expect(workspaces.reduce((sum, { requests }) => sum + requests, 0)).toBe(3_000);
    expect(workspaces.filter(({ balance, expected }) => balance !== expected)).toEqual([]);
    expect(spendingDifferences).toEqual([]);
    expect(new Set(states)).toEqual(new Set(['up']));
  });

  it('see within a second what another has settled on a balance and a budget', async () => {
    const { location, queries, ids, key, text } = await sampleDatabase();
    await queries
      .updateTable('keys')
      .set({ budget_limit: 100n, budget_period: 'day' })
      .where('id', '=', key.id)
      .execute();
    const [one, other] = [await storeAt(location), await storeAt(location)];
    const hash = hashKey(text);
    expect(await other.findCredential(hash)).toMatchObject({ spent: 0n });
    await one.settle(sampleOutcome({ ...ids, cost: 40n, startedAt: Date.now() }));
    await expect
      .poll(() => other.findCredential(hash))
      .toMatchObject({ spent: 40n, workspace: { balance: 9_999_999_999_960n } });
  });

  it('see a change that nobody announces, too', async () => {
    const { location, queries, key, text } = await sampleDatabase();
    const store = await storeAt(location);
    const hash = hashKey(text);
    // In use all the while, so that it is read again before anybody waits for it.
    const used = async () => (await store.findCredential(hash))?.key.status;
    expect(await used()).toBe('active');
    await queries.updateTable('keys').set({ status: 'suspended' }).where('id', '=', key.id).execute();
    await expect.poll(used).toBe('suspended');
  });

  it('notice that the server is away though nothing is asked of them, and that it is back', async () => {
    const server = await startPostgres();
    onTestFinished(server.close);
    const states: string[] = [];
    const url = await server.database('idle');
    const onStatus = ({ database }: { readonly database: string }) => states.push(database);
    await storeAt({ kind: 'postgres', url }, { onStatus });
    await expect.poll(() => states.at(-1)).toBe('up');
    await server.stop();
    await expect.poll(() => states.at(-1)).toBe('down');
    await server.start();
    await expect.poll(() => states.at(-1)).toBe('up');
  });

  it('hear of a command', async () => {
    const { location, key } = await sampleDatabase();
    const database = await openDatabase(location, { missing: 'refuse', user: 'service' });
    onTestFinished(database.close);
    let changes = 0;
    const watching = database.watch({ changed: () => (changes += 1), confirmed: () => undefined });
    onTestFinished(watching.stop);
    // Whoever begins to listen does not know what was said before.
    await expect.poll(() => changes).toBe(1);
    const env = { WEIR_DATABASE_URL: databaseUrl(location) };
    expect(await runWeir(['key', 'suspend', key.id], { env })).toMatchObject({ code: 0, stderr: '' });
    await expect.poll(() => changes).toBeGreaterThan(1);
  });
});

describe('the commands', () => {
  it('work on PostgreSQL as they do on a file', async () => {
    const env = { WEIR_DATABASE_URL: databaseUrl(await newLocation()) };
    const json = async (...args: readonly string[]): Promise<unknown> => {
      const { code, stdout, stderr } = await runWeir([...args, '--json'], { env });
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      return JSON.parse(stdout);
    };
    expect(await json('workspace', 'create', 'acme', '--credit', '25')).toMatchObject({ name: 'acme', balance: '25' });
    expect(await json('workspace', 'credit', 'acme', '0.000000000001')).toMatchObject({ balance: '25.000000000001' });
    const made = (await json('key', 'create', '--workspace', 'acme', '--budget', '5', '--period', 'week')) as {
      id: string;
    };
    expect(await json('key', 'list')).toMatchObject([{ id: made.id, budget: { limit: '5', period: 'week' } }]);
    expect(await json('key', 'budget', made.id, '--clear')).toMatchObject({ budget: null });
    expect(await json('key', 'revoke', made.id)).toMatchObject({ status: 'revoked' });
    expect(await json('usage')).toEqual([]);
    expect(await json('ledger', 'verify')).toMatchObject({ ok: true, workspaces: [{ balance: '25.000000000001' }] });
    const taken = await runWeir(['workspace', 'create', 'acme'], { env });
    expect([taken.code, taken.stderr]).toEqual([1, expect.stringContaining('already a workspace named "acme"')]);
  });
});

describe('a connection', () => {
  it('takes a Unix socket, and TLS as strict as the URL says', async () => {
    const folder = temporaryFolder();
    const server = await startPostgres();
    onTestFinished(server.close);
    const open = async (url: string) => {
      const database = await openDatabase({ kind: 'postgres', url }, { missing: 'create', user: 'service' });
      await database.close();
    };
    await open(server.socketUrl);
    await expect(open(`${server.url}?sslmode=require`)).rejects.toThrow('does not support SSL');

    const [certificate, key] = [join(folder, 'server.crt'), join(folder, 'server.key')];
    await server.secure(selfSigned);
    writeFileSync(certificate, selfSigned.certificate);
    writeFileSync(key, selfSigned.key);
    const local = server.url.replace('127.0.0.1', 'localhost');
    await open(`${local}?sslmode=require`);
    await open(`${local}?sslmode=verify-full&sslrootcert=${certificate}`);
    await expect(open(`${local}?sslmode=verify-full`)).rejects.toThrow(/self-signed|certificate/);
    await open(`${local}?sslmode=disable`);
  });

  it('that cannot be made is told without the password', async () => {
    const opening = (url: string) => openDatabase({ kind: 'postgres', url }, { missing: 'create', user: 'service' });
    const server = new URL(inject('postgres') ?? '');
    for (const [url, sentence] of [
      [
        `postgres://weir:secret@127.0.0.1:1/accounts`,
        'the PostgreSQL database accounts at 127.0.0.1:1: connect ECONNREFUSED',
      ],
      [`postgres://weir:secret@${server.host}/nowhere`, 'database "nowhere" does not exist'],
      [`postgres://nobody:secret@${server.host}/postgres`, 'role "nobody" does not exist'],
    ] as const) {
      await expect(opening(url)).rejects.toThrow(sentence);
      await expect(opening(url)).rejects.not.toThrow('secret');
    }
  });
});
