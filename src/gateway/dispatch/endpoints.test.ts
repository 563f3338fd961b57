import { describe, expect, it } from 'vitest';
import { createHealth } from '../routing/health/health.ts';
import { chanceFrom } from '../../../test/support/chance.ts';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { endpointOf, endpointsOf, modelOf, plannedOfAll } from '../../../test/support/route-of.ts';
import { expectQuiet, runDispatch } from '../../../test/support/run-dispatch.ts';

/** A request on routes whose backends have so many endpoints, through the real health. */
function begin(counts: Readonly<Record<string, number>>, options: Parameters<typeof runDispatch>[0] = {}) {
  const clock = createFakeClock();
  const live = { ...counts };
  const health = createHealth({ clock, random: chanceFrom(5).next, endpoints: endpointsOf(live) });
  const run = runDispatch({ backends: Object.keys(counts), clock, health, ...options });
  return {
    ...run,
    live,
    health,
    /** Where each call went, such as `a 10.0.0.2:8000`. */
    places: () =>
      run.upstream.calls.map(({ call }) => `${call.cluster.replace('cluster-', '')} ${call.endpoint ?? 'anywhere'}`),
  };
}

const distinct = (places: readonly string[]): number => new Set(places).size;

describe('a request that fails before its first output', () => {
  it('is tried on other endpoints of the same backend first, and then on the next route', async () => {
    const run = begin({ a: 2, b: 1 });
    run.engine(0).fail('ECONNREFUSED');
    run.engine(1).fail('ECONNREFUSED');
    run.says(2, '0:hello 0!').end();
    expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 3, routes: 2 });
    expect(distinct(run.places())).toBe(3);
    expect({ reasons: run.reasons, steps: run.steps }).toEqual({
      reasons: ['a first', 'a failover', 'b failover'],
      steps: ['first', 'endpoint', 'route'],
    });
    expectQuiet(run);
  });

  it('shows a prompt on which engines fail to no more than three endpoints of one backend', async () => {
    const run = begin({ a: 8, b: 8 });
    for (let call = 0; call < 6; call += 1) run.engine(call).head(500, {});
    expect(await run.ended).toMatchObject({ kind: 'failed', attempts: 6 });
    expect(run.places().filter((place) => place.startsWith('a '))).toHaveLength(3);
    expect(distinct(run.places())).toBe(6);
  });

  it('asks further endpoints where the first ones cannot be reached, eight of a backend at most', async () => {
    const run = begin({ a: 20 });
    for (let call = 0; call < 8; call += 1) run.engine(call).fail('ECONNREFUSED');
    expect(await run.ended).toMatchObject({ kind: 'failed', attempts: 8 });
    expect(distinct(run.places())).toBe(8);
  });

  it('leaves the route where every endpoint would answer the same', async () => {
    const run = begin(
      { a: 4, b: 1 },
      { errors: { needsBody: () => false, read: () => ({ engineError: 'bad-request' }) } },
    );
    run.engine(0).head(400, {});
    run.engine(1).head(400, {});
    expect(await run.ended).toMatchObject({ kind: 'failed', refusedFor: 'bad-request', isPartial: false });
    expect(run.reasons).toEqual(['a first', 'b failover']);
  });

  it('finds an endpoint that came meanwhile', async () => {
    const run = begin({ a: 1 });
    run.live.a = 2;
    run.engine(0).fail('ECONNREFUSED');
    run.says(1, '0:hello 0!').end();
    expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 2 });
    expect(run.places()).toEqual([`a ${endpointOf('a', 1).name}`, `a ${endpointOf('a', 2).name}`]);
  });
});

describe('a request that would fail', () => {
  const full = (call: ReturnType<ReturnType<typeof begin>['engine']>) => call.head(429, { 'retry-after': '30' });

  /** Another request finds both endpoints of b full. */
  async function withFullB(options: Parameters<typeof runDispatch>[0] = {}) {
    const [clock, live] = [createFakeClock(), { a: 1, b: 2 }];
    const health = createHealth({ clock, random: chanceFrom(5).next, endpoints: endpointsOf(live) });
    const other = runDispatch({ backends: ['b'], clock, health });
    full(other.engine(0));
    full(other.engine(1));
    expect(await other.ended).toMatchObject({ kind: 'failed', attempts: 2 });
    return runDispatch({ backends: ['a', 'b'], clock, health, ...options });
  }

  it('asks endpoints that cool off, each once', async () => {
    const run = await withFullB();
    run.engine(0).head(500, {});
    full(run.engine(1));
    run.says(2, '0:hello 0!').end();
    expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 3 });
    expect(distinct(run.upstream.calls.map(({ call }) => `${call.cluster} ${call.endpoint}`))).toBe(3);
    expectQuiet(run);
  });

  it('asks a route that was left out, too', async () => {
    const [a, b] = plannedOfAll(['a', 'b']);
    const plan = { model: modelOf([]), routes: [a] as const, leftOut: b === undefined ? [] : [b] };
    const run = await withFullB({ plan });
    run.engine(0).head(500, {});
    run.says(1, '0:hello 0!').end();
    expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 2, routes: 2 });
    expectQuiet(run);
  });

  it('goes on with its answer there', async () => {
    const [a, b] = plannedOfAll(['a', 'b']);
    const plan = { model: modelOf([]), routes: [a] as const, leftOut: b === undefined ? [] : [b] };
    const run = await withFullB({ plan });
    run.says(0, '0:Hel').fail('ECONNRESET');
    await run.upstream.called(1);
    run.says(1, '0:lo 0!').end();
    expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 2, isContinued: true });
    expectQuiet(run);
  });

  it('asks none of them where the first attempt finds no other endpoint', async () => {
    const run = await withFullB({ backends: ['b'] });
    expect(await run.ended).toMatchObject({ kind: 'failed', attempts: 0 });
  });

  it('asks none of them while another attempt runs', async () => {
    const run = await withFullB({ idleMs: 100_000 });
    run.clock.advance(5000);
    expect(run.upstream.calls).toHaveLength(1);
    run.says(0, '0:hello 0!').end();
    expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 1 });
  });
});

