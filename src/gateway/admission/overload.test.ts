// @suite apart
import { beforeEach, describe, expect, it } from 'vitest';
import { Failure } from '../../core/failure.ts';
import type { FirstTokenWait } from '../core/health.ts';
import type { Load, ShedReason } from '../../core/load.ts';
import {
  checkFirstToken,
  checkLoad,
  checkQueue,
  createShedWatch,
  nextAdmitRatio,
  admitStepMs,
  overloadLimits,
  shedShare,
  type ShedWatch,
} from './overload.ts';
import { createFakeClock, type FakeClock } from '../../../test/support/fake-clock.ts';

const limits = {
  waitMs: { from: 50, to: 200 },
  burstMs: 2_000,
  eventLoopDelayMs: { from: 100, to: 300 },
  memoryShare: { from: 0.8, to: 0.9 },
  filesShare: { from: 0.8, to: 0.9 },
  openRequests: { from: 90, to: 100 },
};
const idle = {
  eventLoopDelayMs: 0,
  ownDelayMs: 0,
  memoryShare: 0.1,
  filesShare: 0.1,
  medianWaitMs: 0,
  queuedForMs: 0,
  waitedMs: 0,
  openRequests: 20,
};

interface Given extends Partial<Load> {
  readonly waitedMs?: number;
  readonly openRequests?: number;
}

const now = 1_780_000_000_000;
const headWith = (received: string | undefined) => ({
  ...{ method: 'POST', path: '/' },
  header: (name: string) => (name === 'x-weir-received' ? received : undefined),
});

/** The reason for which the request is turned away when chance says `random`. */
function fate(given: Given, random = 0.5): ShedReason | 'admitted' {
  const all = { ...idle, ...given };
  try {
    const arrival = { head: headWith(String(now - all.waitedMs)), startedAt: now, openRequests: all.openRequests };
    const guard = { limits, random: () => random, current: () => all };
    checkLoad(arrival, guard);
    checkQueue(arrival, { ...guard, arrived: () => undefined });
  } catch (error) {
    expect(error).toMatchObject({
      code: 'overloaded',
      message: expect.stringContaining('overloaded'),
      row: { status: 503 },
      retryAfterSeconds: undefined,
    });
    return error instanceof Failure ? (error.limit as ShedReason) : 'admitted';
  }
  return 'admitted';
}

describe('a new request', () => {
  it.each<readonly [what: string, given: Given, random: number, fate: ShedReason | 'admitted']>([
    ['nothing runs short', {}, 0, 'admitted'],
    ['the loop is at its first threshold', { eventLoopDelayMs: 100 }, 0, 'admitted'],
    ['the loop is half way, and chance is against it', { eventLoopDelayMs: 200 }, 0.49, 'event-loop'],
    ['the loop is half way, and chance is for it', { eventLoopDelayMs: 200 }, 0.5, 'admitted'],
    ['the loop is at its last threshold', { eventLoopDelayMs: 300 }, 0.999, 'event-loop'],
    ['other programs have the cores, and few are open', { eventLoopDelayMs: 900, openRequests: 7 }, 0, 'admitted'],
    ['other programs have the cores, and eight are open', { eventLoopDelayMs: 900, openRequests: 8 }, 0, 'event-loop'],
    [
      'the loop is busy itself, and few are open',
      { eventLoopDelayMs: 900, ownDelayMs: 900, openRequests: 1 },
      0.999,
      'event-loop',
    ],
    [
      'a queue stands while other programs have the cores, and few are open',
      { waitedMs: 900, queuedForMs: 4_000, openRequests: 7 },
      0,
      'admitted',
    ],
    ['memory is half way, and chance is against it', { memoryShare: 0.85 }, 0.49, 'memory'],
    ['memory is half way, and chance is for it', { memoryShare: 0.85 }, 0.51, 'admitted'],
    ['open files are half way, and chance is against it', { filesShare: 0.85 }, 0.49, 'open-files'],
    ['open files are half way, and chance is for it', { filesShare: 0.85 }, 0.51, 'admitted'],
    ['open files are beyond all', { filesShare: 1 }, 0.999, 'open-files'],
    ['memory is beyond all', { memoryShare: 1.2 }, 0.999, 'memory'],
    ['as many are open as may be', { openRequests: 100 }, 0.999, 'open-requests'],
    ['nine in ten are open', { openRequests: 90 }, 0, 'admitted'],
    ['it waited long in a queue that stands', { queuedForMs: 2_000, waitedMs: 200 }, 0.999, 'queue'],
    ['it waited long behind a burst', { queuedForMs: 1_900, medianWaitMs: 900, waitedMs: 200 }, 0, 'admitted'],
    ['it waited little in a queue that stands', { queuedForMs: 2_000, waitedMs: 50 }, 0, 'admitted'],
    ['it waited half long in a queue that stands', { queuedForMs: 2_000, waitedMs: 125 }, 0.49, 'queue'],
  ])('when %s', (_, given, random, expected) => {
    expect(fate(given, random)).toBe(expected);
  });

  it('is refused the more often the more runs short', () => {
    const shareAt = (eventLoopDelayMs: number): number =>
      Array.from({ length: 100 }, (_, at) => fate({ eventLoopDelayMs }, at / 100)).filter((is) => is !== 'admitted')
        .length;
    expect([80, 100, 150, 200, 250, 300, 900].map(shareAt)).toEqual([0, 0, 25, 50, 75, 100, 100]);
  });
});

