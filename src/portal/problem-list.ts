import * as z from 'zod';
import type { Clock } from '../core/clock.ts';
import type { DependencyWatch } from '../core/dependency-cause.ts';
import { dependencyProblem } from '../control/core/dependency-problem.ts';
import { byUrgency, mergeProblems, type Problem, problemOf, problemSchema } from '../control/core/problem.ts';
import { rememberAnswer, type ServiceAnswer, type LiveServices } from './services.ts';

/** The current problems of all services as one list, the most urgent first, and whether each service answered. */
export interface ProblemList {
  readonly services: readonly ServiceAnswer[];
  readonly problems: readonly Problem[];
}

/**
 * Returns a function that merges the problems of all services into one list, and keeps it for a second. A service that
 * does not answer is a problem of its own. `own`: the problems of the portal.
 */
export function createProblemList(
  services: Pick<LiveServices, 'problems'>,
  clock: Pick<Clock, 'now' | 'elapsed'>,
  own: () => readonly Problem[] | Promise<readonly Problem[]> = () => [],
): () => Promise<ProblemList> {
  const silentSince = new Map<string, string>();

  function silent(asked: readonly ServiceAnswer[]): readonly Problem[] {
    const now = new Date(clock.now()).toISOString();
    const missing = new Map(asked.flatMap(({ service, problem }) => (problem === null ? [] : [[service, problem]])));
    for (const service of silentSince.keys()) if (!missing.has(service)) silentSince.delete(service);
    for (const service of missing.keys()) if (!silentSince.has(service)) silentSince.set(service, now);
    if (asked.length === 0) return [noService(now)];
    return [...missing].map(([service, why]) => silentService(service, why, silentSince.get(service) ?? now));
  }

  async function ask(): Promise<ProblemList> {
    const { services: asked, data } = await services.problems();
    const reports = data.map(({ service, said }) => ({ name: placeOf(service), report: said }));
    const all = [...silent(asked), ...mergeProblems(reports, clock.now()), ...(await own())];
    const problems = all.toSorted(byUrgency);
    return { services: asked, problems };
  }

  return rememberAnswer(ask, clock);
}

const placeOf = (origin: string): string => origin.replace(/^http:\/\//, '');

function silentService(origin: string, why: string, since: string): Problem {
  return problemOf({
    object: `service/${placeOf(origin)}`,
    kind: 'service-silent',
    since,
    problem: `Does not answer: ${why}.`,
    action: 'Start it again, or take its address out of WEIR_SERVICES: docs/operate/runbooks.md#weiraway',
  });
}

function noService(now: string): Problem {
  return problemOf({
    object: 'service',
    kind: 'service-silent',
    since: now,
    problem: 'No service is known.',
    action: 'Start the gateway, or name its services in WEIR_SERVICES: docs/operate/runbooks.md#weiraway',
  });
}

/** The portal's answer to `GET /internal/problems`. */
export const portalReportSchema = z.object({ problems: z.array(problemSchema) });

/** The problems of the programs on which the portal itself depends, each with the time at which it was first seen. */
export function createOwnProblems(
  { failing }: Pick<DependencyWatch, 'failing'>,
  clock: Pick<Clock, 'now'>,
): () => readonly Problem[] {
  let known: ReadonlyMap<string, string> = new Map();
  return () => {
    const found = failing().flatMap((one) => dependencyProblem(one) ?? []);
    const now = new Date(clock.now()).toISOString();
    known = new Map(found.map(({ object }) => [object, known.get(object) ?? now]));
    return found.map((one) => problemOf({ ...one, since: known.get(one.object) ?? now }));
  };
}
