import { describe, expect, it } from 'vitest';
import type { AttemptRecord, BeginOptions } from '../../core/health.ts';
import type { Route } from '../../../core/catalog.ts';
import type { PoolPrompt } from '../../../core/pool-prompt.ts';
import { chanceFrom } from '../../../../test/support/chance.ts';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { endpointOf, endpointsOf, routeOf } from '../../../../test/support/route-of.ts';
import { failed, reset } from '../../../../test/support/watch-health.ts';
import { createPools } from '../pool/pools.ts';
import { createHealth } from './health.ts';
import { ownerOf } from '../affinity.ts';

const promptOf = (first: number, count: number): PoolPrompt => ({
  digests: Array.from({ length: count }, (_, index) => first + index),
  ends: Array.from({ length: count }, (_, index) => (index + 1) * 250),
  tokens: count * 250 + 20,
});

/** A route of four endpoints, whose engines compute ten tokens in a millisecond. */
function watch({ isApart = false, engine = 'vllm' as const, ...fields }: WatchOptions = {}) {
  const clock = createFakeClock();
  const health = createHealth({
    clock,
    random: chanceFrom(3).next,
    endpoints: endpointsOf({ a: 4 }),
    pools: { pools: createPools({ isReported: false }), isApart: () => isApart },
  });
  const plain = routeOf('a');
  const route: Route = { ...plain, backend: { ...plain.backend, engine, ...fields } };
  const begin = (options: Partial<BeginOptions>): AttemptRecord => {
    const record = health.begin(route, { stream: true, ...options });
    if (record === undefined) throw new Error('no endpoint accepts the attempt');
    return record;
  };
  /** A whole answer of which so many tokens of the prompt were in the cache. */
  const serve = (options: Partial<BeginOptions>, cachedTokens = 0): AttemptRecord => {
    const record = begin(options);
    const tokens = options.poolPrompt?.tokens ?? 0;
    clock.advance(20 + (tokens - cachedTokens) / 10);
    if (options.stream !== false) record.output();
    clock.advance(1000);
    record.ended({ kind: 'complete', tokens: 100, prompt: { tokens, cachedTokens } });
    return record;
  };
  return { clock, health, route, begin, serve };
}

interface WatchOptions extends Partial<Route['backend']> {
  readonly isApart?: boolean;
  readonly engine?: 'vllm' | 'fireworks';
}

