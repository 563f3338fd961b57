import { isProvider, isStandby } from '../../core/catalog.ts';
import type { FirstReason, LeftOutRoute, RankedRoute, Ranking } from '../core/plan.ts';
import type { Candidate } from './eligible.ts';
import type { RouteStatus, RoutingView, StatusAsk } from './health/route-status.ts';
import { ownerOf } from './affinity.ts';

export interface OrderOptions {
  readonly view: RoutingView;
  readonly ask: StatusAsk;
  /** A random number, 0 ≤ turn < 1, that picks the first route by its chance. */
  readonly turn: number;
  /** Name of the conversation (`AffinityOf`). Undefined: the request has no route of its own. */
  readonly affinity?: string | undefined;
  /** Called with the result and the reasons. */
  readonly ranked?: ((ranking: Ranking) => void) | undefined;
}

export interface Ordered {
  /** The available candidates, in the order in which they are tried. */
  readonly candidates: readonly Candidate[];
  /**
   * Those that may take the place of the first one, itself included: backends of the operator's own, of the same weight, and as good. Their
   * endpoints decide. Empty: the first one stays.
   */
  readonly equals: readonly Candidate[];
}

interface Entry {
  readonly candidate: Candidate;
  readonly status: RouteStatus;
  readonly score: Score;
}

/** Least worth of a route that keeps its conversations, as a share of the best route's worth. */
const minWorth = 0.1;
/** Least free share of a route that keeps its conversations, as a share of the freest route's. */
const minRoom = 0.25;

/**
 * Returns the available candidates in the order in which they are tried. Weighted routes come before standby routes. The routes
 * that honour most of the optional parameters come first. Among equals, a route to be probed comes first, else the conversation's
 * own route, else a route by chance and score. The others follow by score. Routes that fail at once come last: trying them is
 * better than failing.
 */
export function order(candidates: readonly Candidate[], options: OrderOptions): Ordered {
  const { view, ask, turn, ranked } = options;
  const { entries, leftOut } = entriesOf(candidates, options);
  entries.sort(byRank);
  const [best] = entries;
  if (best === undefined) {
    ranked?.({ first: undefined, routes: [], leftOut: leftOut() });
    return { candidates: [], equals: [] };
  }
  const group = entries.filter(
    (entry) => entry.candidate.honoured === best.candidate.honoured && tierOf(entry) === tierOf(best),
  );
  const probe = probeIn(group);
  const own = probe === undefined ? ownIn(group, options) : undefined;
  const first = probe ?? own ?? pick(group, turn) ?? best;
  if (first.status.state === 'structure-probe') view.probeStructure(first.candidate.route, ask.capabilities);
  const ordered = [first, ...followers(entries, first)];
  if (ranked !== undefined) {
    const why: FirstReason = first === probe ? 'probe' : first === own ? 'affinity' : 'chance';
    const routes = ordered.flatMap((entry) => rankedRoute(entry, tierOf(entry) === tierOf(first)));
    ranked({
      first: isStandbyEntry(first) ? 'standby' : entries.length === 1 ? 'only' : why,
      routes,
      leftOut: leftOut(),
    });
  }
  return {
    candidates: ordered.map(({ candidate }) => candidate),
    equals: equalsOf(group, first).map(({ candidate }) => candidate),
  };
}

/**
 * A route whose tokens take more than so many times longer has another kind of machine, and the score decides. Up to that, the load of the
 * moment makes as much of a difference.
 */
const likePace = 4;

function equalsOf(group: readonly Entry[], first: Entry): readonly Entry[] {
  const isOwn = ({ candidate, status }: Entry): boolean =>
    status.state === 'available' && !isProvider(candidate.route.backend);
  if (!isOwn(first)) return [];
  const { weight } = first.candidate.route;
  const { validity, tokenMs } = first.status;
  const isLike = (ms: number | undefined): boolean =>
    ms === undefined || tokenMs === undefined || Math.max(ms / tokenMs, tokenMs / ms) <= likePace;
  const equals = group.filter(
    (entry) =>
      isOwn(entry) &&
      entry.candidate.route.weight === weight &&
      entry.status.validity >= validity &&
      isLike(entry.status.tokenMs),
  );
  return equals.length > 1 ? equals : [];
}