describe('the limits', () => {
  it('let as many requests be open as memory holds, up to 20,000', () => {
    expect(overloadLimits(256 * 1024 ** 2).openRequests).toEqual({ from: 1843, to: 2048 });
    expect(overloadLimits(64 * 1024 ** 3).openRequests).toEqual({ from: 18_000, to: 20_000 });
  });

  it.each([
    [undefined, 20_000],
    [1_048_576, 20_000],
    [1_024, 384],
    [400, 72],
    [100, 16],
  ])('with %s files let %d requests be open', (files, to) => {
    expect(overloadLimits(64 * 1024 ** 3, files).openRequests.to).toBe(to);
  });
});

describe('the share that is shed', () => {
  it.each([
    [{}, 1, 0],
    [{ memoryShare: 0.85 }, 1, 0.5],
    [{ filesShare: 0.85 }, 1, 0.5],
    [{ memoryShare: 0.85, eventLoopDelayMs: 200 }, 20, 0.75],
    [{ memoryShare: 0.85, eventLoopDelayMs: 200 }, 1, 0.5],
    [{ eventLoopDelayMs: 300, ownDelayMs: 200 }, 1, 0.5],
    [{ memoryShare: 1.2 }, 1, 1],
    [{ queuedForMs: 9_000, medianWaitMs: 9_000 }, 1, 0],
    [{}, 100, 1],
  ])('with %j and %d requests open is %d', (given, open, expected) => {
    expect(shedShare(open, { limits, current: () => ({ ...idle, ...given }) })).toBeCloseTo(expected);
  });
});

describe('the wait of a request', () => {
  it.each([
    ['is the time since Envoy had read its head', String(now - 7), 7],
    ['is none at once', String(now), 0],
    ['is none where a clock went back', String(now + 5), 0],
    ['is none where a clock was set', String(now - 3_600_000), 0],
    ['is none where it is not known', undefined, 0],
    ['is none where it makes no sense', 'soon', 0],
  ])('%s', (_, header, expected) => {
    const told: number[] = [];
    const arrived = (waited: number) => told.push(waited);
    const guard = { limits, random: () => 0.5, current: () => idle, arrived };
    checkQueue({ head: headWith(header), startedAt: now, openRequests: 1 }, guard);
    expect(told).toEqual([expected]);
  });
});

const loadWith = (waitMs: number) => ({ medianWaitMs: waitMs, queuedForMs: 5_000 });

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
  ])('%s', (_, ratio, waitMs, expected) => {
    expect(nextAdmitRatio(ratio, loadWith(waitMs))).toBeCloseTo(expected, 10);
  });
});

it('does not fall for a burst, and once it has fallen it follows the newest requests', () => {
  const burst = { medianWaitMs: 9_000, queuedForMs: 1_900 };
  expect(nextAdmitRatio(1, burst)).toBe(1);
  expect(nextAdmitRatio(0.8, burst)).toBeCloseTo(0.6, 10);
});

/**
 * A server in front of which a queue forms: `offered` and `capacity` in requests a second. A refusal at the edge costs a
 * sixth of a request, and what is said at one step acts at the one after the next.
 */
function simulate(offered: number, capacity: number, seconds: number) {
  const steps: { readonly ratio: number; readonly waitMs: number }[] = [];
  const offeredNow = (offered * admitStepMs) / 1000;
  let queued = 0;
  let ratio = 1;
  let acting: readonly number[] = [1, 1];
  let queuedForMs = 0;
  for (let at = 0; at < (seconds * 1000) / admitStepMs; at += 1) {
    const [open = 1, ...later] = acting;
    const free = (capacity * admitStepMs) / 1000 - (offeredNow * (1 - open)) / 6;
    queued = Math.max(0, queued + offeredNow * open - free);
    const waitMs = (queued / capacity) * 1000;
    queuedForMs = Math.max(0, queuedForMs + (waitMs > 400 ? 1 : -2) * admitStepMs);
    ratio = nextAdmitRatio(ratio, { medianWaitMs: waitMs, queuedForMs });
    acting = [...later, ratio];
    steps.push({ ratio, waitMs });
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
    const served = settled.reduce((sum, { ratio }) => sum + ratio * 3_000, 0) / settled.length;
    expect(served).toBeGreaterThan(450);
  });

  it('is open again within six seconds after it', () => {
    let ratio = settled.at(-1)?.ratio ?? 0;
    for (let at = 0; at < 6_000 / admitStepMs; at += 1) ratio = nextAdmitRatio(ratio, loadWith(0));
    expect(ratio).toBe(1);
  });
});

