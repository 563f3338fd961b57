import type { V1Lease } from '@kubernetes/client-node';
import { expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { observedBackend, observedCatalog, observedEndpoints } from '../../../test/support/observed.ts';
import type { ObservedCatalog } from '../../core/observed-catalog.ts';
import type { KubeClient } from './client.ts';
import { createReplicaLeases } from './replica-leases.ts';

/** The leases of a namespace, in memory. */
function replicas() {
  const clock = createFakeClock(0);
  const kept = new Map<string, V1Lease>();
  const leases = {
    patchNamespacedLease: async ({ name, body }: { readonly name: string; readonly body: V1Lease }) =>
      kept.set(name, body),
    listNamespacedLease: async () => ({ items: [...kept.values()] }),
    deleteNamespacedLease: async ({ name }: { readonly name: string }) => kept.delete(name),
  } as unknown as KubeClient['leases'];
  const replica = (name: string) =>
    createReplicaLeases({
      client: { leases },
      namespace: 'weir',
      name,
      clock,
      onError: (error) => expect.unreachable(String(error)),
    });
  return { clock, kept, replica };
}

async function afterExchange(observed: ObservedCatalog): Promise<readonly ObservedCatalog[]> {
  const { replica } = replicas();
  await replica('weir-0').publish(observed);
  return replica('weir-1').others();
}

const third = { endpoint: '10.0.0.3:8000', why: 'health-check', answer: { status: 401 } } as const;
const fifth = { endpoint: '10.0.0.5:8000', why: 'requests' } as const;

it('gives the others everything that is wrong with the backends of a replica', async () => {
  const observed = observedCatalog([{ name: 'backend-0123456789abcdef01234567' }], {
    out: new Set(['a@vllm-a']),
    unlisted: new Set(['b']),
    vectors: new Map([
      ['e@tei-b', { kind: 'differs', isWhole: true, text: 'endpoint 10.0.0.7:8080: lowest cosine 0.7313' }],
    ]),
    backends: new Map([
      ['vllm-a', observedBackend({ refused: 'no such file' })],
      ['vllm-f', observedBackend({ isUntried: true })],
      ['vllm-e', observedBackend({ differs: 'upstreamModel "a" is not listed; it lists b' })],
      [
        'vllm-b',
        observedBackend({ unreachable: 'no-address', endpoints: observedEndpoints({ total: 0, healthy: 0 }) }),
      ],
      ['vllm-c', observedBackend({ failing: { status: 401, cause: 'credential-refused', evidence: 'probe' } })],
      [
        'vllm-d',
        observedBackend({ endpoints: observedEndpoints({ healthy: 6, ejected: 1, failing: [third, fifth] }) }),
      ],
    ]),
  });
  expect(await afterExchange(observed)).toEqual([observed]);
});

it('leaves out backends that are well', async () => {
  const well = new Map([['vllm-a', observedBackend({ endpoints: observedEndpoints() })]]);
  expect(await afterExchange(observedCatalog([], { backends: well }))).toEqual([observedCatalog([])]);
});

it('reads what an older version writes, and nothing that no version writes', async () => {
  const { kept, replica } = replicas();
  const write = (name: string, view: object): unknown =>
    kept.set(`weir-replica-${name}`, {
      metadata: { name: `weir-replica-${name}`, annotations: { 'weir.dev/view': JSON.stringify(view) } },
      spec: { leaseDurationSeconds: 15 },
    });
  const older = {
    hasEnvoy: true,
    clusters: [],
    refused: {},
    unreachable: { 'vllm-a': 'unhealthy' },
    out: [],
    unlisted: [],
  };
  write('weir-0', { ...older, endpoints: { 'vllm-b': { total: 4, healthy: 2, failing: [third, fifth] } } });
  write('weir-1', { hasEnvoy: 'perhaps' });
  const endpoints = observedEndpoints({ total: 4, healthy: 2, ejected: 1, failing: [third, fifth] });
  expect(await replica('weir-2').others()).toEqual([
    observedCatalog([], {
      backends: new Map([
        ['vllm-a', observedBackend({ unreachable: 'unhealthy' })],
        ['vllm-b', observedBackend({ endpoints })],
      ]),
    }),
  ]);
});

it.each([
  [0, 'counts', 'is there'],
  [14_999, 'counts', 'is there'],
  [15_000, 'is left out', 'is there'],
  [600_000, 'is left out', 'is there'],
  [600_001, 'is left out', 'is gone'],
])('a replica that has been silent for %i ms %s, and its lease %s', async (silentMs, counted, lease) => {
  const { clock, kept, replica } = replicas();
  await replica('weir-0').publish(observedCatalog([]));
  const { others } = replica('weir-1');
  expect(await others()).toHaveLength(1);
  clock.advance(silentMs);
  expect(await others()).toHaveLength(counted === 'counts' ? 1 : 0);
  expect([...kept.keys()]).toEqual(lease === 'is there' ? ['weir-replica-weir-0'] : []);
});
