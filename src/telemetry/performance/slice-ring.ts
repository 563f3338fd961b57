/** A moving window of time, cut into slices of equal width. Old slices drop out whole, so that nothing is kept per sample. */
export interface SliceRing<S> {
  /** The slice of this moment, to add to. */
  readonly at: (now: number) => S;
  /** The slices of the window that ends now, in no order, without empty slices. */
  readonly live: (now: number) => readonly S[];
}

interface Slice<S> {
  readonly number: number;
  readonly content: S;
}

/**
 * Slices begin at whole multiples of their width since the Unix epoch. If the wall clock is set back, the slices that
 * are then in the future are hidden, and their times do not change.
 */
export function createSliceRing<S>(options: {
  readonly count: number;
  readonly widthMs: number;
  readonly empty: () => S;
}): SliceRing<S> {
  const { count, widthMs, empty } = options;
  const ring: Slice<S>[] = [];
  let latest: Slice<S> | undefined;
  /** The last result of `live`; valid until a slice begins or drops out. */
  let window: { readonly newest: number; readonly contents: readonly S[] } | undefined;
  const numberAt = (now: number): number => Math.floor(now / widthMs);

  function slice(number: number): Slice<S> {
    const found = ring.find((candidate) => candidate.number === number);
    if (found !== undefined) return found;
    const fresh = { number, content: empty() };
    // The new slice replaces the slice that is older by a whole turn of the ring, which is outside the window.
    const place = ring.findIndex((other) => other.number % count === number % count);
    window = undefined;
    ring.splice(place === -1 ? ring.length : place, 1, fresh);
    return fresh;
  }

  return {
    at: (now) => {
      const number = numberAt(now);
      if (latest?.number !== number) latest = slice(number);
      return latest.content;
    },
    live: (now) => {
      const newest = numberAt(now);
      if (window?.newest !== newest) {
        const inside = ring.filter(({ number }) => number <= newest && number > newest - count);
        window = { newest, contents: inside.map(({ content }) => content) };
      }
      return window.contents;
    },
  };
}