it('never closes under a load that can be carried', () => {
  expect(simulate(900, 1_000, 30).every(({ ratio }) => ratio === 1)).toBe(true);
});

let clock: FakeClock;
let share: number;
let watch: ShedWatch;

beforeEach(() => {
  clock = createFakeClock();
  share = 0;
  watch = createShedWatch({ clock, shedShare: () => share });
});

function pass(ms: number, shedShare: number): boolean {
  share = shedShare;
  clock.advance(ms);
  return watch.isSheddingAll();
}

describe('the watch over shedding', () => {
  it('reports when nearly every request has been shed for 5 s, and recovers by itself', () => {
    expect(pass(60_000, 0)).toBe(false);
    expect(pass(5_000, 0.96)).toBe(false);
    expect(pass(500, 1)).toBe(true);
    expect(pass(500, 0.49)).toBe(false);
  });

  it('looks four times as often once a request arrives, or while requests are shed', () => {
    let looks = 0;
    let isQuiet = true;
    const counted = createShedWatch({
      clock,
      isQuiet: () => isQuiet,
      shedShare: () => {
        looks += 1;
        return share;
      },
    });
    const looksIn = (ms: number): number => {
      const before = looks;
      clock.advance(ms);
      return looks - before;
    };
    share = 0;
    expect(looksIn(20_000)).toBe(10);
    share = 1;
    expect(looksIn(2_000)).toBe(1);
    expect(looksIn(5_000)).toBe(10);
    expect(counted.isSheddingAll()).toBe(true);
    share = 0;
    clock.advance(2_500);
    isQuiet = false;
    clock.advance(2_000);
    expect(looksIn(10_000)).toBe(20);
    counted.close();
  });

  it('reports no rush that is shorter, and none that lets some requests pass', () => {
    for (let rush = 0; rush < 10; rush += 1) {
      expect(pass(4_500, 1)).toBe(false);
      expect(pass(500, 0.9)).toBe(false);
    }
    expect(pass(60_000, 0.9)).toBe(false);
  });

  it('does not recover for a share that is hardly less', () => {
    expect(pass(6_000, 1)).toBe(true);
    expect(pass(60_000, 0.6)).toBe(true);
    expect(pass(500, 0)).toBe(false);
  });

  it('stops when it is closed', () => {
    watch.close();
    expect(clock.armed()).toBe(0);
  });
});

describe('a request that would wait for its first token', () => {
  const model = { id: 'demo/tiny', serviceLevel: { minAvailability: 0.9, windowSeconds: 900, firstTokenMs: 2000 } };
  const wait = (firstMs: number, aloneMs = 300): FirstTokenWait => ({ firstMs, aloneMs });
  const isRefused = (
    waits: readonly (FirstTokenWait | undefined)[],
    random = 0.5,
    of: typeof model | { id: string } = model,
  ) => {
    try {
      checkFirstToken(of, waits, () => random);
    } catch (error) {
      expect(error).toMatchObject({ code: 'no_capacity', limit: 'first-token', row: { status: 503 } });
      return true;
    }
    return false;
  };

  it.each<readonly [string, readonly (FirstTokenWait | undefined)[], number, boolean]>([
    ['passes below the objective', [wait(1999)], 0, false],
    ['is refused by a share that rises above it', [wait(2500)], 0.49, true],
    ['passes with the rest of the share', [wait(2500)], 0.51, false],
    ['is refused in any case at one and a half times the objective', [wait(3000)], 0.999, true],
    ['passes if one route answers in time', [wait(9000), wait(1000)], 0, false],
    ['passes if nothing is known of one route', [wait(9000), undefined], 0, false],
    ['passes if the prompt takes long by itself', [wait(9000, 9000)], 0, false],
    ['is refused if others make a long prompt wait longer', [wait(14_000, 9000)], 0.5, true],
  ])('%s', (_, waits, random, expected) => {
    expect(isRefused(waits, random)).toBe(expected);
  });

  it('passes where the model has no objective', () => {
    expect(isRefused([wait(60_000)], 0, { id: 'demo/tiny' })).toBe(false);
  });
});