describe('the endpoint of a prompt', () => {
  it.each([true, false])('is the one that holds its beginning, with streams: %s', (stream) => {
    const { serve } = watch();
    const first = serve({ stream, poolPrompt: promptOf(0, 20) });
    for (const turn of [1, 2, 3]) {
      const { endpoint, picked } = serve({ stream, poolPrompt: promptOf(0, 20 + turn) }, 5000 + (turn - 1) * 250);
      expect(endpoint).toBe(first.endpoint);
      expect(picked).toMatchObject({ why: 'holder', heldTokens: 5000 + (turn - 1) * 250 });
    }
  });

  it('is one that has less to do while the holder is busy', () => {
    const { serve, begin } = watch();
    const { endpoint } = serve({ poolPrompt: promptOf(0, 20) });
    for (let at = 1; at <= 3; at += 1) serve({ poolPrompt: promptOf(at * 1000, 20) });
    for (let at = 0; at < 3; at += 1)
      begin({ poolPrompt: promptOf(10_000 * (at + 1), 200), avoid: others(endpoint.name) });
    expect(begin({ poolPrompt: promptOf(0, 21) }).picked).toMatchObject({ why: 'sooner', heldTokens: 0 });
  });

  it('is never one that is avoided, ejected or full', () => {
    const { serve, begin } = watch({ maxConcurrentRequestsPerEndpoint: 1 });
    const { endpoint } = serve({ poolPrompt: promptOf(0, 20) });
    const next = { poolPrompt: promptOf(0, 21) };
    const other = begin({ ...next, avoid: new Set([endpoint.name]) });
    expect(other.endpoint).not.toBe(endpoint);
    other.ended({ kind: 'aborted' });
    const running = begin(next);
    expect(running.endpoint).toBe(endpoint);
    expect(begin(next).endpoint).not.toBe(endpoint);
    running.ended({ kind: 'aborted' });
    for (let time = 0; time < 3; time += 1) begin({ ...next, avoid: others(endpoint.name) }).ended(failed(reset));
    expect(begin(next).endpoint).not.toBe(endpoint);
  });

  it('is left when half of its attempts fail, and is not left after one failure', () => {
    const { serve, begin } = watch();
    const { endpoint } = serve({ poolPrompt: promptOf(0, 20) });
    for (let at = 1; at <= 3; at += 1) serve({ poolPrompt: promptOf(at * 1000, 20) });
    const avoid = others(endpoint.name);
    const next = { poolPrompt: promptOf(0, 21) };
    begin({ ...next, avoid }).ended(failed(reset));
    const again = begin(next);
    expect(again.endpoint).toBe(endpoint);
    again.ended({ kind: 'aborted' });
  });

  it('is where Envoy has moved the one before', () => {
    const { serve, begin, clock } = watch();
    const record = begin({ poolPrompt: promptOf(0, 20) });
    const [moved] = [...others(record.endpoint.name)];
    record.movedTo(moved ?? '');
    clock.advance(500);
    record.output();
    record.ended({ kind: 'complete', tokens: 10 });
    clock.advance(1000);
    expect(serve({ poolPrompt: promptOf(0, 21) }, 5000)).toMatchObject({
      endpoint: { name: moved },
      picked: { why: 'holder' },
    });
  });

  it('is found by hashing the conversation where replicas are apart, so that all find the same one', () => {
    const among = Array.from({ length: 4 }, (_, index) => ({ name: endpointOf('a', index + 1).name }));
    for (const affinity of ['one', 'two', 'three', 'four']) {
      const { begin } = watch({ isApart: true });
      const { endpoint, picked } = begin({ affinity, poolPrompt: promptOf(0, 20) });
      expect(endpoint.name).toBe(ownerOf(affinity, among)?.name);
      expect(picked?.why).toBe('holder');
    }
  });

  it('is chosen as before for a provider, whose addresses are one service', () => {
    const { serve } = watch({ engine: 'fireworks' });
    expect(serve({ affinity: 'one', poolPrompt: promptOf(0, 20) }).picked).toBeUndefined();
  });
});

describe('the wait for a first token', () => {
  it('is that of the endpoint that answers soonest, and grows with the work of others', () => {
    const { health, route, serve, begin } = watch();
    const ask = { stream: true, poolPrompt: promptOf(50_000, 20) };
    expect(health.firstTokenWait(route, ask)).toBeUndefined();
    for (const number of [1, 2, 3, 4])
      for (let time = 0; time < 20; time += 1)
        serve({ poolPrompt: promptOf(number * 10_000 + time * 100, 20), avoid: others(`10.0.0.${number}:8000`) });
    const idle = health.firstTokenWait(route, ask);
    expect(idle?.firstMs).toBe(idle?.aloneMs);
    for (const number of [1, 2, 3])
      begin({ poolPrompt: promptOf(number * 100_000, 200), avoid: others(`10.0.0.${number}:8000`) });
    expect(health.firstTokenWait(route, ask)?.firstMs).toBeCloseTo(idle?.firstMs ?? 0, -1);
    begin({ poolPrompt: promptOf(900_000, 200), avoid: others('10.0.0.4:8000') });
    expect(health.firstTokenWait(route, ask)?.firstMs).toBeGreaterThan((idle?.firstMs ?? 0) * 3);
  });

  it('is not known of a provider', () => {
    const { health, route, serve } = watch({ engine: 'fireworks' });
    serve({ poolPrompt: promptOf(0, 20) });
    expect(health.firstTokenWait(route, { stream: true, poolPrompt: promptOf(0, 20) })).toBeUndefined();
  });
});

