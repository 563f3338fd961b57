import { describe, expect, it } from 'vitest';
import type { Fault } from '../../../core/event.ts';
import type { AttemptEnd } from '../../core/health.ts';
import { routeOf } from '../../../../test/support/route-of.ts';
import { complete, failed, limited, reset, sized, watchHealth } from '../../../../test/support/watch-health.ts';

describe('room', () => {
  it('is counted per backend, over all routes on it', () => {
    const { health, begin, state } = watchHealth();
    const one = sized('a', 2);
    const other = { ...one, id: 'other@a' };
    const record = begin(one);
    begin(other);
    expect([state(one), state(other), health.begin(one, { stream: false })]).toEqual([
      'unavailable',
      'unavailable',
      undefined,
    ]);
    record.ended({ kind: 'aborted' });
    record.ended({ kind: 'aborted' });
    expect([state(one), health.status(other, { stream: true, capabilities: [] }).inFlight]).toEqual(['available', 1]);
  });

  it('of a backend without a declared size does not end', () => {
    const { begin, state } = watchHealth();
    const route = routeOf('a');
    for (let time = 0; time < 1000; time += 1) begin(route);
    expect(state(route)).toBe('available');
  });
});

describe('an engine that is silent', () => {
  const wait = (waitedMs: number, stream = true) => ({ stream, waitedMs });

  it('is at work while the route has answered lately, and does not take much longer than it does as a rule', () => {
    const { begin, clock, isAnswering } = watchHealth();
    const route = routeOf('a');
    expect(isAnswering(route, wait(0))).toBe(false);
    for (let time = 0; time < 20; time += 1) {
      const record = begin(route);
      clock.advance(4000);
      record.ended(complete);
    }
    expect([0, 11_000, 16_000].map((ms) => isAnswering(route, wait(ms)))).toEqual([true, true, false]);
    // Of whole answers nothing is known but that the engine works.
    expect([15_000, 15_001].map((ms) => isAnswering(route, wait(ms, false)))).toEqual([true, false]);
    clock.advance(600_001);
    expect(isAnswering(route, wait(0))).toBe(false);
  });

  it('is not known to be at work after a failure, until it answers again', () => {
    const { attempt, isAnswering } = watchHealth();
    const route = routeOf('a');
    attempt(route, complete);
    expect(isAnswering(route, wait(0))).toBe(true);
    attempt(route, { kind: 'aborted' });
    expect(isAnswering(route, wait(0))).toBe(true);
    attempt(route, failed(reset));
    expect(isAnswering(route, wait(0))).toBe(false);
    attempt(route, complete);
    expect(isAnswering(route, wait(0))).toBe(true);
  });
});

