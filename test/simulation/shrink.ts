import { isRequest, type WorldEvent, type WorldPlan } from './events.ts';
import { runWorld, type WorldResult } from './run-world.ts';
import type { MakeDatabase } from './world-database.ts';

/**
 * Leaves out events as long as the same promise is broken: other requests first, then halves, smaller parts, and single
 * ones. Whatever a request meets follows from its own event and from the seed, so that the others can go.
 */
export async function shrink(
  plan: WorldPlan,
  found: WorldResult,
  {
    most,
    report,
    database,
  }: {
    readonly most: number;
    readonly report: (events: number) => void;
    readonly database?: MakeDatabase | undefined;
  },
): Promise<WorldPlan> {
  const invariant = found.violations[0]?.invariant;
  const breaks = async (candidate: WorldPlan): Promise<boolean> =>
    (await runWorld(candidate, database)).violations.some((violation) => violation.invariant === invariant);
  const until = found.violations[0]?.atMs ?? Infinity;
  let runs = 0;
  let smallest = plan;
  // What comes later than the violation has no part in it, unless it was found at rest.
  const early = { ...plan, hours: 0, events: plan.events.filter(({ at }) => at <= until) };
  if (early.events.length < plan.events.length && (await breaks(early))) smallest = early;
  const { request } = found.violations[0] ?? {};
  for (const keeps of request === undefined ? [] : keepers(request)) {
    const few = { ...smallest, events: smallest.events.filter(keeps) };
    runs += 1;
    if (!(await breaks(few))) continue;
    smallest = few;
    report(few.events.length);
    break;
  }
  for (let size = Math.ceil(smallest.events.length / 2); size >= 1;) {
    let hasShrunk = false;
    for (let from = 0; from < smallest.events.length && runs < most;) {
      const events = smallest.events.toSpliced(from, size);
      runs += 1;
      if (events.length > 0 && (await breaks({ ...smallest, events }))) {
        smallest = { ...smallest, events };
        hasShrunk = true;
        report(events.length);
      } else from += size;
    }
    if (runs >= most) break;
    if (size === 1 && !hasShrunk) break;
    size = size === 1 ? 1 : Math.ceil(size / 2);
  }
  return smallest;
}

/** The events without most requests: with the violation's own request alone, and with it and its conversation. */
const keepers = (
  request: number,
): readonly ((event: WorldEvent, index: number, all: readonly WorldEvent[]) => boolean)[] => [
  (event) => !isRequest(event) || event.id === request,
  (event, _, all) => !isRequest(event) || event.topic === topicOf(all, request),
];

const topicOf = (events: readonly WorldEvent[], request: number): number | undefined =>
  events.filter(isRequest).find(({ id }) => id === request)?.topic;
