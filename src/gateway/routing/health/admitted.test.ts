import { expect, it } from 'vitest';
import { chanceFrom } from '../../../../test/support/chance.ts';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { endpointOf, endpointsOf, routeOf } from '../../../../test/support/route-of.ts';
import type { Route } from '../../../core/catalog.ts';
import { createHealth } from './health.ts';

const nameOf = (number: number): string => endpointOf('a', number).name;
const nowhere: ReadonlySet<string> = new Set();

/** Two routes on the three endpoints of one backend, of which only the first one admits some. */
function watch(admitted: Set<string>) {
  const [embedding, chat] = [routeOf('a', { id: 'embed@a' }), routeOf('a', { id: 'chat@a' })];
  const health = createHealth({
    ...{ clock: createFakeClock(), random: chanceFrom(5).next, endpoints: endpointsOf({ a: 3 }) },
    admitted: ({ id }) => (id === 'embed@a' ? (name) => admitted.has(name) : undefined),
  });
  const chosen = (route: Route, isLastResort = false): ReadonlySet<string> =>
    new Set(
      Array.from({ length: 50 }, () => {
        const record = health.begin(route, { stream: false, isLastResort });
        record?.ended({ kind: 'complete' });
        return record?.endpoint.name ?? 'none';
      }),
    );
  const statusOf = (route: Route) => health.status(route, { stream: false, capabilities: [] });
  const stateOf = (route: Route) => statusOf(route).state;
  return { embedding, chat, health, chosen, statusOf, stateOf };
}

it('sends the requests of a route to its admitted endpoints alone, and those of another route to all', () => {
  const { embedding, chat, health, chosen, stateOf } = watch(new Set([nameOf(2)]));
  expect([...chosen(embedding)]).toEqual([nameOf(2)]);
  expect(chosen(chat).size).toBe(3);
  expect([embedding, chat].map((route) => health.endpointsLeft({ route, avoid: nowhere }))).toEqual([1, 3]);
  expect([stateOf(embedding), stateOf(chat)]).toEqual(['available', 'available']);
});

it('does not serve a route that admits none, not even as a last resort, and serves it again when it does', () => {
  const admitted = new Set<string>();
  const { embedding, chat, health, chosen, statusOf, stateOf } = watch(admitted);
  expect([[...chosen(embedding, true)], stateOf(embedding)]).toEqual([['none'], 'unavailable']);
  expect([statusOf(embedding).hasOtherVectors, statusOf(chat).hasOtherVectors]).toEqual([true, undefined]);
  expect(health.isServing(embedding, () => true)).toBe(false);
  admitted.add(nameOf(1)).add(nameOf(3));
  expect([[...chosen(embedding)].toSorted(), stateOf(embedding)]).toEqual([[nameOf(1), nameOf(3)], 'available']);
  expect(health.isServing(embedding, () => true)).toBe(true);
});

it('refuses an answer of an endpoint that is not admitted, where Envoy has moved the attempt', () => {
  const { embedding, chat, health } = watch(new Set([nameOf(1), nameOf(2)]));
  const moved = (route: Route, to: number) => health.begin(route, { stream: false })?.movedTo(nameOf(to));
  expect([moved(embedding, 3), moved(chat, 3)]).toEqual(['refused', undefined]);
  const record = health.begin(embedding, { stream: false });
  expect(record?.movedTo(record.endpoint.name === nameOf(1) ? nameOf(2) : nameOf(1))).toBeUndefined();
});
