import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { endpointsOf, modelOf, routeOf, snapshotOf } from '../../../../test/support/route-of.ts';
import type { BackendDemand } from '../../core/backend-demand.ts';
import type { Model, Route } from '../../../core/catalog.ts';
import type { PoolPrompt } from '../../../core/pool-prompt.ts';
import { createBackendDemands } from './backend-demands.ts';
import { createPools } from './pools.ts';

const promptOf = (tokens: number): PoolPrompt => ({ digests: [], ends: [], tokens });

/** The demand for the backends of some models, and calls of their engines, which compute 10 tokens a millisecond. */
function begin(...models: readonly Model[]) {
  const clock = createFakeClock();
  const pools = createPools({ isReported: false });
  const counts: Record<string, number> = {};
  const demands = createBackendDemands({ pools, endpoints: endpointsOf(counts), clock });
  demands.follow(snapshotOf(models));
  const of = (backend: string): BackendDemand => {
    const found = demands.of(backend);
    return typeof found === 'object' ? found : expect.fail(`no demand of ${backend}`);
  };
  const send = (backend: string, tokens: number, endpoint = 1) =>
    pools.of(`cluster-${backend}`).begin(clock.elapsed(), {
      name: `10.0.0.${endpoint}:8000`,
      prompt: promptOf(tokens),
      stream: true,
    });
  /** A whole answer, with nothing beside it. */
  const serve = (backend: string, tokens: number, endpoint = 1): void => {
    const attempt = send(backend, tokens, endpoint);
    clock.advance(100 + tokens / 10);
    attempt.first(clock.elapsed());
    attempt.completed(clock.elapsed(), 10);
  };
  return { clock, counts, demands, of, send, serve };
}

const withObjective = (firstTokenMs: number): Partial<Model> => ({
  serviceLevel: { minAvailability: 0.9, windowSeconds: 900, firstTokenMs },
});

/** Enough answers that the assumption before them counts for nothing. */
function learn({ serve, clock }: Pick<ReturnType<typeof begin>, 'serve' | 'clock'>, backend = 'a'): void {
  for (let count = 0; count < 100; count += 1) serve(backend, count % 2 === 0 ? 2000 : 6000);
  clock.advance(1_000_000);
}

