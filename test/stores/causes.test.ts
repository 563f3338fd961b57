import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer as createPlainServer } from 'node:net';
import { createServer } from 'node:tls';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { DependencyCause } from '../../src/core/dependency-cause.ts';
import { dependencyCauseOf } from '../../src/core/dependency-cause.ts';
import { createAddressGate, blockMs, tolerated, windowMs } from '../../src/gateway/admission/address-gate.ts';
import { openDatabase } from '../../src/books/databases/open-database.ts';
import { shareBlocks } from '../../src/gateway/rate-limits/shared-blocks.ts';
import { systemClock } from '../../src/process/clock.ts';
import { freePort } from '../support/free-port.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';
import { selfSigned } from '../support/self-signed.ts';
import { startValkey, type TestValkey } from '../support/valkey.ts';
import { type Replica, startReplica } from './support/replica.ts';

// Why real stores fail the gateway, by the errors that their clients throw.

const folder = mkdtempSync(join(tmpdir(), 'weir-causes-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('PostgreSQL', () => {
  let server: Postgres;
  const at = (login: string, rest = 'postgres'): string => `postgres://${login}@127.0.0.1:${server.port}/${rest}`;

  beforeAll(async () => {
    const rules = join(folder, 'pg_hba.conf');
    const hosts = ['weir trust', 'plain trust', 'reader trust', 'full trust', 'secret scram-sha-256'];
    writeFileSync(rules, hosts.map((rule) => `host all ${rule.replace(' ', ' 127.0.0.1/32 ')}\n`).join(''));
    writeFileSync(join(folder, 'ca.pem'), selfSigned.certificate);
    // The server runs as another user.
    (await import('node:fs')).chmodSync(folder, 0o755);
    server = await startPostgres({ hba_file: `'${rules}'` });
    await server.query(`create role secret login password 'right'; create role plain login;
      create role reader login superuser; alter role reader set default_transaction_read_only = on;
      create role full login superuser connection limit 0`);
    await server.query('alter role full nosuperuser');
  });
  afterAll(() => server.close());

  async function causeAt(url: string): Promise<DependencyCause | undefined> {
    const opening = openDatabase({ kind: 'postgres', url }, { missing: 'create', user: 'service' });
    const failure = await opening.then(
      (database) => database.close(),
      (error: unknown) => error,
    );
    return failure === undefined ? undefined : dependencyCauseOf(failure);
  }

  it.each<readonly [string, () => string | Promise<string>, DependencyCause]>([
    ['a wrong password', () => at('secret:wrong'), 'credential-refused'],
    ['no password', () => at('secret'), 'credential-refused'],
    ['a user that it does not admit', () => at('stranger'), 'not-admitted'],
    ['no such database', () => at('weir', 'nothing'), 'no-such-database'],
    ['no rights', () => at('plain'), 'no-permission'],
    ['a role that only reads', () => at('reader'), 'read-only'],
    ['no primary', () => at('reader', 'postgres?target_session_attrs=read-write'), 'read-only'],
    ['no connection left', () => at('full'), 'too-many-connections'],
    ['TLS that it does not speak', () => at('weir', 'postgres?sslmode=require'), 'no-tls'],
    ['no such host', () => 'postgres://weir@no-such-host.invalid/postgres', 'no-such-host'],
    ['a closed port', async () => `postgres://weir@127.0.0.1:${await freePort()}/postgres`, 'connection-refused'],
  ])('%s', async (_, url, cause) => {
    expect(await causeAt(await url())).toBe(cause);
  });

  it('a certificate that does not do', async () => {
    await server.secure(selfSigned);
    await expect.poll(() => causeAt(at('weir', 'postgres?sslmode=verify-full'))).toBe('certificate-unknown-authority');
    const trusting = `sslmode=verify-full&sslrootcert=${encodeURIComponent(join(folder, 'ca.pem'))}`;
    expect(await causeAt(`postgres://weir@127.0.0.2:${server.port}/postgres?${trusting}`)).toBe('connection-refused');
    expect(await causeAt(at('plain', `postgres?${trusting}`))).toBe('no-permission');
  });

  it('a shutdown, and the start after it', async () => {
    const client = new Client({ connectionString: server.url });
    await client.connect();
    const ended = once(client, 'error');
    client.on('error', () => undefined);
    await server.stop();
    expect(dependencyCauseOf((await ended)[0])).toBe('ending');
    expect(await causeAt(server.url)).toBe('connection-refused');
    await server.start();
  });
});

