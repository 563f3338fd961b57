// @suite waits
import { mkdirSync, mkdtempSync, rmSync, writeFileSync, chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Valkey } from 'iovalkey';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';
import { runWeir } from '../support/run-weir.ts';
import { selfSigned } from '../support/self-signed.ts';
import { newDataFolder, removeStarts, start } from '../support/start.ts';
import { giveTo, unprivilegedUser } from '../support/unprivileged-user.ts';
import { startValkey, type TestValkey } from '../support/valkey.ts';
import { backendManifest, modelManifest, startWeir, type Weir } from '../support/weir.ts';
import { engineCertificates } from './support/sabotages/engine-certificates.ts';
import { type Line, linesOf, untilLines, withinMs } from './support/sabotages/problem-lines.ts';
import { type SabotagedEngine, speak, startSabotagedEngine, well } from './support/sabotages/sabotaged-engine.ts';
import { mountSmallDisk, type SmallDisk } from './support/small-disk.ts';

// Every way in which a store breaks, one after the other on one gateway with callers: one line with its cause, and its end.

interface StoreSabotage {
  readonly name: string;
  readonly object: 'database' | 'valkey';
  /** A part of the line that names the cause. */
  readonly says: string;
  readonly breaks: () => Promise<unknown>;
  readonly repairs: () => Promise<unknown>;
}

const { key, authority, good, expired, otherName } = engineCertificates;
const folder = mkdtempSync(join(tmpdir(), 'weir-sabotages-'));
let server: Postgres;
let disk: SmallDisk | undefined;
let valkey: TestValkey;
/** Keeps its connection through every sabotage. */
let admin: Valkey;
let valkeyPort: number;
let engine: SabotagedEngine;
let weir: Weir;
/** The settings of the gateway for its stores. */
let stores: Readonly<Record<string, string>>;
/** The database of the gateway, by the operator's own name. */
let operatorUrl: string;

const catalogFile = 'catalog.yaml';
const catalogOf = (...names: readonly string[]): string =>
  names.map((name) => backendManifest(name, engine) + modelManifest(`test/${name}`, [name])).join('');

/** Changes the server with SQL, and has the gateway connect anew. */
const alter =
  (...statements: readonly string[]) =>
  async (): Promise<void> => {
    for (const statement of statements) await server.query(statement, operatorUrl);
    await server.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'gateway'");
  };
const showCertificate = (certificate: string, of: string) => async (): Promise<void> => {
  await server.secure({ certificate, key: of });
  await alter()();
};

async function configureValkey(): Promise<void> {
  admin = new Valkey(valkey.url);
  admin.on('error', () => undefined);
  await admin.config('SET', 'port', String(valkeyPort));
  await permit();
}

async function permit(...rules: readonly string[]): Promise<void> {
  await admin.call('ACL', 'SETUSER', 'gateway', 'reset', 'on', '>right', '~*', '&*', '+@all', ...rules);
  await admin.call('CLIENT', 'KILL', 'USER', 'gateway');
}

const setValkey = (name: string, value: string) => async (): Promise<void> => {
  await admin.config('SET', name, value);
  await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
};

const database = (
  name: string,
  says: string,
  [breaks, repairs]: readonly [StoreSabotage['breaks'], StoreSabotage['repairs']],
): StoreSabotage => ({ name: `a database: ${name}`, object: 'database', says, breaks, repairs });
const limits = (
  name: string,
  says: string,
  [breaks, repairs]: readonly [StoreSabotage['breaks'], StoreSabotage['repairs']],
): StoreSabotage => ({ name: `a Valkey: ${name}`, object: 'valkey', says, breaks, repairs });

