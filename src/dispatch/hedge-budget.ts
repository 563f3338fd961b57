/** Bounds what hedging may cost: so many extra attempts for each request, and a few at once before that. */
export interface HedgeBudget {
  /** A request is dispatched: it earns its share. */
  readonly earn: () => void;
  /** Takes one extra attempt out of the budget. False: it is spent. */
  readonly spend: () => boolean;
}

/** Extra attempts per request in the long run. */
const share = 0.1;

/** Most that is saved up: what a sudden stall of one route may cost at once. */
const most = 10;

export function createHedgeBudget(): HedgeBudget {
  let saved = most;
  return {
    earn: () => {
      saved = Math.min(most, saved + share);
    },
    spend: () => {
      if (saved < 1) return false;
      saved -= 1;
      return true;
    },
  };
}
