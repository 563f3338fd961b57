import type { Route } from '../../core/catalog.ts';
import type { AnswerEvent } from '../../core/event.ts';
import type { StructuralCapability } from './health.ts';

/** The required type of the outermost JSON value. */
export type TopType = 'object' | 'any';

/** A text that must be JSON of a certain form. */
export interface StructureAsk {
  readonly text: string;
  /** Absent: any JSON value will do. */
  readonly schema?: Readonly<Record<string, unknown>> | undefined;
  /** The required type of the outermost value. Default: `object`. */
  readonly top?: TopType;
}

/**
 * `valid`: the text has the requested form. `invalid`: it does not. `unknown`: it could not be checked (a schema that
 * cannot be compiled, or checking took too long). A text that could not be checked counts as valid.
 */
export type StructureResult =
  | { readonly kind: 'valid' }
  /** `detail` is safe to log: a keyword and a path of the schema, never a value. */
  | {
      readonly kind: 'invalid';
      readonly detail: string;
      /** The text is JSON, and an object if one was requested; only the schema does not allow it. */
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
   * Whether the answer may be relayed when no route does better: it is JSON that a caller can use, and the API promises
   * no more. False if `strict` was requested, and for text that is not JSON.
   */
  readonly isTolerable: boolean;
  /** The caller may be at fault: possibly no value satisfies its schema, or its prompt requested exactly this text. */
  readonly mayBeCallersFault: boolean;
}

/** Validates the structure of one request's answers, and holds defects against their routes (docs/reference/endpoints.md §4.1). */
export interface StructureValidator {
  /** Validates a whole answer before it is relayed. Undefined: the answer is valid, or it cannot be checked. */
  readonly validateWhole: (
    events: readonly AnswerEvent[],
    planned: { readonly route: Route },
  ) => Promise<StructuralDefect | undefined>;
  /** Receives a piece of a stream, which is relayed without waiting for the check. */
  readonly take: (events: readonly AnswerEvent[]) => void;
  /** Call it when a stream is complete and all of it came from this route. */
  readonly streamed: (route: Route) => void;
  /** Call it once, after the last `validateWhole`: no further answer comes. */
  readonly close: () => void;
}
