import { statSync } from 'node:fs';
import { release } from 'node:os';
import type { Load, LoadMeter } from '../core/load.ts';
import { countsOpenFiles, openFilesFolder } from '../core/open-files.ts';
import { type CollectGarbage, findCollector } from './collect-garbage.ts';
import { openFilesLimit } from './machine.ts';
import { keepLast } from './shortages.ts';

export interface ProcessLoad extends LoadMeter {
  /** Whether no request has arrived for a while, and the event loop was on time. */
  readonly isQuiet: () => boolean;
  readonly close: () => void;
}

/** Parts of the machine that a test replaces. */
export interface LoadSources {
  /** Monotonic milliseconds. */
  readonly elapsed: () => number;
  /** Processor time of the event loop's thread so far, milliseconds. */
  readonly ranMs: () => number;
  /** Runs `run` every so often until the returned function is called; keeps no process alive. */
  readonly every: (intervalMs: number, run: () => void) => () => void;
  /** Bytes in use, including garbage that is not yet collected. */
  readonly memoryInUse: () => number;
  /** Open files, as a share of the limit; 0 where the system does not count them. */
  readonly filesShare: () => number;
  /** Collects all garbage, now. */
  readonly collectGarbage: () => void;
}

const tickMs = 20;
/** Between two ticks of a quiet loop. A process with nothing to do must not wake 50 times a second for it. */
const quietTickMs = 500;
/** The loop is quiet when no request has arrived for so long, and no tick was late. */
const quietAfterMs = 2_000;
/** A tick of a quiet loop that is later than this ends the quiet. */
const lateMs = 20;
/** Time constant with which the event loop's delay decays: after a second it has no effect. */
const memoryMs = 200;
const lookAtMemoryEveryMs = 250;
/**
 * Garbage is collected at most this often and for at most a hundredth of the time: a process that really needs almost all of its
 * memory must not be stopped again and again for nothing.
 */
const collectEveryMs = 5_000;
const collectShare = 0.01;
/** A window of waits ends after this time if it has enough of them, otherwise a little later. */
const shortWindowMs = 100;
const longWindowMs = 500;
const enoughWaits = 10;
/** The median of fewer waits than this is not used. */
const tooFewWaits = 3;
const maxWaits = 1_000;
/** A median wait up to this does not count as a queue. */
const momentMs = 400;
/** Longest time for which a queue is remembered. It is forgotten in half that time. */
const maxQueueMs = 4_000;

const countsFiles = countsOpenFiles(process.platform, release());
const filesLimit = openFilesLimit();

const processSources: LoadSources = {
  elapsed: () => performance.now(),
  ranMs: () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  },
  every: (intervalMs, run) => {
    const timer = setInterval(run, intervalMs).unref();
    return () => clearInterval(timer);
  },
  // Not the resident set: an allocator keeps memory that it once had, and a service would shed load for ever after one
  // rush.
  memoryInUse: () => {
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  },
  filesShare: () => (countsFiles && filesLimit !== undefined ? statSync(openFilesFolder).size / filesLimit : 0),
  collectGarbage: createCollector(),
};

/** Looks for the collector when it is first needed. */
function createCollector(): () => void {
  let collect: CollectGarbage | undefined;
  return () => {
    collect ??= findCollector();
    collect({ type: 'major' });
  };
}

