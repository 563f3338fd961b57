import type { Clock } from '../core/clock.ts';
import type { AttemptPlace, Health, OtherEndpoints } from '../core/health.ts';

/** Waits for the first output of the newest attempt, and starts another attempt when it takes too long. */
export interface HedgeWatch {
  /** Watches an attempt in place of the one before. */
  readonly watch: (at: AttemptPlace, hedge: PossibleHedge) => void;
  readonly stop: () => void;
}

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

/** How often the endpoint's health is looked at again, and a hedge that was not allowed is asked for again, milliseconds. */
const lookEveryMs = 250;

/** Has one timer, for one attempt at a time. */
export function createHedgeWatch({ health, hedges, clock, stream }: HedgeWatchOptions): HedgeWatch {
  let cancelTimer = (): void => undefined;

  return {
    stop: () => cancelTimer(),
    watch: (at, { others, isRoom, start }) => {
      cancelTimer();
      if (others.length === 0) return;
      const begunAt = clock.elapsed();
      // An endpoint of last resort is asked although it is ejected.
      const wasOut = health.isOut(at);

      function look(): void {
        // On an endpoint that has been ejected meanwhile this is failover, which no budget limits.
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

/** Limits the extra attempts of hedging, over all requests of this replica. */
export interface HedgeBudget {
  /** Call it with each request that is dispatched: it earns a share of an attempt. */
  readonly earn: () => void;
  /** Takes one extra attempt. False: none is left. */
  readonly spend: () => boolean;
}

/** Extra attempts per request in the long run. */
const share = 0.1;
/** Most attempts that are saved up: what a sudden stall of one route may cost at once. */
const mostSaved = 10;

export function createHedgeBudget(): HedgeBudget {
  let saved = mostSaved;
  return {
    earn: () => {
      saved = Math.min(mostSaved, saved + share);
    },
    spend: () => {
      if (saved < 1) return false;
      saved -= 1;
      return true;
    },
  };
}
