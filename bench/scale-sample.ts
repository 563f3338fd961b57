import { readFile } from 'node:fs/promises';
import type { LoadPool } from './load-pool.ts';
import { cpuMs, processTree, type ProcessInfo } from './process-usage.ts';
import { runCounted } from './sample.ts';
import type { Scenario } from './scenarios.ts';
import type { Demand } from './scale-simulation.ts';
import { processesOf, type Target } from './target.ts';

/** What a load on one gateway gave: requests a second, and the processor time of one request by part. */
export interface ScaleSample {
  readonly replicas: number;
  readonly requestsPerSecond: number;
  readonly demand: Demand;
  /** Cores that all parts had together. */
  readonly cores: number;
  readonly failures: Readonly<Record<string, number>>;
}

/** Processor time so far of each part, ms. */
type PartTimes = Demand;

interface Parts {
  readonly bench: readonly number[];
  readonly envoy: readonly number[];
  readonly services: readonly number[];
  readonly postgres: readonly number[];
  readonly valkey: readonly number[];
}

/** Everything that this process has started, and the gateway under load. */
async function partsOf(target: Target): Promise<Parts> {
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

async function timesOf(parts: Parts): Promise<PartTimes> {
  const of = async (pids: readonly number[]): Promise<number> => (await cpuMs(pids)) ?? 0;
  const [bench, envoy, services, loops, postgres, valkey] = await Promise.all([
    of(parts.bench),
    of(parts.envoy),
    of(parts.services),
    loopMs(parts.services),
    of(parts.postgres),
    of(parts.valkey),
  ]);
  return { bench, envoy, serviceLoop: loops, serviceThreads: services - loops, postgres, valkey };
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
  { pool, scenario, replicas }: { readonly pool: LoadPool; readonly scenario: Scenario; readonly replicas: number },
): Promise<ScaleSample> {
  const parts = await partsOf(target);
  const { result, start, end } = await runCounted({ pool, target, scenario }, () => timesOf(parts));
  // Answers that were under way at the window's edges count by their bytes.
  const answers = result.answers === 0 ? 1 : result.bodyBytes / (result.answerBytes / result.answers);
  const each = (part: keyof Demand): number => (end[part] - start[part]) / answers;
  const demand: Demand = {
    bench: each('bench'),
    envoy: each('envoy'),
    serviceLoop: each('serviceLoop'),
    serviceThreads: each('serviceThreads'),
    postgres: each('postgres'),
    valkey: each('valkey'),
  };
  return {
    replicas,
    requestsPerSecond: answers / result.seconds,
    demand,
    cores: (totalOf(demand) * answers) / (result.seconds * 1_000),
    failures: result.failures,
  };
}

/** Processor time of one request in all parts, ms. */
export function totalOf(demand: Demand): number {
  return Object.values(demand).reduce((sum: number, ms: number) => sum + ms, 0);
}

/** The same without the load and the engine, which are no part of the gateway. */
export function gatewayOf(demand: Demand): number {
  return totalOf(demand) - demand.bench;
}
