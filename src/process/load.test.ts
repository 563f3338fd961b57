// @suite apart
import { beforeEach, describe, expect, it } from 'vitest';
import { createProcessLoad, type LoadSources, type ProcessLoad } from './load.ts';

let now: number;
let memory: number;
let files: number;
/** Share of the time in which the loop has a processor. */
let share: number;
let ran: number;
let tick: () => void;
/** Between two ticks that the meter asks for. */
let intervalMs: number;
let garbage: number;
let collections: number;
let collectionMs: number;
let stopped: boolean;
let meter: ProcessLoad;

beforeEach(() => {
  now = 0;
  ran = 0;
  share = 1;
  memory = 100;
  files = 0.1;
  garbage = 0;
  collections = 0;
  collectionMs = 0;
  stopped = false;
  const sources: LoadSources = {
    elapsed: () => now,
    ranMs: () => ran,
    every: (ms, run) => {
      tick = run;
      intervalMs = ms;
      stopped = false;
      return () => {
        stopped = true;
      };
    },
    memoryInUse: () => memory + garbage,
    filesShare: () => files,
    collectGarbage: () => {
      collections += 1;
      garbage = 0;
      now += collectionMs;
    },
  };
  meter = createProcessLoad({ memoryLimitBytes: 1_000, collectFromShare: 0.8, sources });
});

/** Lets time pass with the loop free, or held up for `gapMs` again and again. */
function pass(ms: number, gapMs?: number): void {
  for (const end = now + ms; now < end;) {
    const ms = gapMs ?? intervalMs;
    now += ms;
    ran += ms * share;
    tick();
  }
}

describe("the event loop's delay", () => {
  it('is nothing while the timer is on time', () => {
    pass(1_000);
    expect(meter.current().eventLoopDelayMs).toBe(0);
  });

  it('is seen within 200 ms of a loop that is held up for 200 ms at a time, and is gone a second after', () => {
    pass(200, 200);
    expect(meter.current().eventLoopDelayMs).toBeGreaterThan(50);
    pass(1_000, 200);
    // Held up for 180 of each 200 ms: a moment at random waits 81.
    expect(meter.current().eventLoopDelayMs).toBeCloseTo(81, 0);
    pass(1_000);
    expect(meter.current().eventLoopDelayMs).toBeLessThan(1);
  });

  it('is its own while it runs, and not while other programs have the cores', () => {
    pass(1_000, 500);
    expect(meter.current().ownDelayMs).toBeCloseTo(meter.current().eventLoopDelayMs, 0);
    share = 0.05;
    pass(2_000, 500);
    expect(meter.current().eventLoopDelayMs).toBeGreaterThan(200);
    expect(meter.current().ownDelayMs).toBeLessThan(10);
  });

  it('is hardly seen of a single pause of 50 ms', () => {
    pass(500);
    pass(50, 50);
    expect(meter.current().eventLoopDelayMs).toBeLessThan(5);
  });
});

describe('a quiet loop', () => {
  it('ticks twice a second soon after the last request, and 50 times a second from the next one on', () => {
    pass(1_000);
    meter.arrived(0);
    pass(2_000);
    expect([intervalMs, meter.isQuiet()]).toEqual([20, false]);
    pass(600);
    expect([intervalMs, meter.isQuiet()]).toEqual([500, true]);
    now += 300;
    meter.arrived(0);
    expect([intervalMs, meter.isQuiet()]).toEqual([20, false]);
    pass(20);
    expect(meter.current().eventLoopDelayMs).toBe(0);
  });

  it('ends with one late tick, whose delay counts', () => {
    pass(3_000);
    expect(meter.isQuiet()).toBe(true);
    pass(500, 900);
    expect(meter.isQuiet()).toBe(false);
    // 400 of 900 ms late, and nearly all older ticks are forgotten.
    expect(meter.current().eventLoopDelayMs).toBeCloseTo(88, 0);
  });

  it('does not begin while a queue is remembered', () => {
    for (let second = 0; second < 40; second += 1) {
      for (let request = 0; request < 10; request += 1) meter.arrived(1_000);
      pass(100);
    }
    expect(meter.current().queuedForMs).toBeGreaterThan(3_000);
    pass(3_000);
    expect(meter.isQuiet()).toBe(false);
    pass(1_500);
    expect(meter.isQuiet()).toBe(true);
  });
});