describe('the circuit of a route', () => {
  it.each<readonly [string, AttemptEnd, string]>([
    ['a reset', failed(reset), 'last-resort'],
    ['a 500', failed({ kind: 'status', detail: '', status: 500, engineError: 'other' }), 'last-resort'],
    [
      'a 503 without a date',
      failed({ kind: 'status', detail: '', status: 503, engineError: 'overloaded' }),
      'last-resort',
    ],
    ['a lost account', failed({ kind: 'status', detail: '', status: 401, engineError: 'account' }), 'last-resort'],
    ['a race lost', { kind: 'beaten' }, 'unavailable'],
    [
      'a prompt too long',
      failed({ kind: 'status', detail: '', status: 400, engineError: 'context-length' }),
      'available',
    ],
    ['a bad request', failed({ kind: 'status', detail: '', status: 400, engineError: 'bad-request' }), 'available'],
    ['a defect of form', failed({ kind: 'structure', detail: '' }), 'available'],
    ['an answer that did not go on', failed({ kind: 'disjoint', detail: '' }), 'available'],
    ['a caller that left', { kind: 'aborted' }, 'available'],
  ])('after five times %s', (_, end, expected) => {
    const { attempt, state, isOut } = watchHealth();
    const route = routeOf('a');
    for (let time = 0; time < 5; time += 1) attempt(route, end);
    expect(state(route)).toBe(expected);
    expect(isOut(route)).toBe(expected !== 'available');
  });

  const engineFailure = failed({ kind: 'status', detail: '', status: 500, engineError: 'other' });

  it('stays closed for one prompt on which the engine fails a hundred times, and opens for five prompts', () => {
    const { attempt, state } = watchHealth();
    const route = routeOf('a');
    for (let time = 0; time < 100; time += 1) attempt(route, engineFailure, { prompt: 1 });
    expect(state(route)).toBe('available');
    for (const prompt of [2, 3, 4]) attempt(route, engineFailure, { prompt });
    expect(state(route)).toBe('available');
    attempt(route, engineFailure, { prompt: 5 });
    expect(state(route)).toBe('last-resort');
  });

  it('opens for one prompt that meets broken connections', () => {
    const { attempt, state } = watchHealth();
    const route = routeOf('a');
    for (let time = 0; time < 5; time += 1) attempt(route, failed(reset), { prompt: 1 });
    expect(state(route)).toBe('last-resort');
  });

  it('opens at a success rate of under one half', () => {
    const { attempt, state } = watchHealth();
    const route = routeOf('a');
    let attempts = 0;
    for (; state(route) === 'available' && attempts < 50; attempts += 1) {
      attempt(route, attempts % 3 === 0 ? complete : failed(reset));
    }
    expect(state(route)).toBe('last-resort');
    expect(attempts).toBeLessThan(12);
  });

  it('lets through what has nowhere else to go while it fails at once, and closes when that succeeds', () => {
    const { attempt, begin, state } = watchHealth();
    const route = routeOf('a');
    for (let time = 0; time < 5; time += 1) attempt(route, failed(reset));
    begin(route).ended(failed(reset));
    expect(state(route)).toBe('last-resort');
    begin(route).ended(complete);
    expect(state(route)).toBe('available');
  });

  it('lets nothing through when it kept callers waiting for nothing, but for a request that would fail', () => {
    const { clock, health, begin, state } = watchHealth();
    const route = routeOf('a');
    for (let time = 0; time < 5; time += 1) {
      const record = begin(route);
      clock.advance(1001);
      record.ended(failed({ kind: 'stalled', detail: '' }));
    }
    expect([state(route), health.begin(route, { stream: true })]).toEqual(['unavailable', undefined]);
    health.begin(route, { stream: true, isLastResort: true })?.ended(complete);
    expect(state(route)).toBe('available');
  });

  it('lets nothing through when one that came late failed together with those that had waited', () => {
    const { clock, attempt, begin, state } = watchHealth();
    const route = routeOf('a');
    const early = Array.from({ length: 5 }, () => begin(route));
    clock.advance(4500);
    const late = begin(route);
    clock.advance(500);
    for (const record of [...early, late]) record.ended(failed(reset));
    expect(state(route)).toBe('unavailable');
    clock.advance(1250);
    attempt(route, failed(reset));
    expect(state(route)).toBe('unavailable');
  });

  it('is probed by one attempt, which brings it back with a doubt', () => {
    const { clock, begin, state, status, isOut } = watchHealth();
    const route = routeOf('a');
    for (let time = 0; time < 5; time += 1) begin(route).ended(failed(reset));
    clock.advance(1000);
    expect(state(route)).toBe('probe');
    const probe = begin(route);
    expect([state(route), isOut(route)]).toEqual(['last-resort', false]);
    probe.output();
    expect(state(route)).toBe('available');
    expect(status(route).success).toBeCloseTo(2 / 3);
    probe.ended(complete);
    expect(status(route).success).toBeCloseTo(3 / 4);
  });

  it.each<readonly [string, AttemptEnd, string]>([
    ['is free again when the probe’s caller leaves', { kind: 'aborted' }, 'probe'],
    ['is free again when the probe’s request is at fault', failed({ ...reset, engineError: 'bad-request' }), 'probe'],
    ['opens for longer when the probe is beaten', { kind: 'beaten' }, 'unavailable'],
    ['opens for longer when the probe fails', failed(reset), 'last-resort'],
  ])('%s', (_, end, expected) => {
    const { clock, begin, state } = watchHealth();
    const route = routeOf('a');
    for (let time = 0; time < 5; time += 1) begin(route).ended(failed(reset));
    clock.advance(1000);
    begin(route).ended(end);
    expect(state(route)).toBe(expected);
    clock.advance(2000);
    expect(state(route)).toBe('probe');
  });

  it('lets another one probe when the first is never answered', () => {
    const { clock, health, begin, state } = watchHealth();
    const route = routeOf('a');
    for (let time = 0; time < 5; time += 1) {
      const record = begin(route);
      clock.advance(2000);
      record.ended(failed({ kind: 'stalled', detail: '' }));
    }
    clock.advance(1250);
    begin(route);
    expect([state(route), health.begin(route, { stream: true })]).toEqual(['unavailable', undefined]);
    clock.advance(10_000);
    expect(state(route)).toBe('probe');
    begin(route).ended(complete);
    expect(state(route)).toBe('available');
  });

  it('is the route’s own: another model on the same backend goes on', () => {
    const { attempt, state } = watchHealth();
    const route = routeOf('a');
    const other = { ...route, id: 'other@a' };
    for (let time = 0; time < 5; time += 1) attempt(route, failed(reset));
    expect([state(route), state(other)]).toEqual(['last-resort', 'available']);
  });
});

