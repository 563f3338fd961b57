import { readFile } from 'node:fs/promises';
import type { LoadPool } from './load-pool.ts';
import { cpuMs, processTree, type ProcessInfo } from './process-usage.ts';
import { runCounted } from './sample.ts';
import type { Scenario } from './scenarios.ts';
import { processesOf, type Target } from './target.ts';

/** The programs that work on a request. `service` is the event loop, `threads` the other threads of that process. */
export const parts = ['bench', 'envoy', 'service', 'threads', 'postgres', 'valkey'] as const;
type Part = (typeof parts)[number];

function byPart(of: (part: Part) => number): PartTimes {
  return {
    ...{ bench: of('bench'), envoy: of('envoy'), service: of('service'), threads: of('threads') },
    ...{ postgres: of('postgres'), valkey: of('valkey') },
  };
}

/** Processor time by part, ms. */
export type PartTimes = Readonly<Record<Part, number>>;

/** What a load on one gateway gave: requests a second, and the processor time of one request by part. */
export interface ScaleSample {
  readonly requestsPerSecond: number;
  readonly cost: PartTimes;
  /** Cores that all parts had together. */
  readonly cores: number;
  readonly failures: Readonly<Record<string, number>>;
}

interface Programs {
  readonly bench: readonly number[];
  readonly envoy: readonly number[];
  readonly services: readonly number[];
  readonly postgres: readonly number[];
  readonly valkey: readonly number[];
}

/** Everything that this process has started, and the gateway under load. */
async function partsOf(target: Target): Promise<Programs> {
  const [tree, { service, envoy }] = await Promise.all([processTree(process.pid), processesOf(target)]);
  const pidsOf = (pattern: RegExp): readonly number[] =>
    tree.filter(({ command }: ProcessInfo) => pattern.test(command)).map(({ pid }) => pid);
  return {
    bench: target.benchPids,
    envoy,
    services: service,
    postgres: pidsOf(/^postgres|\/postgres /),
    valkey: pidsOf(/redis-server|valkey-server/),
  };
}

/** Processor time so far of each process. */
type ProcessTimes = Map<number, number>;

/** Processor time so far of each part. A process that has ended, such as one of PostgreSQL's for a connection, counts as last read. */
async function timesOf(programs: Programs, lastRead: ProcessTimes): Promise<PartTimes> {
  const of = async (pids: readonly number[]): Promise<number> => {
    const times = await Promise.all(
      pids.map(async (pid) => {
        const ms = (await cpuMs([pid])) ?? lastRead.get(pid) ?? 0;
        lastRead.set(pid, ms);
        return ms;
      }),
    );
    return times.reduce((sum, ms) => sum + ms, 0);
  };
  const [bench, envoy, services, loops, postgres, valkey] = await Promise.all([
    of(programs.bench),
    of(programs.envoy),
    of(programs.services),
    loopMs(programs.services),
    of(programs.postgres),
    of(programs.valkey),
  ]);
  return { bench, envoy, service: loops, threads: services - loops, postgres, valkey };
}

/** Processor time of the threads that run event loops: the first thread of each process. */
async function loopMs(pids: readonly number[]): Promise<number> {
  const times = await Promise.all(
    pids.map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/task/${pid}/stat`, 'utf8');
      // proc_pid_stat(5): utime and stime, in hundredths of a second; the name may hold spaces and brackets.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return (Number(fields[11]) + Number(fields[12])) * 10;
    }),
  );
  return times.reduce((sum, ms) => sum + ms, 0);
}

/** Runs a load and reads every part's processor time over the counted window. */
export async function takeScaleSample(
  target: Target,
  { pool, scenario }: { readonly pool: LoadPool; readonly scenario: Scenario },
): Promise<ScaleSample> {
  const programs = await partsOf(target);
  const lastRead: ProcessTimes = new Map();
  const { result, start, end } = await runCounted({ pool, target, scenario }, () => timesOf(programs, lastRead));
  // Answers that were under way at the window's edges count by their bytes.
  const answers = result.answers === 0 ? 1 : result.bodyBytes / (result.answerBytes / result.answers);
  const cost = byPart((part) => (end[part] - start[part]) / answers);
  return {
    requestsPerSecond: answers / result.seconds,
    cost,
    cores: (totalOf(cost) * answers) / (result.seconds * 1_000),
    failures: result.failures,
  };
}

/** Processor time of one request in all parts, ms. */
export function totalOf(cost: PartTimes): number {
  return parts.reduce((sum, part) => sum + cost[part], 0);
}

/** The same without the load and the engine, which are no part of the gateway. */
export function gatewayOf(cost: PartTimes): number {
  return totalOf(cost) - cost.bench;
}

/** The middle one of several samples, figure by figure. */
export function middle(samples: readonly ScaleSample[]): Omit<ScaleSample, 'failures'> {
  const of = (read: (sample: ScaleSample) => number): number => median(samples.map(read));
  return {
    requestsPerSecond: of((sample) => sample.requestsPerSecond),
    cores: of((sample) => sample.cores),
    cost: byPart((part) => of((sample) => sample.cost[part])),
  };
}

export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;
}