/** Measures this process, on a timer that ticks 50 times a second while requests arrive, and twice a second in quiet. */
export function createProcessLoad(options: {
  readonly memoryLimitBytes: number;
  /** Above this share, garbage is collected at once, so that it does not count as memory in use. */
  readonly collectFromShare: number;
  readonly sources?: LoadSources;
}): ProcessLoad {
  const { sources = processSources, memoryLimitBytes, collectFromShare } = options;
  const { elapsed, every, collectGarbage } = sources;
  const ranMs = keepLast(sources.ranMs, 0);
  const memoryInUse = keepLast(sources.memoryInUse, 0);
  const countFiles = keepLast(sources.filesShare, 0);
  let eventLoopDelayMs = 0;
  let ownDelayMs = 0;
  let memoryShare = memoryInUse() / memoryLimitBytes;
  let filesShare = countFiles();
  let mayCollectAt = 0;
  let medianWaitMs = 0;
  let queuedForMs = 0;
  let load: Load = { eventLoopDelayMs, ownDelayMs, memoryShare, filesShare, medianWaitMs, queuedForMs };
  let tickedAt = elapsed();
  let ranAtTick = ranMs();
  let lookedAt = tickedAt;
  let windowAt = tickedAt;
  let waits: number[] = [];
  let busyAt = tickedAt;
  let intervalMs = tickMs;
  let stop = every(intervalMs, tick);

  function tickEvery(ms: number): void {
    stop();
    intervalMs = ms;
    tickedAt = elapsed();
    ranAtTick = ranMs();
    stop = every(ms, tick);
  }

  /**
   * Measures memory. V8 collects garbage only when allocations need room. Once requests are refused for lack of memory,
   * there are no allocations, so V8 would not collect.
   */
  function lookAtMemory(now: number): void {
    memoryShare = memoryInUse() / memoryLimitBytes;
    if (memoryShare <= collectFromShare || now < mayCollectAt) return;
    collectGarbage();
    const tookMs = elapsed() - now;
    mayCollectAt = now + Math.max(collectEveryMs, tookMs / collectShare);
    memoryShare = memoryInUse() / memoryLimitBytes;
    // The pause comes from the collection, and is no sign of load.
    tickedAt += tookMs;
  }

  function tick(): void {
    const now = elapsed();
    const gapMs = now - tickedAt;
    tickedAt = now;
    const ran = ranMs();
    const ownGapMs = Math.min(gapMs, intervalMs + ran - ranAtTick);
    ranAtTick = ran;
    if (gapMs > 0) {
      const weight = 1 - Math.exp(-gapMs / memoryMs);
      eventLoopDelayMs += (meanWait(gapMs, intervalMs) - eventLoopDelayMs) * weight;
      ownDelayMs += (meanWait(ownGapMs, intervalMs) - ownDelayMs) * weight;
    }
    if (now - lookedAt >= lookAtMemoryEveryMs) {
      lookedAt = now;
      lookAtMemory(now);
      filesShare = countFiles();
    }
    const windowMs = now - windowAt;
    if (windowMs >= longWindowMs || (windowMs >= shortWindowMs && waits.length >= enoughWaits)) {
      medianWaitMs = middle(waits);
      windowAt = now;
      waits = [];
      queuedForMs += medianWaitMs > momentMs ? windowMs : -2 * windowMs;
      queuedForMs = Math.min(maxQueueMs, Math.max(0, queuedForMs));
    }
    load = { eventLoopDelayMs, ownDelayMs, memoryShare, filesShare, medianWaitMs, queuedForMs };
    if (waits.length > 0 || queuedForMs > 0 || gapMs - intervalMs > lateMs) busyAt = now;
    const isBusy = now - busyAt < quietAfterMs;
    if (isBusy !== (intervalMs === tickMs)) tickEvery(isBusy ? tickMs : quietTickMs);
  }

  return {
    current: () => load,
    isQuiet: () => intervalMs !== tickMs,
    arrived: (waitedMs) => {
      if (waits.length < maxWaits) waits.push(waitedMs);
      if (intervalMs === tickMs) return;
      busyAt = elapsed();
      tickEvery(tickMs);
    },
    close: () => stop(),
  };
}

/**
 * The average wait of an event that became ready at a random moment between two ticks, if the loop was blocked once
 * between them.
 */
function meanWait(gapMs: number, intervalMs: number): number {
  return Math.max(0, gapMs - intervalMs) ** 2 / (2 * gapMs);
}

function middle(waits: readonly number[]): number {
  if (waits.length < tooFewWaits) return 0;
  return waits.toSorted((a, b) => a - b)[Math.floor(waits.length / 2)] ?? 0;
}
