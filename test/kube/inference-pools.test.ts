// @suite long
/** A Backend that names an InferencePool, on an API server that does not know InferencePools at first. */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startKubeApiServer } from './support/api-server.ts';
import { installCrds, makeNamespace } from './support/cluster.ts';
import { installPoolCrd, poolsIn, type TestPools } from './support/inference-pool.ts';
import { objectsIn } from './support/objects.ts';
import { startTestReplica, type TestReplica } from './support/replica.ts';
import { makeService } from './support/service.ts';
import { forFile } from '../support/for-file.ts';

let cluster: ReturnType<typeof objectsIn>;
let namespace: string;
let pools: TestPools;
let replica: TestReplica;

const server = await forFile(startKubeApiServer());
await installCrds(server);
beforeEach(async () => {
  namespace = await makeNamespace(server);
  cluster = objectsIn(server, namespace);
  pools = poolsIn(server, namespace);
  replica = await startTestReplica({ kubeconfig: server.kubeconfig, namespace });
});
afterEach(() => replica.close());

const polling = { interval: 100 };
const labels = { app: 'qwen' };
const inPool = (name: string) => ({ endpoint: undefined, inferencePool: { name } });

async function until(backend: string, type: string, says: string | RegExp): Promise<void> {
  await expect
    .poll(() => cluster.condition('backends', backend, type), polling)
    .toMatch(typeof says === 'string' ? new RegExp(`^${RegExp.escape(says)}$`) : says);
}
const untilUnhealthy = (backend: string, message: string): Promise<void> =>
  until(backend, 'Healthy', `False NoReadyEndpoint: ${message}`);
async function untilEndpoints(backend: string, ...names: readonly string[]): Promise<void> {
  await expect.poll(() => replica.endpoints(backend), polling).toEqual(names);
}

// The first test, because the others need the CRD.
test('without its CRD a pool costs only its own Backend, and is followed once the CRD is there', async () => {
  await cluster.backend('others');
  await cluster.backend('pooled', inPool('qwen'));
  await cluster.model('good', { routes: [{ backend: 'others', upstreamModel: 'm' }] });
  replica.envoy.endpoints.set('pooled', { total: 0, healthy: 0 });
  const missing = 'spec.inferencePool.name: the CRD InferencePool (inference.networking.k8s.io/v1) is not installed';
  await untilUnhealthy('pooled', missing);
  await until('pooled', 'Programmed', `False InferencePoolNotUsable: ${missing}`);
  await until('others', 'Programmed', /^True Programmed/);
  await expect.poll(() => replica.models(), polling).toEqual(['test/good']);
  await expect.poll(replica.ageMs, polling).toBeLessThan(1_000);

  await installPoolCrd(server);
  await untilUnhealthy('pooled', 'spec.inferencePool.name: there is no InferencePool "qwen"');
  await pools.pool('qwen', labels);
  await pools.pod('qwen-0', { address: '10.0.0.1', labels, isReady: true });
  await untilEndpoints('pooled', '10.0.0.1:8000');
  await until('pooled', 'Programmed', /^True Programmed/);
  await expect.poll(replica.ageMs, polling).toBeLessThan(1_000);

  await pools.removeCrd();
  await untilEndpoints('pooled');
  await until('pooled', 'Programmed', `False InferencePoolNotUsable: ${missing}`);
});

