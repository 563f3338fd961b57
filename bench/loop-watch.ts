/** Longer delays of the event loop are stalls. */
export const stallMs = 5;

/** A delay of the event loop. All times are of the system's monotonic clock, which every process of the machine shares. */
export interface LoopStall {
  readonly fromMs: number;
  readonly toMs: number;
  /** Processor time that the thread had in between. */
  readonly ranMs: number;
}

export interface GarbageCollection {
  readonly kind: 'minor' | 'major' | 'incremental' | 'weak callbacks';
  readonly fromMs: number;
  readonly toMs: number;
}

/** What the event loop of a thread did since the last reading. */
export interface LoopReading {
  readonly toMs: number;
  /** Longest delay. */
  readonly delayMs: number;
  readonly stalls: readonly LoopStall[];
  readonly collections: readonly GarbageCollection[];
}

export interface LoopWatch {
  readonly take: () => LoopReading;
  readonly stop: () => void;
}

/** The time that loop watches and profiles count in, ms. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/**
 * Watches the event loop of its thread with a timer that is due every 2 ms: a timer that comes late shows how long ready
 * work waited. The inspector runs the source of this function inside the service, so it uses nothing from outside itself.
 */
export function watchLoop(longMs: number): LoopWatch {
  const everyMs = 2;
  const { performance, PerformanceObserver } = process.getBuiltinModule('node:perf_hooks');
  const offsetMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();
  const threadMs = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  const kinds = new Map<unknown, GarbageCollection['kind']>([
    [1, 'minor'],
    [4, 'major'],
    [8, 'incremental'],
    [16, 'weak callbacks'],
  ]);
  let stalls: LoopStall[] = [];
  let collections: GarbageCollection[] = [];
  let delayMs = 0;
  let at = performance.now();
  let ran = threadMs();
  const timer = setInterval(() => {
    const now = performance.now();
    const ranNow = threadMs();
    const lateMs = now - at - everyMs;
    delayMs = Math.max(delayMs, lateMs);
    if (lateMs > longMs) {
      stalls.push({ fromMs: at + everyMs + offsetMs, toMs: now + offsetMs, ranMs: Math.min(lateMs, ranNow - ran) });
    }
    at = now;
    ran = ranNow;
  }, everyMs).unref();
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { startTime, duration } = entry;
      // Node's types leave the details of a collection out.
      const detail: unknown = 'detail' in entry ? entry.detail : undefined;
      const number = typeof detail === 'object' && detail !== null && 'kind' in detail ? detail.kind : undefined;
      const kind = kinds.get(number) ?? 'major';
      collections.push({ kind, fromMs: startTime + offsetMs, toMs: startTime + duration + offsetMs });
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  return {
    take: () => {
      const now = performance.now();
      // The inspector reads in the middle of a stall, too.
      const maxMs = Math.max(delayMs, now - at - everyMs);
      const reading = { toMs: now + offsetMs, delayMs: maxMs, stalls, collections };
      stalls = [];
      collections = [];
      delayMs = 0;
      return reading;
    },
    stop: () => {
      clearInterval(timer);
      observer.disconnect();
    },
  };
}
