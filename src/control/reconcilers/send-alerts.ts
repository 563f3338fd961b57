import type { ClaimedAlert, DeliveryFigures, DeliveryResult, DeliveryState } from '../../core/alert.ts';
import { type Clock, every } from '../../core/clock.ts';
import { messageOf } from '../../core/failure.ts';

/** The operations of the database. They run in a thread of their own, never in a request's way. */
export interface AlertStore {
  readonly recordReached: (about: { readonly deliver: boolean }, now: number) => Promise<number>;
  readonly claimAlert: (about: { readonly leaseMs: number }, now: number) => Promise<ClaimedAlert | undefined>;
  readonly finishAlert: (result: DeliveryResult, now: number) => Promise<DeliveryState>;
  readonly countWaiting: () => Promise<number>;
}

interface AlertParts {
  readonly store: AlertStore;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  /** Grows when the database has changed, which may have reached a threshold. Undefined: it may have changed at any time. */
  readonly changes: () => number | undefined;
  /** Resolves with the problem if the receiver did not accept the message; never rejects. Undefined: no webhook is set. */
  readonly send: ((alert: ClaimedAlert) => Promise<string | undefined>) | undefined;
  readonly log: (about: { readonly problem: string }, message: string) => void;
}

const lookMs = 10_000;
const deliverMs = 5_000;
/** Longer than a delivery can take. */
const leaseMs = 60_000;
/** A slow receiver gets this many messages at once from a replica. */
const sentAtOnce = 4;

/**
 * Looks for reached thresholds and delivers webhooks, on every replica: the database decides which of them records a
 * threshold and which delivers a message. `close` waits for the messages under way.
 */
export function startAlerts({ store, clock, changes, send, log }: AlertParts) {
  const phase = { isOver: false };
  const counts = { delivered: 0, failed: 0, failedTries: 0, waiting: 0 };
  const underWay = new Set<Promise<void>>();
  /** The changes at the last look. */
  let looked: number | undefined;

  /** Never rejects. */
  function step(what: string, work: () => Promise<void>): () => Promise<void> {
    return async () => {
      const running = work().catch((error: unknown) => log({ problem: messageOf(error) }, what));
      underWay.add(running);
      await running;
      underWay.delete(running);
    };
  }

  const look = step('thresholds could not be looked up, and are looked up again', async () => {
    const seen = changes();
    // A thread that has nothing to look for ends after a while, and gives its memory back.
    if (seen !== undefined && seen === looked) return;
    await store.recordReached({ deliver: send !== undefined }, clock.now());
    looked = seen;
  });

  const claim = (): Promise<ClaimedAlert | undefined> => store.claimAlert({ leaseMs }, clock.now());

  /** Delivers one alert after the other, from the given one on, until none is due. */
  async function deliverFrom(first: ClaimedAlert | undefined, deliver: NonNullable<typeof send>): Promise<void> {
    for (let alert = first; alert !== undefined; alert = phase.isOver ? undefined : await claim()) {
      const problem = await deliver(alert);
      const state = await store.finishAlert({ id: alert.id, tries: alert.tries, problem }, clock.now());
      if (state === 'delivered' || state === 'failed') counts[state] += 1;
      if (problem === undefined) continue;
      counts.failedTries += 1;
      log({ problem }, 'a webhook was not accepted; it is tried again for a day');
    }
  }

  async function deliverDue(deliver: NonNullable<typeof send>): Promise<void> {
    const first = await claim();
    counts.waiting = await store.countWaiting();
    if (first === undefined) return;
    const others = Array.from({ length: sentAtOnce - 1 }, async () => deliverFrom(await claim(), deliver));
    await Promise.all([deliverFrom(first, deliver), ...others]);
    counts.waiting = await store.countWaiting();
  }

  const cancels = [every(clock, lookMs, look)];
  if (send !== undefined) {
    const deliver = step('webhooks could not be read from the database', () => deliverDue(send));
    cancels.push(every(clock, deliverMs, deliver));
  }
  return {
    /** Undefined: no webhook is set. */
    deliveries: send && ((): DeliveryFigures => ({ ...counts })),
    close: async (): Promise<void> => {
      phase.isOver = true;
      for (const cancel of cancels) cancel();
      await Promise.all(underWay);
    },
  };
}
