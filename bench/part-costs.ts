import { byPart, type Costs, type Forecast, type Part, type PartCost, simulate } from './scale-simulation.ts';

/** What one service's requests cost under a load, as measured. */
export interface CostSample {
  readonly callers: number;
  /** Cores that were at work. */
  readonly cores: number;
  /** Processor time of a request by part, ms. */
  readonly cost: Readonly<Record<Part, number>>;
}

const rounds = 12;
const seconds = 2;

/**
 * Splits what a request costs each part into what a turn costs and what a request in it costs: what makes the simulation of one
 * service agree best with the measured loads. The fewer callers, the more turns they need for a request; how many, the
 * simulation says, which needs the costs for that: both are found in rounds.
 */
export function costsOf(samples: readonly CostSample[], envoyThreads: number): Costs {
  const [first] = samples;
  if (first === undefined) throw new Error('costs need at least one measured load');
  let costs: Costs = byPart((part) => ({ turn: first.cost[part] / 4, request: (first.cost[part] * 3) / 4 }));
  for (let round = 0; round < rounds; round += 1) {
    const forecasts = samples.map(({ callers, cores }) =>
      simulate({ costs, services: 1, callers, cores, envoyThreads, seconds }),
    );
    const before = costs;
    // Half of the way: all of it would swing from one side to the other.
    costs = byPart((part) => {
      const fitted = fit(samples, { part, forecasts });
      const { turn, request } = before[part];
      return { turn: (turn + fitted.turn) / 2, request: (request + fitted.request) / 2 };
    });
  }
  return costs;
}

/** Least squares of `turns × turn + request` against the measured cost, relative to it; neither is below 0. */
function fit(
  samples: readonly CostSample[],
  { part, forecasts }: { readonly part: Part; readonly forecasts: readonly Forecast[] },
): PartCost {
  let [ww, wt, wtt, wc, wtc] = [0, 0, 0, 0, 0];
  for (const [index, { cost }] of samples.entries()) {
    const turns = forecasts[index]?.turns[part] ?? 0;
    const weight = 1 / Math.max(1e-6, cost[part]) ** 2;
    ww += weight;
    wt += weight * turns;
    wtt += weight * turns * turns;
    wc += weight * cost[part];
    wtc += weight * turns * cost[part];
  }
  const determinant = ww * wtt - wt * wt;
  const turn = determinant <= 1e-9 * ww * wtt ? 0 : (ww * wtc - wt * wc) / determinant;
  const request = (wc - wt * turn) / ww;
  if (turn <= 0) return { turn: 0, request: wc / ww };
  if (request <= 0) return { turn: wtc / wtt, request: 0 };
  return { turn, request };
}
