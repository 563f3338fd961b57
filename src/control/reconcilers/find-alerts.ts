import { type Clock, every } from '../../core/clock.ts';
import type { EventSubscription } from '../../core/event-delivery.ts';
import { messageOf } from '../../core/failure.ts';
import type { AvoidableLimit } from '../../core/avoidable-limit.ts';
import { lastClosed } from '../../books/core/statement.ts';
import type { AlertStore } from './store-port.ts';

interface AlertParts {
  readonly store: AlertStore;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  /** Grows when the database has changed, which may have reached a threshold. Undefined: it may have changed at any time. */
  readonly changes: () => number | undefined;
  /** What this service sends. */
  readonly subscriptions: readonly EventSubscription[];
  readonly log: (about: { readonly problem: string }, message: string) => void;
}

const lookMs = 10_000;
/** Until the first look, so that hardly a request of a first start is settled before the subscriptions are there. */
const firstLookMs = 500;

/**
 * Looks for reached thresholds, and for limits that callers can avoid, on every replica, closes months, and keeps the subscriptions for which these and all other events
 * are noted. The database decides which replica records a threshold, and which one closes a month. `close` waits for the look under way.
 */
export function startAlerts({ store, clock, changes, subscriptions, log }: AlertParts) {
  /** The changes at the last look. */
  let looked: number | undefined;
  let isKept = subscriptions.length === 0;
  /** The last month whose statements this service has seen closed. */
  let closed: string | undefined;
  let avoidable: readonly AvoidableLimit[] = [];
  let look = Promise.resolve();

  async function lookOnce(): Promise<void> {
    const seen = changes();
    const month = lastClosed(clock.now());
    // A thread that has nothing to look for ends after a while, and gives its memory back.
    if (seen !== undefined && seen === looked && month === closed) return;
    await store.keepSubscriptions(subscriptions, clock.now());
    isKept = true;
    await store.recordReached(clock.now());
    avoidable = await store.avoidableLimits(clock.now());
    looked = seen;
    if (month === closed) return;
    await store.closeMonths(clock.now());
    closed = month;
  }

  const cancel = every(
    clock,
    () => (isKept ? lookMs : firstLookMs),
    () => {
      look = lookOnce().catch((error: unknown) =>
        log({ problem: messageOf(error) }, 'reading thresholds failed; retrying'),
      );
      return look;
    },
  );
  return {
    /** As of the last look. */
    avoidable: () => avoidable,
    close: async (): Promise<void> => {
      cancel();
      await look;
    },
  };
}
