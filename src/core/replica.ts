/** What one replica sees of what the catalog declares: what its Envoy has, and what can be reached from there. */
export interface ReplicaView {
  /** Of its pod. */
  readonly name: string;
  /** Whether its Envoy answered when it was last asked. What follows is what was seen before it went. */
  readonly hasEnvoy: boolean;
  /** `clusterMark` of every cluster its Envoy has. */
  readonly clusters: ReadonlySet<string>;
  /** Backends whose cluster its Envoy refused, with what it said. */
  readonly refused: ReadonlyMap<string, string>;
  /** Backends that none of its requests would reach. */
  readonly unreachable: ReadonlyMap<string, Unreachable>;
  /** Ids of routes that it gives no requests because those before failed. */
  readonly out: ReadonlySet<string>;
  /** Ids of models that are in its catalog but not on its list. */
  readonly unlisted: ReadonlySet<string>;
}

/** `no-address`: its name has none. `unhealthy`: no endpoint passes its health check. */
export type Unreachable = 'no-address' | 'unhealthy';

/** Enough of a cluster's name, which ends in a digest of its content, to tell it from any other in a short message. */
export function clusterMark(name: string): string {
  return name.slice(-24, -16);
}
