import type { Cause } from '../../core/cause.ts';
import type { DependencyCause } from '../../core/dependency-cause.ts';
import { maxLagMs, type ProblemKind } from '../core/problem.ts';

/** The kinds that a service finds by itself. The others are found when the problems of several services are merged. */
export type FoundKind = Exclude<ProblemKind, 'service-silent' | 'not-shown'>;

/** One problem in the findings of one look at the service. The tracker adds its times. */
export interface Finding {
  readonly object: string;
  readonly kind: FoundKind;
  /**
   * Distinguishes the problem from others of the same object and kind. Contains no figure that changes. Absent: there
   * are no others.
   */
  readonly detail?: string | undefined;
  /** The id of the model whose callers notice the problem. Absent: no model is affected. */
  readonly model?: string | undefined;
  /** Models that have no problem of their own because of this one: `Model/qwen3-8b`. */
  readonly affected?: readonly string[] | undefined;
  /** Their ids, at most `maxModels`. */
  readonly models?: readonly string[] | undefined;
  /** Absent: the kind says all. */
  readonly cause?: Cause | DependencyCause | undefined;
  /** A sentence that contains the current figure. */
  readonly problem: string;
  readonly action: string;
}

/** How soon a kind of problem is listed, and how soon it leaves the list. */
export interface ListingDelays {
  /** A problem is listed once it has been seen for this long. */
  readonly afterMs: number;
  /** A problem leaves the list once it has not been seen for this long. If it comes back earlier, it has not ended. */
  readonly clearMs: number;
}

/** Mistakes of an author do not pass by themselves: list and clear them at once. */
const certain: ListingDelays = { afterMs: 0, clearMs: 0 };
/** Health checks and connections fail for a moment now and then. */
const flickering: ListingDelays = { afterMs: 3_000, clearMs: 10_000 };
/** The share of failures changes with each request. */
const rates: ListingDelays = { afterMs: 0, clearMs: 15_000 };
/** Figures that rise slowly. They have a second threshold at which the problem ends. */
const levels: ListingDelays = { afterMs: 0, clearMs: 5_000 };
const lag: ListingDelays = { afterMs: maxLagMs, clearMs: 5_000 };

/** The delays of each kind. */
export const listingDelays: Readonly<Record<FoundKind, ListingDelays>> = {
  'envoy-silent': { afterMs: 10_000, clearMs: 0 },
  'database-down': { afterMs: 0, clearMs: 5_000 },
  'database-damaged': certain,
  'journal-filling': levels,
  'disk-filling': levels,
  'files-filling': levels,
  overloaded: { afterMs: 5_000, clearMs: 30_000 },
  'model-not-served': flickering,
  // Endpoints are probed each hour, and not by callers.
  'vectors-changed': certain,
  'vectors-differ': certain,
  'model-failing': rates,
  'model-below-level': certain,
  'backend-down': flickering,
  'backend-failing': rates,
  'backend-differs': certain,
  'usage-estimated': certain,
  'endpoints-failing': flickering,
  'object-refused': certain,
  'cluster-refused': certain,
  'identity-refused': certain,
  'replica-behind': lag,
  'catalog-old': certain,
  'database-replaying': { afterMs: 5_000, clearMs: 0 },
  'valkey-down': flickering,
  'dependency-failing': certain,
  'events-late': certain,
  'events-dropped': certain,
  'limit-avoidable': certain,
  'certificate-expires': certain,
};

/** Kinds that a problem of a Model's only Backends covers. */
export const ofModels: ReadonlySet<FoundKind> = new Set([
  ...(['model-not-served', 'model-failing', 'model-below-level'] as const),
]);

const covering: Readonly<Partial<Record<FoundKind, readonly FoundKind[]>>> = {
  'model-not-served': ['vectors-changed'],
  'model-failing': ['model-not-served'],
  'model-below-level': ['model-failing'],
  'backend-failing': ['backend-down'],
  'backend-differs': ['backend-failing'],
  'usage-estimated': ['backend-down', 'backend-failing'],
};

/** The kinds that cover a kind: its problem is left out if the same object has a problem of one of them. */
export const coversOf = (kind: FoundKind): readonly FoundKind[] => covering[kind] ?? [];