describe('with the CRD', () => {
  beforeAll(() => installPoolCrd(server));

  test('a pool is followed with its pods, and the Backend says why it leads nowhere', async () => {
    await cluster.backend('pooled', inPool('qwen'));
    replica.envoy.endpoints.set('pooled', { total: 0, healthy: 0 });
    await until(
      'pooled',
      'Programmed',
      'False InferencePoolNotUsable: spec.inferencePool.name: there is no InferencePool "qwen"',
    );
    await pools.pool('qwen', labels);
    await untilUnhealthy('pooled', 'spec.inferencePool: no pod has the labels of InferencePool "qwen": app=qwen');
    // Such a pool may get pods at any time.
    await until('pooled', 'Programmed', /^True Programmed/);
    await pools.pod('other-0', { address: '10.0.0.9', labels: { app: 'other' }, isReady: true });
    await pools.pod('qwen-0', { address: '10.0.0.1', labels, isReady: false });
    await untilUnhealthy('pooled', 'spec.inferencePool: no pod of InferencePool "qwen" is ready; it selects 1');

    await pools.pod('qwen-0', { address: '10.0.0.1', labels, isReady: true });
    await untilEndpoints('pooled', '10.0.0.1:8000');
    await pools.pod('qwen-1', { address: '10.0.0.2', labels: { ...labels, tier: 'a' }, isReady: true });
    await untilEndpoints('pooled', '10.0.0.1:8000', '10.0.0.2:8000');
    await pools.end('qwen-0');
    await untilEndpoints('pooled', '10.0.0.2:8000');
    await pools.gone('qwen-1');
    // As with a Service, a pod that is about to end is better than none.
    await untilEndpoints('pooled', '10.0.0.1:8000');
    await pools.gone('qwen-0');
    await untilEndpoints('pooled');

    await pools.pool('qwen', { app: 'other' });
    await untilEndpoints('pooled', '10.0.0.9:8000');
    replica.envoy.endpoints.set('pooled', { total: 1, healthy: 1 });
    await until('pooled', 'Healthy', /^True NothingFailed/);
    expect((await cluster.get('backends', 'pooled')).status).toMatchObject({ endpoints: { summary: '1 of 1' } });
    await pools.removePool('qwen');
    await untilEndpoints('pooled');
  });

  test('each target port of a pod is an endpoint, of which a pod may serve some', async () => {
    await cluster.backend('ranks', inPool('ranks'));
    await pools.pool('ranks', labels, { targetPorts: [{ number: 8000 }, { number: 8001 }] });
    await pools.pod('qwen-0', { address: '10.0.0.1', labels, isReady: true });
    await untilEndpoints('ranks', '10.0.0.1:8000', '10.0.0.1:8001');
    const annotations = { 'inference.networking.k8s.io/active-ports': '8001' };
    await pools.pod('qwen-0', { address: '10.0.0.1', labels, isReady: true, annotations });
    await untilEndpoints('ranks', '10.0.0.1:8001');
  });

  test('a pool that is called with HTTP/2 in plain text is not used', async () => {
    await pools.pool('h2', labels, { appProtocol: 'kubernetes.io/h2c' });
    await pools.pod('qwen-0', { address: '10.0.0.1', labels, isReady: true });
    await cluster.backend('h2', inPool('h2'));
    replica.envoy.endpoints.set('h2', { total: 0, healthy: 0 });
    await until('h2', 'Programmed', /^False InferencePoolNotUsable: .* has the appProtocol kubernetes\.io\/h2c; /);
    await pools.pool('h2', labels, { appProtocol: 'http' });
    await untilEndpoints('h2', '10.0.0.1:8000');
  });

  test('a Backend can change between a Service and a pool, and keeps its cluster', async () => {
    await pools.pool('qwen', labels);
    await pools.pod('qwen-0', { address: '10.0.0.1', labels, isReady: true });
    const service = await makeService(server, namespace, 'pods');
    await service.pod('one', { address: '10.0.0.5', port: 8080 }, 'ready');
    await cluster.backend('moves', { endpoint: undefined, service: { name: 'pods', port: 'http' } });
    await untilEndpoints('moves', '10.0.0.5:8080');
    const [before] = replica.snapshot().clusters;
    await cluster.backend('moves', { ...inPool('qwen'), service: undefined });
    await untilEndpoints('moves', '10.0.0.1:8000');
    expect(replica.snapshot().clusters.map(({ name }) => name)).toEqual([before?.name]);
  });
});
