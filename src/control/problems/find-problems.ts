import type { AvoidableLimit } from '../../core/avoidable-limit.ts';
import type { InSlices } from '../../core/clock.ts';
import { maxModels } from '../core/problem.ts';
import { errorRateProblem, type ErrorFigure, estimatedUsage } from './error-rates.ts';
import { coversOf, type Finding, type FoundKind, ofModels } from './kinds.ts';
import { identityProblems, type ObservedIdentities } from './identity-problems.ts';
import { limitProblem } from './limit-problems.ts';
import { type CatalogMistake, conditionProblems, mistakes, type ObservedObject } from './object-problems.ts';
import { type ObservedService, serviceProblems } from './service-problems.ts';
import type { Look, ProblemTracker } from './track-problems.ts';

/** The state of a service and of its catalog at one moment. */
export interface Observed {
  readonly service: ObservedService;
  readonly mistakes: readonly CatalogMistake[];
  readonly objects: readonly ObservedObject[];
  readonly errors: readonly ErrorFigure[];
  readonly identities: ObservedIdentities;
  readonly avoidable: readonly AvoidableLimit[];
}

interface FindOptions {
  readonly isListed: ProblemTracker['isListed'];
  readonly inSlices: InSlices;
}

/** Kinds that cannot be observed while Envoy does not answer. */
const seenThroughEnvoy: ReadonlySet<FoundKind> = new Set([
  ...(['model-not-served', 'backend-down', 'endpoints-failing', 'backend-differs', 'cluster-refused'] as const),
]);
const nothing: ReadonlySet<FoundKind> = new Set();

/**
 * Finds every problem in an observed state. Leaves out a problem that another problem of the same object covers. Works
 * through thousands of objects in slices.
 */
export async function findProblems(
  { service, objects, errors, identities, avoidable, mistakes: found }: Observed,
  { isListed, inSlices }: FindOptions,
): Promise<Look> {
  const ofObjects = await inSlices(service.isEnvoyAnswering ? objects : [], conditionProblems);
  const ofErrors = await inSlices(errors, (figure) =>
    [errorRateProblem(figure, isListed) ?? [], estimatedUsage(figure)].flat(),
  );
  const findings = [
    ...serviceProblems(service, isListed),
    ...mistakes(found),
    ...ofObjects.flat(),
    ...ofErrors.flat(),
    ...identityProblems(identities),
    ...avoidable.map(limitProblem),
  ];
  const all = new Set(findings.map(({ object, kind }) => `${kind} ${object}`));
  // A Backend with an expired certificate fails because of it.
  const expired = new Set(
    service.certificates.filter(({ expiresAt }) => expiresAt <= service.now).map(({ object }) => object),
  );
  const isExplained = ({ object, kind }: Finding): boolean =>
    (kind === 'backend-down' || kind === 'backend-failing') && expired.has(object);
  const uncovered = findings.filter((one) => !isExplained(one) && !isCovered(one.object, one.kind, all));
  const down = uncovered.filter(
    ({ object, kind }) => ofBackends.has(kind) || (kind === 'certificate-expires' && expired.has(object)),
  );
  return {
    findings: withAffectedModels(uncovered, { objects, down: new Set(down) }),
    unknown: service.isEnvoyAnswering ? nothing : seenThroughEnvoy,
  };
}

function isCovered(object: Finding['object'], kind: FoundKind, found: ReadonlySet<string>): boolean {
  return coversOf(kind).some((by) => found.has(`${by} ${object}`));
}

const ofBackends: ReadonlySet<FoundKind> = new Set(['backend-down', 'backend-failing', 'cluster-refused'] as const);
/** Most models that the text of a problem names. */
const maxNamed = 3;

/**
 * One cause is one problem. A Model has none of its own if all its Backends have problems, or if its requests fail for
 * the cause for which one of its Backends fails: the problem of that Backend names it.
 */
function withAffectedModels(
  findings: readonly Finding[],
  { objects, down }: { readonly objects: readonly ObservedObject[]; readonly down: ReadonlySet<Finding> },
): readonly Finding[] {
  const failing = new Map([...down].map((finding) => [finding.object, finding]));
  if (failing.size === 0) return findings;
  const troubled = Map.groupBy(
    findings.filter(({ kind }) => ofModels.has(kind)),
    ({ object }) => object,
  );
  const affected = objects.flatMap((one) => {
    const { object, model, backends = [] } = one;
    const own = troubled.get(object);
    if (own === undefined || backends.length === 0) return [];
    const problems = backends.map((name) => failing.get(`Backend/${name}`));
    const isAlone = problems.every((problem) => problem !== undefined);
    const by = isAlone
      ? problems[0]
      : problems.find((problem) => problem?.cause !== undefined && own.every(({ cause }) => cause === problem.cause));
    return by === undefined ? [] : [{ object, model, isAlone, by }];
  });
  const covered = new Set(affected.map(({ object }) => object));
  const byBackend = Map.groupBy(affected, ({ by }) => by);
  return findings.flatMap((finding) => {
    if (ofModels.has(finding.kind) && covered.has(finding.object)) return [];
    const models = byBackend.get(finding) ?? [];
    if (models.length === 0) return [finding];
    const ids = models.flatMap(({ model }) => model ?? []);
    const more = models.length > maxNamed ? ` and ${models.length - maxNamed} more` : '';
    const who = models.every(({ isAlone }) => isAlone) ? 'No other route serves' : 'Their requests fail, too:';
    const problem = `${finding.problem} ${who} ${ids.slice(0, maxNamed).join(', ')}${more}.`;
    const named = { model: ids[0], models: ids.slice(0, maxModels) };
    return [{ ...finding, ...named, affected: models.map(({ object }) => object), problem }];
  });
}
