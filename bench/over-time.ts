import { setTimeout as wait } from 'node:timers/promises';
import type { AnswerShape } from './answers.ts';
import { expectedOf } from './chat-request.ts';
import type { OverTimePlan } from './command-line.ts';
import { holdStreams } from './held-streams.ts';
import { openInspector } from './inspector.ts';
import { percentileMs, type LoadResult } from './load.ts';
import type { LoadPool } from './load-pool.ts';
import { monotonicMs, stallMs, watchLoop, type GarbageCollection, type LoopReading } from './loop-watch.ts';
import { isEnvoy, memoryOf, processTree } from './process-usage.ts';
import { shapeOf } from './scenarios.ts';
import { explainStalls, type CausedWork, type ExplainedStall } from './stalls.ts';
import type { Target } from './target.ts';

/** First bytes of one second's requests. */
export interface FirstByteSecond {
  readonly target: 'weir' | 'plain';
  /** Since the start. */
  readonly second: number;
  readonly answers: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** What Weir's processes did in one second. */
export interface WeirSecond {
  readonly second: number;
  /** Longest delay of the event loop of the service's main thread. */
  readonly delayMs: number;
  readonly collectionMs: number;
  readonly longestCollectionMs: number;
  readonly memory: MemoryByProcess;
}

/** Proportional set sizes in bytes; undefined where the system does not say. */
export interface MemoryByProcess {
  readonly service: number | undefined;
  readonly portal: number | undefined;
  readonly envoy: number | undefined;
}

export interface OverTime {
  readonly streams: number;
  readonly firstBytes: readonly FirstByteSecond[];
  /** Before any of the streams was open. */
  readonly idle: MemoryByProcess;
  readonly seconds: readonly WeirSecond[];
  readonly stalls: readonly ExplainedStall[];
  readonly failures: Readonly<Record<string, number>>;
}

export interface OverTimeOptions {
  readonly pool: LoadPool;
  readonly weir: Target;
  readonly plain: Target;
  readonly plan: OverTimePlan;
  /** The service's metrics. They are scraped, because a scrape must not stall the event loop. */
  readonly metrics: URL;
  /** Changes the catalog without an effect on requests. The number differs from call to call. */
  readonly changeCatalog: (number: number) => Promise<void>;
  readonly report: (line: string) => void;
}

const perSecond = 200;
const windowSeconds = 10;
const leadSeconds = 1;
const spacingMs = 5;
const gapMs = 2_000;
/** A 5 ms stall has ten samples. Sampling more often takes more of the thread that is measured. */
const profileIntervalUs = 500;
/** Time for opening streams, for a slow end of a window, and for handing over a profile. */
const openTimeoutMs = 30_000;
const betweenWindowsSeconds = 5;
const scrapeEveryMs = 5_000;
const catalogChangeMs = 1_000;

/** The shape of the streams that stay open: each outlives the whole run. */
export function heldShape({ streams, seconds }: OverTimePlan): AnswerShape {
  const windows = Math.ceil(seconds / windowSeconds);
  const runMs =
    openTimeoutMs + streams * spacingMs + windows * (windowSeconds + leadSeconds + betweenWindowsSeconds) * 1000;
  return { chunks: Math.ceil(runMs / gapMs), pace: { kind: 'apart', gapMs }, reasoningChunks: 0 };
}

/**
 * Keeps slow streams open in Weir and sends other streams, in windows, to Weir and to plain Envoy in turn. So each
 * gateway has the whole rate, and neither competes with the other one for the processor.
 */
export async function measureOverTime(options: OverTimeOptions): Promise<OverTime> {
  const { pool, weir, plain, plan, metrics, changeCatalog, report } = options;
  const processes = await weirProcesses(weir);
  const inspector = await openInspector(processes.service);
  try {
    for (const target of [plain, weir]) await pool.run({ ...loadOf(target), leadSeconds: 0, seconds: 3 });
    const idle = await memoryByProcess(processes);
    report(`opening ${plan.streams} streams`);
    const shape = heldShape(plan);
    const held = await holdStreams({
      address: weir.address,
      request: weir.request(shape, true),
      expected: expectedOf(shape, true),
      ...{ count: plan.streams, spacingMs, timeoutMs: openTimeoutMs + plan.streams * spacingMs },
    });
    try {
      const loop = await inspector.evaluate(`(${watchLoop.toString()})(${stallMs})`);
      const take = async (): Promise<LoopReading> => (await loop.call('take')) as LoopReading;
      const failures: Record<string, number> = {};
      const firstBytes: FirstByteSecond[] = [];
      const seconds: WeirSecond[] = [];
      const stalls: ExplainedStall[] = [];
      const startMs = monotonicMs();
      for (let window = 0; window * windowSeconds < plan.seconds; window += 1) {
        const target = window % 2 === 0 ? weir : plain;
        const name = window % 2 === 0 ? 'weir' : 'plain';
        report(`second ${window * windowSeconds} of ${plan.seconds}: ${name}`);
        const readings: LoopReading[] = [];
        const work: CausedWork[] = [];
        let result: LoadResult | undefined;
        let beganAt = startMs;
        const run = async (): Promise<void> => {
          const begun = Promise.withResolvers<void>();
          const running = pool.run(loadOf(target), { onBegin: begun.resolve });
          await begun.promise;
          beganAt = monotonicMs();
          // What came before belongs to the lead, or to handing over the profile of the window before.
          await take();
          const causing = causeWork({ metrics, changeCatalog: () => changeCatalog(window), work });
          for (let second = 1; second <= windowSeconds; second += 1) {
            await wait(Math.max(0, beganAt + second * 1000 - monotonicMs()));
            const reading = await take();
            readings.push(reading);
            seconds.push({
              second: Math.round((reading.toMs - startMs) / 1000) - 1,
              delayMs: reading.delayMs,
              ...pausesOf(reading.collections),
              memory: await memoryByProcess(processes),
            });
          }
          await causing;
          result = await running;
        };
        const profile = await inspector.cpuProfile(run, profileIntervalUs);
        const collections = readings.flatMap((reading) => reading.collections);
        const ofWindow = readings.flatMap((reading) => reading.stalls);
        stalls.push(...explainStalls(ofWindow, { startMs, profile, collections, work }));
        if (result === undefined) continue;
        const from = Math.round((beganAt - startMs) / 1000);
        firstBytes.push(...firstBytesOf(result, { target: name, from }));
        for (const [reason, count] of Object.entries(result.failures)) {
          failures[`${name}: ${reason}`] = (failures[`${name}: ${reason}`] ?? 0) + count;
        }
      }
      if (held.lost() > 0) failures['weir, slow streams: lost'] = held.lost();
      await loop.call('stop');
      return { streams: plan.streams, firstBytes, idle, seconds, stalls, failures };
    } finally {
      held.close();
    }
  } finally {
    inspector.close();
  }
}

function loadOf(target: Target) {
  return {
    address: target.address,
    request: target.request(shapeOf.together, true),
    expected: expectedOf(shapeOf.together, true),
    arrival: { kind: 'open', perSecond },
    leadSeconds,
    seconds: windowSeconds,
  } as const;
}

/** Work of which a stall could come, in each window: two scrapes of the metrics, and then a change of the catalog. */
async function causeWork(options: {
  readonly metrics: URL;
  readonly changeCatalog: () => Promise<void>;
  readonly work: CausedWork[];
}): Promise<void> {
  const { metrics, changeCatalog, work } = options;
  for (const pauseMs of [scrapeEveryMs / 2, scrapeEveryMs]) {
    await wait(pauseMs);
    const fromMs = monotonicMs();
    await (await fetch(metrics)).arrayBuffer();
    work.push({ name: 'scrape', fromMs, toMs: monotonicMs() });
  }
  const fromMs = monotonicMs();
  await changeCatalog();
  work.push({ name: 'catalog change', fromMs, toMs: monotonicMs() + catalogChangeMs });
}

export function pausesOf(
  collections: readonly GarbageCollection[],
): Pick<WeirSecond, 'collectionMs' | 'longestCollectionMs'> {
  const pauses = collections.map(({ fromMs, toMs }) => toMs - fromMs);
  return { collectionMs: pauses.reduce((sum, ms) => sum + ms, 0), longestCollectionMs: Math.max(0, ...pauses) };
}

/** The seconds of a window that have an answer. */
export function firstBytesOf(
  { firstByteBySecond }: Pick<LoadResult, 'firstByteBySecond'>,
  { target, from }: { readonly target: FirstByteSecond['target']; readonly from: number },
): readonly FirstByteSecond[] {
  return firstByteBySecond.flatMap((histogram, index) => {
    const [p50Ms, p99Ms] = [percentileMs(histogram, 50), percentileMs(histogram, 99)];
    if (p50Ms === undefined || p99Ms === undefined) return [];
    return [{ target, second: from + index, answers: histogram.count, p50Ms, p99Ms }];
  });
}

interface WeirProcesses {
  readonly service: number;
  readonly portal: readonly number[];
  readonly envoy: readonly number[];
}

/** The processes of Weir's programs. Rejects if the service does not run. */
async function weirProcesses({ pid = 0 }: Pick<Target, 'pid'>): Promise<WeirProcesses> {
  const tree = await processTree(pid);
  const program = (name: string): readonly number[] =>
    tree.filter(({ command }) => new RegExp(`main\\.ts ${name}( |$)`).test(command)).map((info) => info.pid);
  const [service] = program('serve');
  if (service === undefined) throw new Error('/proc lists no service of Weir (this needs Linux).');
  return { service, portal: program('portal'), envoy: tree.filter(isEnvoy).map((info) => info.pid) };
}

async function memoryByProcess({ service, portal, envoy }: WeirProcesses): Promise<MemoryByProcess> {
  const [ofService, ofPortal, ofEnvoy] = await Promise.all([memoryOf([service]), memoryOf(portal), memoryOf(envoy)]);
  return { service: ofService?.pssBytes, portal: ofPortal?.pssBytes, envoy: ofEnvoy?.pssBytes };
}
