/** A sum in which a value counts for less, the older it is: about the values of the last `overMs`. */
export interface RecentSum {
  readonly at: (now: number) => number;
  readonly add: (now: number, value: number) => void;
}

export function createRecentSum(overMs: number): RecentSum {
  let sum = 0;
  let asOf = 0;
  const at = (now: number): number => {
    sum *= Math.exp((asOf - now) / overMs);
    asOf = now;
    return sum;
  };
  return {
    at,
    add: (now, value) => {
      sum = at(now) + value;
    },
  };
}
