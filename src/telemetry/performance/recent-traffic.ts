import type { Clock } from '../../core/clock.ts';
import { formatUsd, type Money } from '../../core/money.ts';
import { addTo } from '../../core/sums.ts';
import type { RequestEnd } from '../core/request-end.ts';
import type { RequestRecord } from '../core/request-record.ts';
import { byTraffic, type RecentTraffic, type TrafficGroup, trafficGroups, type TrafficRow } from '../core/traffic.ts';
import { createSliceRing } from './slice-ring.ts';

const windowSeconds = 60;
/** Maximum number of names of a group in a second, and in a report. A name that floods is among them in nearly every second. */
const maxNames = 100;
/** How many names are tried for one that has a single request, and whose place another one can take. */
const maxTried = 8;

interface Counts {
  requests: number;
  failed: number;
  promptTokens: number;
  completionTokens: number;
  cost: Money;
  readonly refused: Map<string, number>;
  readonly wouldRefuse: Map<string, number>;
}

const zero = (): Counts => ({
  ...{ requests: 0, failed: 0, promptTokens: 0, completionTokens: 0, cost: 0n },
  refused: new Map(),
  wouldRefuse: new Map(),
});

/** Counts of a second by group and name. Undefined as a name: unknown, and those without a place. */
type Second = Readonly<Record<TrafficGroup, Map<string | undefined, Counts>>>;

const emptySecond = (): Second => ({
  ...{ key: new Map(), workspace: new Map(), model: new Map(), address: new Map(), outcome: new Map() },
});

type Named = Pick<RequestRecord, 'keyId' | 'workspaceId' | 'modelId' | 'address'>;

const nameOf: Readonly<Record<Exclude<TrafficGroup, 'outcome'>, (request: Named) => string | undefined>> = {
  key: ({ keyId }) => keyId,
  workspace: ({ workspaceId }) => workspaceId,
  model: ({ modelId }) => modelId,
  address: ({ address }) => address,
};

const groupNameOf = (group: TrafficGroup, end: RequestEnd): string | undefined =>
  group === 'outcome' ? [end.kind, end.code].filter(Boolean).join(' ') : nameOf[group](end);

/** Counts the requests that ended in each of the last sixty seconds, in bounded memory. `running`: those in flight. */
export function createRecentTraffic(clock: Pick<Clock, 'now'>, running: () => Iterable<Named>): RecentTraffic {
  const seconds = createSliceRing({ count: windowSeconds, widthMs: 1_000, empty: emptySecond });
  return {
    ended: (end) => {
      const second = seconds.at(clock.now());
      for (const group of trafficGroups) add(placeIn(second[group], groupNameOf(group, end)), end);
    },
    read: (group) => {
      const sums = new Map<string | undefined, Counts>();
      for (const second of seconds.live(clock.now())) {
        for (const [name, counts] of second[group]) sum(sums.getOrInsertComputed(name, zero), counts);
      }
      const inFlight = new Map<string | undefined, number>();
      if (group !== 'outcome') {
        for (const request of running()) {
          const name = nameOf[group](request);
          inFlight.set(name, (inFlight.get(name) ?? 0) + 1);
        }
      }
      const names = new Set([...sums.keys(), ...inFlight.keys()]);
      const rows = [...names].map((name) => rowOf(name, sums.get(name) ?? zero(), inFlight.get(name) ?? 0));
      return rows.toSorted(byTraffic).slice(0, maxNames);
    },
  };
}

/** The counts of a name. In a full second it takes the place of one with a single request, or is one of the others. */
function placeIn(names: Map<string | undefined, Counts>, name: string | undefined): Counts {
  const known = names.get(name);
  if (known !== undefined) return known;
  if (names.size >= maxNames && name !== undefined) {
    const others = placeIn(names, undefined);
    let tried = 0;
    for (const [other, counts] of names) {
      if (tried === maxTried) return others;
      tried += 1;
      if (other === undefined || counts.requests > 1) continue;
      sum(others, counts);
      names.delete(other);
      break;
    }
  }
  const fresh = zero();
  names.set(name, fresh);
  return fresh;
}

function add(counts: Counts, { kind, code, outcome, wouldRefuse }: RequestEnd): void {
  counts.requests += 1;
  for (const limit of wouldRefuse) addTo(counts.wouldRefuse, limit, 1);
  if (kind === 'refused') addTo(counts.refused, code ?? 'unknown', 1);
  else if (kind !== 'completed' && kind !== 'cancelled') counts.failed += 1;
  if (outcome === undefined) return;
  counts.promptTokens += outcome.usage.promptTokens;
  counts.completionTokens += outcome.usage.completionTokens;
  counts.cost += outcome.cost;
}

function sum(
  into: Counts,
  { requests, failed, promptTokens, completionTokens, cost, refused, wouldRefuse }: Counts,
): void {
  into.requests += requests;
  into.failed += failed;
  into.promptTokens += promptTokens;
  into.completionTokens += completionTokens;
  into.cost += cost;
  for (const [code, times] of refused) addTo(into.refused, code, times);
  for (const [limit, times] of wouldRefuse) addTo(into.wouldRefuse, limit, times);
}

function rowOf(name: string | undefined, counts: Counts, inFlight: number): TrafficRow {
  return {
    name: name ?? null,
    requests: counts.requests,
    refused: Object.fromEntries(counts.refused),
    would_refuse: Object.fromEntries(counts.wouldRefuse),
    failed: counts.failed,
    prompt_tokens: counts.promptTokens,
    completion_tokens: counts.completionTokens,
    cost: formatUsd(counts.cost),
    in_flight: inFlight,
  };
}
