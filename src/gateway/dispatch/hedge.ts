import type { Clock } from '../../core/clock.ts';
import type { AttemptPlace, Health, OtherEndpoints } from '../core/health.ts';

/** Watches the newest attempt. Starts another one when the first output is late. */
export type HedgeWatch = ReturnType<typeof createHedgeWatch>;

interface PossibleHedge {
  /** Where a second attempt can be made. */
  readonly others: readonly OtherEndpoints[];
  /** Whether a second attempt may run beside those under way. */
  readonly isRoom: () => boolean;
  readonly start: () => void;
}

interface HedgeWatchOptions {
  readonly health: Pick<Health, 'hedge' | 'isOut'>;
  readonly hedges: HedgeBudget;
  readonly clock: Clock;
  readonly stream: boolean;
}

/**
 * Milliseconds between two checks of the endpoint's health. At each check, the watch also asks again for a hedge that was not
 * allowed.
 */
const lookEveryMs = 250;

/** Has one timer, for one attempt at a time. */
export function createHedgeWatch({ health, hedges, clock, stream }: HedgeWatchOptions) {
  let cancelTimer = (): void => undefined;

  return {
    stop: (): void => cancelTimer(),
    /** Watches this attempt from now on, and the previous one no longer. */
    watch: (at: AttemptPlace, { others, isRoom, start }: PossibleHedge): void => {
      cancelTimer();
      if (others.length === 0) return;
      const begunAt = clock.elapsed();
      // An endpoint of last resort is called although it is ejected.
      const wasOut = health.isOut(at);

      function look(): void {
        // If the endpoint was ejected meanwhile, the second attempt is a failover, which no budget limits.
        if (!wasOut && health.isOut(at)) {
          start();
          return;
        }
        const advice = health.hedge(at, { stream, others });
        const leftMs = advice === undefined ? lookEveryMs : begunAt + advice.afterMs - clock.elapsed();
        if (advice !== undefined && leftMs <= 0 && isRoom() && (advice.insured || hedges.spend())) start();
        else cancelTimer = clock.after(leftMs > 0 ? Math.min(leftMs, lookEveryMs) : lookEveryMs, look);
      }

      look();
    },
  };
}

/** Limits the extra attempts of hedging over all requests of this replica. */
export type HedgeBudget = ReturnType<typeof createHedgeBudget>;

/** Extra attempts per request in the long run. */
const share = 0.1;
/** Most extra attempts that can be saved up. A sudden stall of one route may use them all at once. */
const maxSaved = 10;

export function createHedgeBudget() {
  let saved = maxSaved;
  return {
    /** Call it once for each dispatched request. The request earns a share of an extra attempt. */
    earn: (): void => {
      saved = Math.min(maxSaved, saved + share);
    },
    /** Spends one extra attempt. False: none is left. */
    spend: (): boolean => {
      if (saved < 1) return false;
      saved -= 1;
      return true;
    },
  };
}
