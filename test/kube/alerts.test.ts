// @suite long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { alertsOfCluster, startPrometheus, type TestPrometheus } from '../envoy/support/monitoring/start-prometheus.ts';
import { prometheusBuildMs } from '../support/find-prometheus.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';
import { removeStarts, start, type Started } from '../support/start.ts';
import { backendManifest } from '../support/weir.ts';
import { type KubeApiServer, startKubeApiServer } from './support/api-server.ts';
import { installCrds, makeNamespace } from './support/cluster.ts';
import { kubectl } from './support/kubectl.ts';
import { makeService, type TestService } from './support/service.ts';

// The alerts that test/envoy/alerts.test.ts leaves out, from gateways that really are so.

/** Both figures grow with nothing but time, for five minutes. The rule cases of promtool have their real thresholds. */
const lower = { WeirCatalogOld: 20, WeirRetentionStuck: 0 };
/** The ledger's upkeep fails once a minute. */
const slowMs = 480_000;
const polling = { interval: 500, timeout: slowMs };
/** No pod has it. */
const address = '192.0.2.1';

const fired = new Set<string>();
let prometheus: TestPrometheus;
let database: Postgres;
let cluster: KubeApiServer;
let service: TestService;
let gateway: Started;

async function expectFiring(namespace: string, name: string): Promise<void> {
  await expect.poll(() => prometheus.firing(namespace), polling).toContain(name);
  fired.add(name);
}

beforeAll(async () => {
  prometheus = await startPrometheus(lower);
  database = await startPostgres();
  await database.query('create role gateway login');
  await database.query('create database accounts owner gateway');
  const asOperator = database.url.replace(/postgres$/, 'accounts');
  const env = { WEIR_DATABASE_URL: `postgres://gateway@127.0.0.1:${database.port}/accounts` };
  const refused = await start([], { env });
  await database.query('revoke delete on alerts from gateway', asOperator);

  cluster = await startKubeApiServer();
  await installCrds(cluster);
  const namespace = await makeNamespace(cluster);
  service = await makeService(cluster, namespace, 'pods');
  await service.pod('first', { port: 8000, address }, 'ready');
  const backend = backendManifest('pods', { port: 0 }).replace(
    /endpoint: \{.*?\}/,
    'service: {name: pods, port: http}',
  );
  const { code, stderr } = await kubectl(cluster, ['apply', '-n', namespace, '-f', '-'], backend);
  if (code !== 0) throw new Error(stderr);
  gateway = await start(['--kubernetes', '--namespace', namespace], {
    // A program that is stopped is not ended because of its silence.
    env: { KUBECONFIG: cluster.kubeconfig, WEIR_WATCHDOG_SECONDS: '0' },
  });
  prometheus.scrape('database', [refused.opsUrl]);
  prometheus.scrape('kube', [gateway.opsUrl]);
}, prometheusBuildMs);
afterAll(async () => {
  await removeStarts();
  await prometheus.close();
  await cluster.close();
  await database.close();
});

test('a gateway that is well fires none of them', async () => {
  await expect.poll(() => prometheus.query('up == 1')).toHaveLength(2);
  await expect
    .poll(() => prometheus.query('weir_controller_leader == 1 and on(instance) weir_xds_streams == 1'))
    .toHaveLength(1);
  const firing = [...(await prometheus.firing('kube')), ...(await prometheus.firing('database'))];
  // On a busy machine a scrape may be late, and a replica be away.
  expect(firing.filter((name) => alertsOfCluster.includes(name))).toEqual([]);
});

test(
  'an Envoy that stands still while the pods of a Service change',
  async () => {
    const { Envoy: pid = 0 } = gateway.processes();
    process.kill(pid, 'SIGSTOP');
    await service.pod('second', { port: 8001, address }, 'ready');
    await expectFiring('kube', 'WeirEnvoyDoesNotFollow');
    process.kill(pid, 'SIGCONT');
    await expect.poll(() => prometheus.firing('kube'), polling).not.toContain('WeirEnvoyDoesNotFollow');
  },
  slowMs,
);

test(
  'an API server that is away: no replica leads, and the catalog becomes old',
  async () => {
    await cluster.kill();
    await expectFiring('kube', 'WeirNoLeader');
    await expectFiring('kube', 'WeirCatalogOld');
  },
  slowMs,
);

test('a database in which old rows may not be deleted', () => expectFiring('database', 'WeirRetentionStuck'), slowMs);

test('none was left out', () => {
  expect(alertsOfCluster.filter((name) => !fired.has(name))).toEqual([]);
});
