import type { StructuredFormat } from './capability.ts';
import type { Route } from './catalog.ts';
import type { Endpoint } from './endpoint.ts';
import type { Fault } from './event.ts';

/** The structures that a route can get wrong while it answers: each is validated, penalised and probed for itself. */
export type StructuralCapability = 'tools' | StructuredFormat;

/** What the check of an answer's structure found of one capability. */
export interface StructureFinding {
  readonly capability: StructuralCapability;
  /** `invalid`: by the route's fault. `missed`: perhaps by the request's own, which may ask for what no answer can have. */
  readonly result: 'valid' | 'invalid' | 'missed';
  /** Id of the API key whose request it was. */
  readonly caller: string;
  /** A digest of what was asked for: requests with the same schemas have the same. */
  readonly asked: () => number;
}

/** How an attempt ended, as far as it says something about its route. */
export type AttemptEnd =
  /** The answer is whole. `tokens`: output tokens, where they are known. */
  | { readonly kind: 'complete'; readonly tokens?: number | undefined }
  | { readonly kind: 'failed'; readonly fault: Fault }
  /** Another route, asked later, was faster to its first output. */
  | { readonly kind: 'beaten' }
  /** The caller left, or the attempt was not needed any more: this says nothing about the route. */
  | { readonly kind: 'aborted' };

/** One attempt, as the health of its endpoint sees it. Every method is cheap: they are called on the way of every answer. */
export interface AttemptRecord {
  /** Where the attempt is to be made. */
  readonly endpoint: Endpoint;
  /** The first output has come: of an answer that does not stream, the whole. Further calls are harmless. */
  readonly output: () => void;
  /** Call once. */
  readonly ended: (end: AttemptEnd) => void;
  /** Another endpoint answers, which Envoy has chosen because `endpoint` is gone or unhealthy. Call it before `output`. */
  readonly movedTo: (endpoint: string) => void;
}

export interface BeginOptions {
  readonly stream: boolean;
  /** Digest of the prompt. Undefined: each failure counts. */
  readonly prompt?: number | undefined;
  /** `Plan.affinity`: attempts with the same one are made on the same endpoint while it is well and has room. */
  readonly affinity?: string | undefined;
  /** Names of endpoints that are not to be asked. Absent: none. */
  readonly avoid?: ReadonlySet<string> | undefined;
}

/** The endpoints that an attempt has behind it, should it fail or take too long. */
export interface OtherEndpoints {
  readonly route: Route;
  /** Names of endpoints that are not to be asked. */
  readonly avoid: ReadonlySet<string>;
}

/** How long to wait for an attempt's first output before another endpoint is asked, too. */
export interface HedgeAdvice {
  readonly afterMs: number;
  /** The attempt is a probe of an endpoint that was out: the second one is an insurance and not taken from the hedging budget. */
  readonly insured: boolean;
}

/** Where an attempt is made: an endpoint of a route's backend. */
export interface AttemptPlace {
  readonly route: Route;
  readonly endpoint: Endpoint;
}

/** The live state of all routes: dispatch reports its attempts to it, and asks it before each attempt. */
export interface Health {
  /**
   * Begins an attempt on an endpoint of the route, counted against its capacity until it has ended. Undefined when no endpoint
   * takes it: all are avoided, full or ejected, or a single probe of each is already under way. Take the next route.
   */
  readonly begin: (route: Route, options: BeginOptions) => AttemptRecord | undefined;
  /** In how many places engines failed by themselves on this prompt lately, as long as none has answered it. */
  readonly failedOn: (prompt: number) => number;
  /** How many endpoints a route has besides those that are to be avoided, well or not. */
  readonly endpointsLeft: (others: OtherEndpoints) => number;
  /** When to hedge an attempt that has `others` behind it; undefined: never (no other, or off under load). */
  readonly hedge: (
    at: AttemptPlace,
    options: { readonly stream: boolean; readonly others: readonly OtherEndpoints[] },
  ) => HedgeAdvice | undefined;
  /** Whether the endpoint has been ejected: an attempt that still waits there for its first output is better made elsewhere. */
  readonly isOut: (at: AttemptPlace) => boolean;
  /** Whether a single attempt finds out if the endpoint, which was ejected, is well again. */
  readonly isProbed: (at: AttemptPlace) => boolean;
  /**
   * Whether the endpoint's engine is most likely at work on an attempt that has waited so long for its first output: it has
   * answered lately, has not failed since, and does not take longer now than is usual for it.
   */
  readonly isAnswering: (at: AttemptPlace, options: { readonly stream: boolean; readonly waitedMs: number }) => boolean;
  /** What the check of an answer's structure found. */
  readonly structure: (route: Route, finding: StructureFinding) => void;
}