const wellCertificate = showCertificate(good, key);
const sabotages: readonly StoreSabotage[] = [
  database('a wrong password', 'Refuses the credential (', [
    alter("alter role gateway password 'other'"),
    alter("alter role gateway password 'right'"),
  ]),
  database('no rights', 'Denies a permission (', [
    alter('revoke all on all tables in schema public from gateway'),
    alter('grant all on all tables in schema public to gateway'),
  ]),
  database('only reads', 'Accepts no writes (', [
    alter('alter role gateway set default_transaction_read_only = on'),
    alter('alter role gateway reset default_transaction_read_only'),
  ]),
  database('no connection left', 'Has no connection left (', [
    alter('alter role gateway connection limit 0'),
    alter('alter role gateway connection limit -1'),
  ]),
  database('no TLS', 'Does not speak TLS, which is expected (', [
    alter('alter system set ssl = off', 'select pg_reload_conf()'),
    alter('alter system set ssl = on', 'select pg_reload_conf()'),
  ]),
  database('an unknown authority', 'Has a certificate of an unknown authority (', [
    showCertificate(selfSigned.certificate, selfSigned.key),
    wellCertificate,
  ]),
  database('an expired certificate', 'Has an expired certificate', [showCertificate(expired, key), wellCertificate]),
  database('a certificate of another host', 'Has a certificate for another host name (', [
    showCertificate(otherName, key),
    wellCertificate,
  ]),
  database('a full disk', 'Has a full disk (', [
    async () => {
      disk?.fill();
      // PostgreSQL has made room for some rows before.
      for (let round = 0; round < 5; round += 1) await Promise.all(Array.from({ length: 50 }, ask));
    },
    async () => disk?.free(),
  ]),
  database('dead', 'efuses connections', [() => server.stop(), () => server.start()]),
  limits('a wrong password', 'Refuses the credential (WRONGPASS', [
    () => permit('resetpass', '>other'),
    () => permit(),
  ]),
  limits('no rights', 'Denies a permission (NOPERM', [() => permit('-eval', '-evalsha'), () => permit()]),
  limits('only reads', 'Accepts no writes (READONLY', [
    async () => admin.replicaof('127.0.0.1', await freePort()),
    () => admin.replicaof('NO', 'ONE'),
  ]),
  limits('no connection left', 'Has no connection left (', [
    setValkey('maxclients', '1'),
    setValkey('maxclients', '10000'),
  ]),
  limits('stopped in its work', 'Does not answer in time (', [async () => valkey.freeze(), async () => valkey.thaw()]),
  limits('dead', 'Refuses connections (', [
    async () => {
      admin.disconnect();
      await valkey.kill();
    },
    async () => {
      await valkey.start();
      await configureValkey();
    },
  ]),
];

let asked = 0;
async function ask(): Promise<void> {
  asked += 1;
  const content = `Hello ${asked}`;
  const answer = await weir.chat({ model: 'test/a', stream: true, messages: [{ role: 'user', content }] });
  await answer.text().catch(() => '');
}

const listed = async (): Promise<readonly Line[]> =>
  linesOf(await runWeir(['problems', '--json'], { env: { WEIR_DATABASE_URL: operatorUrl, WEIR_DATA: weir.data } }));

beforeAll(async () => {
  chmodSync(folder, 0o755);
  const rules = join(folder, 'pg_hba.conf');
  writeFileSync(rules, 'host all weir 127.0.0.1/32 trust\nhost all gateway 127.0.0.1/32 scram-sha-256\n');
  writeFileSync(join(folder, 'ca.pem'), authority);
  server = await startPostgres({ hba_file: `'${rules}'` });
  await server.secure({ certificate: good, key });
  await server.query("create role gateway login password 'right'");
  // Where this user may mount no disk, the row of a full one is left out.
  const tables = join(folder, 'tables');
  mkdirSync(tables);
  disk = mountSmallDisk(tables, 64 * 1024);
  giveTo(unprivilegedUser(['postgres', 'nobody']), tables);
  await server.query(`create tablespace small owner gateway location '${tables}'`);
  await server.query('create database accounts owner gateway tablespace small');
  operatorUrl = server.url.replace(/postgres$/, 'accounts');
  valkey = await startValkey();
  valkeyPort = await freePort();
  await configureValkey();
  engine = await startSabotagedEngine(speak(well));
  const trusting = `sslmode=verify-full&sslrootcert=${encodeURIComponent(join(folder, 'ca.pem'))}`;
  stores = {
    WEIR_DATABASE_URL: `postgres://gateway:right@127.0.0.1:${server.port}/accounts?${trusting}`,
    WEIR_VALKEY_URL: `redis://gateway:right@127.0.0.1:${valkeyPort}`,
  };
  weir = await startWeir({ manifests: { [catalogFile]: catalogOf('a') }, env: stores });
});

