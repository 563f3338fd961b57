import type { Spell } from './world-view.ts';

/**
 * The earliest moment that still counts at `at`: usually `delayMs` before it. Whatever happened before a fault may have been
 * learned of only when the fault was over, and so much time had passed.
 */
export function countsSince(
  at: number,
  spells: readonly Spell[],
  { delayMs, healMs = 0 }: { readonly delayMs: number; readonly healMs?: number },
): number {
  let from = at - delayMs;
  for (const [begin, end] of spells.toSorted((one, other) => other[1] - one[1]))
    if (begin <= at && end + healMs >= from) from = Math.min(from, begin - delayMs);
  return from;
}
