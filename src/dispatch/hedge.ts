import type { Route } from '../core/catalog.ts';
import type { Clock, CancelTimer } from '../core/clock.ts';
import type { Health } from '../core/health.ts';

export interface HedgeWatchOptions {
  readonly health: Pick<Health, 'hedge' | 'isOut'>;
  readonly hedges: HedgeBudget;
  readonly clock: Clock;
  readonly stream: boolean;
}

/** Waits for the first output of the newest attempt, and has another one start when it takes too long. */
export interface HedgeWatch {
  /** Watches an attempt on `route` in place of any other. `others`: the routes that are left to hedge with. */
  readonly watch: (route: Route, ask: HedgeAsk) => void;
  readonly stop: () => void;
}

export interface HedgeAsk {
  readonly others: readonly Route[];
  /** Whether a second attempt may run beside those that do. */
  readonly isRoom: () => boolean;
  readonly start: () => void;
}

/**
 * How often is looked whether the route has been ejected meanwhile, or is known better, milliseconds. Also the time after
 * which a hedge that was not allowed is asked for again.
 */
const lookEveryMs = 250;

/** One timer, for one attempt at a time. */
export function createHedgeWatch({ health, hedges, clock, stream }: HedgeWatchOptions): HedgeWatch {
  let cancelTimer: CancelTimer = () => undefined;

  return {
    stop: () => cancelTimer(),
    watch: (route, { others, isRoom, start }) => {
      cancelTimer();
      if (others.length === 0) return;
      const begunAt = clock.elapsed();
      // The last resort is asked although it is out.
      const wasOut = health.isOut(route);

      function look(): void {
        // On a route that has been ejected meanwhile, this is failover and not a hedge.
        if (!wasOut && health.isOut(route)) {
          start();
          return;
        }
        const advice = health.hedge(route, { stream, others });
        const leftMs = advice === undefined ? lookEveryMs : begunAt + advice.afterMs - clock.elapsed();
        if (advice !== undefined && leftMs <= 0 && isRoom() && (advice.insured || hedges.spend())) start();
        else cancelTimer = clock.after(leftMs > 0 ? Math.min(leftMs, lookEveryMs) : lookEveryMs, look);
      }

      look();
    },
  };
}

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
