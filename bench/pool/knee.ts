import { codeGeneration, published, qwen32OnTwoH100, sharedPrompts, sharedStages } from './llm-d.ts';
import { stickyUntilSaturated } from './published-policies.ts';
import type { Load } from './request.ts';
import { type CreatePolicy, quantile, runPool } from './run.ts';
import { roundRobin } from './simple-policies.ts';

/** A knee that was found, beside the published one. */
export interface Knee {
  readonly workload: string;
  readonly policy: string;
  readonly published: number;
  readonly found: number;
  /** Input tokens a second at the load after the knee. */
  readonly inputPerSecond: number;
  readonly publishedInput: number;
}

/** Nine of ten first tokens come within this time up to the knee: what the post says of code generation at 60 callers. */
const kneeMs = 40_000;
const seeds = [1, 2, 3, 4];

const sticky = stickyUntilSaturated({
  gapTokens: published.gapTokens,
  memoryTokens: qwen32OnTwoH100.memoryTokens,
});

/** Finds the knees of llm-d's two workloads, between the loads that were published. */
export function publishedKnees(): readonly Knee[] {
  const callers = [10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 70, 80, 90, 100];
  const cases = [
    { workload: 'code generation, callers', loads: callers, make: codeGeneration, figures: published.codeGeneration },
    {
      workload: 'shared prompts, requests a second',
      loads: [...sharedStages.keys()],
      make: sharedPrompts,
      figures: published.sharedPrompts,
    },
  ] as const;
  return cases.flatMap(({ workload, loads, make, figures }) =>
    (['roundRobin', 'sticky'] as const).map((policy) => {
      const create = policy === 'sticky' ? sticky : roundRobin;
      const found = kneeOf({ loads, make, engines: figures.engines, create });
      return { workload, policy, ...found, published: figures.knee[policy], publishedInput: figures.input[policy] };
    }),
  );
}

interface KneeOptions {
  readonly loads: readonly number[];
  readonly make: (load: number, seed: number) => Load;
  readonly engines: number;
  readonly create: CreatePolicy;
}

function kneeOf({ loads, make, engines, create }: KneeOptions): Pick<Knee, 'found' | 'inputPerSecond'> {
  const pool = { engines: Array.from({ length: engines }, () => qwen32OnTwoH100), replicas: 1, changes: [] };
  let before = { load: 0, ms: 0 };
  let inputPerSecond = 0;
  for (const load of loads) {
    const runs = seeds.map((seed) => runPool(make(load, seed), pool, { create, seed }));
    const ms = mean(runs.map(({ firstMs }) => quantile(firstMs, 0.9)));
    inputPerSecond = mean(runs.map((run) => run.inputPerSecond));
    if (ms > kneeMs) {
      const part = (kneeMs - before.ms) / (ms - before.ms);
      return { found: before.load + (load - before.load) * part, inputPerSecond };
    }
    before = { load, ms };
  }
  return { found: Infinity, inputPerSecond };
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
