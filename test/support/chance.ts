/** Chance that can be repeated: the same seed gives the same throws. */
export interface Chance {
  /** 0 ≤ x < 1 */
  readonly next: () => number;
  /** A whole number below `end`. */
  readonly below: (end: number) => number;
  readonly is: (probability: number) => boolean;
  readonly pick: <T>(from: readonly T[]) => T;
}

/** Mulberry32. */
export function chanceFrom(seed: number): Chance {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end: number): number => Math.floor(next() * end);
  return {
    next,
    below,
    is: (probability) => next() < probability,
    pick: (from) => {
      const [first] = from;
      if (first === undefined) throw new Error('nothing to pick from');
      return from[below(from.length)] ?? first;
    },
  };
}
