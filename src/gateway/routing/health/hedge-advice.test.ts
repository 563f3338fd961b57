import { describe, expect, it } from 'vitest';
import type { Route } from '../../../core/catalog.ts';
import { complete, failed, reset, sized, watchHealth } from '../../../../test/support/watch-health.ts';

describe('when to hedge', () => {
  const warm = (set: ReturnType<typeof watchHealth>, route: Route, firstMs: number, stream = true): void => {
    for (let time = 0; time < 30; time += 1) set.attempt(route, complete, { firstMs, stream });
  };
  const [a, b, c] = [sized('a', 10), sized('b', 10), sized('c', 10)];
  const about = (ms: number): unknown => expect.closeTo(ms, -Math.log10(ms * 0.2));

  it('follows the route’s own 95th percentile, streams and whole answers apart', () => {
    const set = watchHealth();
    warm(set, a, 200);
    warm(set, a, 1000, false);
    expect(set.hedge(a, { stream: true, others: [b] })).toEqual({ afterMs: about(200), insured: false });
    expect(set.hedge(a, { stream: false, others: [b] })).toEqual({ afterMs: about(1000), insured: false });
  });

  it('of a route that is new follows the best of the others', () => {
    const set = watchHealth();
    warm(set, b, 400);
    warm(set, c, 250);
    expect(set.hedge(a, { stream: true, others: [b, c] })).toEqual({ afterMs: about(250), insured: false });
  });

  it.each([
    [true, 1000],
    [false, 5000],
  ])('is a guess where nothing is known (stream: %s): %i ms', (stream, afterMs) => {
    expect(watchHealth().hedge(a, { stream, others: [b] })).toEqual({ afterMs, insured: false });
  });

  it('takes the little that is known of a slow model for what it is', () => {
    const set = watchHealth();
    set.attempt(a, complete, { firstMs: 4000 });
    expect(set.hedge(a, { stream: true, others: [b] })).toEqual({ afterMs: about(4000), insured: false });
  });

  it.each([
    [1, 50],
    [120_000, 30_000],
  ])('stays sane: %i ms become %i', (firstMs, afterMs) => {
    const set = watchHealth();
    warm(set, a, firstMs);
    expect(set.hedge(a, { stream: true, others: [b] })?.afterMs).toBe(afterMs);
  });

  it('counts a lost race as a wait of that long at least', () => {
    const set = watchHealth();
    warm(set, a, 200);
    for (let time = 0; time < 4; time += 1) set.attempt(a, { kind: 'beaten' }, { firstMs: 900 });
    expect(set.hedge(a, { stream: true, others: [b] })?.afterMs).toBeGreaterThan(700);
  });

  it('is never without another route', () => {
    expect(watchHealth().hedge(a, { stream: true, others: [] })).toBeUndefined();
  });

  it.each([
    [8, { afterMs: 1000, insured: false }],
    [9, undefined],
  ])('is off when the others are too full: %i of 10', (busy, advice) => {
    const set = watchHealth();
    for (let time = 0; time < busy; time += 1) set.begin(b);
    expect(set.hedge(a, { stream: true, others: [b] })).toEqual(advice);
  });

  it('is off when all of them together are busy', () => {
    const set = watchHealth();
    for (let time = 0; time < 10; time += 1) set.begin(a);
    for (let time = 0; time < 7; time += 1) set.begin(b);
    expect(set.hedge(a, { stream: true, others: [b] })).toBeUndefined();
  });

  it('leaves a standby alone, unless the attempt is a probe or runs on a standby itself', () => {
    const standby = { ...b, weight: 0 };
    const set = watchHealth();
    expect(set.hedge(a, { stream: true, others: [standby] })).toBeUndefined();
    expect(set.hedge(a, { stream: true, others: [standby, c] })).toEqual({ afterMs: 1000, insured: false });
    expect(set.hedge({ ...c, weight: 0 }, { stream: true, others: [standby] })).toBeDefined();
    for (let time = 0; time < 5; time += 1) set.attempt(a, failed(reset));
    set.clock.advance(60_000);
    set.begin(a);
    expect(set.hedge(a, { stream: true, others: [standby] })).toMatchObject({ insured: true });
  });

  it('is off when the others are out', () => {
    const set = watchHealth();
    for (let time = 0; time < 5; time += 1) set.attempt(b, failed(reset));
    expect(set.hedge(a, { stream: true, others: [b] })).toBeUndefined();
  });

  it.each([
    ['what is usual', 250, 250],
    ['a guess, where the others are slower', 4000, 1000],
  ])('insures a probe after %s', (_, firstMs, afterMs) => {
    const set = watchHealth();
    warm(set, b, firstMs);
    for (let time = 0; time < 5; time += 1) set.attempt(a, failed(reset));
    set.clock.advance(1000);
    set.begin(a);
    expect(set.hedge(a, { stream: true, others: [b] })).toEqual({ afterMs: about(afterMs), insured: true });
  });
});
