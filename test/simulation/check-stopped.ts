import type { Spell } from './world-view.ts';

/** A key that was stopped serves nothing that comes later than this, without a fault (docs/how-to/accounts.md: within a second). */
export const stopDelayMs = 1_500;

/** After so much time without a fault, all replicas know what is in the database. */
export const healedMs = 10_000;

/**
 * Whether every replica must refuse a key that was stopped at a moment: without a fault after `stopDelayMs`, and in a
 * fault too if so much time without one has passed since the stop that all replicas know of it.
 */
export function mustRefuse(
  { stoppedAt, startedAt }: { readonly stoppedAt: number; readonly startedAt: number },
  spells: readonly Spell[],
): boolean {
  if (startedAt < stoppedAt + stopDelayMs) return false;
  const since = spells
    .filter(([begin, end]) => begin <= startedAt && end >= stoppedAt)
    .toSorted(([first], [second]) => first - second);
  let calmFrom = stoppedAt;
  for (const [begin, end] of since) {
    if (begin - calmFrom >= healedMs) return true;
    calmFrom = Math.max(calmFrom, end);
  }
  return startedAt - calmFrom >= healedMs || since.length === 0;
}
