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

/** What was measured of a model lately, as the catalog publishes it. docs/reference/api.md §2.1. */
export interface PerformanceFigure {
  /** Median of delivered output tokens per second. */
  readonly tokensPerSecondP50: number;
  /** Median time to first token of streams; absent when too few were measured. */
  readonly firstTokenMsP50?: number;
  /** The newest measurement in it, Unix seconds. */
  readonly asOf: number;
}

/** How a model stands now: what the catalog's list and the operators' metrics show of it beyond its own fields. */
export interface ModelStatus {
  /** Whether the list has it: servable at its service level. A model that is not listed stays callable. */
  readonly listed: boolean;
  /** Share of its requests that were served, over its window; absent while there are too few to tell. */
  readonly availability?: number;
  /** Absent when nothing fresh was measured. */
  readonly figure?: PerformanceFigure;
}
