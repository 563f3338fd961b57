import type { Cause } from '../../core/cause.ts';
import type { Headers } from '../../core/headers.ts';

/** One HTTP request to an engine or a search provider, through the egress listener. */
export interface UpstreamCall {
  readonly cluster: string;
  /** Name of the backend, under which Envoy counts its open requests. Absent: no count is needed. */
  readonly backend?: string | undefined;
  /** Name of the endpoint that is to answer (`Endpoint.name`). Absent: Envoy chooses one. */
  readonly endpoint?: string | undefined;
  readonly authority: string;
  readonly path: string;
  /**
   * Digest of the beginning of the prompt. If a call names no endpoint, or an endpoint that is gone, it goes to the
   * same endpoint as other calls with the same digest, while that endpoint has room. The digest stays inside the
   * gateway.
   */
  readonly affinity?: string | undefined;
  /** W3C `traceparent`: the parent span of the call, which is sent to the engine. Absent: tracing is off. */
  readonly traceparent?: string | undefined;
  /** Default: `POST`. A GET has an empty body. */
  readonly method?: 'GET' | undefined;
  /** Content type of the body. Default: `application/json`. */
  readonly contentType?: string | undefined;
  /** Further headers, such as credentials. */
  readonly headers?: Headers | undefined;
  readonly body: string | Uint8Array;
  readonly accept: 'text/event-stream' | 'application/json';
}

/** Receives what the engine answers, in this order; `failed` may come at any time and is the last. */
export interface UpstreamListener {
  /** Another endpoint answers, because the one that the call names is gone or unhealthy. Comes before `head`. */
  readonly movedTo?: ((endpoint: string) => void) | undefined;
  readonly head: (status: number, header: (name: string) => string | undefined) => void;
  /** A piece of the body. The bytes belong to the listener and do not change afterwards. */
  readonly data: (bytes: Uint8Array) => void;
  readonly ended: () => void;
  /** The connection could not be made, was reset or cut. `cause`: what Envoy says about it, if that names a cause. */
  readonly failed: (reason: string, cause?: Cause) => void;
}

export interface UpstreamStream {
  /** Closes the connection; nothing is reported afterwards. Harmless once the call is over. */
  readonly abort: () => void;
  /** Asks Envoy whether the call is on a connection to the engine. Call it before an abort. */
  readonly reached: () => Promise<boolean>;
  /** Stops and restarts reading, which slows the engine. After `pause`, one more piece or the end may still arrive. */
  readonly pause: () => void;
  readonly resume: () => void;
}

export interface Upstream {
  readonly call: (call: UpstreamCall, listener: UpstreamListener) => UpstreamStream;
  /** The number of calls under way on a cluster. A cluster with calls must not be removed. */
  readonly inFlight: (cluster: string) => number;
}
