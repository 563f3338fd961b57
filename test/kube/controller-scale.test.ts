/** 2,000 Models on 500 Backends: read within five seconds, a change served within one. */
import { expect, inject, test } from 'vitest';
import { createKubeClient, mergePatch } from '../../src/control/kubernetes/client.ts';
import { findAccess } from '../../src/control/kubernetes/access.ts';
import { placeOf } from '../../src/control/kubernetes/objects.ts';
import { goodBackendSpec, goodModelSpec } from '../support/catalog-objects.ts';
import { collectGarbage, keptHeap } from '../support/kept-heap.ts';
import { makeNamespace } from './support/cluster.ts';
import { startTestReplica } from './support/replica.ts';
import { forFile } from '../support/for-file.ts';

const kubernetes = inject('kubernetes');
const counts = { models: 2000, backends: 500, secrets: 20 };

const numbers = (count: number): readonly number[] => [...Array(count).keys()];

/** Calls that many at a time keep two cores busy. */
async function forEach(count: number, call: (index: number) => Promise<unknown>): Promise<void> {
  const indexes = numbers(count).values();
  const lane = async (): Promise<void> => {
    for (const index of indexes) await call(index);
  };
  await Promise.all(numbers(16).map(lane));
}

const client = await forFile(createKubeClient(findAccess({ KUBECONFIG: kubernetes.kubeconfig })));
const namespace = await makeNamespace(kubernetes);
const apiVersion = 'weir.dev/v1alpha1';
await forEach(counts.secrets, (index) =>
  client.core.createNamespacedSecret({
    namespace,
    body: { metadata: { name: `secret-${index}` }, data: { token: btoa(`token-${index}`) } },
  }),
);
await forEach(counts.backends, (index) => {
  const credentials = { secretRef: { name: `secret-${index % counts.secrets}`, key: 'token' } };
  const spec = { ...goodBackendSpec, credentials };
  const body = { apiVersion, kind: 'Backend', metadata: { name: `backend-${index}` }, spec };
  return client.objects.createNamespacedCustomObject({ ...placeOf('Backend', namespace), body });
});
await forEach(counts.models, (index) => {
  const routes = [0, 1, 2].map((next) => ({
    backend: `backend-${(index + next) % counts.backends}`,
    upstreamModel: 'm',
  }));
  const spec = { ...goodModelSpec, id: `test/model-${index}`, routes };
  const body = { apiVersion, kind: 'Model', metadata: { name: `model-${index}` }, spec };
  return client.objects.createNamespacedCustomObject({ ...placeOf('Model', namespace), body });
});

test('all of it is read, and changes are served while the status of all is being written', async () => {
  const before = await heapBytes();
  const startedAt = performance.now();
  const replica = await startTestReplica({ kubeconfig: kubernetes.kubeconfig, namespace });
  const tookMs = performance.now() - startedAt;
  expect(replica.models()).toHaveLength(counts.models);
  const megabytes = ((await heapBytes()) - before) / 1e6;
  console.log(`first snapshot after ${Math.round(tookMs)} ms, holding ${Math.round(megabytes)} MB`);
  // 10 to 15 KB for each object, its Envoy cluster and its routes included.
  expect(megabytes).toBeLessThan(60);

  // Meanwhile the status of all of them is being written.
  const changesMs: number[] = [];
  for (const round of numbers(5)) {
    const contextLength = 1000 + round;
    const name = `model-${round * 311}`;
    const body = { spec: { contextLength } };
    const appliedAt = performance.now();
    await client.objects.patchNamespacedCustomObject({ ...placeOf('Model', namespace), name, body }, mergePatch);
    await expect
      .poll(() => replica.snapshot().models.get(`test/model-${round * 311}`)?.contextLength, {
        interval: 5,
      })
      .toBe(contextLength);
    changesMs.push(performance.now() - appliedAt);
  }
  console.log(`changes served after ${changesMs.map(Math.round).join(', ')} ms`);
  await replica.close();
});

async function heapBytes(): Promise<number> {
  collectGarbage();
  // Finalisers run after the collection.
  await new Promise((resolve) => setImmediate(resolve));
  return keptHeap();
}
