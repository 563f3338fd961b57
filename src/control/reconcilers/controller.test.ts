import { expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { goodBackendSpec, goodModelSpec } from '../../../test/support/catalog-objects.ts';
import type { KubeObject } from '../../core/catalog.ts';
import { compile } from '../catalog/compile.ts';
import { startController } from './controller.ts';

function objectOf(kind: 'Backend' | 'Model', name: string, spec: object): KubeObject {
  const value = { apiVersion: 'weir.dev/v1alpha1', kind, metadata: { name }, spec };
  return {
    ...{ kind, name, uid: name, generation: 1, resourceVersion: '1', finalizers: [], status: undefined },
    ...{ deletedAt: undefined, annotations: {}, declared: { where: `${kind}/${name}`, value } },
  };
}

it.each([
  { leads: 'still leads', isLeading: true, written: ['finalizers', 'status'] },
  { leads: 'does not lead any more', isLeading: false, written: ['finalizers'] },
])('of a replica that $leads after it has written the finalizers, writes $written', async ({ isLeading, written }) => {
  const clock = createFakeClock();
  const objects = [objectOf('Backend', 'vllm-a', goodBackendSpec), objectOf('Model', 'good', goodModelSpec)];
  const compilation = compile(objects.map(({ declared }) => declared));
  const writes: string[] = [];
  let leads = true;
  const controller = startController({
    ...{ clock, latest: () => ({ objects, compilation }), replicas: () => Promise.resolve([]) },
    isLeading: () => leads,
    write: {
      status: ({ kind }) => Promise.resolve(void (kind === 'Model' && writes.push('status'))),
      finalizers: () => {
        writes.push('finalizers');
        leads = isLeading;
        return Promise.resolve();
      },
      ...{ event: () => undefined, isGoneOrChanged: () => false },
    },
    onError: () => undefined,
  });
  clock.advance(0);
  // The pass is over when the next one is scheduled.
  await expect.poll(clock.armed).toBe(1);
  await controller.close();
  expect(writes).toEqual(written);
});
