import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { endpointOf, endpointsOf, routeOf } from '../../../../test/support/route-of.ts';
import { complete, failed, reset } from '../../../../test/support/watch-health.ts';
import type { Route } from '../../../core/catalog.ts';
import type { Endpoint } from '../../../core/endpoint.ts';
import type { AttemptRecord } from '../../core/health.ts';
import { createHealth } from './health.ts';

/** Two models on one backend of two endpoints, of which the second one comes and goes as its pod's readiness does. */
function begin(fields: Partial<Route['backend']> = {}) {
  const clock = createFakeClock();
  const counts = { a: 2 };
  const health = createHealth({ clock, random: () => 0.5, endpoints: endpointsOf(counts) });
  const plain = routeOf('a');
  const routes = ['often', 'seldom'].map((model): Route => ({
    ...plain,
    id: `${model}@a`,
    backend: { ...plain.backend, ...fields },
  }));
  const [often = plain, seldom = plain] = routes;
  const stable = new Set([endpointOf('a', 1).name]);
  const onFlapping = (route: Route): AttemptRecord | undefined => health.begin(route, { stream: true, avoid: stable });
  const look = (route: Route): unknown => health.status(route, { stream: true, capabilities: [] });
  /** The pod is not ready for so long. Only some routes are asked meanwhile. */
  const flap = (ms: number, asked: readonly Route[] = [often]): void => {
    counts.a = 1;
    asked.forEach(look);
    clock.advance(ms);
    counts.a = 2;
    asked.forEach(look);
  };
  const fail = (times: number): void => {
    for (let time = 0; time < times; time += 1) onFlapping(often)?.ended(failed(reset));
  };
  const isEjected = (): boolean => health.ejected(often).includes(endpointOf('a', 2).name);
  return {
    ...{ clock, often, seldom, onFlapping, flap, fail, isEjected },
    begin: (route: Route) => health.begin(route, { stream: true }),
    go: () => {
      counts.a = 1;
    },
  };
}

describe('an endpoint that comes back', () => {
  it('has the capacity that it had, for all models together', () => {
    const { often, seldom, onFlapping, flap } = begin({ maxConcurrentRequestsPerEndpoint: 2 });
    onFlapping(seldom)?.ended(complete);
    flap(100);
    const taken = [onFlapping(often), onFlapping(often), onFlapping(seldom)];
    expect(taken.map((record) => record !== undefined)).toEqual([true, true, false]);
    taken[0]?.ended(complete);
    expect(onFlapping(seldom)).toBeDefined();
  });

  it('still has what it was given before it went', () => {
    const { often, seldom, onFlapping, flap } = begin({ maxConcurrentRequestsPerEndpoint: 2 });
    const records = [onFlapping(often), onFlapping(seldom)];
    flap(100);
    expect([onFlapping(often), onFlapping(seldom)]).toEqual([undefined, undefined]);
    for (const record of records) record?.ended(complete);
    expect(onFlapping(seldom)).toBeDefined();
  });

  it('does not have the others wait for what it finishes, nor for what it has finished', () => {
    const { clock, often, onFlapping, go, begin: ask } = begin({ maxConcurrentRequestsPerEndpoint: 2 });
    const finishing = [onFlapping(often), onFlapping(often)];
    go();
    const others = [ask(often), ask(often)];
    expect(others.map((record) => record?.endpoint.name)).toEqual([endpointOf('a', 1).name, endpointOf('a', 1).name]);
    expect(ask(often)).toBeUndefined();
    clock.advance(1_000);
    for (const record of finishing) record?.ended(complete);
    expect(ask(often)).toBeUndefined();
    others[0]?.ended(complete);
    expect(ask(often)).toBeDefined();
  });

  it('counts with what it finishes against a limit of the whole backend', () => {
    const {
      often,
      onFlapping,
      go,
      begin: ask,
    } = begin({
      ...{ maxConcurrentRequests: 3, maxConcurrentRequestsPerEndpoint: 2 },
    });
    onFlapping(often);
    onFlapping(often);
    go();
    expect([ask(often) !== undefined, ask(often) !== undefined]).toEqual([true, false]);
  });

  it('is ejected as before: its failures do not begin anew with each time', () => {
    const { flap, fail, isEjected } = begin();
    fail(2);
    flap(100);
    expect(isEjected()).toBe(false);
    fail(1);
    expect(isEjected()).toBe(true);
    flap(100);
    expect(isEjected()).toBe(true);
  });

  it('is as good as new after half a minute, in which its pod may be another one', () => {
    const { flap, fail, isEjected } = begin();
    fail(3);
    flap(29_000);
    expect(isEjected()).toBe(true);
    flap(30_000);
    expect(isEjected()).toBe(false);
  });
});

describe('an endpoint whose Service has changed', () => {
  it('is asked by its new name, with what was learned of it', () => {
    const [endpoint] = endpointsOf({ a: 1 }).of('cluster-a');
    if (endpoint === undefined) throw new Error('one endpoint');
    let now: readonly Endpoint[] = [endpoint];
    const clock = createFakeClock();
    const health = createHealth({ clock, random: () => 0.5, endpoints: { of: () => now } });
    const route = routeOf('a');
    for (let time = 0; time < 2; time += 1) health.begin(route, { stream: true })?.ended(failed(reset));
    now = [{ ...endpoint, authority: 'renamed.models.svc:8080', zone: 'eu-1b' }];
    const record = health.begin(route, { stream: true });
    expect(record?.endpoint).toEqual(now[0]);
    record?.ended(failed(reset));
    const after = health.status(route, { stream: true, capabilities: [] });
    expect(after.success).toBeLessThan(0.5);
  });
});
