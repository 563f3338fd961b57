import type { Candidate } from './eligible.ts';
import { routeKey } from './route-key.ts';
import { type Score, scores } from './score.ts';
import type { RouteStanding, RoutingView, StandingAsk } from './standing.ts';

export interface OrderOptions {
  readonly view: RoutingView;
  readonly ask: StandingAsk;
  /** A random number, 0 ≤ turn < 1: it picks the first route by its chance. */
  readonly turn: number;
  /** Key of the route that served a request with the same beginning. */
  readonly affine?: string | undefined;
}

interface Entry {
  readonly candidate: Candidate;
  readonly standing: RouteStanding;
  readonly score: Score;
}

/** A route keeps what began on it while it is worth a tenth of the best … */
const leastWorth = 0.1;
/** … and its free share a quarter of the freest one's. */
const leastRoom = 0.25;

/**
 * The candidates that can be asked now, in the order in which they are tried; none when all are out. Those that honour most
 * of the optional parameters come first. Of these, a route that may be back is probed, else the one that served the prompt's
 * beginning is preferred, else chance decides by score. The rest follow by score, and at the very end those that have been
 * ejected for failing at once: trying them is better than to fail.
 */
export function order(candidates: readonly Candidate[], options: OrderOptions): readonly Candidate[] {
  const { view, ask, turn } = options;
  const entries = entriesOf(candidates, options);
  entries.sort(byRank);
  const [best] = entries;
  if (best === undefined) return [];
  const group = entries.filter(
    (entry) => entry.candidate.honoured === best.candidate.honoured && isLast(entry) === isLast(best),
  );
  const first = probeIn(group) ?? affineIn(group, options) ?? pick(group, turn) ?? best;
  if (first.standing.state === 'unsound-probe') view.probeForm(first.candidate.route, ask.capabilities);
  return [first, ...entries.filter((entry) => entry !== first)].map(({ candidate }) => candidate);
}

function entriesOf(candidates: readonly Candidate[], { view, ask }: OrderOptions): Entry[] {
  const standings = candidates
    .map((candidate) => ({ candidate, weight: candidate.route.weight, standing: view.standing(candidate.route, ask) }))
    .filter(({ standing }) => standing.state !== 'out');
  const sound = standings.filter(({ standing }) => standing.state !== 'unsound');
  // Where all are known for defects, an answer that may be sound is better than none: one caller's schema that nobody can
  // follow must not take a model from the others.
  const able = sound.length > 0 ? sound : standings;
  const scored = scores(able);
  return able.flatMap(({ candidate, standing }, index) => {
    const score = scored[index];
    return score === undefined ? [] : [{ candidate, standing, score }];
  });
}

const isLast = ({ standing }: Entry): boolean => standing.state === 'last';
const isProbe = ({ standing }: Entry): boolean => standing.state === 'probe' || standing.state === 'unsound-probe';

/** The last resort last; most honoured first, then those that are in, then by score; at last by weight, so that routes without load keep an order. */
function byRank(a: Entry, b: Entry): number {
  return (
    Number(isLast(a)) - Number(isLast(b)) ||
    b.candidate.honoured - a.candidate.honoured ||
    Number(isProbe(a)) - Number(isProbe(b)) ||
    b.score.chance - a.score.chance ||
    b.candidate.route.weight - a.candidate.route.weight
  );
}

/** A route of no weight is asked when nothing else is left; it needs no probing before. */
const probeIn = (group: readonly Entry[]): Entry | undefined =>
  group.find((entry) => isProbe(entry) && entry.candidate.route.weight > 0);

function affineIn(group: readonly Entry[], { affine }: OrderOptions): Entry | undefined {
  if (affine === undefined) return undefined;
  const entry = group.find(({ candidate }) => routeKey(candidate.route) === affine);
  if (entry === undefined || entry.standing.state !== 'in') return undefined;
  let worth = 0;
  let freeShare = 0;
  for (const { score } of group) {
    worth = Math.max(worth, score.worth);
    freeShare = Math.max(freeShare, score.freeShare);
  }
  const { score } = entry;
  return score.worth >= worth * leastWorth && score.freeShare >= freeShare * leastRoom ? entry : undefined;
}

/** The one whose turn it is, by its chance. Probes take no turns while another is in. */
function pick(group: readonly Entry[], turn: number): Entry | undefined {
  const inside = group.filter((entry) => !isProbe(entry));
  let point = turn * inside.reduce((sum, { score }) => sum + score.chance, 0);
  return inside.find(({ score }) => (point -= score.chance) < 0);
}
