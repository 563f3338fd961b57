import type { CostSample } from './part-costs.ts';
import { gatewayOf, median, middle, type PartTimes, type ScaleSample } from './scale-sample.ts';
import { type Costs, type Forecast, parts, simulate } from './scale-simulation.ts';
import { alignTable } from './table.ts';

interface Farming {
  readonly costs: Costs;
  readonly callers: number;
  readonly envoyThreads: number;
}

const simulatedSeconds = 4;
const micros = (ms: number): string => `${(ms * 1_000).toFixed(0)} µs`;

/** What numbers of services need for the same load, beside the first number; with costs, also what the simulation says. */
export function requestTable(
  groups: readonly { readonly services: number; readonly samples: readonly ScaleSample[] }[],
  farming?: Farming,
): string {
  const alone = groups[0]?.samples ?? [];
  return alignTable([
    [
      ...['services', 'requests/s', 'of one'],
      ...(farming === undefined ? [] : ['simulated', 'off by', 'simulated cost', 'off by']),
      ...['cost', 'of one', 'envoy', 'loop', 'threads', 'postgres', 'valkey'],
    ],
    ...groups.map((group) => {
      const { requestsPerSecond, cost, cores } = middle(group.samples);
      // The same round's figures, so that a slow minute counts for both.
      const ratioOf = (read: (sample: ScaleSample) => number): string =>
        median(group.samples.map((sample, at) => read(sample) / read(alone[at] ?? sample))).toFixed(2);
      return [
        String(group.services),
        requestsPerSecond.toFixed(0),
        ratioOf((sample) => sample.requestsPerSecond),
        // Of this run only the cores that the machine had left are taken: what a turn and a request cost is that of one service.
        ...(farming === undefined
          ? []
          : simulated(simulate({ ...farming, cores, services: group.services, seconds: simulatedSeconds }), {
              requestsPerSecond,
              cost,
            })),
        micros(gatewayOf(cost)),
        ratioOf((sample) => gatewayOf(sample.cost)),
        ...[cost.envoy, cost.service, cost.threads, cost.postgres, cost.valkey].map(micros),
      ];
    }),
  ]);
}

function simulated(
  forecast: Forecast,
  measured: { readonly requestsPerSecond: number; readonly cost: PartTimes },
): readonly string[] {
  const off = (one: number, other: number): string => `${((one / other - 1) * 100).toFixed(1)} %`;
  const cost = gatewayOf(forecast.cost);
  return [
    ...[forecast.requestsPerSecond.toFixed(0), off(forecast.requestsPerSecond, measured.requestsPerSecond)],
    ...[micros(cost), off(cost, gatewayOf(measured.cost))],
  ];
}

/** Of one service by its callers: what was measured, and what turns and requests must cost for that. */
export function costTable(samples: readonly CostSample[], costs: Costs): string {
  return alignTable([
    ['callers', ...parts],
    ...samples.map(({ callers, cost }) => [String(callers), ...parts.map((part) => micros(cost[part]))]),
    ['a turn', ...parts.map((part) => micros(costs[part].turn))],
    ['a request', ...parts.map((part) => micros(costs[part].request))],
  ]);
}

/** More callers than these only wait, and take the simulation time. */
const maxCallers = 6_400;

/** What happens as services are added, each part with cores of its own. */
export function growthTable(costs: Costs, callers: number): string {
  return alignTable([
    ['services', 'requests/s', 'a service', 'busy: service', 'envoy', 'valkey', 'postgres cores'],
    ...[1, 3, 10, 30, 100, 300, 1_000].map((services) => {
      const { requestsPerSecond, busy, cost } = simulate({
        ...{
          costs: { ...costs, bench: { turn: 0, request: 0 } },
          services,
          callers: Math.min(maxCallers, services * callers),
        },
        ...{ cores: undefined, envoyThreads: services, seconds: Math.max(2, 6 / services) },
      });
      const share = (part: number): string => `${(part * 100).toFixed(0)} %`;
      return [
        String(services),
        requestsPerSecond.toFixed(0),
        (requestsPerSecond / services).toFixed(0),
        ...[share(busy.service), share(busy.envoy), share(busy.valkey)],
        ((requestsPerSecond * cost.postgres) / 1_000).toFixed(1),
      ];
    }),
  ]);
}
