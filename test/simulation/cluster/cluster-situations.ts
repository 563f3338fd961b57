import type { WorldEvent } from '../events.ts';
import { apiTroubles, objectChanges, type ClusterEvent, watchEnds } from './cluster-events.ts';

// The events of a cluster, and what may be open in it, by the names that situations have.

export const clusterEventNames = [
  ...objectChanges.map((change) => `change of ${change}` as const),
  ...apiTroubles,
  ...watchEnds.map((how) => `watch ${how}` as const),
  ...(['server', 'forgets', 'others-write', 'envoy late', 'envoy away'] as const),
  ...(['kill', 'restart', 'pause', 'clock-jump'] as const),
] as const;
type ClusterEventName = (typeof clusterEventNames)[number];

/** What lasts of it. A watch that went silent is noticed after 150 s; one that broke off is made anew within seconds. */
export const clusterStates = [
  ...apiTroubles,
  ...watchEnds.map((how) => `watch ${how}` as const),
  ...(['server', 'others-write', 'envoy late', 'envoy away', 'kill', 'restart', 'pause'] as const),
] as const satisfies readonly ClusterEventName[];
export type ClusterState = (typeof clusterStates)[number];

const watchMs = { breaks: 3_000, ends: 3_000, silent: 150_000 } as const;

function ofCluster(event: ClusterEvent): { readonly name: ClusterEventName; readonly forMs: number } {
  switch (event.what) {
    case 'object':
      return { name: `change of ${event.change}`, forMs: 0 };
    case 'way':
      return { name: event.trouble, forMs: event.forMs };
    case 'watches':
      return { name: `watch ${event.how}`, forMs: watchMs[event.how] };
    case 'envoy':
      return { name: `envoy ${event.trouble}`, forMs: event.forMs };
    case 'forgets':
      return { name: 'forgets', forMs: 0 };
    case 'server':
    case 'others-write':
      return { name: event.what, forMs: event.forMs };
  }
}

/** An event as a cluster sees it: its name, and how long what it opens lasts. Undefined: it does not concern a cluster. */
export function clusterEventOf(
  event: WorldEvent,
): { readonly name: ClusterEventName; readonly forMs: number } | undefined {
  const { kind } = event;
  if (kind === 'cluster') return ofCluster(event);
  if (kind === 'kill' || kind === 'restart') return { name: kind, forMs: event.downMs };
  if (kind === 'pause') return { name: kind, forMs: event.forMs };
  return kind === 'clock-jump' ? { name: kind, forMs: 0 } : undefined;
}

export const isClusterState = (name: string): name is ClusterState =>
  (clusterStates as readonly string[]).includes(name);
