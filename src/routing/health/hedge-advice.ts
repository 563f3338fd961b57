import type { HedgeAdvice } from '../../core/health.ts';
import { isBusy, isFull } from './backend-load.ts';
import type { RouteHealth } from './route-health.ts';

/** Fewest samples of a percentile that can be relied on. */
const enough = 20;
const leastMs = 50;
const mostMs = 30_000;
/** The wait where nothing is known: to a stream's first output, and for a whole answer. */
const coldStreamMs = 1000;
const coldWholeMs = 5000;
/** A probed route gets the time that it usually takes, up to so many times the best route's. */
const slowerAtMost = 3;
/** Above this share of its capacity, a backend gets no second attempts. */
const roomyShare = 0.8;

const isRoomy = ({ load }: RouteHealth): boolean =>
  !isFull(load) && (load.capacity === undefined || load.inFlight <= load.capacity * roomyShare);

export interface HedgeAsk {
  readonly now: number;
  readonly stream: boolean;
  readonly others: readonly RouteHealth[];
}

/**
 * Advises after how much silence a second attempt is worth its cost (docs/reference/architecture.md §2.3): the time by which
 * nineteen in twenty of this route's answers have begun. Undefined where no other route has room, or all together are busy.
 */
export function hedgeAdvice(health: RouteHealth, { now, stream, others }: HedgeAsk): HedgeAdvice | undefined {
  const able = others.filter((other) => !other.isOut(now) && isRoomy(other));
  if (able.length === 0) return undefined;
  const coldMs = stream ? coldStreamMs : coldWholeMs;
  const bestMs = able.reduce((best, other) => Math.min(best, knownP95(other, { now, stream }) ?? Infinity), Infinity);
  const own = health.pace(stream).p95(now);
  if (health.probing(now)) {
    // The caller must not wait long for a route that may well be dead, and a route that was always somewhat slower than the
    // others must not lose each of its probes to them.
    const ownMs = own?.ms ?? 0;
    const usualMs = bestMs < Infinity ? Math.min(Math.max(ownMs, bestMs), bestMs * slowerAtMost) : ownMs;
    return { afterMs: clamp(usualMs === 0 ? coldMs : Math.min(coldMs, usualMs)), insured: true };
  }
  if (isBusy(new Set([health, ...others].map(({ load }) => load)))) return undefined;
  if (own !== undefined && own.weight >= enough) return { afterMs: clamp(own.ms), insured: false };
  if (bestMs < Infinity) return { afterMs: clamp(bestMs), insured: false };
  // A few samples make no percentile, but they show that a slow model is slow.
  return { afterMs: clamp(Math.max(coldMs, own?.ms ?? 0)), insured: false };
}

function knownP95(health: RouteHealth, { now, stream }: { readonly now: number; readonly stream: boolean }) {
  const p95 = health.pace(stream).p95(now);
  return p95 !== undefined && p95.weight >= enough ? p95.ms : undefined;
}

const clamp = (ms: number): number => Math.min(mostMs, Math.max(leastMs, ms));
