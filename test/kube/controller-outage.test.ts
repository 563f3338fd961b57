// @suite long
/** The API server cut, gone, forgetful or away at the start: what was served last is served on. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startKubeApiServer } from './support/api-server.ts';
import { installCrds, makeNamespace } from './support/cluster.ts';
import { startHurriedClock } from './support/hurried-clock.ts';
import { objectsIn } from './support/objects.ts';
import { startTestReplica, type TestReplica } from './support/replica.ts';
import { makeService } from './support/service.ts';
import { forFile } from '../support/for-file.ts';

let cluster: ReturnType<typeof objectsIn>;
let namespace: string;
let folder: string;
let replica: TestReplica | undefined;

const server = await forFile(startKubeApiServer());
await installCrds(server);

beforeEach(async () => {
  namespace = await makeNamespace(server);
  cluster = objectsIn(server, namespace);
  folder = mkdtempSync(join(tmpdir(), 'weir-outage-'));
  await cluster.secret('token', { key: 'first' });
  await cluster.backend('vllm-a', { credentials: { secretRef: { name: 'token', key: 'key' } } });
  await cluster.model('good');
});
afterEach(async () => {
  await replica?.close();
  replica = undefined;
  rmSync(folder, { recursive: true });
});

const polling = { interval: 50 };
const start = async (kubeconfig = server.kubeconfig): Promise<TestReplica> =>
  (replica = await startTestReplica({ kubeconfig, namespace, data: folder }));

test('an API server that is away for 30 seconds stops nothing, and its age can be seen', async () => {
  const { models, ageMs, swaps, snapshot, log } = await start();
  const served = snapshot();
  const since = Date.now();
  await server.kill();
  await expect.poll(ageMs, polling).toBeGreaterThan(30_000);
  expect(Date.now() - since).toBeGreaterThanOrEqual(30_000);
  expect(snapshot()).toBe(served);
  expect(swaps()).toBe(1);
  await server.start();
  await cluster.secret('token', { key: 'second' });
  await cluster.model('after');
  await expect.poll(models, polling).toEqual(['test/after', 'test/good']);
  await expect
    .poll(() => snapshot().models.get('test/good')?.routes[0]?.backend.headers?.[0]?.[1], polling)
    .toBe('Bearer second');
  await expect.poll(() => cluster.condition('models', 'after', 'Servable'), polling).toBe('True RoutesReady');
  // Each reason is said once, not with every try.
  const told = log().filter((line) => line.includes('watch failed'));
  expect(new Set(told.map((line) => line.replace(/"time":\d+/, ''))).size).toBe(told.length);
});

test('a server that says nothing does not hold up the end', async () => {
  const { close } = await start();
  await expect.poll(() => cluster.condition('models', 'good', 'Servable'), polling).toBe('True RoutesReady');
  await server.freeze();
  const over = new AbortController();
  // A call by itself is given as long.
  const call = pause(15_000, 'a call', { signal: over.signal }).catch(() => undefined);
  expect(await Promise.race([close().then(() => 'the end'), call])).toBe('the end');
  over.abort();
  server.thaw();
  replica = undefined;
});

test('a start without an API server serves the last catalog, says how old it is, and catches up', async () => {
  await start();
  await expect.poll(() => readFileSync(join(folder, 'catalog.json'), 'utf8'), polling).toContain('test/good');
  await replica?.close();
  await server.kill();
  const { models, log, ageMs, snapshot } = await start();
  expect(models()).toEqual(['test/good']);
  expect(snapshot().models.get('test/good')?.routes[0]?.backend.headers?.[0]?.[1]).toBe('Bearer first');
  expect(ageMs()).toBeGreaterThan(0);
  expect(log().join('\n')).toMatch(/"ageSeconds":\d+.*serving the catalog kept on disk/);
  await server.start();
  await cluster.model('later');
  await expect.poll(models, polling).toEqual(['test/good', 'test/later']);
  await expect.poll(ageMs, polling).toBe(0);
});

test('an object that turned bad while nobody served keeps serving as it last was good', async () => {
  await start();
  await expect.poll(() => readFileSync(join(folder, 'catalog.json'), 'utf8'), polling).toContain('test/good');
  await replica?.close();
  await cluster.backend('vllm-a', { credentials: { secretRef: { name: 'gone', key: 'key' } } });
  const { snapshot } = await start();
  expect(snapshot().models.get('test/good')?.routes[0]?.backend.headers?.[0]?.[1]).toBe('Bearer first');
  await expect
    .poll(() => cluster.condition('backends', 'vllm-a', 'Programmed'), polling)
    .toMatch(/^False LastGoodServes/);
});

test('a start without the API server reaches the pods that a Service had last, until the API server tells of others', async () => {
  const service = await makeService(server, namespace, 'pods');
  await service.pod('one', { address: '10.0.0.1', port: 8000 }, 'ready');
  await cluster.backend('pods', { endpoint: undefined, service: { name: 'pods', port: 80 } });
  const first = await start();
  await expect.poll(() => first.endpoints('pods'), polling).toEqual(['10.0.0.1:8000']);
  await first.close();
  await server.kill();

  const clock = startHurriedClock();
  const { endpoints, ageMs } = (replica = await startTestReplica({
    ...{ kubeconfig: server.kubeconfig, namespace, data: folder, clock },
  }));
  await expect.poll(() => endpoints('pods'), polling).toEqual(['10.0.0.1:8000']);
  await server.start();
  await service.pod('two', { address: '10.0.0.2', port: 8000 }, 'ready');
  await service.gone('one');
  await expect.poll(() => endpoints('pods'), polling).toEqual(['10.0.0.2:8000']);
  await expect.poll(ageMs, polling).toBe(0);
  await replica.close();
  replica = undefined;
  clock.stop();
});

test('without an API server and without a kept catalog nothing is served until there is one', async () => {
  await server.kill();
  const clock = startHurriedClock();
  const goesOn = Promise.withResolvers<void>();
  // Said by who has joined the other replicas, which is after the first reading was given up.
  const onLog = (line: string): void => (line.includes('leader election failed') ? goesOn.resolve() : undefined);
  let started = false;
  const starting = startTestReplica({ kubeconfig: server.kubeconfig, namespace, data: folder, clock, onLog });
  void starting.then(() => (started = true));
  await goesOn.promise;
  expect(started).toBe(false);
  await server.start();
  const { models, close } = await starting;
  expect(models()).toEqual(['test/good']);
  await close();
  clock.stop();
});
