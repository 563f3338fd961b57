// @suite long
/** Thousands of objects of one tenant, and the single changes of its neighbours. */
import { expect, inject, test } from 'vitest';
import { findAccess } from '../../src/control/kubernetes/access.ts';
import { AnswerTooLarge, createKubeClient } from '../../src/control/kubernetes/client.ts';
import { placeOf } from '../../src/control/kubernetes/objects.ts';
import { openTestLedger } from '../support/test-ledger.ts';
import { makeNamespace } from './support/cluster.ts';
import { objectsIn } from './support/objects.ts';
import { startTestReplica } from './support/replica.ts';
import { forFile } from '../support/for-file.ts';

const kubernetes = inject('kubernetes');
const polling = { interval: 20 };
const count = 2_000;
const apiVersion = 'weir.dev/v1alpha1';
let [own, flood, quiet]: [string, string, string] = ['', '', ''];

const client = await forFile(createKubeClient(findAccess({ KUBECONFIG: kubernetes.kubeconfig })));
own = await makeNamespace(kubernetes);
[flood, quiet] = [await makeNamespace(kubernetes), await makeNamespace(kubernetes)];
const indexes = [...Array(count).keys()].values();
const lane = async (): Promise<void> => {
  for (const index of indexes) await makeWorkspace(flood, `w-${index}`);
};
await Promise.all(Array.from({ length: 16 }, lane));

function makeWorkspace(namespace: string, name: string): Promise<unknown> {
  const body = { apiVersion, kind: 'Workspace', metadata: { name }, spec: {} };
  return client.objects.createNamespacedCustomObject({ ...placeOf('Workspace', namespace), body });
}

const ready = async (namespace: string, name: string): Promise<boolean> =>
  (await objectsIn(kubernetes, namespace).condition('workspaces', name, 'Ready')) === 'True Ready';

test('a neighbour’s objects are ready long before those of a flood', async () => {
  const ledger = await openTestLedger();
  /** Workspaces of the flood that are in the ledger. */
  const doneOfFlood = async (): Promise<number> =>
    (await ledger.accounts.listWorkspaces()).filter(({ name }) => name.startsWith(`${flood}_`)).length;
  const accounts = { data: ledger.data, namespaces: [flood, quiet] };
  const replica = await startTestReplica({ kubeconfig: kubernetes.kubeconfig, namespace: own, accounts });
  await expect.poll(doneOfFlood, polling).toBeGreaterThan(0);
  await makeWorkspace(flood, 'late');
  const before = await doneOfFlood();
  const appliedAt = performance.now();
  const cluster = objectsIn(kubernetes, quiet);
  await cluster.workspace('search');
  await cluster.apiKey('prod', 'search');
  await expect.poll(() => cluster.condition('apikeys', 'prod', 'Ready'), polling).toBe('True Ready');
  const tookMs = Math.round(performance.now() - appliedAt);
  const during = (await doneOfFlood()) - before;
  console.log(`a key of a neighbour is ready after ${tookMs} ms, and ${during} of ${count} objects of the flood`);
  expect(during).toBeLessThan(count / 4);
  // The twin: where there are no turns, an object waits for all that came before it.
  expect(await ready(flood, 'late')).toBe(false);
  await replica.close();
  await ledger.close();
});

test('large objects are listed, in pages that fit', async () => {
  const place = await makeNamespace(kubernetes);
  // As much as the API server takes, and more finalizers than are kept.
  const annotations = { 'weir.dev/x': 'x'.repeat(260_000) };
  const finalizers = [...Array(100).keys()].map((index) => `stranger.example/${index}`);
  for (let index = 0; index < 80; index += 1) {
    const metadata = { name: `large-${index}`, annotations, finalizers };
    const body = { apiVersion, kind: 'Workspace', metadata, spec: {} };
    await client.objects.createNamespacedCustomObject({ ...placeOf('Workspace', place), body });
  }
  await makeWorkspace(place, 'search');
  // The twin: in one page they are refused.
  const whole = client.objects.listNamespacedCustomObject({ ...placeOf('Workspace', place), limit: 500 });
  await expect(whole).rejects.toBeInstanceOf(AnswerTooLarge);

  const ledger = await openTestLedger();
  const accounts = { data: ledger.data, namespaces: [place] };
  const replica = await startTestReplica({ kubeconfig: kubernetes.kubeconfig, namespace: own, accounts });
  for (const name of ['search', 'large-7']) await expect.poll(() => ready(place, name), polling).toBe(true);
  const cluster = objectsIn(kubernetes, place);
  expect((await cluster.get('workspaces', 'large-7')).metadata.finalizers).toEqual([
    ...finalizers,
    'weir.dev/accounts',
  ]);
  await replica.close();
  await ledger.close();
});
