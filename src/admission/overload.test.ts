import { describe, expect, it } from 'vitest';
import type { Load, ShedReason } from '../core/load.ts';
import { checkLoad, overloadLimits, shedShare } from './overload.ts';

const limits = {
  waitMs: { from: 50, to: 200 },
  burstMs: 2_000,
  eventLoopDelayMs: { from: 100, to: 300 },
  memoryShare: { from: 0.8, to: 0.9 },
  openRequests: { from: 90, to: 100 },
};
const idle = {
  eventLoopDelayMs: 0,
  memoryShare: 0.1,
  standingWaitMs: 0,
  queuedForMs: 0,
  waitedMs: 0,
  openRequests: 1,
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
  let reason: ShedReason | undefined;
  const shed = (told: ShedReason): void => {
    reason = told;
  };
  try {
    const arrival = { head: headWith(String(now - all.waitedMs)), startedAt: now, openRequests: all.openRequests };
    checkLoad(arrival, { limits, random: () => random, shed, current: () => all, arrived: () => undefined });
  } catch (error) {
    expect(error).toMatchObject({
      code: 'overloaded',
      message: expect.stringContaining('overloaded'),
      row: { status: 503 },
      retryAfterSeconds: undefined,
    });
    return reason ?? 'admitted';
  }
  expect(reason).toBeUndefined();
  return 'admitted';
}

describe('a new request', () => {
  it.each<readonly [what: string, given: Given, random: number, fate: ShedReason | 'admitted']>([
    ['nothing runs short', {}, 0, 'admitted'],
    ['the loop is at its first threshold', { eventLoopDelayMs: 100 }, 0, 'admitted'],
    ['the loop is half way, and chance is against it', { eventLoopDelayMs: 200 }, 0.49, 'event-loop'],
    ['the loop is half way, and chance is for it', { eventLoopDelayMs: 200 }, 0.5, 'admitted'],
    ['the loop is at its last threshold', { eventLoopDelayMs: 300 }, 0.999, 'event-loop'],
    ['memory is half way, and chance is against it', { memoryShare: 0.85 }, 0.49, 'memory'],
    ['memory is half way, and chance is for it', { memoryShare: 0.85 }, 0.51, 'admitted'],
    ['memory is beyond all', { memoryShare: 1.2 }, 0.999, 'memory'],
    ['as many are open as may be', { openRequests: 100 }, 0.999, 'open-requests'],
    ['nine in ten are open', { openRequests: 90 }, 0, 'admitted'],
    ['it waited long in a queue that stands', { queuedForMs: 2_000, waitedMs: 200 }, 0.999, 'queue'],
    ['it waited long behind a burst', { queuedForMs: 1_900, standingWaitMs: 900, waitedMs: 200 }, 0, 'admitted'],
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
});

describe('the share that is shed', () => {
  it.each([
    [{}, 1, 0],
    [{ memoryShare: 0.85 }, 1, 0.5],
    [{ memoryShare: 0.85, eventLoopDelayMs: 200 }, 1, 0.75],
    [{ memoryShare: 1.2 }, 1, 1],
    [{ queuedForMs: 9_000, standingWaitMs: 9_000 }, 1, 0],
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
    const guard = { limits, random: () => 0.5, shed: () => undefined, current: () => idle, arrived };
    checkLoad({ head: headWith(header), startedAt: now, openRequests: 1 }, guard);
    expect(told).toEqual([expected]);
  });
});
