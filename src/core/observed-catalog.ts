/**
 * The state of the catalog as one replica observes it. The conditions of objects, the metrics of endpoints, the list of problems and the
 * live catalog of the portal are all rendered from it.
 */
export interface ObservedCatalog {
  /** Name of the replica's pod. */
  readonly name: string;
  /** Whether its Envoy answered the last question. If not, the fields below are from its last answer. */
  readonly hasEnvoy: boolean;
  /** `clusterMark` of every cluster its Envoy has. */
  readonly clusters: ReadonlySet<string>;
  /** By name. Another replica reports a backend only while something is wrong with it. */
  readonly backends: ReadonlyMap<string, ObservedBackend>;
  /** Ids of routes to which the replica sends no requests, because earlier requests failed. */
  readonly out: ReadonlySet<string>;
  /** Ids of models that are in its catalog but not on its list. */
  readonly unlisted: ReadonlySet<string>;
}

/** The state of one backend, as one replica observes it. */
export interface ObservedBackend {
  /** Envoy's message, where Envoy refused the backend's cluster. */
  readonly refused: string | undefined;
  /** Why requests cannot reach the backend; undefined: they can. */
  readonly unreachable: Unreachable | undefined;
  /** Set while the last requests to the backend failed: the failures of one prompt count, too. */
  readonly failing: FailingBackend | undefined;
  /** Undefined: Envoy does not have the backend. */
  readonly endpoints: ObservedEndpoints | undefined;
}

/** A backend with this many failures in a row counts as failing. Failures of one prompt count, too. */
export const failuresInARow = 10;

/** At least the last `failuresInARow` requests to a backend failed. */
export interface FailingBackend {
  /** HTTP status of the last one; undefined where there was none. */
  readonly status: number | undefined;
}

/** Every endpoint of a backend, in exactly one state. */
export interface EndpointCounts {
  /** Endpoints that get requests. */
  readonly healthy: number;
  /** Healthy to Envoy, ejected by this service because requests to them failed. */
  readonly ejected: number;
  /** Endpoints that Envoy does not use: their health check, or connections to them, fail. */
  readonly unhealthy: number;
  /** All of them. */
  readonly total: number;
}

/** The endpoints of one backend, as one replica observes them. */
export interface ObservedEndpoints extends EndpointCounts {
  /** Some of the endpoints that get no requests. */
  readonly failing: readonly FailingEndpoint[];
  /** Why the backend has no endpoint, beginning with the field at fault; undefined where it has some. */
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

/** The answer to a health check: its HTTP status, or the reason why there is none. */
export type HealthCheckAnswer = { readonly status: number } | { readonly problem: string };

/** `health-check`: it fails Envoy's. `requests`: requests to it failed, or could not be sent. */
export const endpointFaults = ['health-check', 'requests'] as const;
export type EndpointFault = (typeof endpointFaults)[number];

/** Why a backend cannot be reached. `no-address`: it has no endpoint. `unhealthy`: no endpoint passes the health check. */
export const unreachableReasons = ['no-address', 'unhealthy'] as const;
export type Unreachable = (typeof unreachableReasons)[number];

/** A short part of a cluster's name that differs from that of any other: the name ends in a digest of the cluster's content. */
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
  /** Whether it is listed: servable, and at its service level. A model that is not listed can still be called. */
  readonly listed: boolean;
  /** Share of its requests that were served, over its window; absent while there are too few requests. */
  readonly availability?: number | undefined;
  /** Absent when nothing was measured lately. */
  readonly figure?: PerformanceFigure | undefined;
}
