import type { HedgeAdvice } from '../../core/health.ts';
import type { EndpointHealth } from './endpoint-health.ts';
import { isBusy, isRoomy } from './load.ts';
import type { RouteHealth } from './route-health.ts';

/** A percentile of fewer samples is not reliable. */
const enough = 20;
const minMs = 50;
const maxMs = 30_000;
/** The wait without any samples: to a stream's first output, and for a whole answer. */
const coldStreamMs = 1000;
const coldWholeMs = 5000;
/** A probed endpoint gets its usual time, but at most so many times the usual time of the best route. */
const slowerAtMost = 3;
/**
 * Among several endpoints of one engine, an answer is late after so many times the time within which three in four answers begin.
 */
const lateFactor = 3;

export interface HedgeAsk {
  readonly now: number;
  readonly stream: boolean;
  /** Name of the endpoint that the attempt is made on. */
  readonly endpoint: string;
  readonly isStandby: boolean;
  /** The routes where a second attempt could be made. The attempt's own route may be one of them. */
  readonly others: readonly HedgeCandidate[];
}

export interface HedgeCandidate {
  readonly health: RouteHealth;
  /** Names of endpoints that are not to be asked. */
  readonly avoid: ReadonlySet<string>;
  readonly isStandby: boolean;
}

/**
 * Advises after how much silence a second attempt is worth its cost (docs/concepts/architecture.md §2.3): after the time within
 * which nineteen in twenty answers of this route begin. Undefined: no other endpoint has room, or all together are busy. While the
 * first attempt runs on a healthy endpoint, a standby gets no second attempt.
 */
export function hedgeAdvice(health: RouteHealth, ask: HedgeAsk): HedgeAdvice | undefined {
  const { now, stream } = ask;
  const own = health.named(ask.endpoint);
  const isProbe = own?.probing(now) === true;
  const others = isProbe || ask.isStandby ? ask.others : ask.others.filter(({ isStandby }) => !isStandby);
  const able = others.filter((other) => hasRoom(other, now));
  if (able.length === 0) return undefined;
  const coldMs = stream ? coldStreamMs : coldWholeMs;
  const bestMs = able.reduce(
    (best, other) => Math.min(best, usualMs(other.health, { now, stream }) ?? Infinity),
    Infinity,
  );
  const ownP95 = own?.pace(stream).p95(now);
  if (isProbe) {
    // The caller must not wait long for an endpoint that may be dead. But an endpoint that was always slower than the others
    // must not lose every probe to them.
    const ownMs = ownP95?.ms ?? 0;
    const usual = bestMs < Infinity ? Math.min(Math.max(ownMs, bestMs), bestMs * slowerAtMost) : ownMs;
    return { afterMs: clamp(usual === 0 ? coldMs : Math.min(coldMs, usual)), insured: true };
  }
  if (isBusy(new Set([health.load, ...others.map((other) => other.health.load)]))) return undefined;
  const isAlone = health.endpoints().length < 2;
  // Among several endpoints, the usual time of all decides whether one is late, not its own time.
  const pooled = isAlone ? Infinity : (usualMs(health, { now, stream }) ?? Infinity);
  const known = ownP95 !== undefined && ownP95.weight >= enough ? ownP95.ms : Infinity;
  const ownMs = Math.min(known, pooled);
  if (ownMs < Infinity) return { afterMs: clamp(ownMs), insured: false };
  if (bestMs < Infinity) return { afterMs: clamp(bestMs), insured: false };
  // A few samples are no percentile, but they show that a slow model is slow.
  return { afterMs: clamp(Math.max(coldMs, ownP95?.ms ?? 0)), insured: false };
}

/** Whether some endpoint has room for a second attempt. */
function hasRoom({ health, avoid }: HedgeCandidate, now: number): boolean {
  if (!isRoomy(health.load)) return false;
  const isAble = (one: EndpointHealth): boolean =>
    !avoid.has(one.endpoint.name) && !one.isOut(now) && isRoomy(one.load);
  return health.endpoints().some(isAble);
}

/** How long first outputs usually take on a route, milliseconds. Undefined: too few are known. */
function usualMs(
  health: RouteHealth,
  { now, stream }: { readonly now: number; readonly stream: boolean },
): number | undefined {
  const [only, second] = health.endpoints();
  if (second === undefined) {
    const p95 = only?.pace(stream).p95(now);
    return p95 !== undefined && p95.weight >= enough ? p95.ms : undefined;
  }
  const all = health.firstOutputs(stream);
  if (all.weight(now) < enough) return undefined;
  return Math.min(all.quantile(0.95) ?? Infinity, (all.quantile(0.75) ?? Infinity) * lateFactor);
}

const clamp = (ms: number): number => Math.min(maxMs, Math.max(minMs, ms));
