import type { StructuredFormat } from '../../core/capability.ts';
import type { Route } from '../../core/catalog.ts';
import type { Endpoint } from '../../core/endpoint.ts';
import type { Fault } from '../../core/event.ts';
import type { EndpointPick, PoolPrompt } from '../../core/pool-prompt.ts';

/** The structures that a route can get wrong. Each is validated, penalised and probed separately. */
export type StructuralCapability = 'tools' | StructuredFormat;

/** The result of the check of an answer's structure for one capability. */
export interface StructureFinding {
  readonly capability: StructuralCapability;
  /**
   * `invalid`: the route is at fault. `missed`: the request may be at fault, because possibly no answer can have the
   * requested structure.
   */
  readonly result: 'valid' | 'invalid' | 'missed';
  /** Id of the API key of the request. */
  readonly caller: string;
  /** A digest of the requested structure: requests with the same schemas have the same digest. */
  readonly asked: () => number;
}

/** The end of an attempt, as far as it shows something about the route. */
export type AttemptEnd =
  /** The answer is whole. `tokens`: output tokens, where they are known. */
  | {
      readonly kind: 'complete';
      readonly tokens?: number | undefined;
      /** The engine's count of the prompt, and of its part that was in the cache. Absent: the engine did not report them. */
      readonly prompt?: { readonly tokens: number; readonly cachedTokens: number } | undefined;
    }
  | { readonly kind: 'failed'; readonly fault: Fault }
  /** Another route, which was called later, was faster to its first output. */
  | { readonly kind: 'beaten' }
  /** The caller left, or the attempt was not needed any more: this says nothing about the route. */
  | { readonly kind: 'aborted' };

/** One attempt, from the view of its endpoint's health. Every method is cheap: they run for every answer. */
export interface AttemptRecord {
  /** Where the attempt is to be made. */
  readonly endpoint: Endpoint;
  /** Why this endpoint was picked. Undefined: not by its cache, queue and speed. */
  readonly picked?: EndpointPick | undefined;
  /** The first output has arrived, or the whole answer if it is not streamed. Further calls have no effect. */
  readonly output: () => void;
  /** Call once. */
  readonly ended: (end: AttemptEnd) => void;
  /**
   * Another endpoint answers. Envoy has chosen it because `endpoint` is gone or unhealthy. Call it before `output`. `refused`: that
   * endpoint may not answer for the route.
   */
  readonly movedTo: (endpoint: string) => 'refused' | undefined;
}

export interface BeginOptions {
  readonly stream: boolean;
  /** Digest of the prompt. Undefined: each failure counts. */
  readonly prompt?: number | undefined;
  /** `Plan.affinity`: attempts with the same value are made on the same endpoint while it is healthy and has room. */
  readonly affinity?: string | undefined;
  /** `Plan.poolPrompt`: the endpoint is picked by its cache, its queue and its speed. Absent: by `affinity`, or by chance. */
  readonly poolPrompt?: PoolPrompt | undefined;
  /** Names of endpoints that are not to be asked. Absent: none. */
  readonly avoid?: ReadonlySet<string> | undefined;
  /** The request fails without this attempt. An endpoint that cools off is asked, too, if no other one accepts the attempt. */
  readonly isLastResort?: boolean | undefined;
}

/** The other endpoints for an attempt, in case it fails or takes too long. */
export interface OtherEndpoints {
  readonly route: Route;
  /** Names of endpoints that are not to be asked. Absent: none. */
  readonly avoid?: ReadonlySet<string>;
}

/** How long to wait for an attempt's first output before a second endpoint is called. */
export interface HedgeAdvice {
  readonly afterMs: number;
  /** The attempt probes an ejected endpoint. The second attempt is an insurance and does not use the hedging budget. */
  readonly insured: boolean;
}

/** Where an attempt is made: an endpoint of a route's backend. */
export interface AttemptPlace {
  readonly route: Route;
  readonly endpoint: Endpoint;
  /** `AttemptRecord.picked`. */
  readonly picked?: EndpointPick | undefined;
}

export interface FirstTokenAsk {
  readonly stream: boolean;
  readonly poolPrompt: PoolPrompt;
}

export interface SoonestAsk extends FirstTokenAsk {
  /** `Plan.affinity`. */
  readonly affinity: string | undefined;
}

/** The expected time to a first token, ms. */
export interface FirstTokenWait {
  readonly firstMs: number;
  /** The time without the work of others. */
  readonly aloneMs: number;
}

/** The live state of all routes: dispatch reports its attempts to it, and asks it before each attempt. */
export interface Health {
  /**
   * Begins an attempt on an endpoint of the route, counted against its capacity until the attempt has ended. Undefined
   * when no endpoint is available: all are avoided, full or ejected, or a single probe of each is already under way.
   * Take the next route.
   */
  readonly begin: (route: Route, options: BeginOptions) => AttemptRecord | undefined;
  /** The number of endpoints whose engines failed on this prompt lately; 0 once an engine has answered it. */
  readonly failedOn: (prompt: number) => number;
  /** How many endpoints a route has besides the avoided ones, healthy or not. */
  readonly endpointsLeft: (others: OtherEndpoints) => number;
  /**
   * How long the first token of a prompt would take on the endpoint of a route that answers soonest. Undefined: not known, because an
   * endpoint has not answered yet, or because none is available.
   */
  readonly firstTokenWait: (route: Route, options: FirstTokenAsk) => FirstTokenWait | undefined;
  /**
   * The route of these with the endpoint that would be picked if all their endpoints were of one backend. Undefined: none has one that
   * accepts attempts.
   */
  readonly soonest: (routes: readonly Route[], options: SoonestAsk) => Route | undefined;
  /**
   * When to hedge an attempt that has `others` in reserve; undefined: never (no other, or hedging is off under load).
   */
  readonly hedge: (
    at: AttemptPlace,
    options: { readonly stream: boolean; readonly others: readonly OtherEndpoints[] },
  ) => HedgeAdvice | undefined;
  /** Whether the endpoint was ejected meanwhile. An attempt that still waits there for its first output should move. */
  readonly isOut: (at: AttemptPlace) => boolean;
  /** Whether this single attempt decides if the ejected endpoint is healthy again. */
  readonly isProbed: (at: AttemptPlace) => boolean;
  /**
   * Whether the endpoint's engine is most likely working on an attempt that has waited `waitedMs` for its first output:
   * the engine answered lately, has not failed since, and does not take longer now than usual.
   */
  readonly isAnswering: (at: AttemptPlace, options: { readonly stream: boolean; readonly waitedMs: number }) => boolean;
  /** Reports the result of the check of an answer's structure. */
  readonly structure: (route: Route, finding: StructureFinding) => void;
}
