import { describe, expect, it } from 'vitest';
import { nextAdmitRatio, admitStepMs } from './admit-ratio.ts';

const standing = (waitMs: number) => ({ standingWaitMs: waitMs, queuedForMs: 5_000 });

describe('the share that Envoy lets through', () => {
  it.each([
    ['stays whole without a queue', 1, 0, 1],
    ['stays whole up to the wait that is aimed at', 1, 400, 1],
    ['falls a little when the queue is a little long', 1, 800, 0.94],
    ['falls by a quarter at most', 0.8, 10_000, 0.6],
    ['never closes', 0.05, 10_000, 0.05],
    ['rises without a queue', 0.5, 0, 0.53],
    ['rises more slowly near the aim', 0.5, 320, 0.506],
    ['is never more than all', 0.99, 0, 1],
  ])('%s', (_, admitRatio, waitMs, expected) => {
    expect(nextAdmitRatio(admitRatio, standing(waitMs))).toBeCloseTo(expected, 10);
  });
});

it('does not fall for a burst, and once it has fallen it follows the newest requests', () => {
  const burst = { standingWaitMs: 9_000, queuedForMs: 1_900 };
  expect(nextAdmitRatio(1, burst)).toBe(1);
  expect(nextAdmitRatio(0.8, burst)).toBeCloseTo(0.6, 10);
});

/**
 * A server in front of which a queue forms: `offered` and `capacity` in requests a second. A refusal at the edge costs a
 * sixth of a request, and what is said at one step acts at the one after the next.
 */
function simulate(offered: number, capacity: number, seconds: number) {
  const steps: { readonly admitRatio: number; readonly waitMs: number }[] = [];
  const offeredNow = (offered * admitStepMs) / 1000;
  let queued = 0;
  let admitRatio = 1;
  let acting: readonly number[] = [1, 1];
  let queuedForMs = 0;
  for (let at = 0; at < (seconds * 1000) / admitStepMs; at += 1) {
    const [open = 1, ...later] = acting;
    const free = (capacity * admitStepMs) / 1000 - (offeredNow * (1 - open)) / 6;
    queued = Math.max(0, queued + offeredNow * open - free);
    const waitMs = (queued / capacity) * 1000;
    queuedForMs = Math.max(0, queuedForMs + (waitMs > 400 ? 1 : -2) * admitStepMs);
    admitRatio = nextAdmitRatio(admitRatio, { standingWaitMs: waitMs, queuedForMs });
    acting = [...later, admitRatio];
    steps.push({ admitRatio, waitMs });
  }
  return steps;
}

describe('under three times the load', () => {
  const settled = simulate(3_000, 1_000, 40).slice(150);

  it('works its queue off within fifteen seconds, and then keeps the wait under a second', () => {
    expect(Math.max(...settled.map(({ waitMs }) => waitMs))).toBeLessThan(1000);
  });

  it('keeps three quarters of what can be served in use', () => {
    // With 600 served a second the other 2,400 cost as much as 400: more cannot be.
    const served = settled.reduce((sum, { admitRatio }) => sum + admitRatio * 3_000, 0) / settled.length;
    expect(served).toBeGreaterThan(450);
  });

  it('is open again within six seconds after it', () => {
    let admitRatio = settled.at(-1)?.admitRatio ?? 0;
    for (let at = 0; at < 6_000 / admitStepMs; at += 1) admitRatio = nextAdmitRatio(admitRatio, standing(0));
    expect(admitRatio).toBe(1);
  });
});

it('never closes under a load that can be carried', () => {
  expect(simulate(900, 1_000, 30).every(({ admitRatio }) => admitRatio === 1)).toBe(true);
});