afterAll(async () => {
  await removeStarts();
  await weir.close();
  await engine.close();
  admin.disconnect();
  await Promise.all([valkey.close(), server.close()]);
  disk?.free();
  disk?.remove();
  rmSync(folder, { recursive: true });
});

test('stores that are well are no line', async () => {
  await ask();
  expect(await listed()).toEqual([]);
});

test.for(sabotages)('$name is one line within 30 s, and none within 30 s of its repair', async (row, { skip }) => {
  skip(row.says.startsWith('Has a full disk') && disk === undefined, 'this user may not mount a disk');
  const { object, says } = row;
  await row.breaks();
  const isNamed = (lines: readonly Line[]): boolean => lines.length === 1 && lines[0]?.problem.includes(says) === true;
  const whileBroken = await untilLines(listed, { isSo: isNamed, meanwhile: ask, withinMs });
  await row.repairs();
  const onceMended = await untilLines(listed, { isSo: (lines) => lines.length === 0, meanwhile: ask, withinMs });
  expect(whileBroken).toEqual([expect.objectContaining({ object, problem: expect.stringContaining(says) as string })]);
  expect(onceMended).toEqual([]);
});

test('a Valkey whose host nobody knows is one line, and none within 30 s of a start with another host', async () => {
  const data = newDataFolder();
  const own = async (): Promise<readonly Line[]> => linesOf(await runWeir(['problems', '--json', '--data', data]));
  const nobody = async (): Promise<void> => undefined;
  const lost = await start([], { data, env: { WEIR_VALKEY_URL: 'redis://no-such-host.invalid' } });
  const whileLost = await untilLines(own, { isSo: (lines) => lines.length > 0, meanwhile: nobody, withinMs });
  await lost.stop();
  const found = await start([], { data, env: { WEIR_VALKEY_URL: valkey.url } });
  const onceFound = await untilLines(own, { isSo: (lines) => lines.length === 0, meanwhile: nobody, withinMs });
  await found.stop();
  const problem = expect.stringContaining('Has a host name that DNS cannot resolve (') as string;
  expect(whileLost).toEqual([expect.objectContaining({ object: 'valkey', problem })]);
  expect(onceFound).toEqual([]);
});

test('a replica that lags is one line within 30 s, and none within 30 s of its repair', async () => {
  const manifests = join(folder, 'lagging');
  const change = (text: string): void => writeFileSync(join(manifests, catalogFile), text);
  mkdirSync(manifests);
  change(catalogOf('a'));
  const data = newDataFolder();
  const lagging = await start(['--no-demo', '--manifests', manifests], { data, env: stores });
  const services = [weir.opsUrl, lagging.opsUrl].map((url) => new URL(url).origin).join(',');
  const env = { WEIR_DATABASE_URL: operatorUrl, WEIR_SERVICES: services };
  const both = async (): Promise<readonly Line[]> => linesOf(await runWeir(['problems', '--json'], { env }));
  expect(await both()).toEqual([]);
  writeFileSync(join(weir.manifests, catalogFile), catalogOf('a', 'b'));
  const isListed = (lines: readonly Line[]): boolean => lines.length > 0;
  const whileBehind = await untilLines(both, { isSo: isListed, meanwhile: ask, withinMs });
  change(catalogOf('a', 'b'));
  const onceEven = await untilLines(both, { isSo: (lines) => !isListed(lines), meanwhile: ask, withinMs });
  await lagging.stop();
  expect(whileBehind).toEqual([
    expect.objectContaining({
      object: `service/${new URL(lagging.opsUrl).host}`,
      problem: 'Serves another catalog than 1 of 2 services.',
    }),
  ]);
  expect(onceEven).toEqual([]);
});
