import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { routeOf } from '../../../test/support/route-of.ts';
import type { Endpoint } from '../../core/endpoint.ts';
import type { EnvoyClusters } from '../envoy/runtime/cluster-publisher.ts';
import { watchHealthChecks } from './health-checks.ts';

const { cluster: plain } = routeOf('vllm-a').backend;
const cluster = { ...plain, healthCheck: { path: '/health', intervalSeconds: 5 } };
const endpoint = '10.0.0.1:8000';

const endpointNamed = (name: string): Endpoint => ({
  ...{ name, address: name.split(':')[0] ?? '', port: 8000, authority: name, zone: undefined },
});

function watching(checked = cluster) {
  const clock = createFakeClock(0);
  let seen: EnvoyClusters | undefined;
  let asked = 0;
  const checks = watchHealthChecks({
    ...{ clock, endpoints: { of: () => [] }, clusters: () => [checked] },
    envoy: { look: async () => seen },
    check: async () => ({ status: 400 + (asked += 1) }),
  });
  const look = async (healthy: number | undefined, { active = [cluster.name], ms = 1_000 } = {}): Promise<boolean> => {
    const failing = healthy === 0 ? [{ endpoint, why: 'health-check' } as const] : [];
    const counts = { total: 1, healthy: healthy ?? 0, failing };
    seen = healthy === undefined ? undefined : { active: new Set(active), endpoints: new Map([['vllm-a', counts]]) };
    clock.advance(ms);
    // The look, and the question that follows it.
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    return checks.isUsed('vllm-a')(endpoint);
  };
  return { checks, look, asked: () => asked };
}

it('a backend fails after two looks without a healthy endpoint, and passes with the first healthy one', async () => {
  const { look } = watching();
  expect([await look(1), await look(0), await look(0), await look(0), await look(1), await look(0)]).toEqual([
    ...[true, true, false, false, true, true],
  ]);
});

it('a backend passes while its cluster still warms, and where no health check is declared', async () => {
  const { look } = watching();
  expect([await look(0, { active: [] }), await look(0, { active: [] }), await look(0, { active: [] })]).toEqual([
    ...[true, true, true],
  ]);
  const unchecked = watching(plain as typeof cluster);
  expect([await unchecked.look(0), await unchecked.look(0)]).toEqual([true, true]);
  expect(unchecked.asked()).toBe(0);
});

it('an endpoint fails after two looks, whatever the others of its backend do', async () => {
  const clock = createFakeClock(0);
  const [first, second] = ['10.0.0.1:8000', '10.0.0.2:8000'];
  let unhealthy: readonly string[] = [];
  const checks = watchHealthChecks({
    ...{ clock, clusters: () => [cluster] },
    endpoints: { of: (name) => (name === cluster.name ? [first, second].map(endpointNamed) : []) },
    envoy: {
      look: async () => {
        const failing = unhealthy.map((name) => ({ endpoint: name, why: 'health-check' as const }));
        const counts = { total: 2, healthy: 2 - failing.length, failing };
        return { active: new Set([cluster.name]), endpoints: new Map([['vllm-a', counts]]) };
      },
    },
    check: async () => ({ status: 503 }),
  });
  const look = async (...names: readonly string[]): Promise<readonly boolean[]> => {
    unhealthy = names;
    clock.advance(1_000);
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    return [first, second].map(checks.isUsed('vllm-a'));
  };
  expect(await look(first)).toEqual([true, true]);
  expect(await look(first)).toEqual([false, true]);
  expect(await look(second)).toEqual([true, true]);
  expect(await look(second)).toEqual([true, false]);
  expect(await look()).toEqual([true, true]);
  expect(checks.hasEndpoint(cluster)).toBe(true);
  expect(checks.hasEndpoint({ ...cluster, name: 'without-an-address' })).toBe(false);
  await look(first, second);
  expect([await look(first, second), checks.hasEndpoint(cluster)]).toEqual([[false, false], false]);
  checks.close();
});

it('keeps what it saw last while Envoy is away', async () => {
  const { look } = watching();
  await look(0);
  expect([await look(0), await look(undefined), await look(undefined)]).toEqual([false, false, false]);
});

it('asks an endpoint that fails once in ten seconds, and forgets its answer when it passes', async () => {
  const { checks, look, asked } = watching();
  for (let second = 0; second < 10; second += 1) await look(0);
  expect([asked(), checks.answerOf('vllm-a', endpoint)]).toEqual([1, { status: 401 }]);
  await look(0);
  expect([asked(), checks.answerOf('vllm-a', endpoint)]).toEqual([2, { status: 402 }]);
  await look(1);
  expect(checks.answerOf('vllm-a', endpoint)).toBeUndefined();
});

it('goes on after a look that failed', async () => {
  const clock = createFakeClock(0);
  let looks = 0;
  const checks = watchHealthChecks({
    ...{ clock, endpoints: { of: () => [] } },
    clusters: () => {
      looks += 1;
      throw new Error('not served yet');
    },
    envoy: { look: async () => undefined },
  });
  for (let second = 0; second < 3; second += 1) {
    clock.advance(1_000);
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  }
  expect(looks).toBe(3);
  checks.close();
});
