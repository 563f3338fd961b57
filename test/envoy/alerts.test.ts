// @suite waits long
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { alerts } from '../../scripts/monitoring/alerts.ts';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { prometheusBuildMs } from '../support/find-prometheus.ts';
import { freePort } from '../support/free-port.ts';
import { holdConnections } from '../support/held-connections.ts';
import { startPostgres } from '../support/postgres.ts';
import { runWeir } from '../support/run-weir.ts';
import { chat, newDataFolder, removeStarts, start, type Started } from '../support/start.ts';
import { startValkey } from '../support/valkey.ts';
import { backendManifest, modelManifest, startWeir } from '../support/weir.ts';
import { http2Caller } from './support/caller.ts';
import { damageLedger } from './support/damage-ledger.ts';
import { alertsOfCluster, startPrometheus, type TestPrometheus } from './support/monitoring/start-prometheus.ts';
import { engineCertificates } from './support/sabotages/engine-certificates.ts';
import { mountSmallDisk } from './support/small-disk.ts';

// Every alert of one machine fires in a real Prometheus, from the figures of a gateway that really is so.

const fired = new Set<string>();
let prometheus: TestPrometheus;
let engine: ProgrammableEngine;

beforeAll(async () => {
  prometheus = await startPrometheus({ WeirEventsLate: 5 });
  engine = await startProgrammableEngine({ behaviour: { reasoning: 'never' } });
}, prometheusBuildMs);
/** Closes what a test has opened, the last one first. */
const closers: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
  await removeStarts();
});
afterAll(async () => {
  await prometheus.close();
  await engine.close();
});

const polling = { interval: 500 };
/** A program that is stopped is not ended because of its silence. */
const unwatched = { WEIR_WATCHDOG_SECONDS: '0' };

/** Repeats what makes them fire until all of them do. */
async function expectFiring(
  namespace: string,
  names: readonly string[],
  meanwhile: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  const missing = async (): Promise<readonly string[]> => {
    await meanwhile();
    const firing = await prometheus.firing(namespace);
    for (const name of firing) fired.add(name);
    return names.filter((name) => !firing.includes(name));
  };
  await expect.poll(missing, polling).toEqual([]);
}

async function expectScraped(namespace: string, urls: readonly string[]): Promise<void> {
  prometheus.scrape(namespace, urls);
  await expect.poll(() => prometheus.query(`up{namespace="${namespace}"} == 1`), polling).toHaveLength(urls.length);
}

const demo = (gateway: Started, content = 'Hello!'): Promise<number> =>
  chat(gateway, { model: 'test/model', content }).then(
    async (answer) => (await answer.text(), answer.status),
    () => 0,
  );

function folderWith(...manifests: readonly string[]): string {
  const folder = join(newDataFolder(), 'manifests');
  mkdirSync(folder);
  writeFileSync(join(folder, 'catalog.yaml'), manifests.join(''));
  return folder;
}
const oneEngine = (): string => backendManifest('vllm-a', engine) + modelManifest('test/model', ['vllm-a']);

test('engines that fail, and a mistake in the catalog', async () => {
  const ill = await startProgrammableEngine({ behaviour: { status: 500 } });
  const catalog = [
    ...[backendManifest('ill', ill), backendManifest('well', engine)],
    ...[modelManifest('test/alone', ['ill']), modelManifest('test/model', ['well'])],
  ];
  const weir = await startWeir({ manifests: { 'catalog.yaml': catalog.join('') }, unlimited: true });
  closers.push(ill.close, weir.close);
  writeFileSync(join(weir.manifests, 'misspelt.yaml'), backendManifest('misspelt', engine, 'vlm'));
  await expectScraped('engines', [weir.opsUrl]);
  let asked = 0;
  const ask = async (): Promise<void> => {
    asked += 1;
    for (const model of ['test/alone', 'test/model']) {
      const answer = await weir.chat({ model, messages: [{ role: 'user', content: `Hello ${asked}` }] });
      await answer.text();
    }
  };
  await expectFiring(
    'engines',
    [
      ...['WeirErrorBudgetBurnFast', 'WeirErrorBudgetBurnSlow', 'WeirNoRoute', 'WeirBackendWithoutEndpoint'],
      ...['WeirObjectRefused'],
    ],
    ask,
  );
});

