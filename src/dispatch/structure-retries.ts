import type { Clock } from '../core/clock.ts';

/**
 * Bounds what one caller's defective answers cost: how many of its answers that are not of the structure asked for are tried
 * again on another route. A caller is the id of an API key.
 */
export interface StructureRetries {
  /** An answer had its structure: its caller earns its share of a retry. */
  readonly earn: (caller: string) => void;
  /** Takes one retry. False: the caller has none left. */
  readonly spend: (caller: string) => boolean;
}

/** Retries that are saved up at most: a route that turns defective is left out after a few. */
const most = 10;
/** Retries for each sound answer: one defective answer in three is always tried again. */
const share = 0.5;
/** A caller without sound answers gets a retry each minute. */
const perMs = 1 / 60_000;
/** The caller that was not seen for longest is forgotten first, and begins anew. */
const mostCallers = 10_000;

interface Saved {
  readonly retries: number;
  readonly at: number;
}

export function createStructureRetries({ clock }: { readonly clock: Pick<Clock, 'elapsed'> }): StructureRetries {
  const saved = new Map<string, Saved>();

  function save(caller: string, retries: number): void {
    saved.delete(caller);
    // Who has them all needs no remembering.
    if (retries < most) saved.set(caller, { retries, at: clock.elapsed() });
    const [oldest] = saved.keys();
    if (saved.size > mostCallers && oldest !== undefined) saved.delete(oldest);
  }

  function retriesOf(caller: string): number {
    const { retries, at } = saved.get(caller) ?? { retries: most, at: 0 };
    return Math.min(most, retries + (clock.elapsed() - at) * perMs);
  }

  return {
    earn: (caller) => {
      if (saved.has(caller)) save(caller, Math.min(most, retriesOf(caller) + share));
    },
    spend: (caller) => {
      const retries = retriesOf(caller);
      if (retries < 1) return false;
      save(caller, retries - 1);
      return true;
    },
  };
}
