/** What one replica reports about the catalog: which clusters its Envoy has, and which backends can be reached from there. */
export interface ReplicaView {
  /** Name of the replica's pod. */
  readonly name: string;
  /** Whether its Envoy answered last time. When not, the fields below are from the last time it did. */
  readonly hasEnvoy: boolean;
  /** `clusterMark` of every cluster its Envoy has. */
  readonly clusters: ReadonlySet<string>;
  /** Backends whose cluster its Envoy refused, with Envoy's message. */
  readonly refused: ReadonlyMap<string, string>;
  /** Backends that its requests cannot reach. */
  readonly unreachable: ReadonlyMap<string, Unreachable>;
  /** Ids of routes that it sends no requests because earlier ones failed. */
  readonly out: ReadonlySet<string>;
  /** Backends on which the last requests failed, one prompt's as well as many prompts', with the HTTP status of the last answer. */
  readonly failing: ReadonlyMap<string, FailingBackend>;
  /** Ids of models that are in its catalog but not on its list. */
  readonly unlisted: ReadonlySet<string>;
  /** Backends with their endpoints. Of another replica only those are known of which some endpoint is not well. */
  readonly endpoints: ReadonlyMap<string, EndpointsView>;
}

/** So many failures in a row, without an answer between them, say that a backend fails: of one prompt, too. */
export const tellingFailures = 10;

/** At least the last `tellingFailures` requests to a backend failed. */
export interface FailingBackend {
  /** HTTP status of the last one; undefined where there was none. */
  readonly status: number | undefined;
}

/** The endpoints of one backend, as one replica sees them. */
export interface EndpointsView {
  readonly total: number;
  /** Those that get requests. */
  readonly healthy: number;
  /** Some of the others. */
  readonly failing: readonly FailingEndpoint[];
  /** Why there is none, beginning with the field at fault; undefined where there are some. */
  readonly trouble: string | undefined;
}

/** An endpoint that gets no requests. */
export interface FailingEndpoint {
  /** `Endpoint.name`. */
  readonly endpoint: string;
  readonly why: EndpointFault;
  /** What it answers to its health check, where that is known. */
  readonly answer?: HealthCheckAnswer | undefined;
}

/** The answer to a health check: its HTTP status, or why there is none. */
export type HealthCheckAnswer = { readonly status: number } | { readonly problem: string };

/** `health-check`: it fails Envoy's. `requests`: requests to it failed, or could not be sent. */
export const endpointFaults = ['health-check', 'requests'] as const;
export type EndpointFault = (typeof endpointFaults)[number];

/** Why a backend cannot be reached. `no-address`: it has no endpoint. `unhealthy`: no endpoint passes the health check. */
export type Unreachable = 'no-address' | 'unhealthy';

/** A short part of a cluster's name that tells it from any other: the name ends in a digest of the cluster's content. */
export function clusterMark(name: string): string {
  return name.slice(-24, -16);
}

/** What was measured of a model lately, as the catalog publishes it. docs/reference/api.md §2.1. */
export interface PerformanceFigure {
  /** Median of delivered output tokens per second. */
  readonly tokensPerSecondP50: number;
  /** Median time to first token of streams; absent when too few were measured. */
  readonly firstTokenMsP50?: number | undefined;
  /** The newest measurement in it, Unix seconds. */
  readonly asOf: number;
}

/** The current status of a model: what the catalog's list and the operators' metrics show of it beyond its own fields. */
export interface ModelStatus {
  /** Whether the list has it: servable at its service level. A model that is not listed stays callable. */
  readonly listed: boolean;
  /** Share of its requests that were served, over its window; absent while there are too few to tell. */
  readonly availability?: number | undefined;
  /** Absent when nothing was measured lately. */
  readonly figure?: PerformanceFigure | undefined;
}