test('a Backend whose failures another one hides, and an engine that counts what cannot be', async () => {
  const flaky = await startProgrammableEngine({ behaviour: { reasoning: 'never' } });
  const weir = await startWeir({
    manifests: {
      'catalog.yaml': [
        ...[backendManifest('flaky', flaky), backendManifest('steady', engine)],
        modelManifest('test/pair', ['flaky', 'steady'], '  hedging: {mode: Disabled}'),
      ].join(''),
    },
    unlimited: true,
  });
  closers.push(flaky.close, weir.close);
  await expectScraped('hidden', [weir.opsUrl]);
  let asked = 0;
  const ask = async (): Promise<void> => {
    asked += 1;
    // Every third one fails, so that it is never taken out of traffic.
    flaky.set(asked % 3 === 0 ? { status: 500 } : { usage: 'zeros' });
    const answer = await weir.chat({ model: 'test/pair', messages: [{ role: 'user', content: `Hello ${asked}` }] });
    expect(answer.status).toBe(200);
    await answer.text();
  };
  await expectFiring('hidden', ['WeirBackendFailing', 'WeirEngineCountsWrong'], ask);
});

test('Valkey away, one dead replica of three, and no database', async () => {
  const [server, valkey] = await Promise.all([startPostgres(), startValkey()]);
  closers.push(server.close, valkey.close, removeStarts);
  const database = await server.database('accounts');
  const env = { ...unwatched, WEIR_DATABASE_URL: database, WEIR_VALKEY_URL: valkey.url };
  const gateway = await start(['--manifests', folderWith(oneEngine()), '--replicas', '3'], { env });
  const urls = [...gateway.stdout().matchAll(/^ops: +(\S+)$/gm)].map(([, url = '']) => url);
  expect(urls).toHaveLength(3);
  await expectScraped('stores', urls);
  expect(await demo(gateway)).toBe(200);
  expect(await prometheus.firing('stores')).not.toContain('WeirAway');

  await valkey.kill();
  await expectFiring('stores', ['WeirLimitsNotShared']);
  await valkey.start();
  const { 'service 2': pid = 0 } = gateway.processes();
  process.kill(pid, 'SIGSTOP');
  await expectFiring('stores', ['WeirAway']);
  process.kill(pid, 'SIGCONT');
  await server.stop();
  await expectFiring('stores', ['WeirLedgerAway']);
  await server.start();
});

test('a database in which another program holds a lock', async () => {
  const server = await startPostgres();
  closers.push(server.close, removeStarts);
  const database = await server.database('accounts');
  const env = { WEIR_DATABASE_URL: database };
  const gateway = await start(['--manifests', folderWith(oneEngine())], { env });
  await expectScraped('slow', [gateway.opsUrl]);
  expect(await demo(gateway)).toBe(200);
  await expectFiring('slow', ['WeirLedgerSlow'], () =>
    Promise.all([demo(gateway), server.query('begin; lock table requests; select pg_sleep(2); commit', database)]),
  );
});

test('a full disk', async ({ skip }) => {
  const data = newDataFolder();
  const disk = mountSmallDisk(data, 64 * 1024);
  skip(disk === undefined, 'this user may not mount a disk');
  const gateway = await start(['--manifests', folderWith(oneEngine())], { data });
  closers.push(
    () => disk?.remove(),
    () => gateway.stop(),
    () => disk?.free(),
  );
  await expectScraped('disk', [gateway.opsUrl]);
  disk?.fill();
  await expectFiring('disk', ['WeirDiskFilling', 'WeirLedgerAway', 'WeirJournalFilling'], () => demo(gateway));
});

test('a log that cannot be written', async () => {
  const data = newDataFolder();
  mkdirSync(join(data, 'logs'));
  symlinkSync('/dev/full', join(data, 'logs', 'service.log'));
  const gateway = await start(['--manifests', folderWith(oneEngine())], { data, env: { WEIR_LOG_LEVEL: 'debug' } });
  await expectScraped('log', [gateway.opsUrl]);
  await expectFiring('log', ['WeirLogLost'], () => Promise.all(Array.from({ length: 100 }, () => demo(gateway))));
});

test('a damaged database file', async () => {
  const weir = await startWeir({ engines: [engine], env: { WEIR_OPS_PORT: String(await freePort()) } });
  closers.push(weir.close);
  await expectScraped('damaged', [weir.opsUrl]);
  damageLedger(join(weir.data, 'weir.db'));
  process.kill(weir.pid('service'), 'SIGKILL');
  await expectFiring('damaged', ['WeirLedgerDamaged']);
});

