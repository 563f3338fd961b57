import type { InSlices } from '../../core/clock.ts';
import { errorRateProblem, type ErrorFigure } from './error-rates.ts';
import type { Finding, FoundKind } from './kinds.ts';
import { type CatalogMistake, conditionProblems, mistakes, type ObservedObject } from './object-problems.ts';
import { type ObservedService, serviceProblems } from './service-problems.ts';
import type { Look, ProblemTracker } from './track-problems.ts';

/** The state of a service and of its catalog at one moment. */
export interface Observed {
  readonly service: ObservedService;
  readonly mistakes: readonly CatalogMistake[];
  readonly objects: readonly ObservedObject[];
  readonly errors: readonly ErrorFigure[];
}

interface FindOptions {
  readonly isListed: ProblemTracker['isListed'];
  readonly inSlices: InSlices;
}

/** Kinds that cannot be observed while Envoy does not answer. */
const seenThroughEnvoy: ReadonlySet<FoundKind> = new Set([
  ...(['model-not-served', 'backend-down', 'endpoints-failing', 'cluster-refused'] as const),
]);
const nothing: ReadonlySet<FoundKind> = new Set();

/** A problem of the kind on the left is left out if the same object has a problem of the kind on the right. */
const covering: Readonly<Partial<Record<FoundKind, FoundKind>>> = {
  'model-failing': 'model-not-served',
  'model-below-level': 'model-failing',
  'backend-failing': 'backend-down',
};

/**
 * Finds every problem in an observed state. Leaves out a problem that another problem of the same object covers. Works
 * through thousands of objects in slices.
 */
export async function findProblems(
  { service, objects, errors, mistakes: found }: Observed,
  { isListed, inSlices }: FindOptions,
): Promise<Look> {
  const ofObjects = await inSlices(service.isEnvoyAnswering ? objects : [], conditionProblems);
  const ofErrors = await inSlices(errors, (figure) => errorRateProblem(figure, isListed) ?? []);
  const findings = [...serviceProblems(service, isListed), ...mistakes(found), ...ofObjects.flat(), ...ofErrors.flat()];
  const all = new Set(findings.map(({ object, kind }) => `${kind} ${object}`));
  return {
    findings: findings.filter(({ object, kind }) => !isCovered(object, kind, all)),
    unknown: service.isEnvoyAnswering ? nothing : seenThroughEnvoy,
  };
}

function isCovered(object: Finding['object'], kind: FoundKind, found: ReadonlySet<string>): boolean {
  const by = covering[kind];
  return by !== undefined && found.has(`${by} ${object}`);
}
