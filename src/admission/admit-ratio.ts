import type { Load } from '../core/load.ts';
import { burstMs } from './overload.ts';

/**
 * The standing wait to aim at: the one that 900 callers who never pause cause for each other, and no fewer. It is short beside the
 * time that engines take for an answer.
 */
const targetMs = 400;
/** Per step. Up by half in 0.7 s; down to a third within 0.4 s of a rush. */
const fastestRise = 0.06;
const fastestFall = 0.25;
/** Some requests are always admitted: without them nobody would notice that the rush is over. */
const smallest = 0.05;

/** How often a step is due. Envoy acts on one in the middle of the next. */
export const admitStepMs = 100;

/**
 * Returns the share of new requests that Envoy admits to the service from now on, after the share before. Envoy has to shed a
 * flood: a refusal by the service costs both together 250 µs, one by Envoy alone 90. Shedding begins with a queue that is more
 * than a burst; from then on the waits of the newest requests decide.
 */
export function nextAdmitRatio(admitRatio: number, load: Pick<Load, 'standingWaitMs' | 'queuedForMs'>): number {
  if (admitRatio === 1 && load.queuedForMs < burstMs) return 1;
  const step = Math.max(-fastestFall, fastestRise * (1 - load.standingWaitMs / targetMs));
  return Math.min(1, Math.max(smallest, admitRatio * (1 + step)));
}
