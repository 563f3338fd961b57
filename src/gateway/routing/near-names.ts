import leven from 'leven';

/** Longest name that gets suggestions, characters: the length of the longest id. */
const maxNameLength = 128;
/** Most suggestions. */
const maxNames = 3;
/** Most pairs of characters that are compared for one name. Limits the time to some milliseconds, however long the catalog is. */
const maxPairs = 500_000;
/** Most names that are compared. */
const maxLookedAt = 10_000;
/** Least length of a name, characters, to be near the longer names that begin with it. */
const minPrefix = 3;

/** Returns the greatest difference of near names, characters: a quarter of the name's length, but at least `least`. */
const allowance = (length: number, least: number): number => Math.max(least, Math.floor(length / 4));

/** Returns the name without its organisation, which callers omit or confuse. */
const tailOf = (name: string): string => name.slice(name.lastIndexOf('/') + 1);

const begins = (short: string, long: string): boolean => short.length >= minPrefix && long.startsWith(short);

/** Returns the names that a caller may have meant, nearest first. The caller's name may be misspelt, cut short, or without the organisation. */
export function nearNames(wanted: string, names: Iterable<string>): readonly string[] {
  if (wanted.length > maxNameLength) return [];
  const tail = tailOf(wanted);
  const found: { readonly name: string; readonly distance: number }[] = [];
  let pairs = 0;

  /** Returns in how many characters two names differ. Infinite: in more than `most`. */
  function difference(one: string, other: string, most: number): number {
    if (Math.abs(one.length - other.length) > most || pairs > maxPairs) return Infinity;
    pairs += one.length * other.length;
    const distance = leven(one, other, { maxDistance: most + 1 });
    return distance > most ? Infinity : distance;
  }

  for (const name of Iterator.from(names).take(maxLookedAt)) {
    const nameTail = tailOf(name);
    const whole = difference(wanted, name, allowance(wanted.length, 2));
    // Another organisation counts as one wrong character.
    const behind = difference(tail, nameTail, allowance(tail.length, 1)) + 1;
    const distance = Math.min(whole, behind, begins(tail, nameTail) || begins(nameTail, tail) ? 1.5 : Infinity);
    if (distance < Infinity) found.push({ name, distance });
  }
  return found
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, maxNames)
    .map(({ name }) => name);
}
