import { createHash } from 'node:crypto';

/** A number in [0, 1) at each call. The same seed gives the same numbers, on every machine. */
export type Chance = () => number;

/** Mulberry32: small, fast, and good enough to choose words. */
export function seededChance(seed: number): Chance {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A stable fingerprint of some texts, in hex. The texts are kept apart: `['ab']` and `['a', 'b']` differ. */
export function fingerprint(texts: readonly string[]): string {
  const hash = createHash('sha1');
  for (const text of texts) hash.update(`${text.length}:`).update(text);
  return hash.digest('hex');
}

/** The seed that a fingerprint and a name stand for; different names give unrelated seeds. */
export function seedOf(print: string, name: string): number {
  return Number.parseInt(fingerprint([print, name]).slice(0, 8), 16);
}

/** One of the items; the list must not be empty. */
export function pick<T>(items: readonly [T, ...T[]], chance: Chance): T {
  return items[Math.floor(chance() * items.length)] ?? items[0];
}
