import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startFakeEngine } from '../fake-engine/fake-engine.ts';
import { createEnvoyAdmin, type EnvoyAdmin } from '../../src/control/envoy/runtime/admin.ts';
import { ClustersRejected, createClusterPublisher } from '../../src/control/envoy/runtime/cluster-publisher.ts';
import { systemClock } from '../../src/process/clock.ts';
import type { Cluster } from '../../src/core/catalog.ts';
import { runFolder } from '../../src/control/envoy/config/run-folder.ts';
import { startEnvoy, type TestEnvoy } from './support/envoy.ts';
import { at, type ClustersOfEnvoy, clustersOf } from './support/give-clusters.ts';
import { sendRaw } from './support/raw-http.ts';

let envoy: TestEnvoy;
let admin: EnvoyAdmin;
let clusters: ClustersOfEnvoy;
/** Gives Envoy clusters and their endpoints. */
let give: ClustersOfEnvoy['give'];

beforeEach(async () => {
  envoy = await startEnvoy();
  clusters = await clustersOf(envoy);
  ({ admin, give } = clusters);
});

afterEach(async () => {
  await clusters.close();
  await envoy.stop();
});

const cluster = (name: string, more: Partial<Cluster> = {}): Cluster => ({
  name,
  backend: `backend-of-${name}`,
  endpoints: at(9, '127.0.0.1'),
  tls: { mode: 'Disabled' },
  ...more,
});
const broken = cluster('broken', { tls: { mode: 'Custom', serverName: 'x', ca: 'no certificate' } });

async function held(): Promise<readonly string[]> {
  const own = createEnvoyAdmin(envoy.files);
  try {
    return (await own.clusters()).active.toSorted();
  } finally {
    own.close();
  }
}

describe('applying clusters', () => {
  it('resolves when Envoy has them, and takes away what is not in the set', async () => {
    await give([cluster('a'), cluster('b', { endpoints: at(9, 'localhost') })]);
    expect(await held()).toEqual(['a', 'b']);
    await give([cluster('b', { endpoints: at(9, 'localhost') })]);
    expect(await held()).toEqual(['b']);
    await give([cluster('b', { endpoints: at(9, 'localhost') })]);
    await give([]);
    expect(await held()).toEqual([]);
  });

  it('is accepted without a warning, whatever a cluster uses', async () => {
    await give([
      cluster('plain', { maxConcurrentRequests: 7 }),
      cluster('checked', { healthCheck: { path: '/health', intervalSeconds: 5 } }),
      cluster('named', { endpoints: at(9, 'no-such-host.invalid') }),
      cluster('public', { endpoints: at(9, 'localhost'), tls: { mode: 'System', serverName: 'engine.example' } }),
      cluster('by-address', { endpoints: at(9, '::1'), tls: { mode: 'System', serverName: '[::1]' } }),
    ]);
    expect(await held()).toEqual(['by-address', 'checked', 'named', 'plain', 'public']);
    expect(envoy.log()).toBe('');
  });

  it('rejects with the names Envoy refused, and the others are there', async () => {
    const refusal = await give([cluster('good'), broken]).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(ClustersRejected);
    expect((refusal as ClustersRejected).clusters).toEqual(['broken']);
    expect(await held()).toEqual(['good']);
    await give([cluster('good')]);
  });

  it("tells Envoy's reason where its log can be read", async () => {
    const folder = await mkdtemp(join(tmpdir(), 'weir-log-'));
    const envoyLogFile = join(folder, 'envoy.log');
    const reader = createClusterPublisher({
      admin,
      runFolder: envoy.files,
      clock: systemClock,
      envoyLogFile,
    });
    await reader.publish([broken]).catch(() => {});
    await writeFile(envoyLogFile, envoy.log());
    await expect(reader.publish([broken])).rejects.toThrow(/Failed to load trusted CA certificates/);
    await rm(folder, { recursive: true });
  });

  it('survives a restart of Envoy, which comes back with the last set', async () => {
    await give([cluster('a')]);
    const restarted = envoy.restart();
    const applied = give([cluster('a'), cluster('b')]);
    await Promise.all([restarted, applied]);
    expect(await held()).toEqual(['a', 'b']);
    await envoy.restart();
    expect(await held()).toEqual(['a', 'b']);
    await give([cluster('c')]);
    expect(await held()).toEqual(['c']);
  });

  it('gives up after the limit when there is no Envoy, and leaves the file for it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'weir-'));
    const paths = runFolder(folder);
    const nobody = createEnvoyAdmin(paths);
    const alone = createClusterPublisher({
      admin: nobody,
      runFolder: paths,
      clock: systemClock,
      confirmWithinMs: 300,
    });
    await alone.prepare();
    await expect(alone.publish([cluster('a')])).rejects.toThrow('did not confirm');
    nobody.close();
    const late = await startEnvoy({ runFolder: folder, keepClusters: true });
    expect(await late.admin('/config_dump?resource=dynamic_active_clusters&mask=cluster.name')).toContain('"a"');
    await late.stop();
  });
});

it('an unhealthy backend is refused at once, and served again when its check passes', async () => {
  let healthy = false;
  const engine = await startFakeEngine(({ request, response }) => {
    response.statusCode = request.url === '/health' && !healthy ? 500 : 200;
    response.end('ok');
  });
  const { port } = engine;
  await give([
    cluster('engine', { endpoints: at(port, '127.0.0.1'), healthCheck: { path: '/health', intervalSeconds: 1 } }),
  ]);
  const isHealthy = async (): Promise<boolean> =>
    (await admin.stats(['cluster.backend-of-engine.membership_healthy'])).get(
      'cluster.backend-of-engine.membership_healthy',
    ) === 1;
  expect(await isHealthy()).toBe(false);
  healthy = true;
  while (!(await isHealthy())) await new Promise((resolve) => setTimeout(resolve, 50));
  await engine.close();
});

it('draining stops new connections at the edge and leaves the way to engines open', async () => {
  expect(await admin.isReady()).toBe(true);
  expect((await sendRaw(envoy.port, 'GET /nope HTTP/1.1\r\nhost: x\r\n\r\n')).status).toBe(404);
  await admin.announceEnd();
  expect(await admin.isReady()).toBe(false);
  await admin.drain();
  expect((await sendRaw(envoy.port, 'GET /nope HTTP/1.1\r\nhost: x\r\n\r\n')).text).toBe('');
  await give([cluster('a')]);
});
