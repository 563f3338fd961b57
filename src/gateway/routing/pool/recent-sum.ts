export type RecentSum = ReturnType<typeof createRecentSum>;

/** A sum in which a value counts for less, the older it is: the values of the last `recentMs`, about. Less than `negligible` is nothing. */
export function createRecentSum({ recentMs, negligible }: { readonly recentMs: number; readonly negligible: number }) {
  let sum = 0;
  let asOf = 0;
  const at = (now: number): number => {
    sum *= Math.exp((asOf - now) / recentMs);
    asOf = now;
    return sum < negligible ? 0 : sum;
  };
  return {
    at,
    add: (now: number, value: number): void => {
      sum = at(now) + value;
    },
  };
}
