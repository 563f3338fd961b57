export interface Staying<Item> {
  readonly items: readonly Item[];
  /** When to look again, milliseconds from now: one of them leaves then, or an hour has passed. */
  readonly lookAgainMs: number;
}

/** Timers of many days overflow; and clocks are set. */
const longestMs = 60 * 60 * 1000;

/** Those that have not left. `leavesAtOf` tells when one does, milliseconds since the epoch; undefined: never. */
export function stayingAt<Item>(
  items: readonly Item[],
  { now, leavesAtOf }: { readonly now: number; readonly leavesAtOf: (item: Item) => number | undefined },
): Staying<Item> {
  let lookAgainMs = longestMs;
  const staying = items.filter((item) => {
    const leftMs = (leavesAtOf(item) ?? Number.POSITIVE_INFINITY) - now;
    if (leftMs <= 0) return false;
    lookAgainMs = Math.min(lookAgainMs, leftMs);
    return true;
  });
  return { items: staying, lookAgainMs };
}

/** The very same objects: what has not changed is not made anew. */
export function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}