describe('cooling', () => {
  it.each<readonly [string, Partial<Fault>, number]>([
    ['as long as it asked', { retryAfterSeconds: 7 }, 7000],
    ['no longer than a minute', { retryAfterSeconds: 86_400 }, 60_000],
    ['for half a second when it named no time', {}, 500],
    ['for half a second when it named none worth the name', { retryAfterSeconds: 0 }, 500],
    ['when overloaded, as long as it asked', { status: 503, engineError: 'overloaded', retryAfterSeconds: 3 }, 3000],
  ])('keeps away from a route that has had enough, %s', (_, fault, ms) => {
    const { clock, health, attempt, state, isOut } = watchHealth();
    const route = routeOf('a');
    attempt(route, failed({ ...limited, ...fault }));
    clock.advance(ms - 1);
    expect([state(route), health.begin(route, { stream: true })]).toEqual(['unavailable', undefined]);
    // What is already waiting there was taken in before.
    expect(isOut(route)).toBe(false);
    clock.advance(1);
    expect(state(route)).toBe('available');
  });

  it('lasts longer when it is refused again, and all at once count as one', () => {
    const { clock, begin, attempt, state } = watchHealth();
    const route = routeOf('a');
    const records = Array.from({ length: 20 }, () => begin(route));
    for (const record of records) record.ended(failed(limited));
    clock.advance(500);
    attempt(route, failed(limited));
    clock.advance(999);
    expect(state(route)).toBe('unavailable');
    clock.advance(1);
    attempt(route, complete);
    attempt(route, failed(limited));
    clock.advance(500);
    expect(state(route)).toBe('available');
  });
});

describe('what is known of a route', () => {
  it('is kept from one snapshot to the next', () => {
    const { health, attempt, state } = watchHealth();
    for (let time = 0; time < 5; time += 1) attempt(routeOf('a'), failed(reset));
    health.retain([routeOf('a')]);
    expect(state(routeOf('a'))).toBe('last-resort');
  });

  it('is forgotten when the route leaves', () => {
    const { health, attempt, state } = watchHealth();
    for (let time = 0; time < 5; time += 1) attempt(routeOf('a'), failed(reset));
    health.retain([routeOf('b')]);
    expect(state(routeOf('a'))).toBe('available');
  });

  it('does not hold for a backend whose content has changed', () => {
    const { attempt, state } = watchHealth();
    const route = routeOf('a');
    for (let time = 0; time < 5; time += 1) attempt(route, failed(reset));
    const moved = { ...route.backend, cluster: { ...route.backend.cluster, name: 'cluster-elsewhere' } };
    expect(state({ ...route, backend: moved })).toBe('available');
  });

  it('keeps what still runs on a backend that leaves and comes back', () => {
    const { health, begin, status } = watchHealth();
    const route = sized('a', 2);
    const record = begin(route);
    health.retain([]);
    health.retain([route]);
    expect(status(route).inFlight).toBe(1);
    record.ended(complete);
    expect(status(route).inFlight).toBe(0);
  });

  it('is its pace, and the age of what waits where that is much more', () => {
    const { clock, attempt, begin, status } = watchHealth();
    const route = routeOf('a');
    for (let time = 0; time < 5; time += 1) attempt(route, complete, { firstMs: 100 });
    expect(status(route).firstOutput).toMatchObject({ ms: expect.closeTo(100) as number, isBound: false });
    expect(status(route, false).firstOutput).toBeUndefined();
    begin(route);
    clock.advance(1000);
    // One straggler is no change of pace.
    expect(status(route).firstOutput?.ms).toBeCloseTo(100);
    begin(route);
    expect(status(route).firstOutput?.ms).toBe(500);
  });

  it('is its speed in tokens, of streams', () => {
    const { clock, begin, status } = watchHealth();
    const route = routeOf('a');
    const record = begin(route);
    clock.advance(100);
    record.output();
    clock.advance(2000);
    record.ended(complete);
    expect(status(route).tokenMs).toBeCloseTo(20);
    expect(status(route, false).tokenMs).toBeUndefined();
  });
});
