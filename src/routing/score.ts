import type { RouteStanding } from './standing.ts';

/** What of a route bears on its score. */
export interface Scorable {
  readonly weight: number;
  readonly standing: RouteStanding;
}

export interface Score {
  /** Weight × success × speed × soundness: what it is worth, however full it is. */
  readonly worth: number;
  /** Slots that are free. */
  readonly free: number;
  /** And what share of all its slots that is. */
  readonly freeShare: number;
  /** The chance it has of being the first, relative to the others. */
  readonly chance: number;
}

/** What a backend is taken to be that names no capacity, where no other names one either. */
const usualCapacity = 64;
/** Tokens of an answer, as far as it matters which of two routes writes faster. */
const usualTokens = 256;
/** Up to so many times slower than the best, a route is a slower machine; beyond it, something is wrong with it. */
const sickFactor = 5;

/** A capacity for those that name none: as large as the others' are, and never full. */
function neutralCapacity(candidates: readonly Scorable[]): number {
  let sum = 0;
  let known = 0;
  for (const { standing } of candidates) {
    if (standing.capacity === undefined) continue;
    sum += standing.capacity;
    known += 1;
  }
  return known === 0 ? usualCapacity : sum / known;
}

interface SpeedOptions {
  /** Whether every candidate with a pace also has a time per token. */
  readonly tokens: boolean;
}

/** Milliseconds that an answer takes on a route; undefined when nothing is known. */
function answerMs({ firstOutput, tokenMs }: RouteStanding, { tokens }: SpeedOptions): number | undefined {
  if (firstOutput === undefined) return undefined;
  return firstOutput.ms + (tokens && tokenMs !== undefined ? usualTokens * tokenMs : 0);
}

/**
 * How fast relative to the best, at most one. What is known from few samples, or has become old, counts for little: a route
 * that was slow is tried again in time.
 */
function speed(standing: RouteStanding, { best, ...options }: SpeedOptions & { readonly best: number }): number {
  const ms = answerMs(standing, options);
  if (ms === undefined || standing.firstOutput === undefined) return 1;
  const ratio = Math.min(1, Math.max(best / ms, 0.01));
  const excess = Math.min(1, ratio * sickFactor);
  const { weight } = standing.firstOutput;
  return (ratio * excess ** 3) ** (weight / (weight + 0.5));
}

/**
 * Scores each candidate among the others. With equal weights, load follows capacity: slots that are free, times how fast they
 * become free again. One failure in ten costs a route half of its share, one in two nearly all of it.
 */
export function scores(candidates: readonly Scorable[]): readonly Score[] {
  const neutral = neutralCapacity(candidates);
  const tokens = candidates.every(
    ({ standing: { firstOutput, tokenMs } }) => tokenMs !== undefined || (firstOutput?.isBound ?? true),
  );
  let best = Infinity;
  for (const { standing } of candidates) {
    // What is only known to take long can be the slowest, but not the fastest.
    if (standing.firstOutput?.isBound === false) best = Math.min(best, answerMs(standing, { tokens }) ?? Infinity);
  }
  return candidates.map(({ weight, standing }) => {
    const { success, soundness, capacity, inFlight } = standing;
    const squared = success * success;
    const sound = soundness * soundness;
    const worth = weight * squared * squared * squared * sound * sound * speed(standing, { best, tokens });
    const freeShare = capacity === undefined ? neutral / (neutral + inFlight) : Math.max(0, 1 - inFlight / capacity);
    const free = freeShare * (capacity ?? neutral);
    return { worth, free, freeShare, chance: worth * free };
  });
}
