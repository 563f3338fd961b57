import type { StructuredFormat } from './capability.ts';
import type { Route } from './catalog.ts';
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

/** How an attempt ended, as far as it tells something about its route. */
export type AttemptEnd =
  /** The answer is whole. `tokens`: output tokens, where they are known. */
  | { readonly kind: 'complete'; readonly tokens?: number | undefined }
  | { readonly kind: 'failed'; readonly fault: Fault }
  /** Another route, asked later, was faster to its first output. */
  | { readonly kind: 'beaten' }
  /** The caller left, or the attempt was not needed any more: this says nothing about the route. */
  | { readonly kind: 'aborted' };

/** One attempt, as the health of its route sees it. Every method is cheap: they are called on the way of every answer. */
export interface AttemptRecord {
  /** The first output has come: of an answer that does not stream, the whole. Further calls are harmless. */
  readonly output: () => void;
  /** Call once. */
  readonly ended: (end: AttemptEnd) => void;
}

export interface BeginOptions {
  readonly stream: boolean;
  /** Digest of the prompt. Undefined: each failure counts. */
  readonly prompt?: number | undefined;
}

/** How long to wait for an attempt's first output before another route is asked too. */
export interface HedgeAdvice {
  readonly afterMs: number;
  /** The attempt is a probe of a route that was out: the second one is an insurance and not taken from the hedging budget. */
  readonly insured: boolean;
}

/** The live state of all routes: what dispatch tells of its attempts, and what it asks before it makes one. */
export interface Health {
  /**
   * Begins an attempt, counted against the route's capacity until it has ended. Undefined when the route has become full or
   * has been ejected since the plan was made, or when its one probe is already under way: take the next route.
   */
  readonly begin: (route: Route, options: BeginOptions) => AttemptRecord | undefined;
  /** On how many routes engines failed by themselves on this prompt lately, as long as no route has answered it. */
  readonly failedOn: (prompt: number) => number;
  /** When to hedge an attempt on `route` that has `others` behind it; undefined: never (no other, or off under load). */
  readonly hedge: (
    route: Route,
    options: { readonly stream: boolean; readonly others: readonly Route[] },
  ) => HedgeAdvice | undefined;
  /** Whether the route has been ejected: an attempt that still waits there for its first output is better made elsewhere. */
  readonly isOut: (route: Route) => boolean;
  /**
   * Whether the route's engine is most likely at work on an attempt that has waited so long for its first output: it has
   * answered lately, has not failed since, and does not take longer now than is usual for it.
   */
  readonly isAnswering: (route: Route, options: { readonly stream: boolean; readonly waitedMs: number }) => boolean;
  /** What the check of an answer's structure found. */
  readonly structure: (route: Route, finding: StructureFinding) => void;
}
