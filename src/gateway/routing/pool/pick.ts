import type { PickReason } from '../../../core/pool-prompt.ts';

/** The predicted cost of one prompt at an endpoint. */
export interface Outlook {
  /** Tokens of the prompt that the endpoint has in its cache. */
  readonly heldTokens: number;
  /** Predicted time to the first token, ms. */
  readonly firstMs: number;
  /** The usual error of that prediction, ms. */
  readonly errorMs: number;
  /** Time by which work on the prompt would delay those behind it, ms. */
  readonly workMs: number;
  /** By how much the endpoint's answers and this answer would become slower together, ms. */
  readonly slowerMs: number;
  /** The endpoint has had no attempt. */
  readonly isUntried: boolean;
}

export interface Pick {
  readonly index: number;
  readonly why: PickReason;
}

export interface PickOptions {
  /** The share of their time for which the endpoints work on prompts, 0 to 1. */
  readonly busy: number;
  /** A random number, 0 ≤ turn < 1. */
  readonly turn: number;
}

/** Endpoints that are busier count as if they were as busy as this. Beyond it, the wait in a queue has no mean. */
const maxBusy = 0.9;
/**
 * A millisecond by which answers become slower counts as this part of a millisecond before the first token. Between 0.03 and 0.3, the
 * value changes little.
 */
const slowerShare = 0.1;

/**
 * Costs that differ by less than this part of the usual error are near equals. It is less than the whole, because endpoints err alike for
 * one prompt: what makes one of them slower than predicted makes the others slower, too. With less than a half, replicas no longer agree
 * on the holder, and the cached share falls.
 */
const nearShare = 0.5;
/** Near equals whose costs differ by less than this part of the usual error are equal. */
const equalShare = 0.25;

/**
 * Picks the endpoint of a prompt: the one with the least cost. The cost is the time to the first token, and the time by which the prompt
 * makes others wait. The work on a prompt delays those behind it by more, the busier the endpoints are, as in every queue. So a prompt
 * stays with the holder of its beginning for longer when there is little time to compute it again. Endpoints whose costs differ by less
 * than half of the usual error are near equals. Of these, those are left that hold most. Among the ones whose costs are equal, those that
 * had no attempt come first, so that each endpoint is soon measured. Chance decides the rest, so that replicas do not all choose the same
 * one.
 */
export function pick(outlooks: readonly Outlook[], { busy, turn }: PickOptions): Pick | undefined {
  if (outlooks.length === 0) return undefined;
  if (outlooks.length === 1) return { index: 0, why: 'only' };
  const share = Math.min(maxBusy, Math.max(0, busy));
  const workShare = share / (1 - share);
  const costs = outlooks.map(({ firstMs, workMs, slowerMs }) => firstMs + workMs * workShare + slowerMs * slowerShare);
  const best = costs.indexOf(Math.min(...costs));
  const error = outlooks[best]?.errorMs ?? 0;
  const holding = holdersBelow((costs[best] ?? 0) + error * nearShare, { outlooks, costs });
  const least = holding.reduce((min, index) => Math.min(min, costs[index] ?? Infinity), Infinity);
  const mostEqual = least + error * equalShare;
  const withEqualCost = holding.filter((index) => (costs[index] ?? Infinity) <= mostEqual);
  const untried = withEqualCost.filter((index) => outlooks[index]?.isUntried === true);
  const equals = untried.length > 0 ? untried : withEqualCost;
  const index = equals[Math.floor(turn * equals.length)] ?? best;
  return { index, why: reasonFor(outlooks, index) };
}

/** Of the endpoints whose costs are not above `mostCost`, those that hold most of the prompt. */
function holdersBelow(
  mostCost: number,
  { outlooks, costs }: { readonly outlooks: readonly Outlook[]; readonly costs: readonly number[] },
): readonly number[] {
  let holding: number[] = [];
  let mostHeld = 0;
  for (let index = 0; index < costs.length; index += 1) {
    const heldTokens = outlooks[index]?.heldTokens ?? 0;
    if ((costs[index] ?? Infinity) > mostCost || heldTokens < mostHeld) continue;
    if (heldTokens > mostHeld) holding = [];
    mostHeld = heldTokens;
    holding.push(index);
  }
  return holding;
}

function reasonFor(outlooks: readonly Outlook[], index: number): PickReason {
  const picked = outlooks[index];
  const mostHeld = outlooks.reduce((most, { heldTokens }) => Math.max(most, heldTokens), 0);
  if (mostHeld === 0) return picked?.isUntried === true ? 'untried' : 'least-work';
  return picked?.heldTokens === mostHeld ? 'holder' : 'sooner';
}