test('few files for many streams', async () => {
  const weir = await startWeir({ engines: [engine], maxOpenFiles: 400, unlimited: true });
  const caller = http2Caller(weir);
  closers.push(weir.close, caller.close);
  await expectScraped('files', [weir.opsUrl]);
  const slow = {
    ...{ model: 'test/model', stream: true },
    messages: [{ role: 'user', content: 'Count. [[words=20]][[firstTokenDelayMs=5000]][[tokenDelayMs=50]]' }],
  };
  const answers = Array.from({ length: 420 }, () => caller.open(slow).answer.catch(() => undefined));
  await expectFiring('files', ['WeirOverloaded']);
  await Promise.all(answers);
});

test('a service that may have few files open, and strangers on its ops port', async () => {
  const weir = await startWeir({ engines: [engine], env: { WEIR_OPS_PORT: String(await freePort()) } });
  closers.push(weir.close);
  // A service that is started again has the limit of its supervisor, and Envoy keeps the one that it had.
  execFileSync('prlimit', ['--pid', String(weir.supervisor.pid), '--nofile=64:64']);
  process.kill(weir.pid('service'), 'SIGKILL');
  await expectScraped('strangers', [weir.opsUrl]);
  const held = await holdConnections(Number(new URL(weir.opsUrl).port), 8, (index) => `127.0.1.${index + 1}`);
  closers.push(held.release);
  await expectFiring('strangers', ['WeirFilesFilling']);
});

test('an expired certificate of the edge', async () => {
  const folder = newDataFolder();
  const [certificate, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  writeFileSync(certificate, engineCertificates.expired);
  writeFileSync(key, engineCertificates.key);
  const port = await freePort();
  const env = {
    ...{ WEIR_TLS_CERTIFICATE_FILE: certificate, WEIR_TLS_KEY_FILE: key },
    WEIR_ENVOY_OPS_PORT: String(port),
  };
  const gateway = await start(['--manifests', folderWith(oneEngine())], { env });
  await expectScraped('certificates', [gateway.opsUrl, `http://127.0.0.1:${port}/metrics`]);
  await expectFiring('certificates', ['WeirCertificateExpires', 'WeirCertificateEnds']);
});

test('money that runs out, and a receiver that does not accept', async () => {
  const receiver = createServer((_, response) => void response.writeHead(500).end()).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const { port } = receiver.address() as AddressInfo;
  const data = newDataFolder();
  const secret = join(data, 'webhook-secret');
  writeFileSync(secret, `whsec_${Buffer.alloc(32, 1).toString('base64')}\n`);
  const env = { WEIR_WEBHOOK_URL: `http://127.0.0.1:${port}/`, WEIR_WEBHOOK_SECRET_FILE: secret, WEIR_ADMIN_PORT: '0' };
  const gateway = await start(['--manifests', folderWith(oneEngine())], { data, env, portal: true });
  closers.push(
    () => new Promise((resolve) => receiver.close(resolve)),
    () => receiver.closeAllConnections(),
    removeStarts,
  );
  const weir = async (...words: readonly string[]): Promise<Readonly<Record<string, string>>> => {
    const { code, stdout, stderr } = await runWeir([...words, '--json', '--data', data]);
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout) as Readonly<Record<string, string>>;
  };
  await weir('workspace', 'create', 'acme', '--credit', '0.0001');
  const { key = '' } = await weir('key', 'create', '--workspace', 'acme', '--budget', '0.00005', '--period', 'month');
  const account = await weir('service-account', 'create', 'prometheus', '--scopes', 'metrics:read', '--all-workspaces');
  const url = /^portal:\s+(\S+)$/m.exec(gateway.stdout())?.[1] ?? '';
  prometheus.scrapePortal('money', { url, token: account['token'] ?? '' });
  await expectScraped('money', [gateway.opsUrl]);
  await expectFiring('money', ['WeirBudgetNearlySpent', 'WeirBalanceRunsOut', 'WeirEventsLate'], () =>
    demo({ ...gateway, key }),
  );
});

test('none was left out', () => {
  const names = alerts.map(({ name }) => name);
  expect(names.filter((name) => !fired.has(name))).toEqual(alertsOfCluster);
});
