import type { Cause } from './cause.ts';

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
  /** Backends by name. Another replica reports a backend only while something is wrong with it. */
  readonly backends: ReadonlyMap<string, ObservedBackend>;
  /** Ids of routes to which the replica sends no requests, because earlier requests failed. */
  readonly out: ReadonlySet<string>;
  /** Ids of models that are in its catalog but not on its list. */
  readonly unlisted: ReadonlySet<string>;
  /** Routes of embedding models some of whose endpoints get no requests because of their vectors, by the id of the route. */
  readonly vectors: ReadonlyMap<string, VectorsFault>;
}

/**
 * `unprobed`: whether a route makes the vectors of its model is not known yet. `differs`: an endpoint does not. `changed`: the route whose
 * vectors are the reference makes others now.
 */
export const vectorsFaults = ['unprobed', 'differs', 'changed'] as const;

export interface VectorsFault {
  readonly kind: (typeof vectorsFaults)[number];
  /** Whether no endpoint of the route may get requests. */
  readonly isWhole: boolean;
  /** The endpoints, the figures, and what usually explains them. */
  readonly text: string;
}

/** The comparison of a route, for metrics. */
export interface VectorsFigure {
  readonly model: string;
  readonly route: string;
  /** Undefined: not compared yet. */
  readonly isSame: boolean | undefined;
  /** The lowest cosine. Undefined: not compared yet, or vectors of another length. */
  readonly similarity: number | undefined;
}

/** The state of one backend, as one replica observes it. */
export interface ObservedBackend {
  /** Envoy's message, where Envoy refused the backend's cluster. */
  readonly refused: string | undefined;
  /** Why requests cannot reach the backend; undefined: they can. */
  readonly unreachable: Unreachable | undefined;
  /** Set while the last requests to the backend, or the last question to it, have failed. Only a success ends it. */
  readonly failing: FailingBackend | undefined;
  /** Whether neither a request nor a question for its models has been answered or has failed. */
  readonly isUntried: boolean;
  /** What its engine lists otherwise than the manifests declare, as a text. Undefined: nothing. */
  readonly differs: string | undefined;
  /** Undefined: Envoy does not have the backend. */
  readonly endpoints: ObservedEndpoints | undefined;
}

/** A backend with this many failures in a row counts as failing, even if all requests had the same prompt. */
export const failuresInARow = 10;

/**
 * Why a backend counts as failing. `requests`: the last ones failed. `many-requests`: at least the last `failuresInARow`
 * of some route failed, and no route answers. `probe`: it was asked for its models, and no request has been answered since.
 */
export const failingEvidence = ['requests', 'many-requests', 'probe'] as const;
type FailingEvidence = (typeof failingEvidence)[number];

/** A backend that does not answer requests. */
export interface FailingBackend {
  readonly cause: Cause | undefined;
  readonly evidence: FailingEvidence;
  /** HTTP status of the last failed request; undefined if there was no answer. */
  readonly status: number | undefined;
  /** What the engine said then (`Fault.said`). */
  readonly said?: string | undefined;
}

/** Every endpoint of a backend, in exactly one state. */
export interface EndpointCounts {
  /** Endpoints that get requests. */
  readonly healthy: number;
  /** Healthy to Envoy, ejected by this service because attempts on them failed or were slow. */
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
  /** The endpoint's answer to its health check, if it is known. */
  readonly answer?: HealthCheckAnswer | undefined;
}

/** The answer to a health check: its HTTP status, or the reason why there is none. */
export type HealthCheckAnswer = { readonly status: number } | { readonly problem: string };

/**
 * `health-check`: Envoy's health check of the endpoint fails. `requests`: attempts on it failed, or could not be sent. `slow`: its first
 * output came so late that other endpoints answered first.
 */
export const endpointFaults = ['health-check', 'requests', 'slow'] as const;
export type EndpointFault = (typeof endpointFaults)[number];

/** Why a backend cannot be reached. `no-address`: it has no endpoint. `unhealthy`: no endpoint passes the health check. */
export const unreachableReasons = ['no-address', 'unhealthy'] as const;
export type Unreachable = (typeof unreachableReasons)[number];

/** A short part of a cluster's name that no other cluster shares: the name ends in a digest of the cluster's content. */
export function clusterMark(name: string): string {
  return name.slice(-24, -16);
}

/** The latest measurements of a model, as the catalog publishes them. docs/reference/api.md §2.1. */
export interface PerformanceFigure {
  /** Median of delivered output tokens per second. */
  readonly tokensPerSecondP50: number;
  /** Median time to first token of streams; absent when too few were measured. */
  readonly firstTokenMsP50?: number | undefined;
  /** Time of the newest measurement, Unix seconds. */
  readonly asOf: number;
}

/** The current status of a model: the facts besides its own fields that the catalog's list and the operators' metrics show. */
export interface ModelStatus {
  /** Whether it is listed: servable, and at its service level. A model that is not listed can still be called. */
  readonly listed: boolean;
  /** Share of its requests that were served, over its window; absent while there are too few requests. */
  readonly availability?: number | undefined;
  /** Absent when nothing was measured lately. */
  readonly figure?: PerformanceFigure | undefined;
}
