import { causeNamed } from '../../core/cause.ts';
import type { Clock } from '../../core/clock.ts';
import { isDependencyCause } from '../../core/dependency-cause.ts';
import { byUrgency, cutProblems, type Problem, problemId } from '../core/problem.ts';
import {
  coversOf,
  type Finding,
  type FoundKind,
  type ListingDelays,
  listingDelays as usualDelays,
  ofModels,
} from './kinds.ts';

/** What one look at the service found. */
export interface Look {
  readonly findings: readonly Finding[];
  /** Kinds that could not be looked for. Their problems stay unchanged. */
  readonly unknown: ReadonlySet<FoundKind>;
}

export type ProblemTracker = ReturnType<typeof createProblemTracker>;

interface TrackerOptions {
  readonly clock: Pick<Clock, 'now' | 'elapsed'>;
  /** The problems that were listed when the previous process ended. */
  readonly kept: readonly Problem[];
  /** Default: the delays of `kinds.ts`. */
  readonly listingDelays?: Readonly<Record<FoundKind, ListingDelays>>;
}

/** One problem with its times: `since` by the wall clock, for people; the others monotonic. */
interface Tracked {
  readonly finding: Finding;
  readonly since: number;
  readonly firstSeen: number;
  readonly lastSeen: number;
  readonly isListed: boolean;
}

/** A process that has just started has observed less than the previous one, so it keeps the previous one's problems for a while. */
const minClearOfKeptMs = 15_000;
/** Most problems that are listed by name. */
const maxListed = 500;

/**
 * Gives problems their times. `since` of a problem stays the same from the first look that finds it to its end, also if
 * its figures change.
 */
export function createProblemTracker({ clock, kept, listingDelays = usualDelays }: TrackerOptions) {
  const startedAt = clock.elapsed();
  let tracked: ReadonlyMap<string, Tracked> = new Map(kept.flatMap((problem) => trackedOf(problem, startedAt)));
  const isKept = new Set(tracked.keys());
  let listed = listOf(tracked);

  /** How long a problem may go unseen before it ends. */
  const clearMs = (id: string, { clearMs: usual }: ListingDelays): number =>
    isKept.has(id) ? Math.max(usual, minClearOfKeptMs) : usual;

  function next({ findings, unknown }: Look): ReadonlyMap<string, Tracked> {
    const at = clock.elapsed();
    const after = new Map<string, Tracked>();
    const isLive = (id: string, { finding, lastSeen }: Tracked): boolean =>
      at - lastSeen < clearMs(id, listingDelays[finding.kind]);
    const affected = affectedModels([...tracked].flatMap(([id, one]) => (isLive(id, one) ? [one] : [])));
    /** Whether a listed problem covers a finding, also one that is not seen at this moment. */
    const isCovered = ({ object, kind }: Finding): boolean =>
      (ofModels.has(kind) && affected.has(object)) ||
      coversOf(kind).some((cover) => {
        const id = problemId({ object, kind: cover });
        const by = tracked.get(id);
        return by?.isListed === true && isLive(id, by);
      });
    for (const finding of findings.filter((one) => !isCovered(one))) {
      const id = problemId(finding);
      const { firstSeen = at, since = clock.now(), isListed = false } = tracked.get(id) ?? {};
      const isDue = at - firstSeen >= listingDelays[finding.kind].afterMs;
      after.set(id, { finding, since, firstSeen, lastSeen: at, isListed: isListed || isDue });
      isKept.delete(id);
    }
    const affectedNow = affectedModels([...after.values()]);
    for (const [id, one] of tracked) {
      if (after.has(id)) continue;
      const { kind, object } = one.finding;
      // A problem that another one covers now does not stay beside it until its time is over.
      if (ofModels.has(kind) && affectedNow.has(object)) continue;
      if (coversOf(kind).some((cover) => after.get(problemId({ object, kind: cover }))?.isListed === true)) continue;
      if (unknown.has(kind)) after.set(id, { ...one, lastSeen: at });
      else if (one.isListed && isLive(id, one)) after.set(id, one);
    }
    return after;
  }

  return {
    /** Takes the findings of one look. Returns whether a problem has appeared, has ended or has a new text. */
    look: (found: Look): boolean => {
      tracked = next(found);
      const before = listed;
      listed = listOf(tracked);
      return !isSameList(before, listed);
    },
    /** The problems that are listed now, the most urgent first. */
    current: (): readonly Problem[] => listed,
    /** Whether a problem is listed. Rules with two thresholds depend on it. */
    isListed: (problem: Pick<Finding, 'object' | 'kind' | 'detail'>): boolean =>
      tracked.get(problemId(problem))?.isListed === true,
  };
}

/** The Models that listed problems of their Backends cover. */
function affectedModels(some: readonly Tracked[]): ReadonlySet<string> {
  return new Set(some.flatMap(({ isListed, finding }) => (isListed ? (finding.affected ?? []) : [])));
}

function trackedOf(problem: Problem, at: number): readonly (readonly [string, Tracked])[] {
  const { id, object, kind, model } = problem;
  if (kind === 'service-silent' || kind === 'not-shown') return [];
  const detail = id.slice(problemId({ object, kind }).length + 1);
  const { cause, models, action } = problem;
  const finding = {
    ...{ object, kind, detail, model: model ?? undefined, models, problem: problem.problem, action },
    cause: cause !== undefined && isDependencyCause(cause) ? cause : causeNamed(cause),
  };
  return [[id, { finding, since: Date.parse(problem.since), firstSeen: at, lastSeen: at, isListed: true }]];
}

function listOf(tracked: ReadonlyMap<string, Tracked>): readonly Problem[] {
  const all = [...tracked]
    .flatMap(([id, { finding, since, isListed }]) => (isListed ? [problemOf(id, finding, since)] : []))
    .toSorted(byUrgency);
  return cutProblems(all, maxListed);
}

function problemOf(id: string, finding: Finding, since: number): Problem {
  const { object, kind, model, cause, models, problem, action } = finding;
  return {
    ...{ id, object, kind, model: model ?? null, problem, since: new Date(since).toISOString(), action },
    ...(cause !== undefined && { cause }),
    ...(models !== undefined && { models: [...models] }),
  };
}

function isSameList(a: readonly Problem[], b: readonly Problem[]): boolean {
  return (
    a.length === b.length &&
    a.every((one, index) => {
      const other = b[index];
      return one.id === other?.id && one.problem === other.problem && one.action === other.action;
    })
  );
}
