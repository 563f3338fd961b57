import { type CreatePolicy, quantile, type RunResult, runPool } from './run.ts';
import type { Scenario } from './scenarios.ts';

/** The objective: so large a share of the first tokens comes within this time. */
export const objective = { ms: 2000, share: 0.95 } as const;

/** What a pool did at a rate, of sessions a second or times the trace's speed. */
export interface Capacity {
  readonly rate: number;
  readonly result: RunResult;
}

const factor = 1.4;
/** A policy that does not keep the objective at so small a part of the first rate has no capacity. */
const mostSteps = 6;

/** Finds the greatest rate within the objective, exact to three parts in a hundred. Undefined: there is none. */
export function capacityOf(scenario: Scenario, create: CreatePolicy, seed: number): Capacity | undefined {
  const mostLate = { ms: objective.ms, share: 1 - objective.share };
  const at = (rate: number): Capacity => ({
    rate,
    result: runPool(scenario.load(rate, seed), scenario.pool, { create, seed, mostLate }),
  });
  const isKept = ({ result }: Capacity): boolean => quantile(result.firstMs, objective.share) <= objective.ms;
  let kept: Capacity | undefined;
  let { rate } = scenario;
  let tooMuch = Infinity;
  for (let step = 0; step < mostSteps && (kept === undefined || tooMuch === Infinity); step += 1) {
    const next = at(rate);
    if (isKept(next)) kept = next;
    else tooMuch = rate;
    rate = kept === undefined ? tooMuch / factor : kept.rate * factor;
    if (rate >= tooMuch) break;
  }
  while (kept !== undefined && tooMuch / kept.rate > 1.03 && tooMuch < Infinity) {
    const middle = at(Math.sqrt(kept.rate * tooMuch));
    if (isKept(middle)) kept = middle;
    else tooMuch = middle.rate;
  }
  return kept;
}
