import { expect, it } from 'vitest';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { createUpstreamRequests } from './upstream-requests.ts';

const counted = new Map([
  ['cluster.a.upstream_rq_active', 3],
  ['cluster.a.upstream_rq_pending_active', 1],
  ['cluster.a.b.upstream_rq_active', 0],
  ['cluster.a.b.upstream_rq_pending_active', 0],
]);

function begin() {
  const clock = createFakeClock();
  const looks: PromiseWithResolvers<ReadonlyMap<string, number>>[] = [];
  const statsLike = (): Promise<ReadonlyMap<string, number>> => {
    const look = Promise.withResolvers<ReadonlyMap<string, number>>();
    looks.push(look);
    return look.promise;
  };
  return { clock, looks, requestsOf: createUpstreamRequests({ admin: { statsLike }, clock }) };
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

it('returns what Envoy counts for a backend, and leaves no timer', async () => {
  const { clock, looks, requestsOf } = begin();
  const [one, other, unknown] = [requestsOf('a'), requestsOf('a.b'), requestsOf('c')];
  await turns();
  expect(looks).toHaveLength(1);
  looks[0]?.resolve(counted);
  expect(await Promise.all([one, other, unknown])).toEqual([
    { active: 3, pending: 1 },
    { active: 0, pending: 0 },
    undefined,
  ]);
  expect(clock.armed()).toBe(0);
});

it('looks again for questions that come during a look: their calls may have been sent since', async () => {
  const { looks, requestsOf } = begin();
  const first = requestsOf('a');
  await turns();
  const later = requestsOf('a');
  await turns();
  expect(looks).toHaveLength(1);
  looks[0]?.resolve(new Map());
  expect(await first).toBeUndefined();
  await turns();
  looks[1]?.resolve(counted);
  expect(await later).toEqual({ active: 3, pending: 1 });
});

it('knows nothing when Envoy is away or slow, and asks again the next time', async () => {
  const { clock, looks, requestsOf } = begin();
  const refused = requestsOf('a');
  await turns();
  looks[0]?.reject(new Error('away'));
  expect(await refused).toBeUndefined();
  const slow = requestsOf('a');
  await turns();
  clock.advance(250);
  expect(await slow).toBeUndefined();
  looks[1]?.resolve(counted);
  const again = requestsOf('a');
  await turns();
  looks[2]?.resolve(counted);
  expect(await again).toEqual({ active: 3, pending: 1 });
});
