import { alignTable } from '../table.ts';
import { objective } from './capacity.ts';
import { mean } from './knee.ts';
import { askingPool, oracle, pool } from './pool-policies.ts';
import { type CreatePolicy, quantile, type RunResult, runPool } from './run.ts';
import type { Scenario } from './scenarios.ts';
import type { Load } from './request.ts';

/** Rates at which the other traffic nearly fills its endpoint, or more. */
export const pastRates: ReadonlyMap<string, number> = new Map([
  ['chat', 4],
  ['documents', 10],
  ['nothing shared', 16],
  ['long answers', 10],
  ['regime change', 0.8],
]);

/** How every second session comes past the gateway: whenever it begins, or those of 20 s within 6 s. */
const arrivals = ['even', 'in bursts'] as const;
const burst = { everyMs: 20_000, share: 0.3 } as const;

export function halfPast({ load, kind }: { readonly load: Load; readonly kind: (typeof arrivals)[number] }): Load {
  if (load.arrivals.kind === 'closed') return load;
  const isPast = (index: number): boolean => index % 2 === 0;
  const inBurst = (at: number): number => at - (at % burst.everyMs) * (1 - burst.share);
  const startMs = load.arrivals.startMs.map((at, index) => (kind === 'in bursts' && isPast(index) ? inBurst(at) : at));
  const sessions = load.sessions.map((session, index) => (isPast(index) ? { ...session, past: 0 } : session));
  return { ...load, sessions, arrivals: { kind: 'open', startMs } };
}

/** Half of the traffic goes past the gateway to the first of four endpoints. First tokens of the other half, with and without metrics. */
export function pastTable(chosen: readonly Scenario[], seeds: readonly number[]): string {
  const rows = chosen.flatMap((scenario) => {
    const rate = pastRates.get(scenario.name);
    return rate === undefined ? [] : arrivals.map((kind) => rowOf({ scenario, rate, kind }, seeds));
  });
  const titles = ['first token late, and p95 ms', 'rate', 'others come', 'without metrics', 'with metrics', 'oracle'];
  return alignTable([titles, ...rows]);
}

function rowOf(
  { scenario, rate, kind }: { scenario: Scenario; rate: number; kind: (typeof arrivals)[number] },
  seeds: readonly number[],
): readonly string[] {
  const cell = (create: CreatePolicy): string => {
    const runs = seeds.map((seed): RunResult => {
      const load = halfPast({ load: scenario.load(rate, seed), kind });
      return runPool(load, scenario.pool, { create, seed });
    });
    const late = ({ firstMs }: RunResult): number => firstMs.filter((ms) => ms > objective.ms).length / firstMs.length;
    const p95 = mean(runs.map(({ firstMs }) => quantile(firstMs, objective.share)));
    return `${(mean(runs.map(late)) * 100).toFixed(1)} % ${p95.toFixed(0)}`;
  };
  return [
    ...[scenario.name, String(rate), kind],
    ...[pool, askingPool, oracle(scenario.pool.engines, 0)].map((create) => cell(create)),
  ];
}