/** Orders the routes after the first one. A healthy standby comes before a route that may still be down. */
function followers(entries: readonly Entry[], first: Entry): readonly Entry[] {
  const others = entries.filter((entry) => entry !== first);
  if (!others.some(isStandbyEntry)) return others;
  const place = (entry: Entry): number =>
    isLast(entry) ? 3 + Number(isStandbyEntry(entry)) : isProbe(entry) ? 2 : Number(isStandbyEntry(entry));
  return others.toSorted((a, b) => place(a) - place(b));
}

/** `isInTurn`: the route has a chance to be the first one. */
function rankedRoute({ candidate, status, score }: Entry, isInTurn: boolean): readonly RankedRoute[] {
  const { state, success, validity, inFlight, capacity, firstOutput } = status;
  if (state === 'unavailable') return [];
  const routeId = candidate.route.id;
  const chance = isInTurn ? score.chance : 0;
  return [{ routeId, state, chance, success, validity, inFlight, capacity, firstOutputMs: firstOutput?.ms }];
}

function entriesOf(candidates: readonly Candidate[], { view, ask }: OrderOptions) {
  const all = candidates.map((candidate) => ({
    candidate,
    // Among themselves, standby routes are equals.
    weight: isStandby(candidate.route) ? 1 : candidate.route.weight,
    status: view.status(candidate.route, ask),
  }));
  const statuses = all.filter(({ status }) => status.state !== 'unavailable');
  const valid = statuses.filter(({ status }) => status.state !== 'invalid-structure');
  // If all routes have defects, an answer that may be valid is better than none. One caller's schema that no answer can meet
  // must not make a model unavailable to the other callers.
  const able = valid.length > 0 ? valid : statuses;
  return {
    // A route is compared with the routes of its tier.
    entries: [
      ...scored(able.filter(({ candidate }) => !isStandby(candidate.route))),
      ...scored(able.filter(({ candidate }) => isStandby(candidate.route))),
    ],
    /** The candidates that are not among the entries. */
    leftOut: (): readonly LeftOutRoute[] =>
      able.length === all.length
        ? []
        : all
            .filter((one) => !able.includes(one))
            .map(({ candidate, status }) => ({ routeId: candidate.route.id, why: whyLeftOut(status), lacks: [] })),
  };
}

function scored(able: readonly (Scorable & { readonly candidate: Candidate })[]): readonly Entry[] {
  const found = scores(able);
  return able.flatMap(({ candidate, status }, index) => {
    const score = found[index];
    return score === undefined ? [] : [{ candidate, status, score }];
  });
}

function whyLeftOut({ state, hasOtherVectors, inFlight, capacity }: RouteStatus): LeftOutRoute['why'] {
  if (hasOtherVectors === true) return 'other-vectors';
  if (state === 'invalid-structure') return 'invalid-structure';
  return capacity !== undefined && inFlight >= capacity ? 'full' : 'ejected';
}

const isLast = ({ status }: Entry): boolean => status.state === 'last-resort';
const isProbe = ({ status }: Entry): boolean => status.state === 'probe' || status.state === 'structure-probe';

const isStandbyEntry = ({ candidate }: Entry): boolean => isStandby(candidate.route);

/** Routes of the same tier take turns: weighted ones, standbys, and each of the two kinds that fail at once. */
const tierOf = (entry: Entry): number => Number(isLast(entry)) * 2 + Number(isStandbyEntry(entry));

/**
 * Sorts by tier, then most honoured parameters first, then probes last, then by chance, then by weight. Weight decides between
 * routes without load.
 */
function byRank(a: Entry, b: Entry): number {
  return (
    tierOf(a) - tierOf(b) ||
    b.candidate.honoured - a.candidate.honoured ||
    Number(isProbe(a)) - Number(isProbe(b)) ||
    b.score.chance - a.score.chance ||
    b.candidate.route.weight - a.candidate.route.weight
  );
}

const probeIn = (group: readonly Entry[]): Entry | undefined => group.find(isProbe);

/** Returns the route that all turns of a conversation go to. A route that is slow or nearly full is skipped. */
function ownIn(group: readonly Entry[], { affinity }: OrderOptions): Entry | undefined {
  if (affinity === undefined) return undefined;
  let worth = 0;
  let freeShare = 0;
  for (const { score } of group) {
    worth = Math.max(worth, score.worth);
    freeShare = Math.max(freeShare, score.freeShare);
  }
  const able = group.filter(
    ({ status, score }) =>
      status.state === 'available' && score.worth >= worth * minWorth && score.freeShare >= freeShare * minRoom,
  );
  const named = able.map((entry) => ({ name: entry.candidate.route.id, weight: entry.score.steady, entry }));
  return ownerOf(affinity, named)?.entry;
}