describe('the demand for a Backend', () => {
  it('is nothing before the first request, and after the last one, some minutes later', () => {
    const { of, serve, clock } = begin(modelOf([routeOf('a')]));
    const nothing = { work_tokens: 0, refused_tokens: 0, under_way: 0, filled_endpoints: 0 };
    expect(of('a')).toMatchObject({ ...nothing, endpoints: 1, quiet_ms: null, first_token_ms: null });
    serve('a', 5000);
    expect(of('a').work_tokens).toBeGreaterThan(0);
    clock.advance(600_000);
    expect(of('a')).toMatchObject({ ...nothing, quiet_ms: 600_600 });
  });

  it('measures the work by what an endpoint was learned to compute within the objective', () => {
    const fast = begin(modelOf([routeOf('a')], withObjective(1000)));
    learn(fast);
    // 100 ms pass for nothing, and ten tokens are computed in each other one.
    expect(fast.of('a').endpoint_tokens / 9000).toBeCloseTo(1, 1);
    const patient = begin(modelOf([routeOf('a')], withObjective(4000)));
    learn(patient);
    expect(patient.of('a').endpoint_tokens / 39_000).toBeCloseTo(1, 1);
  });

  it('counts what comes within the objective, and what waits behind the prompts that are computed now', () => {
    const { clock, of, send, ...rest } = begin(modelOf([routeOf('a')], withObjective(1000)));
    learn({ clock, ...rest });
    send('a', 6000);
    const alone = of('a').work_tokens;
    // The prompt came within the last 30 s, so that 6000 ÷ 30 tokens come within a second. It waits for nothing.
    expect(alone).toBeCloseTo(200);
    send('a', 6000);
    expect(of('a').work_tokens).toBeCloseTo(2 * alone + 6000);
    expect(of('a')).toMatchObject({ under_way: 2, quiet_ms: 0 });
  });

  it('takes the shortest objective of the models of a Backend, and 2 s if there is none', () => {
    const { of } = begin(
      modelOf([routeOf('a'), routeOf('b')]),
      modelOf([routeOf('a')], { id: 'demo/fast', ...withObjective(1000) }),
      modelOf([routeOf('a')], { id: 'demo/slow', ...withObjective(3000) }),
    );
    const ofAssumedPace = (objectiveMs: number): number => (objectiveMs - 30) / 0.1;
    expect(of('a').endpoint_tokens).toBeCloseTo(ofAssumedPace(1000));
    expect(of('b').endpoint_tokens).toBeCloseTo(ofAssumedPace(2000));
  });

  it('counts refused requests as usual ones, also where there is no endpoint, by the weights of the model’s Backends', () => {
    const routes = [routeOf('a', { weight: 300 }), routeOf('b'), routeOf('standby', { weight: 0 })];
    const { counts, demands, of } = begin(modelOf(routes));
    for (const backend of ['a', 'b', 'standby']) counts[backend] = 0;
    for (let count = 0; count < 30; count += 1) demands.unavailable('demo/tiny');
    demands.unavailable('demo/unknown');
    expect(of('a')).toMatchObject({ endpoints: 0, refused_requests: 30, quiet_ms: 0 });
    // A usual prompt has a thousand tokens before any is known, and 30 of them in 30 s are 2 within the objective.
    expect(of('a').refused_tokens).toBeCloseTo(2000 * 0.75);
    expect(of('b').refused_tokens).toBeCloseTo(2000 * 0.25);
    expect(of('standby')).toMatchObject({ refused_tokens: 0, refused_requests: 30 });
  });

  it('remembers how fast the endpoints were when all have left', () => {
    const own = begin(modelOf([routeOf('a')], withObjective(1000)));
    learn(own);
    const learned = own.of('a').endpoint_tokens;
    own.counts['a'] = 0;
    own.clock.advance(600_000);
    expect(own.of('a')).toMatchObject({ endpoints: 0, first_token_ms: null, endpoint_tokens: learned });
  });

  it('expects the first token of a usual prompt where it comes soonest', () => {
    const own = begin(modelOf([routeOf('a')]));
    own.counts['a'] = 2;
    learn(own);
    const idleMs = own.of('a').first_token_ms ?? Number.NaN;
    // Half of the prompts took 300 ms, and half of them 700 ms.
    expect(idleMs).toBeGreaterThan(450);
    expect(idleMs).toBeLessThan(550);
    own.send('a', 20_000);
    own.send('a', 20_000);
    expect(own.of('a').first_token_ms).toBeGreaterThan(idleMs + 3000);
    own.serve('a', 100, 2);
    expect(own.of('a').first_token_ms).toBeLessThan(idleMs * 2);
  });

  it('shows how many endpoints the attempts fill', () => {
    const plain = routeOf('a');
    const limited: Route = { ...plain, backend: { ...plain.backend, maxConcurrentRequestsPerEndpoint: 4 } };
    const { of, send } = begin(modelOf([limited]));
    for (let count = 0; count < 6; count += 1) send('a', 10);
    expect(of('a').filled_endpoints).toBe(1.5);
  });

  it('leaves providers out', () => {
    const plain = routeOf('cloud');
    const provider: Route = { ...plain, backend: { ...plain.backend, engine: 'fireworks' } };
    const { demands } = begin(modelOf([routeOf('a'), provider]));
    expect(demands.read().map(({ backend }) => backend)).toEqual(['a']);
    expect(demands.of('provider')).toBe('no-backend');
  });

  it('is unknown until there is a catalog', () => {
    const pools = createPools({ isReported: false });
    const demands = createBackendDemands({ pools, endpoints: endpointsOf({}), clock: createFakeClock() });
    expect(demands.of('a')).toBe('no-catalog');
    demands.follow(snapshotOf([]));
    expect(demands.of('a')).toBe('no-backend');
  });
});
