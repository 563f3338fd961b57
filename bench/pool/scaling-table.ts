import { alignTable } from '../table.ts';
import { objective } from './capacity.ts';
import { mean } from './knee.ts';
import {
  type DeploymentState,
  runScaling,
  type ScaledRequest,
  type ScalingOptions,
  type ScalingResult,
} from './scaling.ts';
import { quantile } from './run.ts';
import { quickEngine } from './scenarios.ts';

const minuteMs = 60_000;

/** The load that calls for one endpoint, then for four, then for none, and an autoscaler as docs/how-to/autoscaling.md sets it. */
export const stepLoad: Omit<ScalingOptions, 'startMs' | 'objectiveMs'> = {
  engine: quickEngine,
  ...{ maxReplicas: 4, lookMs: 15_000, target: 0.7 },
  ...{ cooldownMs: 10 * minuteMs, stabilizationMs: 5 * minuteMs, upStabilizationMs: minuteMs / 2 },
  phases: [
    { fromMs: minuteMs, rate: 0.5 },
    { fromMs: 10 * minuteMs, rate: 14 },
    { fromMs: 25 * minuteMs, rate: 0 },
  ],
  untilMs: 60 * minuteMs,
};

/** When all replicas of a step up were ready that began after a time. Undefined: there was no step. */
export function stepDoneAt(states: readonly DeploymentState[], fromMs: number): number | undefined {
  const begun = states.findIndex(
    (state, index) => state.at >= fromMs && state.wanted > (states[index - 1]?.wanted ?? 0),
  );
  return states.slice(begun).find(({ wanted, ready }) => begun >= 0 && ready >= wanted)?.at;
}

/** What the requests of a time noticed. */
export interface Noticed {
  /** The share that was refused at first. Their callers tried again. */
  readonly refused: number;
  /** The 95th percentile of the times from the call that was served to its first token, ms. */
  readonly firstMsP95: number;
}

export function noticedFrom(requests: readonly ScaledRequest[], fromMs: number, toMs: number): Noticed {
  const all = requests.filter(({ arrivedAt }) => arrivedAt >= fromMs && arrivedAt < toMs);
  const firstMs = all.map(({ sentAt = -Infinity, firstAt = Infinity }) => firstAt - sentAt).toSorted((a, b) => a - b);
  return {
    refused: all.filter(({ refusals }) => refusals > 0).length / Math.max(1, all.length),
    firstMsP95: quantile(firstMs, objective.share),
  };
}

/** How replicas follow a load from zero to one, to four and back, and what its requests notice. */
export function scalingTable(seeds: readonly number[]): string {
  const titles = [
    ...['starts in', 'objective', 'replicas', 'steps up take'],
    ...['refused, p95 ms meanwhile', 'in the minute after', 'in the next', 'later'],
  ];
  const rows = [60_000, 180_000].flatMap((startMs) =>
    [objective.ms, undefined].map((objectiveMs) => {
      const runs = seeds.map((seed) => runScaling({ ...stepLoad, startMs, objectiveMs }, seed));
      return [
        `${startMs / 1000} s`,
        objectiveMs === undefined ? 'not set' : `${objectiveMs / 1000} s`,
        [...new Set(runs.map(pathOf))].join(', '),
        ...cellsOf(runs),
      ];
    }),
  );
  return alignTable([titles, ...rows]);
}

/** The numbers of replicas that were wanted, one after the other. */
export function pathOf({ states }: Pick<ScalingResult, 'states'>): string {
  return states.flatMap(({ wanted }, index) => (wanted === states[index - 1]?.wanted ? [] : [wanted])).join(' → ');
}

/** What requests notice of the second step, from one replica to four. */
function cellsOf(runs: readonly ScalingResult[]): readonly string[] {
  const [, begin, end] = stepLoad.phases;
  const [fromMs, toMs] = [begin?.fromMs ?? 0, end?.fromMs ?? 0];
  const done = runs.map(({ states }) => stepDoneAt(states, fromMs) ?? toMs);
  const cell = (from: (doneAt: number) => number, to: (doneAt: number) => number): string => {
    const all = runs.map(({ requests }, run) => noticedFrom(requests, from(done[run] ?? 0), to(done[run] ?? 0)));
    const refused = mean(all.map((one) => one.refused)) * 100;
    return `${refused.toFixed(0)} % ${mean(all.map((one) => one.firstMsP95)).toFixed(0)}`;
  };
  const begun = (): number => fromMs;
  const after = (minutes: number) => (doneAt: number) => doneAt + minutes * minuteMs;
  return [
    `${(mean(done.map((at) => at - fromMs)) / 1000).toFixed(0)} s`,
    ...[cell(begun, after(0)), cell(after(0), after(1)), cell(after(1), after(2)), cell(after(2), () => toMs)],
  ];
}
