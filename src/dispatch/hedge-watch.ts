import type { Route } from '../core/catalog.ts';
import type { Clock, CancelTimer } from '../core/clock.ts';
import type { Health } from '../core/health.ts';
import type { HedgeBudget } from './hedge-budget.ts';

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
  let disarm: CancelTimer = () => undefined;

  return {
    stop: () => disarm(),
    watch: (route, { others, isRoom, start }) => {
      disarm();
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
        else disarm = clock.after(leftMs > 0 ? Math.min(leftMs, lookEveryMs) : lookEveryMs, look);
      }

      look();
    },
  };
}