describe('a hedge', () => {
  it('is made on another endpoint of the same backend', async () => {
    const run = begin({ a: 3 }, { idleMs: 100_000 });
    run.clock.advance(1000);
    run.says(1, '0:hello 0!').end();
    expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 2 });
    expect(distinct(run.places())).toBe(2);
    expect({ reasons: run.reasons, steps: run.steps }).toEqual({
      reasons: ['a first', 'a hedge'],
      steps: ['first', 'endpoint'],
    });
    expect(run.engine(0).aborted()).toBe(true);
    expectQuiet(run);
  });
});

describe('a stream that breaks off', () => {
  it('goes on on the endpoint whose hedge it had won', async () => {
    const run = begin({ a: 2 }, { idleMs: 100_000 });
    run.clock.advance(1000);
    run.says(0, '0:Hello');
    expect(run.engine(1).aborted()).toBe(true);
    run.engine(0).fail('ECONNRESET');
    await run.upstream.called(2);
    expect(run.places()[2]).toBe(run.places()[1]);
    run.says(2, '0:you 0!').end();
    expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 3, isContinued: true });
    expectQuiet(run);
  });

  it('goes on where it broke on another endpoint of the same backend, whatever else the plan has', async () => {
    const run = begin({ a: 3, b: 3 });
    run.says(0, '0:Hel 0:lo').fail('ECONNRESET');
    await run.upstream.called(1);
    run.says(1, '0:, 0:you').fail('ECONNRESET');
    await run.upstream.called(2);
    run.says(2, '0:! 0!').end();
    expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 3, isContinued: true });
    expect(run.text()).toBe('Hello,you!');
    expect(distinct(run.places())).toBe(3);
    expect(run.reasons).toEqual(['a first', 'a resume', 'a resume']);
    expect(run.steps).toEqual(['first', 'endpoint', 'endpoint']);
    expectQuiet(run);
  });

  it('goes on on the endpoint that has taken the place of the only one', async () => {
    const run = begin({ a: 2 });
    run.says(0, '0:Hello').fail('ECONNRESET');
    await run.upstream.called(1);
    run.says(1, '0:you 0!').end();
    expect(await run.ended).toMatchObject({ kind: 'completed', isContinued: true });
  });

  it('is continued choice by choice', async () => {
    const run = begin({ a: 4 }, { asked: { choices: 2 } });
    run.says(0, '0:one 1:two').fail('ECONNRESET');
    await run.upstream.called(2);
    run.says(1, '0:more 0!').end();
    run.says(2, '0:also 0!').end();
    expect(await run.ended).toMatchObject({ kind: 'completed', isContinued: true });
    expect([run.text(0), run.text(1)]).toEqual(['onemore', 'twoalso']);
    expect(run.places().slice(1)).not.toContain(run.places()[0]);
  });

  it('is interrupted where the backend has one endpoint, and no other route is there', async () => {
    const run = begin({ a: 1 });
    run.says(0, '0:Hello').fail('ECONNRESET');
    expect(await run.ended).toMatchObject({ kind: 'interrupted', attempts: 1 });
  });
});

it('an attempt that Envoy makes elsewhere is held against the endpoint that answers', async () => {
  const plan = { model: modelOf([], { hedging: 'Disabled' }), routes: plannedOfAll(['a']) };
  const run = begin({ a: 3 }, { plan });
  const [first] = run.upstream.calls;
  const other = endpointOf('a', first?.call.endpoint === endpointOf('a', 1).name ? 2 : 1).name;
  first?.movedTo(other);
  run.says(0, '0:Hello').fail('ECONNRESET');
  await run.upstream.called(1);
  expect(run.places()[1]).not.toBe(run.places()[0]);
  run.says(1, '0:you 0!').end();
  expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 2 });
});
