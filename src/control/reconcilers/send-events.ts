import { type Clock, every } from '../../core/clock.ts';
import type {
  DeliveryEnd,
  EventMessage,
  SubscriptionFigures,
  SubscriptionName,
  WaitingFigures,
} from '../../core/event-delivery.ts';
import { messageOf } from '../../core/failure.ts';
import type { EventStore } from './store-port.ts';

interface SenderParts {
  readonly store: EventStore;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  /** Grows when the database has changed. Undefined: it may have changed at any time. */
  readonly changes: () => number | undefined;
  /** A name of this process that no other one has. */
  readonly holder: string;
  readonly name: SubscriptionName;
  /** Events that may wait; the oldest ones beyond are dropped. */
  readonly maxWaiting: number;
  /** Resolves with the problem if the receiver did not accept the message; never rejects. */
  readonly send: (
    message: Pick<EventMessage, 'id' | 'body'>,
  ) => Promise<({ readonly problem: string } & Pick<DeliveryEnd, 'retryAfterMs'>) | undefined>;
  readonly log: (about: Readonly<Record<string, unknown>>, message: string) => void;
}

const deliverMs = 1_000;
const countMs = 10_000;
/** Longer than `pageMs` and a delivery, which takes at most 15 s. */
const leaseMs = 60_000;
/** No message of a page is begun after this time. */
const pageMs = 30_000;

const uncounted: WaitingFigures = { waiting: 0, lagMs: 0, rows: 0, dropped: 0, droppedSince: undefined };

/**
 * Sends what waits for a subscription, one message after the other, on every replica: the lease in the database decides
 * which of them sends. `close` waits for the message under way.
 */
export function startSending({ store, clock, changes, holder, name, maxWaiting, send, log }: SenderParts) {
  const phase = { isOver: false };
  const counts = { delivered: 0, failedTries: 0 };
  let waiting = uncounted;
  const underWay = new Set<Promise<void>>();

  /** Never rejects. Does nothing while nothing waits and the database has not changed since. */
  function step(work: () => Promise<void>): () => Promise<void> {
    let seen: number | undefined;
    return async () => {
      const now = changes();
      if (now !== undefined && now === seen && waiting.rows === 0) return;
      const running = work().then(
        () => void (seen = now),
        (error: unknown) => log({ problem: messageOf(error), subscription: name }, 'reading events failed'),
      );
      underWay.add(running);
      await running;
      underWay.delete(running);
    };
  }

  /** Returns whether all messages were accepted. */
  async function sendPage(messages: readonly EventMessage[]): Promise<boolean> {
    const until = clock.now() + pageMs;
    const accepted: EventMessage[] = [];
    let failed: bigint | undefined;
    let retryAfterMs: number | undefined;
    for (const message of messages) {
      if (phase.isOver || clock.now() >= until) break;
      const refusal = message.events === 0 ? undefined : await send(message);
      if (refusal !== undefined) {
        counts.failedTries += 1;
        failed = message.rows[0];
        ({ retryAfterMs } = refusal);
        log({ problem: refusal.problem, subscription: name }, 'webhook refused; retrying');
        break;
      }
      counts.delivered += message.events;
      accepted.push(message);
    }
    if (accepted.length > 0 || failed !== undefined) {
      const ended = accepted.map(({ rows, goesOn, missing }) => ({ rows, goesOn, missing }));
      await store.endMessages({ subscription: name, holder, accepted: ended, failed, retryAfterMs }, clock.now());
    }
    return failed === undefined;
  }

  const deliver = step(async () => {
    for (;;) {
      const messages = await store.nextMessages({ subscription: name, holder, leaseMs }, clock.now());
      // A message about a threshold that fails holds up no others.
      if (messages.length === 0 || (!(await sendPage(messages)) && name === 'events') || phase.isOver) return;
    }
  });
  const count = step(async () => {
    const before = waiting;
    waiting = await store.waitingEvents({ name, maxWaiting }, clock.now());
    // The first count has those of earlier processes.
    if (before !== uncounted && waiting.dropped > before.dropped)
      log({ dropped: waiting.dropped - before.dropped, subscription: name }, 'events dropped');
  });

  const cancels = [every(clock, deliverMs, deliver), every(clock, countMs, count)];
  return {
    figures: (): SubscriptionFigures => ({ name, ...counts, ...waiting }),
    close: async (): Promise<void> => {
      phase.isOver = true;
      for (const cancel of cancels) cancel();
      await Promise.all(underWay);
      await store.leaveSubscriptions(holder).catch(() => undefined);
    },
  };
}