/** Picks a route at random, in proportion to the chances. A probe is not picked while another route is available. */
function pick(group: readonly Entry[], turn: number): Entry | undefined {
  const inside = group.filter((entry) => !isProbe(entry));
  let point = turn * inside.reduce((sum, { score }) => sum + score.chance, 0);
  return inside.find(({ score }) => (point -= score.chance) < 0);
}

/** The facts about a route that its score depends on. */
export interface Scorable {
  readonly weight: number;
  readonly status: RouteStatus;
}

export interface Score {
  /** Weight × success × speed × validity: the value of the route, however full it is. */
  readonly worth: number;
  /** The share of all its slots that is free. */
  readonly freeShare: number;
  /** Its chance to be tried first, relative to the others. */
  readonly chance: number;
  /**
   * Its share of the conversations, relative to the others: weight × slots × speed. The speed is rounded to a power of four, so
   * that the share does not change with every attempt: a conversation that moves loses its prefix cache, and replicas have to
   * agree.
   */
  readonly steady: number;
}

/** The assumed capacity of each backend if no backend declares a capacity. */
const usualCapacity = 64;
/** Length of an answer in tokens, for comparing the speed of routes. */
const usualTokens = 256;
/**
 * A route up to so many times slower than the best is assumed to have a slower machine. A route that is even slower is assumed to
 * have a fault.
 */
const sickFactor = 5;

/** Returns the assumed capacity of backends that declare none: the mean of the others. */
function neutralCapacity(candidates: readonly Scorable[]): number {
  let sum = 0;
  let known = 0;
  for (const { status } of candidates) {
    if (status.capacity === undefined) continue;
    sum += status.capacity;
    known += 1;
  }
  return known === 0 ? usualCapacity : sum / known;
}

interface SpeedOptions {
  /** Whether every candidate with a pace also has a time per token. */
  readonly tokens: boolean;
}

/** How long an answer takes on a route, milliseconds; undefined when nothing is known. */
function answerMs({ firstOutput, tokenMs }: RouteStatus, { tokens }: SpeedOptions): number | undefined {
  if (firstOutput === undefined) return undefined;
  return firstOutput.ms + (tokens && tokenMs !== undefined ? usualTokens * tokenMs : 0);
}

/**
 * Returns the speed of a route relative to the best, at most one. Few or old samples count for little, so that a route that was slow
 * is tried again.
 */
function speed(status: RouteStatus, { best, ...options }: SpeedOptions & { readonly best: number }): number {
  const ms = answerMs(status, options);
  if (ms === undefined || status.firstOutput === undefined) return 1;
  const ratio = Math.min(1, Math.max(best / ms, 0.01));
  const excess = Math.min(1, ratio * sickFactor);
  const { weight } = status.firstOutput;
  return (ratio * excess ** 3) ** (weight / (weight + 0.5));
}

/**
 * Scores each candidate among the others. With equal weights, load follows capacity: the free slots, times how fast they become
 * free again. One failure in ten costs a route half of its share of the load, one in two nearly all of it.
 */
export function scores(candidates: readonly Scorable[]): readonly Score[] {
  const neutral = neutralCapacity(candidates);
  const tokens = candidates.every(
    ({ status: { firstOutput, tokenMs } }) => tokenMs !== undefined || (firstOutput?.isBound ?? true),
  );
  let best = Infinity;
  for (const { status } of candidates) {
    // A route with only a lower bound can be the slowest, but not the fastest.
    if (status.firstOutput?.isBound === false) best = Math.min(best, answerMs(status, { tokens }) ?? Infinity);
  }
  return candidates.map(({ weight, status }) => {
    const { success, validity, capacity, inFlight } = status;
    const squared = success * success;
    const valid = validity * validity;
    const pace = speed(status, { best, tokens });
    const worth = weight * squared * squared * squared * valid * valid * pace;
    const freeShare = capacity === undefined ? neutral / (neutral + inFlight) : Math.max(0, 1 - inFlight / capacity);
    const slots = capacity ?? neutral;
    const steady = weight * slots * 4 ** Math.round(Math.log2(pace) / 2);
    return { worth, freeShare, chance: worth * (freeShare * slots), steady };
  });
}