describe('Valkey', () => {
  let valkey: TestValkey;
  let port: number;
  let replicas: Replica[] = [];
  const at = (login: string, scheme = 'redis'): string => `${scheme}://${login}@127.0.0.1:${port}`;

  beforeAll(async () => {
    valkey = await startValkey();
    port = await freePort();
    const users = [
      ['weir', 'on', '>right', '~*', '&*', '+@all'],
      ['silent', 'on', '>right', '~*', 'resetchannels', '+@all'],
      ['keyless', 'on', '>right', '~other:*', '&*', '+@all'],
      ['mute', 'on', '>right', '~*', '&*', '+@all', '-evalsha', '-eval'],
    ];
    await valkey.ask(async (client) => {
      await client.config('SET', 'port', String(port));
      for (const [name = '', ...rules] of users) await client.call('ACL', 'SETUSER', name, ...rules);
    });
  });
  afterEach(async () => {
    await Promise.all(replicas.map(({ limits }) => limits.link.close()));
    replicas = [];
  });
  afterAll(() => valkey.close());

  function start(url: string): Replica {
    const replica = startReplica(url, { timeoutMs: 5_000 });
    replicas.push(replica);
    return replica;
  }

  async function expectCause(url: string, cause: DependencyCause): Promise<void> {
    const { limits } = start(url);
    await expect.poll(() => limits.link.failure()?.cause).toBe(cause);
    expect(limits.link.isUp()).toBe(false);
  }

  it.each<readonly [string, () => string | Promise<string>, DependencyCause]>([
    ['a wrong password', () => at('weir:wrong'), 'credential-refused'],
    ['no such user', () => at('nobody:right'), 'credential-refused'],
    ['no rights to the keys', () => at('keyless:right'), 'no-permission'],
    ['no rights to scripts', () => at('mute:right'), 'no-permission'],
    ['no such host', () => 'redis://no-such-host.invalid', 'no-such-host'],
    ['a closed port', async () => `redis://127.0.0.1:${await freePort()}`, 'connection-refused'],
    ['a socket that is not there', () => join(folder, 'nothing.sock'), 'connection-refused'],
    ['no cluster', () => `${at('weir:right')}?cluster`, 'no-cluster'],
  ])('%s', async (_, url, cause) => {
    await expectCause(await url(), cause);
  });

  it('a certificate of an unknown authority', async () => {
    const { certificate: cert, key } = selfSigned;
    const proxy = createServer({ cert, key }, (socket) => {
      socket.on('error', () => undefined);
      socket.pipe(connect(port, '127.0.0.1')).pipe(socket);
    });
    proxy.on('tlsClientError', () => undefined);
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    try {
      const { port: secure } = proxy.address() as AddressInfo;
      await expectCause(`rediss://weir:right@127.0.0.1:${secure}`, 'certificate-unknown-authority');
    } finally {
      await Promise.all(replicas.map(({ limits }) => limits.link.close()));
      replicas = [];
      proxy.close();
    }
  });

  it('plain text for TLS', async () => {
    const plain = createPlainServer((socket) => socket.on('error', () => undefined).end('-ERR what?\r\n'));
    await once(plain.listen(0, '127.0.0.1'), 'listening');
    const { port: plainPort } = plain.address() as AddressInfo;
    onTestFinished(() => void plain.close());
    await expectCause(`rediss://127.0.0.1:${plainPort}`, 'no-tls');
  });

  it('a replica, which takes no writes, until it is a primary', async () => {
    const primary = await freePort();
    await valkey.ask((client) => client.replicaof('127.0.0.1', primary));
    try {
      await expectCause(at('weir:right'), 'read-only');
    } finally {
      await valkey.ask((client) => client.replicaof('NO', 'ONE'));
    }
    await replicas[0]?.up();
    expect(replicas[0]?.limits.link.failure()).toBeUndefined();
  });

  it('no connection left', async () => {
    await valkey.ask(async (client) => {
      await client.config('SET', 'maxclients', '1');
      try {
        await expectCause(at('weir:right'), 'too-many-connections');
      } finally {
        await client.config('SET', 'maxclients', '10000');
      }
    });
    await replicas[0]?.up();
  });

  it('no right to the channel: addresses that are blocked are shared nevertheless', async () => {
    const gates = await Promise.all(
      ['silent:right', 'silent:right'].map(async (login) => {
        const replica = start(at(login));
        let tellOthers = (_: string): void => undefined;
        const gate = createAddressGate({ clock: systemClock, onFailure: (network) => tellOthers(network) });
        const link = replica.limits.common;
        tellOthers = shareBlocks({ link, tolerated, windowMs, blockMs, block: gate.block });
        await replica.up();
        return { gate, replica };
      }),
    );
    const address = '192.0.2.7';
    for (let count = 0; count <= tolerated; count += 1) gates[0]?.gate.failed(address);
    await expect.poll(() => gates.map(({ gate }) => gate.blockedMs(address) > 0)).toEqual([true, true]);
    // The channel's refusal is no reason to begin anew.
    expect(gates.map(({ replica }) => replica.changes)).toEqual([['up'], ['up']]);
  });
});
