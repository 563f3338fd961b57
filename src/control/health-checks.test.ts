import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { routeOf } from '../../test/support/route-of.ts';
import type { EnvoyClusters } from '../envoy/runtime/cluster-publisher.ts';
import { watchHealthChecks } from './health-checks.ts';

const { cluster: plain } = routeOf('vllm-a').backend;
const cluster = { ...plain, healthCheck: { path: '/health', intervalSeconds: 5 } };
const endpoint = '10.0.0.1:8000';

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
    seen = healthy === undefined ? undefined : { active, endpoints: new Map([['vllm-a', counts]]) };
    clock.advance(ms);
    // The look, and the question that follows it.
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    return checks.passes('vllm-a');
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
