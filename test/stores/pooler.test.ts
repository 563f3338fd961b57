/** A database behind PgBouncer in transaction mode, and a database of several hosts. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { Client } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { createKey } from '../../src/books/accounts/keys.ts';
import { createWorkspace, findWorkspace } from '../../src/books/accounts/workspaces.ts';
import { openDatabase } from '../../src/books/databases/open-database.ts';
import { postgresConnections } from '../../src/books/databases/postgres/connections.ts';
import { freePort } from '../support/free-port.ts';
import { differencesIn } from '../support/ledger-differences.ts';
import { startPgBouncer } from '../support/pgbouncer.ts';
import { startPostgres } from '../support/postgres.ts';
import { sampleAuthor } from '../support/sample-database.ts';
import { sampleOutcome } from '../support/sample-outcome.ts';
import { storeAt } from '../support/sample-store.ts';
import { forFile } from '../support/for-file.ts';

// A server whose commits are not durable by themselves.
const server = await forFile(startPostgres({ synchronous_commit: 'off' }));
const pooler = await forFile(startPgBouncer(server.port));

it('refuses a limit of time as a parameter of the connection', async () => {
  const connectionString = pooler.through(await server.database('refusing'));
  const client = new Client({ connectionString, statement_timeout: 4000 });
  client.on('error', () => undefined);
  await expect(client.connect()).rejects.toThrow('unsupported startup parameter: statement_timeout');
});

it('serves commands, settlements and upkeep', async () => {
  const url = pooler.through(await server.database('pooled'));
  const location = { kind: 'postgres', url } as const;
  const database = await openDatabase(location, { missing: 'create', user: 'operator' });
  onTestFinished(() => database.close());
  const workspace = await createWorkspace(
    database.queries,
    { name: 'acme', credit: 100n, maxInFlight: 1 },
    sampleAuthor,
  );
  const { key } = await createKey(database.queries, { workspace: 'acme', rate: 1, burst: 1 }, sampleAuthor);
  const stores = await Promise.all([storeAt(location), storeAt(location)]);
  const owner = { workspaceId: workspace.id, keyId: key.id };
  await Promise.all(
    stores.flatMap((store, number) =>
      Array.from({ length: 4 }, (_, index) =>
        store.settle(sampleOutcome({ ...owner, requestId: `r${number}-${index}`, cost: 7n })),
      ),
    ),
  );
  for (const store of stores) {
    await expect.poll(() => store.status()).toMatchObject({ database: 'up', journalBytes: 0 });
    await expect.poll(() => store.upkeep().upkeep.doneAt).toBeDefined();
  }
  expect((await findWorkspace(database.queries, 'acme')).balance).toBe(100n - 56n);
  expect(await differencesIn(database)).toEqual([]);
});

it('has each transaction set its limits and its durable commit, and leaves nothing on the connections of others', async () => {
  const url = pooler.through(await server.database('settings'));
  const connections = postgresConnections(url);
  const pool = connections.pool(1);
  const client = await pool.connect();
  expect(connections.transactionSettings('bounded')).toBeDefined();
  await client.query('begin', []);
  await client.query(connections.transactionSettings('bounded') ?? '', []);
  const shown = `select current_setting('statement_timeout') as timeout, current_setting('synchronous_commit') as durable`;
  expect((await client.query(shown, [])).rows).toEqual([{ timeout: '4s', durable: 'on' }]);
  await client.query('commit', []);
  expect((await client.query(shown, [])).rows).toEqual([{ timeout: '0', durable: 'off' }]);
  client.release();
  await pool.end();
});

it('without a pooler, a connection has its limits from the beginning', async () => {
  const connections = postgresConnections(await server.database('direct'));
  const pool = connections.pool(1);
  const client = await pool.connect();
  const shown = `select current_setting('lock_timeout') as lock, current_setting('synchronous_commit') as durable`;
  expect((await client.query(shown, [])).rows).toEqual([{ lock: '2s', durable: 'on' }]);
  expect(connections.transactionSettings('bounded')).toBeUndefined();
  client.release();
  await pool.end();
});

it('of several hosts uses the first one that can be written', async () => {
  const standby = await startPostgres({ default_transaction_read_only: 'on' });
  onTestFinished(standby.close);
  const name = new URL(await server.database('hosts')).pathname.slice(1);
  await standby.query(`begin read write; create database ${name}`).catch(() => undefined);
  const closed = await freePort();
  const places = [closed, standby.port, server.port].map((port) => `127.0.0.1:${port}`).join(',');
  const location = {
    kind: 'postgres',
    url: `postgres://weir@${places}/${name}?target_session_attrs=read-write`,
  } as const;
  const database = await openDatabase(location, { missing: 'create', user: 'operator' });
  onTestFinished(() => database.close());
  await createWorkspace(database.queries, { name: 'acme', credit: 5n, maxInFlight: 1 }, sampleAuthor);
  expect((await findWorkspace(database.queries, 'acme')).balance).toBe(5n);
});

it('of several hosts names all, where none can be used', async () => {
  const hung = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(hung, 'listening');
  onTestFinished(() => void hung.close());
  const url = `postgres://weir:secret@127.0.0.1:${await freePort()},localhost:${(hung.address() as { port: number }).port}/db`;
  const opened = openDatabase({ kind: 'postgres', url }, { missing: 'create', user: 'operator' });
  await expect(opened).rejects.toThrow(/the PostgreSQL database db at 127\.0\.0\.1:\d+, localhost:\d+/);
  await expect(opened).rejects.not.toThrow('secret');
});
