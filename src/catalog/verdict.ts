import type { CatalogObject, CatalogProblem } from '../core/catalog.ts';

/**
 * What a problem is about. `invalid`: the object breaks a rule of its kind. `taken`: another object has the name or id.
 * `reference`: something it refers to is missing or cannot be used.
 */
export type ProblemCause = 'invalid' | 'taken' | 'reference';

export interface JudgedProblem {
  readonly cause: ProblemCause;
  readonly problem: CatalogProblem;
}

/** What became of one object in a compilation. */
export interface Verdict {
  /**
   * `taken`: the snapshot has what it declares, but for what is in `problems`. `kept`: it has an earlier version that was
   * good. `refused`: it has nothing of it.
   */
  readonly stand: 'taken' | 'kept' | 'refused';
  readonly problems: readonly JudgedProblem[];
}

export type Verdicts = ReadonlyMap<CatalogObject, Verdict>;
