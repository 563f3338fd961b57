import { type Chance, seededChance } from '../../programmable-engine/chance.ts';
import type { FaultEvent, WorldPlan } from '../events.ts';

/** What is wrong on the way between a service and the API server, for a while. */
export const apiTroubles = [
  ...(['slow-requests', 'slow-answers', 'loses-requests', 'loses-answers', 'doubles', 'fails'] as const),
  'holds-watches',
] as const;
export type ApiTrouble = (typeof apiTroubles)[number];

/** What happens to all watches of a service at once. */
export const watchEnds = ['breaks', 'ends', 'silent'] as const;

/** Paths of health checks. Envoy takes no cluster with `/refused`. */
const checkPaths = ['/health', '/alive', '/refused'] as const;
const endpointStates = ['ready', 'starting', 'draining', 'gone'] as const;

export const objectChanges = ['price', 'routes', 'model', 'check', 'backend', 'endpoint', 'slice'] as const;

/** A change that an operator, or a controller of Kubernetes, makes at the API server. */
export type ObjectChange =
  | { readonly change: 'price'; readonly model: number; readonly price: number }
  | { readonly change: 'routes'; readonly model: number; readonly both: boolean }
  | { readonly change: 'model'; readonly action: 'make' | 'delete' | 'leave' }
  | { readonly change: 'check'; readonly path: (typeof checkPaths)[number] }
  | { readonly change: 'backend'; readonly action: 'make' | 'delete' }
  | {
      readonly change: 'endpoint';
      readonly service: 'pods-a' | 'pods-b';
      readonly number: number;
      readonly state: (typeof endpointStates)[number];
    }
  | { readonly change: 'slice'; readonly service: 'pods-a' | 'pods-b'; readonly number: number };

/** What happens in the cluster. */
export type ClusterEvent = { readonly kind: 'cluster'; readonly at: number } & (
  | ({ readonly what: 'object' } & ObjectChange)
  | { readonly what: 'way'; readonly service: number | 'leader'; readonly trouble: ApiTrouble; readonly forMs: number }
  | { readonly what: 'watches'; readonly service: number; readonly how: (typeof watchEnds)[number] }
  /** The server is away, and all connections break. `forgets`: no watch can go on from before. */
  | { readonly what: 'server'; readonly forMs: number }
  | { readonly what: 'forgets' }
  /** Other programs write the objects, too: those of Kubernetes itself, and of the operator. */
  | { readonly what: 'others-write'; readonly forMs: number }
  | { readonly what: 'envoy'; readonly service: number; readonly trouble: 'late' | 'away'; readonly forMs: number }
);

/** The part of a world in which its services follow a cluster. */
export interface ClusterPlan {
  readonly fromMs: number;
  readonly forMs: number;
  /** How far the clock of the API server is ahead of the world. */
  readonly aheadMs: number;
}

const one = <Value>(values: readonly Value[], chance: Chance): Value => values[Math.floor(chance() * values.length)]!;

/** A watch that goes silent is noticed after 150 s. */
const restMs = 300_000;
const minMinutes = 11;
const maxMinutes = 18;

function changeOf(chance: Chance): ObjectChange {
  const service = chance() < 0.5 ? 'pods-a' : 'pods-b';
  const number = Math.floor(chance() * 4);
  const changes: readonly ObjectChange[] = [
    { change: 'price', model: number % 2, price: 1 + Math.floor(chance() * 9) },
    { change: 'routes', model: number % 2, both: chance() < 0.5 },
    { change: 'model', action: one(['make', 'delete', 'leave'], chance) },
    { change: 'check', path: one(checkPaths, chance) },
    { change: 'backend', action: one(['make', 'delete'], chance) },
    { change: 'endpoint', service, number, state: one(endpointStates, chance) },
    { change: 'endpoint', service, number, state: one(endpointStates, chance) },
    { change: 'slice', service, number: number % 2 },
  ];
  return one(changes, chance);
}

type Happening = ClusterEvent | Extract<FaultEvent, { readonly kind: 'pause' | 'kill' | 'clock-jump' | 'restart' }>;

function troubleOf(at: number, chance: Chance): Happening {
  const service = Math.floor(chance() * 4);
  const forMs = 500 + chance() * 30_000;
  const cluster = { kind: 'cluster', at } as const;
  const troubles: readonly Happening[] = [
    { ...cluster, what: 'way', service, trouble: one(apiTroubles, chance), forMs },
    { ...cluster, what: 'way', service: 'leader', trouble: one(apiTroubles, chance), forMs },
    // A lease is longer than a call may take, and shorter than two.
    { ...cluster, what: 'way', service: 'leader', trouble: 'slow-answers', forMs: 2 * forMs },
    { ...cluster, what: 'watches', service, how: one(watchEnds, chance) },
    { ...cluster, what: 'server', forMs: forMs / 2 },
    { ...cluster, what: 'forgets' },
    { ...cluster, what: 'others-write', forMs },
    { ...cluster, what: 'envoy', service, trouble: chance() < 0.6 ? 'late' : 'away', forMs },
    one<Happening>(
      [
        { kind: 'pause', at, service, forMs: 1_000 + chance() * 20_000 },
        { kind: 'kill', at, service, downMs: 200 + chance() * 10_000 },
        { kind: 'restart', at, service, downMs: 200 + chance() * 2_000 },
        { kind: 'clock-jump', at, service, ms: Math.round((chance() - 0.5) * 20_000) },
      ],
      chance,
    ),
  ];
  return one(troubles, chance);
}

/**
 * The cluster of a world, and what happens in it. Every second world of several services has one, for some minutes, because
 * leases and passes cost as much as the requests of an hour. It is drawn apart, so that everything else stays as it is.
 */
export function clusterOf(plan: Pick<WorldPlan, 'seed' | 'services' | 'hours'>): {
  readonly cluster?: ClusterPlan;
  readonly happenings: readonly Happening[];
} {
  const chance = seededChance(plan.seed ^ 0xc105);
  if (plan.services < 2 || chance() < 0.5) return { happenings: [] };
  const forMs = (minMinutes + chance() * (maxMinutes - minMinutes)) * 60_000;
  const fromMs = 2_000 + chance() * (plan.hours * 3_600_000 - forMs - 60_000);
  const until = fromMs + forMs - restMs;
  const at = (): number => fromMs + 5_000 + chance() * (until - fromMs - 5_000);
  const happenings: Happening[] = [];
  const troubles = chance() < 0.15 ? 0 : 4 + Math.floor(chance() * 16);
  for (let index = 0; index < troubles; index += 1) happenings.push(troubleOf(at(), chance));
  const bursts = 4 + Math.floor(chance() * 12);
  for (let index = 0; index < bursts; index += 1) {
    // Changes come together, and often while something is wrong.
    const near = happenings.length > 0 && chance() < 0.6 ? one(happenings, chance).at + chance() * 20_000 : at();
    const changes = 1 + Math.floor(chance() * 5);
    // Those of a few milliseconds come in one piece.
    const apartMs = chance() < 0.5 ? 2 : 60;
    for (let change = 0; change < changes; change += 1)
      happenings.push({ kind: 'cluster', at: near + chance() * apartMs * change, what: 'object', ...changeOf(chance) });
  }
  return { cluster: { fromMs, forMs, aheadMs: (chance() - 0.5) * 40_000 }, happenings };
}