describe('memory', () => {
  it('is a share of the limit, looked at four times a second', () => {
    expect(meter.current().memoryShare).toBe(0.1);
    memory = 900;
    pass(200);
    expect(meter.current().memoryShare).toBe(0.1);
    pass(60);
    expect(meter.current().memoryShare).toBe(0.9);
    memory = 300;
    pass(260);
    expect(meter.current().memoryShare).toBe(0.3);
  });

  it('that is only garbage never counts: it is collected as soon as it would, with no traffic', () => {
    garbage = 850;
    pass(260);
    expect([collections, meter.current().memoryShare]).toEqual([1, 0.1]);
  });

  it('is left alone up to the share from which it matters', () => {
    garbage = 700;
    pass(60_000);
    expect([collections, meter.current().memoryShare]).toEqual([0, 0.8]);
  });

  it('that is really needed is not collected more than once in 5 s, and counts', () => {
    memory = 900;
    pass(260);
    expect([collections, meter.current().memoryShare]).toEqual([1, 0.9]);
    pass(4_700);
    expect(collections).toBe(1);
    pass(20_000);
    expect(collections).toBe(5);
    memory = 300;
    pass(260);
    expect(meter.current().memoryShare).toBe(0.3);
  });

  it('is collected in no more than a hundredth of the time, however long that takes, and the pause is no load', () => {
    memory = 900;
    collectionMs = 400;
    pass(60_000);
    expect(collections).toBe(2);
    expect(meter.current().eventLoopDelayMs).toBeLessThan(1);
  });
});

it('open files are counted four times a second', () => {
  expect(meter.current().filesShare).toBe(0.1);
  files = 0.9;
  pass(200);
  expect(meter.current().filesShare).toBe(0.1);
  pass(60);
  expect(meter.current().filesShare).toBe(0.9);
});

it('frees a buffer that is no longer needed in this very process', async () => {
  const inUse = (): number => process.memoryUsage().heapUsed + process.memoryUsage().external;
  const waste = (bytes: number): number => Buffer.alloc(bytes).length;
  const limit = inUse() + 128 * 1024 * 1024;
  waste(256 * 1024 * 1024);
  const real = createProcessLoad({ memoryLimitBytes: limit, collectFromShare: 0.9 });
  expect(real.current().memoryShare).toBeGreaterThan(1);
  await expect.poll(() => real.current().memoryShare).toBeLessThan(0.9);
  real.close();
});

describe('the median wait', () => {
  const arrive = (...waits: readonly number[]): void => waits.forEach((wait) => meter.arrived(wait));

  it('is what half of the newest waited at least, known after 100 ms', () => {
    arrive(90, 80, 70, 60, 50, 40, 30, 20, 10, 5, 95, 85);
    pass(80);
    expect(meter.current().medianWaitMs).toBe(0);
    pass(20);
    expect(meter.current().medianWaitMs).toBe(60);
  });

  it('is nothing where only a few had to wait', () => {
    arrive(90, 80, 70, 60, 50, 0, 0, 0, 0, 0, 0, 0);
    pass(100);
    expect(meter.current().medianWaitMs).toBe(0);
  });

  it('waits for enough requests, and no longer than half a second', () => {
    arrive(50, 50, 50);
    pass(480);
    expect(meter.current().medianWaitMs).toBe(0);
    pass(20);
    expect(meter.current().medianWaitMs).toBe(50);
  });

  it('does not follow from one or two', () => {
    arrive(5_000, 5_000);
    pass(500);
    expect(meter.current().medianWaitMs).toBe(0);
  });

  it('is forgotten when requests stop', () => {
    arrive(50, 50, 50, 50, 50, 50, 50, 50, 50, 50);
    pass(100);
    expect(meter.current().medianWaitMs).toBe(50);
    pass(500);
    expect(meter.current().medianWaitMs).toBe(0);
  });
});

describe('the time for which there has been a queue', () => {
  /** So many windows of 100 ms with a wait that half of the requests had. */
  function wait(waitedMs: number, windows: number): void {
    for (let window = 0; window < windows; window += 1) {
      for (let count = 0; count < 10; count += 1) meter.arrived(waitedMs);
      pass(100);
    }
  }

  it('grows while requests stand, and is paid back twice as fast', () => {
    wait(900, 15);
    expect(meter.current().queuedForMs).toBe(1_500);
    wait(400, 5);
    expect(meter.current().queuedForMs).toBe(500);
    wait(900, 5);
    expect(meter.current().queuedForMs).toBe(1_000);
  });

  it('is forgotten within two seconds, however long it was', () => {
    wait(900, 300);
    pass(2_000);
    expect(meter.current().queuedForMs).toBe(0);
  });
});

it('stops its timer when it is closed', () => {
  meter.close();
  expect(stopped).toBe(true);
});

it('measures this very process', async () => {
  const real = createProcessLoad({ memoryLimitBytes: 1024 ** 4, collectFromShare: 0.8 });
  const held = performance.now();
  while (performance.now() - held < 400);
  // The timer is overdue: it runs before one that is armed now.
  await new Promise((resolve) => setTimeout(resolve, 20));
  const { eventLoopDelayMs, memoryShare } = real.current();
  real.close();
  expect(eventLoopDelayMs).toBeGreaterThan(50);
  expect(memoryShare).toBeGreaterThan(0);
  expect(memoryShare).toBeLessThan(0.01);
});
