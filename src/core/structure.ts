import type { Route } from './catalog.ts';
import type { AnswerEvent } from './event.ts';
import type { StructuralCapability } from './health.ts';

/** The type of a JSON value itself. */
export type TopType = 'object' | 'any';

/** A text that must be JSON of a certain form. */
export interface StructureAsk {
  readonly text: string;
  /** Absent: any JSON value will do. */
  readonly schema?: Readonly<Record<string, unknown>> | undefined;
  /** The required type of the value itself. Default: `object`. */
  readonly top?: TopType;
}

/**
 * `valid`: of the form that was asked for. `invalid`: not. `unknown`: it could not be checked (a schema that cannot be
 * compiled, or checking took too long): the answer gets the benefit of the doubt.
 */
export type StructureResult =
  | { readonly kind: 'valid' }
  /** `detail` is safe to log: a keyword and a path of the schema, never a value. */
  | {
      readonly kind: 'invalid';
      readonly detail: string;
      /** It is JSON, and an object where one was asked for: only the schema does not allow it. */
      readonly missesSchema?: true;
    }
  | { readonly kind: 'unknown'; readonly reason: 'schema' | 'time' };

/** Checks text against JSON Schema (drafts 2020-12 and 7) away from the event loop. Never rejects. */
export interface StructureChecker {
  readonly check: (ask: StructureAsk) => Promise<StructureResult>;
  readonly close: () => Promise<void>;
}

/** What is wrong with an answer's structure. */
export interface StructuralDefect {
  readonly capability: StructuralCapability;
  readonly detail: string;
  /**
   * The API promises nothing better, and a caller can use it: it may be relayed when no route does better. Not so what
   * `strict` was asked for, and what is no JSON.
   */
  readonly isTolerable: boolean;
  /** Only the caller's schema does not allow it, and no value may satisfy that schema. */
  readonly missesSchema: boolean;
}

/** Validates the structure of one request's answers, and holds defects against their routes (docs/reference/api.md §4.1). */
export interface StructureValidator {
  /** Validates a whole answer before it is relayed. Undefined: the answer is valid, or that cannot be checked. */
  readonly validateWhole: (
    events: readonly AnswerEvent[],
    planned: { readonly route: Route },
  ) => Promise<StructuralDefect | undefined>;
  /** Takes a piece of a stream, which is relayed meanwhile. */
  readonly take: (events: readonly AnswerEvent[]) => void;
  /** Call it when a stream is complete and all of it came from this route. */
  readonly streamed: (route: Route) => void;
  /** Call it once, after the last `validateWhole`: no further answer comes. */
  readonly close: () => void;
}
