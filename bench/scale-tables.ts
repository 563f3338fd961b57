import { gatewayOf, median, middle, parts, type PartTimes, type ScaleSample } from './scale-sample.ts';
import { alignTable } from './table.ts';

const micros = (ms: number): string => `${(ms * 1_000).toFixed(0)} µs`;

/** What numbers of services need for the same load, beside the first number. */
export function requestTable(
  groups: readonly { readonly services: number; readonly samples: readonly ScaleSample[] }[],
): string {
  const alone = groups[0]?.samples ?? [];
  return alignTable([
    [...['services', 'requests/s', 'of one', 'cost', 'of one'], ...['envoy', 'loop', 'threads', 'postgres', 'valkey']],
    ...groups.map((group) => {
      const { requestsPerSecond, cost } = middle(group.samples);
      // The same round's figures, so that a slow minute counts for both.
      const ratioOf = (read: (sample: ScaleSample) => number): string =>
        median(group.samples.map((sample, at) => read(sample) / read(alone[at] ?? sample))).toFixed(2);
      return [
        String(group.services),
        requestsPerSecond.toFixed(0),
        ratioOf((sample) => sample.requestsPerSecond),
        micros(gatewayOf(cost)),
        ratioOf((sample) => gatewayOf(sample.cost)),
        ...[cost.envoy, cost.service, cost.threads, cost.postgres, cost.valkey].map(micros),
      ];
    }),
  ]);
}

/** What a request costs each part of one service, by the number of callers. */
export function costTable(samples: readonly { readonly callers: number; readonly cost: PartTimes }[]): string {
  return alignTable([
    ['callers', ...parts],
    ...samples.map(({ callers, cost }) => [String(callers), ...parts.map((part) => micros(cost[part]))]),
  ]);
}
