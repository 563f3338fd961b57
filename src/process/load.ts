import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Load, LoadMeter } from '../core/load.ts';

export interface ProcessLoad extends LoadMeter {
  readonly close: () => void;
}

/** Parts of the machine that a test replaces. */
export interface LoadSources {
  /** Monotonic milliseconds. */
  readonly elapsed: () => number;
  /** Runs `run` every so often until the returned function is called; keeps no process alive. */
  readonly every: (intervalMs: number, run: () => void) => () => void;
  /** Bytes in use, and those of garbage that is not yet collected. */
  readonly memoryInUse: () => number;
  /** Collects all garbage, now. */
  readonly collectGarbage: () => void;
}

const tickMs = 20;
/** The event loop's delay is forgotten with this time constant: a second later nothing is left of it. */
const memoryMs = 200;
const lookAtMemoryEveryMs = 250;
/**
 * Garbage is collected no sooner than this after the time before, and takes a hundredth of the time at most: what is near its
 * limit with what it needs must not be stopped again and again for nothing.
 */
const collectEveryMs = 5_000;
const collectShare = 0.01;
/** A window of waits ends after this time if it holds enough of them, and else a little later. */
const shortWindowMs = 100;
const longWindowMs = 500;
const enoughWaits = 10;
/** So few say nothing. */
const tooFewWaits = 3;
const mostWaits = 1_000;
/** A median wait up to this is no queue. */
const momentMs = 400;
/** A queue that stood for longer is remembered for no longer: it is forgotten after half of it. */
const longestQueueMs = 4_000;

const processSources: LoadSources = {
  elapsed: () => performance.now(),
  every: (intervalMs, run) => {
    const timer = setInterval(run, intervalMs).unref();
    return () => clearInterval(timer);
  },
  // Not the resident set: an allocator keeps what it once had, and a service would shed load for ever after one rush.
  memoryInUse: () => {
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  },
  collectGarbage: createCollector(),
};

/** V8's own full collection, which it hands out only where the flag is set when a context is made. */
function createCollector(): () => void {
  let collect: (() => void) | undefined;
  return () => {
    if (collect === undefined) {
      setFlagsFromString('--expose-gc');
      const found: unknown = runInNewContext('gc');
      setFlagsFromString('--no-expose-gc');
      collect = typeof found === 'function' ? () => void found() : () => undefined;
    }
    collect();
  };
}

/** Measures this process, on a timer that ticks 50 times a second. */
export function createProcessLoad(options: {
  readonly memoryLimitBytes: number;
  /** From this share on memory matters: then garbage is collected, so that none of it counts. */
  readonly collectFromShare: number;
  readonly sources?: LoadSources;
}): ProcessLoad {
  const { elapsed, every, memoryInUse, collectGarbage } = options.sources ?? processSources;
  const { memoryLimitBytes, collectFromShare } = options;
  let eventLoopDelayMs = 0;
  let memoryShare = memoryInUse() / memoryLimitBytes;
  let mayCollectAt = 0;
  let medianWaitMs = 0;
  let queuedForMs = 0;
  let load: Load = { eventLoopDelayMs, memoryShare, medianWaitMs, queuedForMs };
  let tickedAt = elapsed();
  let lookedAt = tickedAt;
  let windowAt = tickedAt;
  let waits: number[] = [];

  /**
   * Looks at memory. V8 may leave garbage for as long as it likes: where all requests are turned away for it, nothing is left to
   * make V8 collect it.
   */
  function lookAtMemory(now: number): void {
    memoryShare = memoryInUse() / memoryLimitBytes;
    if (memoryShare <= collectFromShare || now < mayCollectAt) return;
    collectGarbage();
    const tookMs = elapsed() - now;
    mayCollectAt = now + Math.max(collectEveryMs, tookMs / collectShare);
    memoryShare = memoryInUse() / memoryLimitBytes;
    // The pause is its own doing, and no sign of load.
    tickedAt += tookMs;
  }

  const stop = every(tickMs, () => {
    const now = elapsed();
    const gapMs = now - tickedAt;
    tickedAt = now;
    if (gapMs > 0) {
      const weight = 1 - Math.exp(-gapMs / memoryMs);
      eventLoopDelayMs += (meanWait(gapMs) - eventLoopDelayMs) * weight;
    }
    if (now - lookedAt >= lookAtMemoryEveryMs) {
      lookedAt = now;
      lookAtMemory(now);
    }
    const windowMs = now - windowAt;
    if (windowMs >= longWindowMs || (windowMs >= shortWindowMs && waits.length >= enoughWaits)) {
      medianWaitMs = middle(waits);
      windowAt = now;
      waits = [];
      queuedForMs += medianWaitMs > momentMs ? windowMs : -2 * windowMs;
      queuedForMs = Math.min(longestQueueMs, Math.max(0, queuedForMs));
    }
    load = { eventLoopDelayMs, memoryShare, medianWaitMs, queuedForMs };
  });

  return {
    current: () => load,
    arrived: (waitedMs) => {
      if (waits.length < mostWaits) waits.push(waitedMs);
    },
    close: stop,
  };
}

/** Between two ticks the loop was held up for once: what became ready at a random moment waited this long on average. */
function meanWait(gapMs: number): number {
  const lateMs = Math.max(0, gapMs - tickMs);
  return lateMs ** 2 / (2 * gapMs);
}

function middle(waits: readonly number[]): number {
  if (waits.length < tooFewWaits) return 0;
  return waits.toSorted((a, b) => a - b)[Math.floor(waits.length / 2)] ?? 0;
}
