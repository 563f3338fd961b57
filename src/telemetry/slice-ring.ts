/** A window over time, cut into slices of one width: old ones drop out whole, so that nothing is kept per sample. */
export interface SliceRing<S> {
  /** The slice of this moment, to add to. */
  readonly at: (now: number) => S;
  /** The slices of the window that ends now, in no order; those in which nothing happened are missing. */
  readonly live: (now: number) => readonly S[];
}

interface Slice<S> {
  readonly number: number;
  readonly content: S;
}

/**
 * Slices begin at whole multiples of their width since the Unix epoch, so that those of several replicas are of the same
 * time and can be put together. A wall clock that is set back hides what is then in the future; nothing gets younger by it.
 */
export function createSliceRing<S>(options: {
  readonly count: number;
  readonly widthMs: number;
  readonly empty: () => S;
}): SliceRing<S> {
  const { count, widthMs, empty } = options;
  const ring: Slice<S>[] = [];
  let latest: Slice<S> | undefined;
  /** The window as it was last asked for: it stays the same until a slice begins or drops out. */
  let window: { readonly newest: number; readonly contents: readonly S[] } | undefined;
  const numberAt = (now: number): number => Math.floor(now / widthMs);

  function slice(number: number): Slice<S> {
    const found = ring.find((candidate) => candidate.number === number);
    if (found !== undefined) return found;
    const fresh = { number, content: empty() };
    // Whatever is a whole turn away has the same place and is not of this window.
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
