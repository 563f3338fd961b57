import type { Load } from '../core/load.ts';
import { burstMs } from './overload.ts';

/**
 * The standing wait that is aimed at: what 900 callers who never pause make for each other, and no fewer. It is short beside
 * what engines take for an answer.
 */
const targetMs = 400;
/** Per step. Up by half in 0.7 s; down to a third within 0.4 s of a rush. */
const fastestRise = 0.06;
const fastestFall = 0.25;
/** Some always come through: how else would we know. */
const smallest = 0.05;

/** How often a step is due. Envoy acts on one in the middle of the next. */
export const openingStepMs = 100;

/**
 * The share of new requests that Envoy lets through to the service from now on, after the share before. Envoy is the one
 * that has to shed a flood: a refusal by the service costs them together 250 µs, by Envoy alone 90. It begins with a queue
 * that is more than a burst; from then on the newest requests tell.
 */
export function nextOpening(opening: number, load: Pick<Load, 'standingWaitMs' | 'queuedForMs'>): number {
  if (opening === 1 && load.queuedForMs < burstMs) return 1;
  const step = Math.max(-fastestFall, fastestRise * (1 - load.standingWaitMs / targetMs));
  return Math.min(1, Math.max(smallest, opening * (1 + step)));
}