describe('the soonest of equal routes', () => {
  /** Two routes of two endpoints each, whose engines compute ten tokens in a millisecond. */
  function two({ isApart = false, seed = 3 } = {}) {
    const clock = createFakeClock();
    const endpoints = {
      a: [endpointOf('a', 1), endpointOf('a', 2)],
      b: [endpointOf('b', 3), endpointOf('b', 4)],
    } as const;
    const health = createHealth({
      clock,
      random: chanceFrom(seed).next,
      endpoints: { of: (cluster) => (cluster === 'cluster-a' ? endpoints.a : endpoints.b) },
      pools: { pools: createPools({ isReported: false }), isApart: () => isApart },
    });
    const routes = [routeOf('a'), routeOf('b')] as const;
    const begin = (route: Route, poolPrompt: PoolPrompt, avoid?: ReadonlySet<string>): AttemptRecord =>
      health.begin(route, { stream: true, poolPrompt, avoid }) ?? expect.fail('no endpoint accepts the attempt');
    for (let time = 0; time < 20; time += 1) {
      for (const [index, route] of routes.entries()) {
        for (const number of [1, 2]) {
          const avoid = new Set([endpointOf('', index * 2 + 3 - number).name]);
          const record = begin(route, promptOf((time * 4 + index * 2 + number) * 1000, 20), avoid);
          clock.advance(522);
          record.output();
          clock.advance(1000);
          record.ended({ kind: 'complete', tokens: 100, prompt: { tokens: 5020, cachedTokens: 0 } });
        }
      }
    }
    const soonest = (poolPrompt: PoolPrompt, affinity?: string): string | undefined =>
      health.soonest(routes, { stream: true, poolPrompt, affinity })?.backend.name;
    return { clock, health, routes, begin, soonest };
  }

  it('has the endpoint that holds the prompt, until that one is busy', () => {
    const { routes, begin, soonest } = two();
    for (const [index, name] of ['a', 'b'].entries()) {
      const held = promptOf(19_000_000 + index * 1000, 20);
      const record = begin(routes[index] ?? routes[0], held);
      record.output();
      record.ended({ kind: 'complete', tokens: 10, prompt: { tokens: 5020, cachedTokens: 0 } });
      for (let time = 0; time < 5; time += 1) expect(soonest(held)).toBe(name);
      const work = [1, 2].map((number) => begin(routes[index] ?? routes[0], promptOf(number * 30_000_000, 400)));
      work.push(...[3, 4].map((number) => begin(routes[index] ?? routes[0], promptOf(number * 30_000_000, 400))));
      expect(soonest(held)).not.toBe(name);
      for (const one of work) one.ended({ kind: 'aborted' });
    }
  });

  it('is each of them in turn where all endpoints are alike', () => {
    const { soonest } = two();
    const found = Array.from({ length: 40 }, (_, at) => soonest(promptOf(50_000_000 + at * 1000, 20)));
    expect(new Set(found)).toEqual(new Set(['a', 'b']));
  });

  it('is the same in all replicas where these are apart, by the conversation', () => {
    const found = (seed: number): readonly unknown[] => {
      const { soonest } = two({ isApart: true, seed });
      return ['one', 'two', 'three', 'four', 'five'].map((affinity, at) =>
        soonest(promptOf(6e7 + at * 1000, 20), affinity),
      );
    };
    expect(found(4)).toEqual(found(3));
    expect(new Set(found(3)).size).toBe(2);
  });

  it('is none where no endpoint accepts attempts', () => {
    const { health } = watch();
    const none = createHealth({ clock: createFakeClock(), random: () => 0, endpoints: endpointsOf({ a: 0 }) });
    const ask = { stream: true, poolPrompt: promptOf(0, 1), affinity: undefined };
    expect(none.soonest([routeOf('a')], ask)).toBeUndefined();
    expect(health.soonest([], ask)).toBeUndefined();
  });
});

const others = (name: string): ReadonlySet<string> =>
  new Set([1, 2, 3, 4].map((number) => endpointOf('a', number).name).filter((other) => other !== name));
