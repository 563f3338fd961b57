import { setTimeout as wait } from 'node:timers/promises';
import { expectedOf } from './chat-request.ts';
import type { LoadPool } from './load-pool.ts';
import { percentileMs, type LoadResult } from './load.ts';
import type { Scenario } from './scenarios.ts';
import { cpuOf, processesOf, pssOfPrograms, type CpuShares, type Target, type TargetName } from './target.ts';
import type { Expectation } from './verify-answer.ts';

/** What one scenario on one target gave in one round. */
export interface Sample {
  readonly scenario: Scenario['name'];
  readonly target: TargetName;
  readonly round: number;
  readonly answers: number;
  readonly answersPerSecond: number;
  /** Content chunks delivered per second; 0 for JSON answers. */
  readonly chunksPerSecond: number;
  readonly firstByteP50Ms: number | undefined;
  readonly firstByteP99Ms: number | undefined;
  readonly durationP50Ms: number | undefined;
  readonly durationP99Ms: number | undefined;
  /** Of the first request of a conversation, and of its later ones. */
  readonly openingP50Ms: number | undefined;
  readonly followingP50Ms: number | undefined;
  readonly refusedPerSecond: number;
  /** Where memory was read; undefined in other scenarios, and where the system does not say. */
  readonly fill: Fill | undefined;
  /** Processor time over the counted window, per second of it. */
  readonly cpuMsPerSecond: CpuShares;
  readonly failures: Readonly<Record<string, number>>;
}

/** Proportional set sizes of all programs, and what they had to hold. */
interface Fill {
  readonly beforeBytes: number;
  readonly peakBytes: number;
  /** Of the requests that were answered, on average: their rate times their duration times their bytes. */
  readonly inFlightBytes: number;
}

interface SampleOptions {
  readonly pool: LoadPool;
  readonly target: Target;
  readonly scenario: Scenario;
  readonly round: number;
}

/** Runs a load on a target, and reads something when its counted window begins and when it ends. */
export async function runCounted<Reading>(
  { pool, target, scenario }: Pick<SampleOptions, 'pool' | 'target' | 'scenario'>,
  read: () => Promise<Reading>,
) {
  let before = read();
  let after = before;
  const { shape, stream, prompt, beside, leadSeconds, seconds } = scenario;
  const { address } = target;
  const others =
    beside === undefined
      ? undefined
      : pool.beside().run({
          ...{ address, expected: expectedFor(target, scenario, beside.prompt), leadSeconds, seconds },
          request: target.request(shape, stream, beside.prompt),
          arrival: { kind: 'closed', connections: beside.connections },
        });
  const result = await pool.run(
    {
      ...{ address, expected: expectedFor(target, scenario, prompt), leadSeconds, seconds },
      request: target.request(shape, stream, prompt),
      arrival: scenario.arrival,
      mayBeRefused: scenario.fills === true,
    },
    {
      onBegin: () => {
        before = read();
      },
      onEnd: () => {
        after = read();
      },
    },
  );
  const failures: Record<string, number> = { ...result.failures };
  for (const [reason, count] of Object.entries((await others)?.failures ?? {})) failures[`beside: ${reason}`] = count;
  const [start, end] = await Promise.all([before, after]);
  return { result: { ...result, failures: failures }, start, end };
}

function expectedFor(target: Target, { shape, stream }: Scenario, prompt: Scenario['prompt']): Expectation {
  return expectedOf(shape, stream, target.request(shape, stream, prompt).surface);
}

const memoryEveryMs = 200;

/** Reads the memory of all programs until the work is done. */
async function watchFill<Result>(target: Target, work: () => Promise<Result>) {
  const beforeBytes = (await pssOfPrograms(target)) ?? NaN;
  let peakBytes = beforeBytes;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      peakBytes = Math.max(peakBytes, (await pssOfPrograms(target)) ?? NaN);
      await wait(memoryEveryMs);
    }
  })();
  const result = await work().finally(() => {
    isOver = true;
  });
  await watching;
  return { result, memory: Number.isNaN(peakBytes) ? undefined : { beforeBytes, peakBytes } };
}

/** Little's law: what is in flight is what comes, times how long it stays. */
export function inFlightBytes(
  {
    answers,
    seconds,
    duration,
  }: Pick<LoadResult, 'answers' | 'seconds'> & { readonly duration: { readonly mean: number } },
  bytes: number,
): number {
  return answers === 0 ? 0 : (answers / seconds) * (duration.mean / 1_000_000) * bytes;
}

/** Runs the load once and reads the target's processor time exactly over the counted window. */
export async function takeSample({ pool, target, scenario, round }: SampleOptions): Promise<Sample> {
  const processes = await processesOf(target);
  const run = () => runCounted({ pool, target, scenario }, () => cpuOf(processes));
  const watched = scenario.fills === true ? await watchFill(target, run) : { result: await run(), memory: undefined };
  const { result, start, end } = watched.result;
  const perSecond = (from: number | undefined, to: number | undefined): number | undefined =>
    from === undefined || to === undefined ? undefined : (to - from) / result.seconds;
  // Streams that were under way at the window's edges count by their bytes.
  const streams = result.answers === 0 ? 0 : result.bodyBytes / (result.answerBytes / result.answers);
  return {
    scenario: scenario.name,
    target: target.name,
    round,
    answers: result.answers,
    answersPerSecond: result.answers / result.seconds,
    chunksPerSecond: scenario.stream ? (streams * scenario.shape.chunks) / result.seconds : 0,
    firstByteP50Ms: percentileMs(result.firstByte, 50),
    firstByteP99Ms: percentileMs(result.firstByte, 99),
    durationP50Ms: percentileMs(result.duration, 50),
    durationP99Ms: percentileMs(result.duration, 99),
    openingP50Ms: percentileMs(result.opening, 50),
    followingP50Ms: percentileMs(result.following, 50),
    refusedPerSecond: result.refused / result.seconds,
    fill: watched.memory && {
      ...watched.memory,
      inFlightBytes: inFlightBytes(result, scenario.prompt?.bytes ?? 0),
    },
    cpuMsPerSecond: {
      service: perSecond(start.service, end.service),
      envoy: perSecond(start.envoy, end.envoy),
      bench: perSecond(start.bench, end.bench),
    },
    failures: result.failures,
  };
}
