import { expectedOf } from './chat-request.ts';
import type { LoadPool } from './load-pool.ts';
import { percentileMs } from './load.ts';
import type { Scenario } from './scenarios.ts';
import { cpuOf, processesOf, type CpuShares, type Target, type TargetName } from './target.ts';

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
  /** Processor time over the counted window, per second of it. */
  readonly cpuMsPerSecond: CpuShares;
  readonly failures: Readonly<Record<string, number>>;
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
  const result = await pool.run(
    {
      address: target.address,
      request: target.request(scenario.shape, scenario.stream),
      expected: expectedOf(scenario.shape, scenario.stream),
      arrival: scenario.arrival,
      leadSeconds: scenario.leadSeconds,
      seconds: scenario.seconds,
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
  const [start, end] = await Promise.all([before, after]);
  return { result, start, end };
}

/** Runs the load once and reads the target's processor time exactly over the counted window. */
export async function takeSample({ pool, target, scenario, round }: SampleOptions): Promise<Sample> {
  const processes = await processesOf(target);
  const { result, start, end } = await runCounted({ pool, target, scenario }, () => cpuOf(processes));
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
    cpuMsPerSecond: {
      service: perSecond(start.service, end.service),
      envoy: perSecond(start.envoy, end.envoy),
      bench: perSecond(start.bench, end.bench),
    },
    failures: result.failures,
  };
}
