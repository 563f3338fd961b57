import type { Route } from '../core/catalog.ts';
import type { Clock, Disarm } from '../core/clock.ts';
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

/** Shortest time after which a hedge that was not allowed is asked for again, milliseconds. */
const leastWaitMs = 100;

/** One timer, for one attempt at a time. */
export function createHedgeWatch({ health, hedges, clock, stream }: HedgeWatchOptions): HedgeWatch {
  let disarm: Disarm = () => undefined;

  return {
    stop: () => disarm(),
    watch: (route, { others, isRoom, start }) => {
      disarm();
      const advice = others.length === 0 ? undefined : health.hedge(route, { stream, others });
      if (advice === undefined) return;
      const wait = (delayMs: number): void => {
        disarm = clock.after(delayMs, () => {
          // On a route that has been ejected meanwhile, this is failover and not a hedge.
          const isFailover = health.isOut(route);
          const isAllowed = isFailover || (isRoom() && (advice.insured || hedges.spend()));
          if (isAllowed) start();
          else wait(Math.max(leastWaitMs, advice.afterMs / 2));
        });
      };
      wait(advice.afterMs);
    },
  };
}
